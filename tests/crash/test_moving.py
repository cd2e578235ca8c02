"""A graph that is brought to a new place, dead at every step of it; and what was pending when it
was moved."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branching import create_branch
from omnigraph.store.bucket import BucketObjects
from omnigraph.store.datasets.version_file import parse_version_file
from omnigraph.store.durability import Disk
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.moving import bring_here
from omnigraph.store.objects import DiskObjects
from omnigraph.write.recover import recover_all
from tests.crash.dying import SCENARIOS, Life
from tests.crash.test_crash import assert_settled, assert_writable
from tests.crash.test_kills import killed
from tests.places import copied, let_leases_end, moved
from tests.store_contract.builders import (
    changes,
    contents,
    knows,
    make_store,
    open_store,
    people,
    put,
)

WORK, SUB = BranchName("team/work"), BranchName("sub")

# Every object that is written or removed; and on a disk, between its bytes and its name.
STEPS = (
    (DiskObjects, "put"),
    (DiskObjects, "delete"),
    (BucketObjects, "put"),
    (BucketObjects, "delete"),
    (Disk, "sync_bytes"),
)


@contextmanager
def mortal(life: Life) -> Iterator[None]:
    """Every change of storage in this process is a step of a life."""

    def step(change: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **options: life.step(lambda: change(*arguments, **options))

    with pytest.MonkeyPatch.context() as patch:
        for kind, name in STEPS:
            patch.setattr(kind, name, step(getattr(kind, name)))
        yield


def die_moving_in(place: str, steps: int) -> None:
    """To be run in a process of its own, and be killed in it."""
    life = Life(steps, is_after=True, end=lambda: os.kill(os.getpid(), signal.SIGKILL))
    with mortal(life):
        bring_here(open_store(place))


def forked(place: str) -> dict[str, Any]:
    """A graph with a branch and a branch of that one; what its branches hold."""
    store = make_store(place)
    put(store, changes(people=people(ada=1, bob=2), knows=knows("ada-bob")))
    create_branch(store, WORK)
    put(store, changes(people=people(eve=3), gone=["bob"]), branch=WORK)
    create_branch(store, SUB, from_=WORK)
    put(store, changes(people=people(ann=4), knows=knows("ann-eve")), branch=SUB)
    return held(store)


def held(store: GraphStore) -> dict[str, Any]:
    return {branch.name: contents(store, branch.name) for branch in store.branches.list()}


def assert_whole(place: str, source: str) -> int:
    """Every version file is whole, with bases that are all old or all new; how many are new."""
    store, new = open_store(place), 0
    for name in store.objects.walk(""):
        if name.endswith(".manifest"):
            bases = parse_version_file(store.objects.get(name) or b"").bases
            of_place = [base.path.startswith(f"{place}/") for base in bases]
            assert all(of_place) or all(base.path.startswith(f"{source}/") for base in bases)
            new += any(of_place)
    return new


@pytest.mark.parametrize(
    ("place", "is_after", "stride"),
    [("disk", True, 1), ("disk", False, 3), ("s3", True, 4)],
    indirect=["place"],
)
def test_moving_in_dead_at_any_step_and_begun_again_comes_to_the_same_end(
    place: str, is_after: bool, stride: int
) -> None:
    source = f"{place}/original"
    expected = forked(source)
    for steps in range(1, 100, stride):
        here = copied(source, f"{place}/{steps}")
        try:
            with mortal(Life(steps, is_after=is_after)):
                bring_here(open_store(here))
            was_killed = False
        except Crash:
            was_killed = True
        assert_whole(here, source)
        store = open_store(here)
        assert contents(store) == expected[MAIN]
        let_leases_end(store)
        bring_here(store)
        assert held(store) == expected
        assert store.datasets.bring_forks_here() == 0
        assert store.address.recorded() == here
        if not was_killed:
            assert steps > 10
            return
        for branch in (MAIN, WORK, SUB):
            put(store, changes(people=people(zoe=1)), branch=branch)
    raise AssertionError("moving in takes more steps than it should")


@pytest.mark.parametrize("steps", [1, 9])
def test_a_process_killed_while_it_moves_in_leaves_the_rest_to_the_next(
    tmp_path: Path, steps: int
) -> None:
    source, here = str(tmp_path / "original"), str(tmp_path / "here")
    expected = forked(source)
    copied(source, here)
    assert killed(die_moving_in, here, steps)
    assert_whole(here, source)
    store = open_store(here)
    assert store.address.recorded() is None
    bring_here(store)
    assert held(store) == expected
    put(store, changes(people=people(zoe=1)), branch=SUB)
    assert held(open_store(source)) == expected


PENDING = ("an edit of main", "the first edit of a branch", "a merge")


@pytest.mark.parametrize("point", Failpoint)
@pytest.mark.parametrize("scenario", PENDING)
def test_what_was_unfinished_when_a_graph_was_moved_is_settled_where_it_is_now(
    tmp_path: Path, scenario: str, point: Failpoint
) -> None:
    settle_elsewhere(f"{tmp_path}/there", f"{tmp_path}/here", scenario, point)


@pytest.mark.parametrize(
    ("scenario", "point"),
    [
        ("the first load of a branch, that merges", Failpoint.AFTER_LAND_1),
        ("the first edit of a branch", Failpoint.AFTER_ARM),
    ],
)
def test_what_was_unfinished_in_a_bucket_is_settled_in_another_place(
    bucket: str, scenario: str, point: Failpoint
) -> None:
    settle_elsewhere(bucket, f"{bucket}-moved", scenario, point)


def settle_elsewhere(there: str, here: str, scenario: str, point: Failpoint) -> None:
    expected = SCENARIOS[scenario]
    with pytest.raises(Crash):
        expected.write(expected.graph(there), CrashAt(point))
    store = open_store(moved(there, here))
    let_leases_end(store)
    bring_here(store)
    recover_all(store)
    assert_settled(store, expected, point)
    assert_writable(store, expected.branch)
    assert_writable(open_store(here), expected.branch)
