"""Writers that stand still for too long and then go on as if nothing had happened.

In a bucket another writer takes their branch over meanwhile; on a disk nobody can.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from omnigraph.base.clock import SystemClock
from omnigraph.base.errors import (
    BranchBusy,
    FenceLost,
    OmnigraphError,
    OutcomePending,
    StorageFailed,
)
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.changes import Edits
from omnigraph.store.datasets import Datasets, LandingRefused
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import RECOVERY
from omnigraph.store.transactions import DatasetRef, StagedTransaction
from omnigraph.write.recover import recover
from omnigraph.write.sidecar import sidecars
from omnigraph.write.work import OnConflict
from tests.buckets import location_of
from tests.crash.dying import OLD, SCENARIOS, Contents
from tests.crash.faulty import store_of
from tests.places import let_leases_end
from tests.processes import PATIENCE_S
from tests.store_contract.builders import (
    changes,
    contents,
    knows,
    open_store,
    people,
    put,
)

EDIT = SCENARIOS["an edit of main"]

# Where a writer stands still, and what recovery makes of its write meanwhile.
POINTS = {
    Failpoint.AFTER_STAGE: OLD,
    Failpoint.AFTER_ARM: OLD,
    Failpoint.AFTER_LAND_1: OLD,
    Failpoint.AFTER_LAND_ALL: OLD,
    Failpoint.AFTER_PUBLISH: EDIT.new,
}

OTHERS: dict[str, Edits] = {
    "the same tables": changes(people=people(kim=4), knows=knows("kim-ada")),
    "one of its tables": changes(knows=knows("ada-ada")),
}


def after(first: Contents, change: str) -> Contents:
    match change:
        case "the same tables":
            return {**first[0], "kim": 4}, first[1] | {"kim-ada"}
        case _:
            return first[0], first[1] | {"ada-ada"}


def assert_healthy(store: GraphStore, held: Contents) -> None:
    """Nothing but what is expected is there, and the next writes need no repair."""
    assert contents(store) == held
    put(store, changes(people=people(zoe=1), knows=knows("zoe-ada")))
    assert contents(store) == ({**held[0], "zoe": 1}, held[1] | {"zoe-ada"})
    assert contents(open_store(store.root)) == contents(store)
    assert store.objects.list(RECOVERY) == []
    line = list(store.history().line())
    assert [commit.seq for commit in line] == list(reversed(range(len(line))))


class Pauses:
    """Stands still at a failpoint until it is told to go on."""

    def __init__(self, point: Failpoint) -> None:
        self._point = point
        self.is_there, self.may_go_on = threading.Event(), threading.Event()

    def reach(self, point: Failpoint) -> None:
        if point is self._point and not self.is_there.is_set():
            self.is_there.set()
            assert self.may_go_on.wait(PATIENCE_S)


@pytest.mark.parametrize(
    ("point", "other"),
    [
        *((point, "the same tables") for point in POINTS),
        (Failpoint.AFTER_STAGE, "one of its tables"),
        (Failpoint.AFTER_ARM, "one of its tables"),
        (Failpoint.AFTER_LAND_1, "one of its tables"),
        (Failpoint.AFTER_LAND_ALL, "one of its tables"),
    ],
)
def test_a_writer_that_does_not_know_that_it_lost_its_lease_changes_nothing(
    bucket: str, point: Failpoint, other: str
) -> None:
    EDIT.graph(bucket)
    # Its clock gives it no reason to ask: only numbers and conditional puts are in its way.
    late = store_of(bucket, lease_s=1_000_000)
    pauses = Pauses(point)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(EDIT.write, late, pauses)
        assert pauses.is_there.wait(PATIENCE_S)
        let_leases_end(late)
        owner = open_store(bucket)
        put(owner, OTHERS[other], on_conflict=OnConflict.PREPARE_AGAIN)
        expected = after(POINTS[point], other)
        assert contents(owner) == expected
        pauses.may_go_on.set()
        failure = writing.exception()
    if POINTS[point] == OLD:
        assert isinstance(failure, FenceLost | OutcomePending)
    else:
        # It had published while the lease was its own.
        assert failure is None
    assert_healthy(owner, expected)


def test_from_the_first_act_of_a_new_owner_no_earlier_one_can_publish(bucket: str) -> None:
    EDIT.graph(bucket)
    late = store_of(bucket, lease_s=1_000_000)
    pauses = Pauses(Failpoint.AFTER_LAND_ALL)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(EDIT.write, late, pauses)
        assert pauses.is_there.wait(PATIENCE_S)
        let_leases_end(late)
        owner = open_store(bucket)
        with owner.fence(MAIN) as held:
            pauses.may_go_on.set()
            # Whether it is done will be known when the owner has looked at it.
            assert isinstance(writing.exception(), OutcomePending)
            assert contents(owner) == OLD
            recover(owner, held)
    assert_healthy(owner, OLD)


class Unlooking(Datasets):
    """Lands without looking at what is newest, as if it had looked long ago."""

    def is_newest(self, ref: DatasetRef) -> bool:
        return True


@pytest.mark.parametrize("scenario", ["an edit of main", "a load", "an optimize", "an index build"])
def test_what_had_not_landed_when_it_was_undone_never_lands(bucket: str, scenario: str) -> None:
    store = SCENARIOS[scenario].graph(bucket)
    with pytest.raises(Crash):
        SCENARIOS[scenario].write(store, CrashAt(Failpoint.AFTER_ARM))
    let_leases_end(store)
    with store.fence(MAIN) as held:
        [sidecar] = sidecars(store, held)
        recover(store, held)
    for table in sidecar.tables:
        with pytest.raises(LandingRefused):
            Unlooking(store.root).land(table.transactions[0])
    assert_healthy(store, SCENARIOS[scenario].old)


class Troubled(Datasets):
    """A bucket that fails once while nodes land, when something else happens too."""

    def __init__(self, place: str, meanwhile: Callable[[], object]) -> None:
        super().__init__(location_of(place))
        self._meanwhile = [meanwhile]

    def land(self, staged: StagedTransaction) -> DatasetRef:
        if staged.base.path.startswith("nodes") and self._meanwhile:
            self._meanwhile.pop()()
            raise StorageFailed(doing="land", path=staged.base.path, reason="timed out")
        return super().land(staged)


def test_two_unfinished_writes_that_are_in_each_others_way_are_both_undone(bucket: str) -> None:
    EDIT.graph(bucket)
    late = store_of(bucket, lease_s=1_000_000)
    pauses = Pauses(Failpoint.AFTER_STAGE)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(EDIT.write, late, pauses)
        assert pauses.is_there.wait(PATIENCE_S)
        let_leases_end(late)

        def let_the_late_one_leave_its_note() -> None:
            pauses.may_go_on.set()
            assert isinstance(writing.exception(), OutcomePending)

        owner = store_of(bucket, datasets=Troubled(bucket, let_the_late_one_leave_its_note))
        with pytest.raises(StorageFailed, match="timed out"):
            put(owner, OTHERS["the same tables"])
    assert_healthy(owner, OLD)


class ForksLate(Datasets):
    """Stands still when it is about to fork."""

    def __init__(self, place: str, pauses: Pauses) -> None:
        super().__init__(location_of(place))
        self._pauses = pauses

    def fork(self, source: DatasetRef, name: str) -> DatasetRef:
        self._pauses.reach(Failpoint.AFTER_STAGE)
        return super().fork(source, name)

    def delete_fork(self, path: str, name: str) -> None:
        raise StorageFailed(doing="delete", path=name, reason="it died before it could")


class FastClock(SystemClock):
    """An hour ahead, so that what is named by it seems to be the latest."""

    def now_ms(self) -> int:
        return super().now_ms() + 3_600_000


@pytest.mark.parametrize("is_swept", [True, False])
def test_of_two_branches_of_one_name_the_one_made_by_the_owner_counts(
    bucket: str, monkeypatch: pytest.MonkeyPatch, is_swept: bool
) -> None:
    EDIT.graph(bucket)
    pauses, work = Pauses(Failpoint.AFTER_STAGE), BranchName("work")
    if is_swept:
        monkeypatch.delattr(ForksLate, "delete_fork")
    forks_late = ForksLate(bucket, pauses)
    late = store_of(bucket, lease_s=1_000_000, datasets=forks_late, clock=FastClock())
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(create_branch, late, work)
        assert pauses.is_there.wait(PATIENCE_S)
        let_leases_end(late)
        owner = open_store(bucket)
        create_branch(owner, work)
        put(owner, changes(people=people(kim=4)), branch=work)
        pauses.may_go_on.set()
        assert isinstance(making.exception(), FenceLost if is_swept else StorageFailed)
    for store in (owner, open_store(bucket)):
        assert [branch.name for branch in store.branches.list()] == [MAIN, work]
        assert contents(store, work)[0]["kim"] == 4
    delete_branch(owner, work)
    assert [branch.name for branch in open_store(bucket).branches.list()] == [MAIN]


# For real ----------------------------------------------------------------------------------------

# Long enough that no writer loses it on a busy machine, unless it stands still.
LEASE_S = 4.0


class StopsAt:
    def __init__(self, point: Failpoint) -> None:
        self._point = point

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            os.kill(os.getpid(), signal.SIGSTOP)


def write_and_stop(place: str, point: Failpoint, told: str) -> None:
    """To be run in a process of its own: write, stand still, and tell how it ended."""
    try:
        EDIT.write(store_of(place, lease_s=LEASE_S), StopsAt(point))
        end = "done"
    except OmnigraphError as error:
        end = type(error).__name__
    Path(told).write_text(end)


@contextmanager
def stopped_writer(place: str, point: Failpoint, told: Path) -> Iterator[BaseProcess]:
    """A process that writes and has come to a halt at the failpoint."""
    writer = get_context("spawn").Process(target=write_and_stop, args=(place, point, str(told)))
    writer.start()
    try:
        assert writer.pid is not None
        os.waitid(os.P_PID, writer.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert writer.is_alive()
        yield writer
    finally:
        writer.kill()
        writer.join()


def go_on(writer: BaseProcess) -> None:
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGCONT)
    writer.join()


@pytest.mark.parametrize(
    "point", [Failpoint.AFTER_ARM, Failpoint.AFTER_LAND_1, Failpoint.AFTER_LAND_ALL]
)
def test_a_process_stopped_past_its_lease_publishes_nothing_and_is_told_so(
    bucket: str, tmp_path: Path, point: Failpoint
) -> None:
    EDIT.graph(bucket)
    other = "the same tables"
    with stopped_writer(bucket, point, tmp_path / "told") as writer:
        owner = store_of(bucket, lease_s=LEASE_S)
        put(owner, OTHERS[other], on_conflict=OnConflict.PREPARE_AGAIN)
        assert contents(owner) == after(OLD, other)
        go_on(writer)
    assert (tmp_path / "told").read_text() == "FenceLost"
    assert_healthy(owner, after(OLD, other))


def test_on_a_disk_others_wait_for_a_stopped_process_and_are_told_which(tmp_path: Path) -> None:
    place = str(tmp_path / "place")
    EDIT.graph(place)
    with stopped_writer(place, Failpoint.AFTER_LAND_1, tmp_path / "told") as writer:
        impatient = store_of(place, fence_timeout_s=0.2)
        with pytest.raises(BranchBusy, match=f"held by process {writer.pid} on .*waited 0.2 s"):
            put(impatient, changes(people=people(kim=4)))
        assert contents(impatient) == OLD
        go_on(writer)
    assert (tmp_path / "told").read_text() == "done"
    assert_healthy(open_store(place), EDIT.new)
