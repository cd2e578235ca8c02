"""Many processes for long enough that tables are compacted under their hands: with --deep.

`test_races` has the same promises at a size for every day.

Each commit raises ada's age by one and adds one edge. So whoever reads a branch finds as many edges
as ada has years, or has seen tables of two different commits.
"""

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from omnigraph.base.errors import ReadSetMoved
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branching import create_branch
from omnigraph.store.changes import Edits
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import OnConflict
from tests import processes
from tests.store_contract.builders import (
    ages,
    changes,
    contents,
    knows,
    make_store,
    open_store,
    pairs,
    people,
    put,
)

DONE = "done"


def write_many(place: str, branch: str, name: str, commits: int, *, insists: bool) -> int:
    """Commit so many times. Gives how often it was turned away, if it does not insist."""
    store, refusals = open_store(place), 0
    on_conflict = OnConflict.PREPARE_AGAIN if insists else OnConflict.RAISE

    def prepare(snapshot: Snapshot) -> Edits:
        age = ages(snapshot)["ada"]
        return changes(people=people(ada=age + 1), knows=knows(f"{name}-{age}"))

    for _ in range(commits):
        while True:
            try:
                assert put(store, prepare, branch=branch, on_conflict=on_conflict)
                break
            except ReadSetMoved:
                refusals += 1
    return refusals


def read_until_done(place: str, branches: list[str], *, opens_anew: bool) -> int:
    """Read over and over until the file is there; give how many snapshots were looked at."""
    store, latest, looks = open_store(place), dict.fromkeys(branches, -1), 0
    while not Path(place, DONE).exists():
        for branch in branches:
            store = open_store(place) if opens_anew else store
            snapshot = store.snapshot(BranchName(branch))
            assert ages(snapshot)["ada"] == len(pairs(snapshot)), "tables of two commits"
            assert snapshot.commit.seq >= latest[branch], "backwards in time"
            latest[branch] = snapshot.commit.seq
            looks += 1
            time.sleep(0.005)  # leave the processor to the writers now and then
    return looks


@dataclass(frozen=True)
class Crowd:
    """How many processes write, and how many commits each makes."""

    writers: int
    commits: int


@pytest.fixture
def crowd(request: pytest.FixtureRequest) -> Crowd:
    return Crowd(8, 50) if request.config.getoption("--deep") else Crowd(3, 5)


@pytest.fixture
def pool(crowd: Crowd) -> Iterator[ProcessPoolExecutor]:
    with processes.pool(crowd.writers + 2) as pool:
        yield pool


@pytest.mark.parametrize("branching", ["one branch", "a branch each"])
def test_processes_that_write_at_once_lose_nothing_and_tear_nothing(
    tmp_path: Path, pool: ProcessPoolExecutor, crowd: Crowd, branching: str
) -> None:
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=0), knows=knows()))
    names = [f"w{number}" for number in range(crowd.writers)]
    branches = [MAIN] if branching == "one branch" else [BranchName(f"of/{n}") for n in names]
    for branch in branches:
        if branch != MAIN:
            create_branch(store, branch)

    readers = [
        pool.submit(read_until_done, str(tmp_path), [*branches], opens_anew=anew)
        for anew in (False, True)
    ]
    work: list[Future[int]] = [
        pool.submit(write_many, str(tmp_path), branch, name, crowd.commits, insists=i % 2 == 0)
        for i, (name, branch) in enumerate(zip(names, itertools.cycle(branches), strict=False))
    ]
    try:
        refusals = [writer.result() for writer in work]
    finally:
        Path(tmp_path, DONE).touch()
    assert all(reader.result() > 0 for reader in readers)

    assert all(count == 0 for count in refusals[::2])
    per_branch = crowd.writers * crowd.commits // len(branches)
    for branch in branches:
        found, edges = contents(store, branch)
        assert found == {"ada": per_branch}
        # Every age was given once, by whoever made the commit that follows it.
        assert sorted(int(edge.split("-")[1]) for edge in edges) == list(range(per_branch))
        line = list(store.history().line(branch))
        assert [c.seq for c in line] == list(reversed(range(len(line))))
        assert all(after.parent == before.id for after, before in itertools.pairwise(line))
        assert sum(commit.actor == "tester" for commit in line) == per_branch + 1
