"""Small objects, on a disk and in a bucket."""

from pathlib import Path

import pytest

from omnigraph.base.errors import StorageFailed
from omnigraph.store.bucket import _answer_of
from omnigraph.store.durability import Durability
from omnigraph.store.location import DiskLocation
from omnigraph.store.objects import DiskObjects, Objects
from tests.buckets import location_of


@pytest.fixture(params=[*Durability, "s3"])
def objects(tmp_path: Path, request: pytest.FixtureRequest) -> Objects:
    if request.param == "s3":
        place = request.getfixturevalue("bucket")
        return location_of(place).objects()
    return DiskLocation(tmp_path).objects(request.param)


def test_an_object_is_what_was_put_last(objects: Objects) -> None:
    assert objects.get("a/x.json") is None
    assert not objects.exists("a/x.json")
    objects.put("a/x.json", b"one")
    objects.put("a/x.json", b"two")
    assert objects.get("a/x.json") == b"two"
    assert objects.exists("a/x.json")


def test_only_the_first_put_if_absent_counts(objects: Objects) -> None:
    assert objects.put_if_absent("x", b"one")
    assert not objects.put_if_absent("x", b"two")
    assert objects.get("x") == b"one"


def test_a_folder_lists_its_objects_by_name_and_a_walk_goes_deeper(objects: Objects) -> None:
    assert objects.list("a") == list(objects.walk("a")) == []
    for name in ("a/y", "a/x%2F.json", "a/b/c/z", "ab/x"):
        objects.put(name, b"")
    assert [name for name in objects.list("a") if name != "a/b"] == ["a/x%2F.json", "a/y"]
    assert sorted(objects.walk("a")) == ["a/b/c/z", "a/x%2F.json", "a/y"]
    assert sorted(objects.walk("")) == ["a/b/c/z", "a/x%2F.json", "a/y", "ab/x"]


def test_an_unfinished_object_is_nobodys(tmp_path: Path) -> None:
    objects = DiskObjects(tmp_path)
    objects.put("a/x", b"")
    (tmp_path / "a" / ".unfinished-1").write_bytes(b"torn")
    assert objects.list("a") == list(objects.walk("")) == ["a/x"]
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_a_copy_stays_when_the_original_goes(objects: Objects) -> None:
    objects.put("a/x", b"one")
    for _ in range(2):
        objects.copy("a/x", "b/c/x")
    objects.delete("a/x")
    objects.sync(["b/c/x"])
    assert objects.get("b/c/x") == b"one"


def test_a_deleted_object_is_gone_however_often(objects: Objects) -> None:
    objects.put("x", b"")
    objects.delete("x")
    objects.delete("x")
    assert objects.get("x") is None


def test_nothing_lies_below_an_object_or_in_a_folder_that_is_not_there(objects: Objects) -> None:
    objects.put("a/b", b"1")
    assert list(objects.walk("a/b")) == list(objects.walk("nowhere")) == []


def test_a_folder_is_forgotten_only_when_it_is_empty(objects: Objects, tmp_path: Path) -> None:
    objects.put("a/b/c", b"1")
    objects.put("a/d", b"2")
    objects.forget_folder("a")
    assert [*objects.walk("a")] and objects.get("a/b/c") == b"1"
    objects.delete("a/b/c")
    objects.delete("a/d")
    for half in tmp_path.glob("**/a"):
        (half / ".unfinished-1").write_bytes(b"torn")
    objects.forget_folder("a")
    objects.forget_folder("never")
    assert not [*tmp_path.glob("**/a")]
    assert not [*objects.walk("a")]


def test_a_disk_that_refuses_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFailed, match="write file/x failed"):
        DiskObjects(tmp_path).put("file/x", b"")


def test_a_name_that_can_not_be_looked_at_is_a_storage_failure_and_not_absent(
    tmp_path: Path,
) -> None:
    with pytest.raises(StorageFailed, match=r"look at x+ failed"):
        DiskObjects(tmp_path).exists("x" * 300)


def test_a_bucket_that_is_not_there_is_a_storage_failure_that_says_so(s3: str) -> None:
    objects = location_of("s3://not-there/g").objects()
    with pytest.raises(StorageFailed, match="reach s3://not-there failed: there is no such bucket"):
        objects.put("x", b"")
    with pytest.raises(StorageFailed, match="there is no such bucket") as failed:
        objects.list("a")
    assert "AWS_ENDPOINT_URL" in (failed.value.hint or "")


def test_a_bucket_that_finds_no_credentials_says_what_to_set() -> None:
    asked = "Error performing PUT http://169.254.169.254/latest/api/token in 3 ms"
    assert "set AWS_ACCESS_KEY_ID" in _answer_of(OSError(asked))
    assert _answer_of(OSError("<Message>No such bucket</Message>")) == "No such bucket"
