"""A commit with another schema: tables come and go, and every commit keeps the ones it had."""

from pathlib import Path

import pytest

from omnigraph.base.errors import ReadSetMoved
from omnigraph.base.failpoints import Failpoint
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.recover import recover_all
from omnigraph.write.work import CommitNote, OnConflict, Target, Work
from omnigraph.write.writer import write
from tests.crash.dying import OLD, SCENARIOS, of_another_schema, place_type
from tests.crash.test_recovery import crashed, lose_staged_files
from tests.store_contract.builders import (
    Prepared,
    changes,
    contents,
    id_of,
    make_store,
    open_store,
    people,
    put,
    rows_of,
)

CITY = place_type("City")
WORK = BranchName("work")


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    store = make_store(tmp_path / "graph")
    put(store, changes(people=people(ada=1)))
    return store


def cities(*names: str) -> Edits:
    rows = rows_of(CITY, [{"id": name} for name in names])
    return Edits({CITY.table_key: RowEdits(rows)}, reads=frozenset())


def cities_at(snapshot: Snapshot) -> set[str]:
    return {*snapshot.dataset(CITY).scan(["id"])["id"].to_pylist()}


def test_a_type_that_is_added_again_begins_empty_and_the_past_keeps_its_rows(
    store: GraphStore,
) -> None:
    of_another_schema(store, "City", changes())
    first = put(store, cities("york"))
    of_another_schema(store, "Town", changes(people=people(ada=2)))
    without = store.snapshot().commit
    of_another_schema(store, "City", changes())
    put(store, cities("rome"))

    assert without.dropped == ("node:City",)
    assert cities_at(store.snapshot()) == {"rome"}
    assert first is not None
    for opened in (store, open_store(store.root)):
        assert cities_at(opened.snapshot_at(first)) == {"york"}
        then = opened.snapshot_at(without.id)
        assert {*then.tables} == {"node:Person", "edge:Knows", "node:Town"}
        assert {e.name for e in then.catalog.entities} == {"Person", "Knows", "Town"}
        assert contents(opened)[0] == {"ada": 2}


def test_two_branches_may_each_add_a_type_of_one_name(store: GraphStore) -> None:
    create_branch(store, WORK)
    of_another_schema(store, "City", changes(), branch=WORK)
    of_another_schema(store, "City", changes())
    put(store, cities("york"), branch=WORK)
    put(store, cities("rome"))
    assert cities_at(store.snapshot(WORK)) == {"york"}
    assert cities_at(store.snapshot()) == {"rome"}
    delete_branch(store, WORK)
    assert cities_at(open_store(store.root).snapshot()) == {"rome"}


def test_a_branch_keeps_the_schema_that_it_was_made_with(store: GraphStore) -> None:
    create_branch(store, WORK)
    of_another_schema(store, "City", changes())
    put(store, changes(people=people(bob=2)), branch=WORK)
    assert {*store.snapshot(WORK).tables} == {"node:Person", "edge:Knows"}
    assert {*store.snapshot().tables} == {"node:Person", "edge:Knows", "node:City"}


@pytest.mark.parametrize("on_conflict", OnConflict)
def test_another_schema_is_a_conflict_for_every_writer(
    store: GraphStore, on_conflict: OnConflict
) -> None:
    other, seen = open_store(store.root), list[str]()

    def meanwhile(snapshot: Snapshot) -> Edits:
        if not seen:
            of_another_schema(other, "City", changes())
        seen.append(snapshot.schema_hash)
        return changes(people=people(bob=2))

    if on_conflict is OnConflict.RAISE:
        with pytest.raises(ReadSetMoved):
            put(store, meanwhile, on_conflict=on_conflict)
    else:
        put(store, meanwhile, on_conflict=on_conflict)
        assert len({*seen}) == 2
    assert ("bob" in contents(store)[0]) is (on_conflict is OnConflict.PREPARE_AGAIN)
    assert "node:City" in store.snapshot().tables


def test_a_schema_alone_is_a_commit_and_the_same_schema_is_none(store: GraphStore) -> None:
    of_another_schema(store, "City", changes())
    head = store.snapshot().commit
    assert head.kind is CommitKind.SCHEMA
    assert [change.key for change in head.changes] == ["node:City"]
    assert head.schema_hash != list(store.history().line())[1].schema_hash
    work = Work({}, frozenset(), OnConflict.RAISE, schema_hash=head.schema_hash)
    note = CommitNote(CommitKind.SCHEMA)
    assert id_of(write(store, Prepared(lambda _: work), to=Target(MAIN), note=note)) is None


def test_a_step_that_is_undone_leaves_the_schema_as_it_was(tmp_path: Path) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_LAND_1, SCENARIOS["another schema"])
    before = store.snapshot().commit
    lose_staged_files(store)
    recover_all(store)
    head = store.snapshot().commit
    assert (head.kind, head.parent) == (CommitKind.RECOVERY, before.id)
    assert head.schema_hash == before.schema_hash
    assert contents(store) == OLD and cities_at(store.snapshot()) == {"york"}


def test_a_commit_from_before_types_could_be_dropped_is_read(store: GraphStore) -> None:
    head = store.snapshot().commit
    value = head.to_json()
    del value["dropped"]
    assert Commit.from_json(value) == head


def test_a_dropped_table_that_others_have_written_since_is_a_conflict(store: GraphStore) -> None:
    of_another_schema(store, "City", changes())
    other = open_store(store.root)
    fence, moves = store.fence, iter([cities("york")])

    def overtaken(name: BranchName, **options: object) -> object:
        if (move := next(moves, None)) is not None:
            put(other, move)
        return fence(name, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "fence", overtaken)
        with pytest.raises(ReadSetMoved, match="City"):
            of_another_schema(store, "Town", changes())
    assert cities_at(store.snapshot()) == {"york"}
