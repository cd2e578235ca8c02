"""A graph as a whole: making, opening, history and time travel."""

import json
import urllib.request
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.base.errors import (
    AlreadyInitialized,
    CommitMissing,
    GraphMissing,
    OmnigraphError,
    StorageFailed,
    StoreUnfit,
)
from omnigraph.base.ids import MAIN, CommitId, TypeName
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import GRAPH, table_path
from omnigraph.store.transactions import DatasetRef
from tests.buckets import CARELESS, location_of
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


def test_a_new_graph_is_empty_and_has_one_commit(place: str) -> None:
    made = make_store(place)
    opened = open_store(place)
    assert contents(opened) == ({}, set())
    [first] = opened.history().line()
    assert (first.kind, first.parent, first.seq, first.branch) == (CommitKind.INIT, None, 0, MAIN)
    assert opened.snapshot().catalog == CATALOG
    assert opened.schemas.source(first.schema_hash) == SOURCE
    assert opened.graph_id == made.graph_id
    assert json.loads(opened.objects.get("_graph.json") or b"") == {"id": made.graph_id}


@pytest.mark.parametrize(
    "id_", ["../../home", "..", "", 7, None, "/etc", "01ARZ3NDEKTSV4RRFFQ69G5FA/", "0" * 27]
)
def test_an_id_that_no_graph_was_given_is_refused(place: str, id_: object) -> None:
    """Directories are named by it: another text could lead to any of them."""
    make_store(place).objects.put(GRAPH, json.dumps({"id": id_}).encode())
    with pytest.raises(StorageFailed, match=r"_graph\.json"):
        _ = open_store(place).graph_id


def test_the_layout_is_the_documented_one(place: str) -> None:
    store = make_store(place)
    put(store, changes(people=people(ada=1)))
    names = sorted(store.objects.walk(""))
    assert sorted({name.split("/")[0] for name in names}) == [
        "__locks",
        "__manifest",
        "_address.json",
        "_graph.json",
        "_graph_commit_recoveries.lance",
        "_schemas",
        "edges",
        "nodes",
    ]
    assert store.objects.list("__recovery") == []
    assert len(store.objects.list(f"{table_path(PERSON)}/_versions")) >= 2


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


def test_init_takes_a_prefix_of_a_bucket_where_nothing_is(bucket: str) -> None:
    make_store(f"{bucket}/one")
    make_store(f"{bucket}/one-and-more")
    for taken in (f"{bucket}/one", bucket):
        with pytest.raises(AlreadyInitialized):
            make_store(taken)


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
    monkeypatch.setattr("omnigraph.store.storage.Datasets", FullDisk)
    with pytest.raises(StorageFailed, match="no space left"):
        make_store(place)
    assert place.exists() == is_there
    assert not is_there or not list(place.iterdir())


def test_an_init_that_fails_leaves_the_bucket_as_it_was(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr("omnigraph.store.storage.Datasets", FullDisk)
        with pytest.raises(StorageFailed, match="no space left"):
            make_store(bucket)
    assert contents(make_store(bucket)) == ({}, set())


@pytest.mark.parametrize(
    ("there", "error"),
    [({}, GraphMissing), ({"notes.txt": b"mine"}, GraphMissing), ({GRAPH: b"{}"}, StorageFailed)],
)
def test_what_is_no_graph_can_not_be_opened(
    place: str, there: dict[str, bytes], error: type[OmnigraphError]
) -> None:
    objects = location_of(place).objects(Durability.RELAXED)
    for name, data in there.items():
        objects.put(name, data)
    with pytest.raises(error):
        open_store(place)


def test_no_graph_is_made_in_a_bucket_that_ignores_the_conditions_of_puts(s3: str) -> None:
    place = f"s3://{CARELESS}/new"
    with pytest.raises(StoreUnfit, match=f"{place} can't be written safely"):
        make_store(place)
    objects = location_of(place).objects()
    assert list(objects.walk("")) == []


def test_a_commit_tells_who_what_and_how_much(place: str) -> None:
    store = make_store(place)
    put(store, changes(people=people(ada=1, bob=2)))
    second = put(store, changes(people=people(ada=9, eve=3), gone=["bob"]), message="tidy up")
    newest, before, _ = store.history().line()
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
        assert reopened.history().get(commit) == snapshot.commit
    whole = list(reopened.history().line())
    for limit in (0, 1, 5, 70, 1_000):
        assert list(islice(reopened.history().line(), limit)) == whole[:limit]
    missing = CommitId("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with pytest.raises(CommitMissing):
        reopened.snapshot_at(missing)
    with pytest.raises(CommitMissing):
        reopened.history().get(missing)


def test_a_snapshot_stays_as_it_was_while_others_write(place: str) -> None:
    store = make_store(place)
    put(store, changes(people=people(ada=1)))
    held = store.snapshot()
    put(store, changes(people=people(ada=2), knows=knows("ada-ada")))
    assert (ages(held), pairs(held)) == ({"ada": 1}, set())


def test_a_load_appends_or_overwrites_several_tables_in_one_commit(place: str) -> None:
    store = make_store(place)
    load(store, people=people(ada=1, bob=2), knows=knows("ada-bob"))
    load(store, people=people(eve=3), knows=knows("eve-ada"))
    assert contents(store) == ({"ada": 1, "bob": 2, "eve": 3}, {"ada-bob", "eve-ada"})
    load(store, people=people(zoe=4), knows=knows(), mode="overwrite")
    assert contents(store) == ({"zoe": 4}, set())
    assert len(list(store.history().line())) == 4


def test_what_changes_nothing_makes_no_commit(place: str) -> None:
    store = make_store(place)
    assert put(store, changes()) is None
    assert put(store, changes(people=people())) is None
    assert put(store, changes(gone=["nobody"])) is None
    assert load(store, people=people(), knows=knows()) is None
    assert load(store, people=people(), knows=knows(), mode="overwrite") is None
    assert len(list(store.history().line())) == 1


def test_a_warm_reader_sees_each_commit_of_another_handle_at_once(place: str) -> None:
    writer, reader = make_store(place), open_store(place)
    for age in range(8):
        put(writer, changes(people=people(ada=age)))
        assert ages(reader.snapshot()) == {"ada": age}
        assert reader.snapshot() is reader.snapshot()


def test_a_warm_reader_of_a_bucket_asks_once(bucket: str, s3: str) -> None:
    def requests() -> int:
        with urllib.request.urlopen(f"{s3}/requests") as answer:
            return int(answer.read())

    store = make_store(bucket)
    put(store, changes(people=people(ada=1)))
    store.snapshot()
    before = requests()
    for _ in range(5):
        store.snapshot()
    assert requests() == before + 5


def test_a_durable_graph_reads_the_same(tmp_path: Path) -> None:
    store = make_store(tmp_path, Durability.FSYNC)
    put(store, changes(people=people(ada=1), knows=knows("ada-ada")))
    put(store, changes(people=people(ada=2), gone=["bob"]))
    assert contents(open_store(tmp_path)) == ({"ada": 2}, {"ada-ada"})


# Two who make a graph in one place ---------------------------------------------------------------


@pytest.mark.parametrize("failure", [KeyboardInterrupt, StorageFailed("write", GRAPH, "full")])
def test_an_init_that_fails_before_the_place_is_its_own_leaves_what_another_made(
    place: str, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    with monkeypatch.context() as patched:

        def meanwhile(store: GraphStore) -> None:
            patched.undo()
            put(make_store(place), changes(people=people(ada=1)))
            raise failure

        patched.setattr(GraphStore, "require_fences", meanwhile)
        with pytest.raises((KeyboardInterrupt, StorageFailed)):
            make_store(place)
    assert contents(open_store(place)) == ({"ada": 1}, set())


def test_an_init_that_fails_after_its_graph_was_replaced_leaves_what_another_made(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:

        def meanwhile(datasets: Datasets) -> None:
            patched.undo()
            # Someone is told that its making did not finish, removes it and makes it again.
            objects = location_of(place).objects(Durability.RELAXED)
            for name in list(objects.walk("")):
                objects.delete(name)
            for folder in ("nodes", "__manifest", "_schemas", "__locks"):
                objects.forget_folder(folder)
            Path(place).rmdir() if "://" not in place else None
            put(make_store(place), changes(people=people(ada=1)))
            raise KeyboardInterrupt

        patched.setattr("omnigraph.store.graph_store.RecoveryAudit.create", meanwhile)
        with pytest.raises(KeyboardInterrupt):
            make_store(place)
    assert contents(open_store(place)) == ({"ada": 1}, set())


def test_an_init_that_fails_leaves_the_files_of_others(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = location_of(place).objects(Durability.RELAXED)

    class Disturbed(FullDisk):
        def create(self, path: str, schema: pa.Schema, rows: pa.Table | None = None) -> DatasetRef:
            objects.put("notes.txt", b"mine")
            return super().create(path, schema, rows)

    monkeypatch.setattr("omnigraph.store.storage.Datasets", Disturbed)
    with pytest.raises(StorageFailed, match="no space left"):
        make_store(place)
    assert list(objects.walk("")) == ["notes.txt"]


def test_of_two_who_make_a_graph_at_once_one_succeeds_and_the_other_is_told(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:

        def meanwhile(store: GraphStore) -> None:
            patched.undo()
            put(make_store(place), changes(people=people(ada=1)))

        patched.setattr(GraphStore, "require_fences", meanwhile)
        with pytest.raises(AlreadyInitialized):
            make_store(place)
    assert contents(open_store(place)) == ({"ada": 1}, set())
