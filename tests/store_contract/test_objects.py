"""Small objects on a disk, and which addresses name a place to store."""

import os
from pathlib import Path

import pytest

from omnigraph.base.errors import ArgumentInvalid, InputError, StorageFailed, Unsupported
from omnigraph.store.durability import Durability
from omnigraph.store.objects import DiskObjects, graph_root


@pytest.fixture(params=Durability)
def objects(tmp_path: Path, request: pytest.FixtureRequest) -> DiskObjects:
    return DiskObjects(tmp_path, request.param)


def test_an_object_is_what_was_put_last(objects: DiskObjects) -> None:
    assert objects.get("a/x.json") is None
    objects.put("a/x.json", b"one")
    objects.put("a/x.json", b"two")
    assert objects.get("a/x.json") == b"two"


def test_only_the_first_put_if_absent_counts(objects: DiskObjects) -> None:
    assert objects.put_if_absent("x", b"one")
    assert not objects.put_if_absent("x", b"two")
    assert objects.get("x") == b"one"


def test_a_folder_lists_its_objects_by_name_and_nothing_unfinished(
    objects: DiskObjects, tmp_path: Path
) -> None:
    assert objects.list("a") == []
    objects.put("a/y", b"")
    objects.put("a/x", b"")
    assert len(list((tmp_path / "a").iterdir())) == 2
    (tmp_path / "a" / ".unfinished-1").write_bytes(b"torn")
    assert objects.list("a") == ["a/x", "a/y"]


def test_a_deleted_object_is_gone_however_often(objects: DiskObjects) -> None:
    objects.put("x", b"")
    objects.delete("x")
    objects.delete("x")
    assert objects.get("x") is None


def test_a_disk_that_refuses_is_a_storage_failure(objects: DiskObjects, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFailed, match="write file/x failed"):
        objects.put("file/x", b"")


def test_paths_and_file_addresses_name_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "my graph"
    assert graph_root("my graph") == place
    assert graph_root(str(place)) == place
    assert graph_root(f"file://{tmp_path}/my%20graph") == place
    assert graph_root("~/g") == Path(os.environ["HOME"]) / "g"


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("http://localhost:8080/g", ArgumentInvalid),
        ("https://example.org/g", ArgumentInvalid),
        ("file://elsewhere/g", ArgumentInvalid),
        ("", ArgumentInvalid),
        ("s3://bucket/g", Unsupported),
    ],
)
def test_other_addresses_are_refused(address: str, error: type[InputError]) -> None:
    with pytest.raises(error):
        graph_root(address)
