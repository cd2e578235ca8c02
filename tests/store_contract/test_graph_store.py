"""A graph as a whole: making, opening, history, time travel, and many processes at once."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.base.errors import (
    AlreadyInitialized,
    CommitMissing,
    GraphMissing,
    OmnigraphError,
    SchemaVersionUnsupported,
    StorageFailed,
)
from omnigraph.base.ids import MAIN, CommitId, TypeName
from omnigraph.store import manifest
from omnigraph.store.changes import ChangeSet
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.layout import table_path
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import DatasetRef
from omnigraph.write.writer import OnConflict
from tests.store_contract.builders import (
    CATALOG,
    KNOWS,
    PERSON,
    SOURCE,
    ages,
    changes,
    contents,
    knows,
    load,
    make_store,
    open_store,
    pairs,
    people,
    put,
)


def test_a_new_graph_is_empty_and_has_one_commit(tmp_path: Path) -> None:
    made = make_store(tmp_path / "g")
    opened = open_store(tmp_path / "g")
    assert contents(opened) == ({}, set())
    [first] = opened.commits()
    assert (first.kind, first.parent, first.seq, first.branch) == (CommitKind.INIT, None, 0, MAIN)
    assert opened.snapshot().catalog == CATALOG
    assert opened.schemas.source(first.schema_hash) == SOURCE
    assert opened.graph_id == made.graph_id
    assert json.loads((tmp_path / "g/_graph.json").read_text()) == {"id": made.graph_id}


def test_the_layout_on_disk_is_the_documented_one(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=1)))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "__locks",
        "__manifest",
        "__recovery",
        "_graph.json",
        "_graph_commit_recoveries.lance",
        "_schemas",
        "edges",
        "nodes",
    ]
    assert (tmp_path / table_path(PERSON) / "_versions").is_dir()
    assert list((tmp_path / "__recovery").iterdir()) == []


def test_a_tables_place_is_the_fnv_hash_of_its_types_name() -> None:
    # The published test vector of 64-bit FNV-1a.
    assert table_path(replace(PERSON, name=TypeName("foobar"))) == "nodes/85944171f73967e8"
    assert table_path(replace(KNOWS, name=TypeName("foobar"))) == "edges/85944171f73967e8"


def test_init_takes_an_empty_directory_and_refuses_any_other(tmp_path: Path) -> None:
    make_store(tmp_path)
    with pytest.raises(AlreadyInitialized):
        make_store(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(AlreadyInitialized):
        make_store(other)
    with pytest.raises(AlreadyInitialized):
        make_store(other / "notes.txt")
    assert [entry.name for entry in other.iterdir()] == ["notes.txt"]


class FullDisk(Datasets):
    """A disk on which a second dataset no longer fits."""

    def create(self, path: str, schema: pa.Schema, rows: pa.Table | None = None) -> DatasetRef:
        if path.startswith("edges"):
            raise StorageFailed(doing="create", path=path, reason="no space left on device")
        return super().create(path, schema, rows)


@pytest.mark.parametrize("is_there", [True, False])
def test_an_init_that_fails_leaves_the_place_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    place = tmp_path / "g"
    if is_there:
        place.mkdir()
    monkeypatch.setattr("omnigraph.store.graph_store.Datasets", FullDisk)
    with pytest.raises(StorageFailed, match="no space left"):
        make_store(place)
    assert place.exists() == is_there
    assert not is_there or not list(place.iterdir())


def foreign(place: Path) -> None:
    place.mkdir()
    (place / "notes.txt").write_text("mine")


def unfinished(place: Path) -> None:
    place.mkdir()
    (place / "_graph.json").write_text('{"id": "x"}')


@pytest.mark.parametrize(
    ("prepare", "error"),
    [(lambda place: None, GraphMissing), (foreign, GraphMissing), (unfinished, StorageFailed)],
)
def test_what_is_no_graph_can_not_be_opened(
    tmp_path: Path, prepare: Callable[[Path], None], error: type[OmnigraphError]
) -> None:
    prepare(tmp_path / "g")
    with pytest.raises(error):
        open_store(tmp_path / "g")


def test_a_graph_of_a_newer_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = manifest.COLUMNS.with_metadata({manifest.STAMP: b"2"})
    with monkeypatch.context() as patched:
        patched.setattr(manifest, "COLUMNS", newer)
        # Making a graph ends by writing its manifest, and reads nothing back.
        make_store(tmp_path)
    with pytest.raises(SchemaVersionUnsupported, match="storage version 2"):
        open_store(tmp_path)


def test_a_commit_tells_who_what_and_how_much(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=1, bob=2)))
    second = put(store, changes(people=people(ada=9, eve=3), gone=["bob"]), message="tidy up")
    newest, before, _ = store.commits()
    assert (newest.id, newest.parent) == (second, before.id)
    assert (newest.actor, newest.message) == ("tester", "tidy up")
    assert newest.manifest_version == store.manifest.newest(None).version
    [change] = newest.changes
    assert (change.key, change.row_count) == ("node:Person", 2)
    assert (change.inserted, change.updated, change.deleted) == (1, 1, 1)


def test_every_commit_can_be_read_again(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    expected = {}
    for age in range(70):  # past the size of a hot fragment
        edges = knows(f"ada-p{age}") if age % 10 == 0 else None
        commit = put(store, changes(people=people(ada=age), knows=edges))
        assert commit is not None
        expected[commit] = contents(store)
    reopened = open_store(tmp_path)
    for commit in [*expected][::6]:
        snapshot = reopened.snapshot_at(commit)
        assert (ages(snapshot), pairs(snapshot)) == expected[commit]
        assert snapshot.commit.id == commit
        assert reopened.commit(commit) == snapshot.commit
    whole = reopened.commits()
    for limit in (0, 1, 5, 70, 1_000):
        assert reopened.commits(limit=limit) == whole[:limit]
    missing = CommitId("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with pytest.raises(CommitMissing):
        reopened.snapshot_at(missing)
    with pytest.raises(CommitMissing):
        reopened.commit(missing)


def test_a_snapshot_stays_as_it_was_while_others_write(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=1)))
    held = store.snapshot()
    put(store, changes(people=people(ada=2), knows=knows("ada-ada")))
    assert (ages(held), pairs(held)) == ({"ada": 1}, set())


def test_a_load_appends_or_overwrites_several_tables_in_one_commit(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    load(store, people=people(ada=1, bob=2), knows=knows("ada-bob"))
    load(store, people=people(eve=3), knows=knows("eve-ada"))
    assert contents(store) == ({"ada": 1, "bob": 2, "eve": 3}, {"ada-bob", "eve-ada"})
    load(store, people=people(zoe=4), knows=knows(), mode="overwrite")
    assert contents(store) == ({"zoe": 4}, set())
    assert len(store.commits()) == 4


def test_what_changes_nothing_makes_no_commit(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    assert put(store, changes()) is None
    assert put(store, changes(people=people())) is None
    assert put(store, changes(gone=["nobody"])) is None
    assert load(store, people=people(), knows=knows()) is None
    assert load(store, people=people(), knows=knows(), mode="overwrite") is None
    assert len(store.commits()) == 1


def read_elsewhere(place: str) -> tuple[dict[str, int], set[str]]:
    return contents(open_store(place))


def raise_age(place: str, times: int) -> None:
    """Add one to ada's age, as often as told, whoever else is at it."""
    store = open_store(place)

    def prepare(snapshot: Snapshot) -> ChangeSet:
        return changes(people=people(ada=ages(snapshot)["ada"] + 1, **{f"p{os.getpid()}": 1}))

    for _ in range(times):
        put(store, prepare, on_conflict=OnConflict.PREPARE_AGAIN)


def test_processes_writing_one_branch_lose_nothing_and_all_see_it(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=0)))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for writer in [pool.submit(raise_age, str(tmp_path), 8) for _ in range(2)]:
            writer.result()
        seen = pool.submit(read_elsewhere, str(tmp_path)).result()
    assert seen == contents(store)
    assert contents(store)[0]["ada"] == 16
    assert [commit.seq for commit in store.commits()] == list(reversed(range(18)))


def test_a_warm_reader_sees_each_commit_of_another_handle_at_once(tmp_path: Path) -> None:
    writer, reader = make_store(tmp_path), open_store(tmp_path)
    for age in range(20):
        put(writer, changes(people=people(ada=age)))
        assert ages(reader.snapshot()) == {"ada": age}
        assert reader.snapshot() is reader.snapshot()


def test_a_durable_graph_reads_the_same(tmp_path: Path) -> None:
    store = make_store(tmp_path, Durability.FSYNC)
    put(store, changes(people=people(ada=1), knows=knows("ada-ada")))
    put(store, changes(people=people(ada=2), gone=["bob"]))
    assert contents(open_store(tmp_path)) == ({"ada": 2}, {"ada-ada"})
