"""Writers beside writers: who carries on, who prepares again, who is turned away."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.base.errors import (
    BranchBusy,
    PreconditionFailed,
    ReadSetMoved,
    RecoveryRequired,
)
from omnigraph.base.ids import MAIN, BranchName, TableKey
from omnigraph.store.branching import create_branch
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import with_row_ids, write_fragments
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import Append
from omnigraph.write.work import CommitNote, OnConflict, Replacement, Replay, Target, Work
from omnigraph.write.writer import write
from tests.store_contract.builders import (
    KNOWS,
    PERSON,
    ages,
    changes,
    contents,
    id_of,
    knows,
    make_store,
    open_store,
    people,
    put,
)


@pytest.fixture
def store(place: str) -> GraphStore:
    store = make_store(place)
    put(store, changes(people=people(ada=1)))
    return store


class Preparing:
    """Prepares a change, and while it does so the first time another writer comes first."""

    def __init__(self, change: Callable[[Snapshot], Edits], meanwhile: Callable[[], object]):
        self.times = 0
        self._change, self._meanwhile = change, meanwhile

    def __call__(self, snapshot: Snapshot) -> Edits:
        self.times += 1
        change = self._change(snapshot)
        if self.times == 1:
            self._meanwhile()
        return change


def test_another_head_alone_is_no_conflict(store: GraphStore) -> None:
    other = open_store(store.root)
    mine = Preparing(
        lambda _: changes(people=people(bob=2)),
        meanwhile=lambda: put(other, changes(knows=knows("ada-ada"))),
    )
    put(store, mine, on_conflict=OnConflict.RAISE)
    assert mine.times == 1
    assert contents(store) == ({"ada": 1, "bob": 2}, {"ada-ada"})


def test_a_write_that_may_is_prepared_again_on_what_is_there_now(store: GraphStore) -> None:
    other = open_store(store.root)
    mine = Preparing(
        lambda seen: changes(people=people(ada=ages(seen)["ada"] + 1)),
        meanwhile=lambda: put(other, changes(people=people(ada=10))),
    )
    put(store, mine, on_conflict=OnConflict.PREPARE_AGAIN)
    assert mine.times == 2
    assert contents(store)[0] == {"ada": 11}


@pytest.mark.parametrize("reads", [frozenset({PERSON.table_key}), None])
def test_a_write_that_may_not_is_turned_away_before_any_effect(
    store: GraphStore, reads: frozenset[TableKey] | None
) -> None:
    other = open_store(store.root)
    edit = {KNOWS.table_key: RowEdits(knows("ada-ada"))}
    mine = Preparing(
        lambda _: Edits(edit, reads=reads),
        meanwhile=lambda: put(other, changes(people=people(ada=10))),
    )
    with pytest.raises(ReadSetMoved) as caught:
        put(store, mine, on_conflict=OnConflict.RAISE)
    assert caught.value.tables == ("node:Person",)
    assert contents(store) == ({"ada": 10}, set())


def test_a_condition_on_the_head_is_checked_before_and_behind_the_fence(
    store: GraphStore,
) -> None:
    head = store.snapshot().commit.id
    other = open_store(store.root)
    late = Preparing(
        lambda _: changes(people=people(bob=2)),
        meanwhile=lambda: put(other, changes(knows=knows("ada-ada"))),
    )
    with pytest.raises(PreconditionFailed) as caught:
        put(store, late, if_commit=head)
    assert (late.times, caught.value.expected) == (1, head)
    with pytest.raises(PreconditionFailed):
        put(store, late, if_commit=head)
    assert late.times == 1
    assert put(store, changes(people=people(bob=2)), if_commit=store.snapshot().commit.id)


def test_a_preparation_that_fails_leaves_nothing(store: GraphStore) -> None:
    def failing(snapshot: Snapshot) -> Edits:
        raise LookupError("not today")

    before = sorted(store.objects.walk(""))
    with pytest.raises(LookupError):
        put(store, failing)
    assert sorted(store.objects.walk("")) == before


def test_a_merge_commit_has_two_parents_even_if_it_changes_no_row(store: GraphStore) -> None:
    create_branch(store, BranchName("side"))
    theirs = put(store, changes(people=people(bob=2)), branch="side")
    note = CommitNote(CommitKind.MERGE, merged_parent=theirs, extra={"load_id": "x"})
    merged = write(store, Replay(changes()), to=Target(MAIN), note=note)
    newest, before, _ = store.history().line()
    assert newest.id == id_of(merged)
    assert newest.parents == (before.id, theirs)
    assert newest.extra == {"load_id": "x"}


def test_a_writer_waits_for_the_fence_and_then_names_its_holder(store: GraphStore) -> None:
    other = open_store(store.root)
    with (
        store.fence(MAIN),
        pytest.raises(BranchBusy, match=r"held by process \d+"),
        other.fence(MAIN, timeout_s=0.01),
    ):
        raise AssertionError("two writers are inside")
    with other.fence(MAIN, timeout_s=0):
        pass


def test_rows_that_no_commit_names_are_not_built_upon(store: GraphStore) -> None:
    ref = store.snapshot().tables[PERSON.table_key].ref
    unnamed = Append(store.datasets.stage_rows(ref, people(ghost=0)))
    store.datasets.land(store.datasets.stage(ref, unnamed, {}))
    with pytest.raises(RecoveryRequired, match="stands at version 3"):
        put(store, changes(people=people(bob=2)))
    assert contents(store)[0] == {"ada": 1}


@pytest.mark.parametrize("put_rows", [{"bob": 9, "new": 5}, {}], ids=["with rows", "alone"])
def test_rows_in_files_come_with_rows_that_go_in_one_commit(
    store: GraphStore, put_rows: dict[str, int]
) -> None:
    put(store, changes(people=people(bob=2, eve=3)))

    def prepare(snapshot: Snapshot) -> Work:
        dataset, location = snapshot.dataset(PERSON), snapshot.location(PERSON)
        there = dataset.rows_of(pa.array(["ada", "bob"]))
        gone = there.filter(pc.equal(there["id"], "ada"))
        replaced = there.filter(pc.is_in(there["id"], value_set=pa.array([*put_rows], pa.string())))
        rows = people(**put_rows)
        fragments = write_fragments(snapshot.home(PERSON), iter(rows.to_batches()), rows.schema)
        work = Replacement(
            base=dataset.ref,
            fragments=with_row_ids(fragments, replaced["_rowid"].to_numpy()),
            addresses=replaced["_rowaddr"].to_numpy(),
            inserted=rows.num_rows - replaced.num_rows,
            written_at=location,
            deleted=gone["_rowaddr"].to_numpy(),
        )
        assert not work.is_empty
        return Work({PERSON.table_key: work}, frozenset(), OnConflict.RAISE)

    put(store, prepare)
    assert ages(store.snapshot(MAIN)) == {"bob": 2, "eve": 3} | put_rows
    (change,) = store.snapshot(MAIN).commit.changes
    assert (change.inserted, change.updated, change.deleted) == (
        *((1, 1) if put_rows else (0, 0)),
        1,
    )
