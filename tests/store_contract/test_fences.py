"""Fences: locks on a disk, leases in a bucket, and what only leases can do: pass on."""

import errno
import fcntl
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from omnigraph.base.clock import SystemClock
from omnigraph.base.errors import BranchBusy, FenceLost, StorageFailed, StoreUnfit
from omnigraph.base.failpoints import Crash
from omnigraph.store.bucket import BucketObjects
from omnigraph.store.fence import Fences, FileFences, Hold
from omnigraph.store.lease import LeaseFences
from tests.buckets import CARELESS, bucket_access
from tests.processes import PATIENCE_S, wait_until

LEASE_S = 10.0


class HeldClock(SystemClock):
    """Time passes when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.ms = 1_000_000

    def now_ms(self) -> int:
        return self.ms

    def pass_s(self, seconds: float) -> None:
        self.ms += round(1000 * seconds)


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
def objects() -> BucketObjects:
    return BucketObjects(MemoryStore(), "memory")


def leases(objects: BucketObjects, clock: HeldClock) -> LeaseFences:
    """As another process would make them: the threads of one don't meet here."""
    return LeaseFences(objects, clock, address="memory", lease_s=LEASE_S)


@pytest.fixture(params=["lock", "lease"])
def fences(
    request: pytest.FixtureRequest, tmp_path: Path, objects: BucketObjects, clock: HeldClock
) -> Callable[[], Fences]:
    """Makes fences over the same things, as two processes would."""
    if request.param == "lock":
        return lambda: FileFences(tmp_path)
    return lambda: leases(objects, clock)


def try_hold(fences: Fences, at_least: int = 0) -> int:
    with fences.hold("main", timeout_s=0, at_least=at_least) as hold:
        return hold.number


# Both kinds --------------------------------------------------------------------------------------


def test_one_holds_it_and_another_is_told_who(fences: Callable[[], Fences]) -> None:
    one, other = fences(), fences()
    one.require()
    with one.hold("main", timeout_s=0) as hold:
        with pytest.raises(BranchBusy, match=rf"held by process {os.getpid()} on "):
            try_hold(other)
        with pytest.raises(BranchBusy), one.hold("main", timeout_s=0.01):
            raise AssertionError("a thread of the same process is kept out too")
        with other.hold("work", timeout_s=0):
            hold.check()
            hold.confirm()
    assert try_hold(other) == 0


def test_who_waits_goes_in_as_soon_as_it_is_free(fences: Callable[[], Fences]) -> None:
    inside: list[str] = []

    def wait() -> None:
        with fences().hold("main", timeout_s=PATIENCE_S):
            inside.append("second")

    with fences().hold("main", timeout_s=0):
        waiting = threading.Thread(target=wait)
        waiting.start()
        inside.append("first")
    waiting.join()
    assert inside == ["first", "second"]


def test_an_error_inside_frees_it(fences: Callable[[], Fences]) -> None:
    with pytest.raises(LookupError), fences().hold("main", timeout_s=0):
        raise LookupError
    assert try_hold(fences()) == 0


def test_its_number_is_not_below_what_is_asked(fences: Callable[[], Fences]) -> None:
    assert try_hold(fences(), at_least=7) == 7
    assert try_hold(fences(), at_least=7) == 7


def test_nothing_is_left_of_a_fence_that_does_not_last(
    fences: Callable[[], Fences], tmp_path: Path, objects: BucketObjects
) -> None:
    def left() -> list[str]:
        return [*objects.list("__locks"), *map(str, tmp_path.glob("__locks/*"))]

    for _ in range(2):
        with fences().hold("load", timeout_s=0, is_lasting=False) as hold:
            assert (hold.number, len(left())) == (0, 1)
            with pytest.raises(BranchBusy):
                try_hold_briefly(fences())
        assert left() == []
    with pytest.raises(LookupError), fences().hold("load", timeout_s=0, is_lasting=False):
        raise LookupError
    assert left() == []


def try_hold_briefly(fences: Fences) -> None:
    with fences.hold("load", timeout_s=0, is_lasting=False):
        pass


def test_of_many_who_take_a_fence_that_does_not_last_one_is_inside(
    fences: Callable[[], Fences],
) -> None:
    inside, most = 0, 0

    def take() -> None:
        nonlocal inside, most
        for _ in range(20):
            with fences().hold("load", timeout_s=PATIENCE_S, is_lasting=False):
                inside += 1
                most = max(most, inside)
                inside -= 1

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(take) for _ in range(4)]:
            done.result()
    assert (inside, most) == (0, 1)


# Leases ------------------------------------------------------------------------------------------


def die_inside(fences: LeaseFences) -> Hold:
    """Hold it, and come to an end at which nothing is given back."""
    with pytest.raises(Crash), fences.hold("main", timeout_s=0) as hold:
        raise Crash
    return hold


def test_what_a_dead_holder_left_is_free_when_its_time_is_over_and_not_before(
    objects: BucketObjects, clock: HeldClock
) -> None:
    die_inside(leases(objects, clock))
    clock.pass_s(LEASE_S - 0.001)
    with pytest.raises(BranchBusy):
        try_hold(leases(objects, clock))
    clock.pass_s(0.001)
    assert try_hold(leases(objects, clock)) == 1


def test_a_renewed_lease_lasts_as_long_again(objects: BucketObjects, clock: HeldClock) -> None:
    hold = die_inside(leases(objects, clock))
    clock.pass_s(LEASE_S - 1)
    hold.confirm()
    clock.pass_s(LEASE_S - 1)
    with pytest.raises(BranchBusy):
        try_hold(leases(objects, clock))
    clock.pass_s(1)
    assert try_hold(leases(objects, clock)) == 1


def test_a_lease_past_its_end_is_still_ours_if_nobody_took_it(
    objects: BucketObjects, clock: HeldClock
) -> None:
    hold = die_inside(leases(objects, clock))
    clock.pass_s(100 * LEASE_S)
    hold.check()
    with pytest.raises(BranchBusy):
        try_hold(leases(objects, clock))


def test_a_check_asks_only_near_the_end(objects: BucketObjects, clock: HeldClock) -> None:
    hold = die_inside(leases(objects, clock))
    before = objects.get("__locks/main")
    hold.check()
    clock.pass_s(0.7 * LEASE_S)
    hold.check()
    assert objects.get("__locks/main") == before
    clock.pass_s(0.2 * LEASE_S)
    hold.check()
    assert objects.get("__locks/main") != before


def test_who_was_taken_over_from_learns_it_by_asking_and_disturbs_nobody(
    objects: BucketObjects, clock: HeldClock
) -> None:
    first = leases(objects, clock)
    with pytest.raises(FenceLost), first.hold("main", timeout_s=0) as late:
        clock.pass_s(LEASE_S)
        with leases(objects, clock).hold("main", timeout_s=0) as owner:
            assert (late.number, owner.number) == (0, 1)
            with pytest.raises(FenceLost, match=rf"taken over by process {os.getpid()} on "):
                late.confirm()
            with pytest.raises(FenceLost):
                late.check()
            owner.confirm()
        late.confirm()  # and it is given back, which must not count
    with leases(objects, clock).hold("main", timeout_s=0) as next_:
        assert next_.number == 1


@given(st.lists(st.sampled_from(["give back", "die"]), max_size=12))
def test_the_number_grows_with_each_holder_that_gave_nothing_back(ends: list[str]) -> None:
    objects, clock = BucketObjects(MemoryStore(), "memory"), HeldClock()
    dead = 0
    for end in ends:
        if end == "die":
            assert die_inside(leases(objects, clock)).number == dead
            clock.pass_s(LEASE_S)
            dead += 1
        else:
            assert try_hold(leases(objects, clock)) == dead


class LosesAnswers(BucketObjects):
    """Every put that it carries out is reported as refused, as a broken connection may do."""

    def swap(self, name: str, data: bytes, *, expected: str | None) -> str | None:
        super().swap(name, data, expected=expected)
        return None


def test_an_answer_that_is_lost_loses_no_lease(clock: HeldClock) -> None:
    store = MemoryStore()
    with leases(LosesAnswers(store, "memory"), clock).hold("main", timeout_s=0) as hold:
        clock.pass_s(LEASE_S)
        hold.confirm()
        with pytest.raises(BranchBusy):
            try_hold(leases(BucketObjects(store, "memory"), clock))
    assert try_hold(leases(BucketObjects(store, "memory"), clock)) == 0


def test_a_holder_at_work_keeps_its_lease_however_long_it_takes(
    objects: BucketObjects, clock: HeldClock
) -> None:
    lease_s = 0.3

    def short() -> LeaseFences:
        return LeaseFences(objects, clock, address="memory", lease_s=lease_s)

    def ends_at_ms() -> int:
        return int(json.loads(objects.get("__locks/main") or b"{}")["expires_at_ms"])

    with short().hold("main", timeout_s=0) as hold:
        for _ in range(3):
            clock.pass_s(lease_s * 0.9)
            renewed_ms = clock.now_ms() + round(1000 * lease_s)
            wait_until(lambda due=renewed_ms: ends_at_ms() == due, "it was not renewed")  # type: ignore[misc]
        with pytest.raises(BranchBusy):
            try_hold(short())
        hold.check()


def test_a_lease_that_can_not_be_read_is_a_storage_failure(
    objects: BucketObjects, clock: HeldClock
) -> None:
    for text in ("", "[]", json.dumps({"number": 1})):
        objects.put("__locks/main", text.encode())
        with pytest.raises(StorageFailed, match="read lease"):
            try_hold(leases(objects, clock))


# Places where writers can't be kept apart ---------------------------------------------------------


class IgnoresTags(BucketObjects):
    def swap(self, name: str, data: bytes, *, expected: str | None) -> str | None:
        if expected is None:
            return super().swap(name, data, expected=None)
        self.put(name, data)
        return ""


def test_a_bucket_that_ignores_the_conditions_of_a_put_is_refused(
    s3: str, clock: HeldClock
) -> None:
    careless = BucketObjects.at(CARELESS, "g", bucket_access().options(CARELESS))
    with pytest.raises(StoreUnfit, match="ignores If-None-Match"):
        leases(careless, clock).require()
    with pytest.raises(StoreUnfit, match="ignores If-Match"):
        leases(IgnoresTags(MemoryStore(), "memory"), clock).require()


def test_a_bucket_that_honours_them_is_good_however_often_it_is_asked(
    objects: BucketObjects, clock: HeldClock
) -> None:
    for _ in range(3):
        leases(objects, clock).require()


def test_a_file_system_without_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StoreUnfit, match="can't lock files"):
        FileFences(tmp_path).require()
    with pytest.raises(StoreUnfit, match="No locks available"):
        try_hold(FileFences(tmp_path))
