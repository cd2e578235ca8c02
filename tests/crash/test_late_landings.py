"""Landings of writers who had already lost: the next write undoes them, and only them."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from omnigraph.base.errors import FenceLost, ReadSetMoved, RecoveryRequired
from omnigraph.base.failpoints import NEVER, Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN
from omnigraph.store.audit import RecoveryAction, RecoveryRecord
from omnigraph.store.datasets import Datasets, LandingRefused
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import RECOVERY
from omnigraph.store.transactions import Append, DatasetRef, Restore, StagedTransaction
from omnigraph.write.recover import recover_all
from tests.buckets import location_of
from tests.crash.dying import OLD, SCENARIOS, optimize_on
from tests.crash.faulty import store_of
from tests.places import let_leases_end
from tests.store_contract.builders import (
    PERSON,
    changes,
    contents,
    knows,
    open_store,
    people,
    put,
)

EDIT = SCENARIOS["an edit of main"]
LATE = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def store(bucket: str) -> GraphStore:
    """A graph whose main was taken over once: its owners have the number 1."""
    store = EDIT.graph(bucket)
    with pytest.raises(Crash), store.fence(MAIN):
        raise Crash
    let_leases_end(store)
    with store.fence(MAIN) as held:
        assert held.number == 1
    return store


def newest(store: GraphStore) -> DatasetRef:
    ref = store.snapshot().tables[PERSON.table_key].ref
    return replace(ref, version=store.datasets.newest_version(ref.path, ref.branch))


def land_ghost(store: GraphStore, *, fencing: int, operation: str | None = LATE) -> None:
    """Rows that no commit names, landed on whatever is newest."""
    ref = newest(store)
    trace = {"fencing": str(fencing)} | ({"operation_id": operation} if operation else {})
    ghost = Append(store.datasets.stage_rows(ref, people(ghost=0)))
    store.datasets.land(store.datasets.stage(ref, ghost, trace))


def land_old_restoration(store: GraphStore) -> None:
    ref = newest(store)
    trace = {"fencing": "0", "operation_id": LATE}
    store.datasets.land(store.datasets.stage(ref, Restore(1), trace))


def note_down(store: GraphStore) -> None:
    """That the late operation was settled."""
    store.audit.add(
        RecoveryRecord(
            operation_id=LATE,
            action=RecoveryAction.ROLLED_BACK,
            kind="mutation",
            actor=None,
            branch=MAIN,
            commit_id=store.snapshot().commit.id,
            recovered_at_ms=0,
            outcomes={},
        )
    )


def land_settled_ghost(store: GraphStore) -> None:
    note_down(store)
    land_ghost(store, fencing=1)


def land_two_ghosts(store: GraphStore) -> None:
    land_ghost(store, fencing=0)
    land_settled_ghost(store)


@pytest.mark.parametrize(
    "land", [land_old_restoration, land_settled_ghost, land_two_ghosts], ids=lambda f: f.__name__
)
def test_what_a_lost_writer_landed_is_undone_by_the_next_write(
    store: GraphStore, land: Callable[[GraphStore], None]
) -> None:
    commits = len(list(store.history().line()))
    land(store)
    assert contents(store) == OLD
    put(store, changes(knows=knows("x-y")))
    assert contents(store) == (OLD[0], OLD[1] | {"x-y"})
    EDIT.write(store, NEVER)
    assert contents(open_store(store.root)) == (EDIT.new[0], EDIT.new[1] | {"x-y"})
    assert len(list(store.history().line())) == commits + 2


def test_on_a_disk_too_what_was_settled_is_undone(tmp_path: object) -> None:
    store = EDIT.graph(f"{tmp_path}/g")
    note_down(store)
    land_ghost(store, fencing=0)
    EDIT.write(store, NEVER)
    assert contents(store) == EDIT.new


def test_what_was_undone_is_not_undone_again(store: GraphStore) -> None:
    land_ghost(store, fencing=0)
    with pytest.raises(Crash):
        EDIT.write(store, CrashAt(Failpoint.AFTER_STAGE))
    restored = newest(store)
    let_leases_end(store)
    EDIT.write(store, NEVER)
    assert newest(store).version == restored.version + 1
    assert contents(store) == EDIT.new


def test_an_optimize_lands_on_what_was_restored(store: GraphStore) -> None:
    land_ghost(store, fencing=0)
    assert optimize_on(MAIN)(store, NEVER) is not None
    assert contents(open_store(store.root)) == OLD
    EDIT.write(store, NEVER)
    assert contents(store) == EDIT.new


@pytest.mark.parametrize(("fencing", "operation"), [(1, LATE), (0, None)])
def test_what_a_stranger_landed_is_left_to_an_operator(
    store: GraphStore, fencing: int, operation: str | None
) -> None:
    land_ghost(store, fencing=0)
    land_ghost(store, fencing=fencing, operation=operation)
    with pytest.raises(RecoveryRequired, match="the manifest names"):
        EDIT.write(store, NEVER)
    assert contents(store) == OLD


def test_a_note_with_a_higher_number_means_that_it_is_us_who_are_late(store: GraphStore) -> None:
    with pytest.raises(Crash):
        EDIT.write(store, CrashAt(Failpoint.AFTER_LAND_1))
    [name] = store.objects.list(RECOVERY)
    note = json.loads(store.objects.get(name) or b"")
    assert note["fencing"] == 1
    store.objects.put(name, json.dumps({**note, "fencing": 3}).encode())
    let_leases_end(store)
    with pytest.raises(FenceLost):
        EDIT.write(store, NEVER)
    assert contents(store) == OLD
    assert store.objects.list(RECOVERY) == [name]


# In the middle of another write -------------------------------------------------------------------


class Disturbed(Datasets):
    """While a table of nodes lands, someone who has lost lands on it too."""

    def __init__(self, place: str, when: str) -> None:
        super().__init__(location_of(place), Durability.RELAXED)
        self._when = when

    def land(self, staged: StagedTransaction) -> DatasetRef:
        when = self._when
        if not staged.base.path.startswith("nodes") or when == "done":
            return super().land(staged)
        self._when = "done"
        match when:
            case "before":
                self._land_ghost(staged.base)
                return super().land(staged)
            case "after":
                landed = super().land(staged)
                self._land_ghost(landed)
                return landed
            case _:  # Lance lets one land on top of the other, in silence
                super().land(replace(staged, base=self._land_ghost(staged.base)))
                raise LandingRefused(staged.base.path, "someone else moved it at the same time")

    def _land_ghost(self, on: DatasetRef) -> DatasetRef:
        ghost = Append(self.stage_rows(on, people(ghost=0)))
        return super().land(self.stage(on, ghost, {"operation_id": LATE, "fencing": "0"}))


@pytest.mark.parametrize("when", ["before", "beneath", "after"])
def test_a_landing_of_a_lost_writer_beside_ours_is_never_seen(store: GraphStore, when: str) -> None:
    place = str(store.root)
    writer = store_of(place, datasets=Disturbed(place, when))
    if when == "after":
        EDIT.write(writer, NEVER)
    else:
        with pytest.raises(ReadSetMoved, match="node:Person"):
            EDIT.write(writer, NEVER)
        assert contents(store) == OLD
        assert store.objects.list(RECOVERY) == []
        EDIT.write(store, NEVER)
    assert contents(store) == EDIT.new
    put(store, changes(people=people(zoe=1)))
    assert contents(open_store(place)) == ({**EDIT.new[0], "zoe": 1}, EDIT.new[1])


def test_a_ghost_above_an_unfinished_write_does_not_keep_it_from_being_settled(
    store: GraphStore,
) -> None:
    with pytest.raises(Crash):
        EDIT.write(store, CrashAt(Failpoint.AFTER_LAND_ALL))
    land_ghost(store, fencing=0)
    let_leases_end(store)
    recover_all(store)
    assert contents(store) == OLD
    put(store, changes(people=people(zoe=1)))
    assert contents(open_store(store.root)) == ({**OLD[0], "zoe": 1}, OLD[1])
