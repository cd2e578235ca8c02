"""Many processes at once: nothing is lost, nobody sees half a commit, history is one line."""

import itertools
import time

import pytest

from omnigraph.base.errors import ConflictError
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

WRITERS, READERS = 4, 2


@pytest.fixture
def times(place: str, request: pytest.FixtureRequest) -> int:
    """How often each writer writes."""
    return 3 if place.startswith("s3:") and not request.config.getoption("--deep") else 10


def one_more(snapshot: Snapshot) -> Edits:
    """Ada is a year older and knows one more: two tables that must always agree."""
    age = ages(snapshot)["ada"] + 1
    return changes(people=people(ada=age), knows=knows(f"ada-{age}"))


def write_often(place: str, branch: str, times: int, on_conflict: OnConflict) -> tuple[int, int]:
    """How often it was done, and how often refused."""
    store = open_store(place)
    refused = 0
    for _ in range(times):
        try:
            put(store, one_more, branch=branch, on_conflict=on_conflict)
        except ConflictError:
            refused += 1
    return times - refused, refused


def read_until(place: str, branches: list[str], years: int) -> int:
    """Read until every branch has come to `years`; raise if anything is torn or goes back."""
    store = open_store(place)
    seen = dict.fromkeys(branches, -1)
    reads = 0
    while min(seen.values()) < years:
        for branch in branches:
            snapshot = store.snapshot(BranchName(branch))
            age = ages(snapshot)["ada"]
            assert pairs(snapshot) == {f"ada-{year}" for year in range(1, age + 1)}
            assert age >= seen[branch]
            seen[branch] = age
            reads += 1
        time.sleep(0.05)
    return reads


def make_graph(place: str, branches: list[str]) -> None:
    store = make_store(place)
    put(store, changes(people=people(ada=0)))
    for branch in branches:
        if branch != MAIN:
            create_branch(store, BranchName(branch))


def assert_one_line(place: str, branch: str, years: int) -> None:
    store = open_store(place)
    assert contents(store, branch) == (
        {"ada": years},
        {f"ada-{year}" for year in range(1, years + 1)},
    )
    line = list(store.history().line(BranchName(branch)))
    assert [commit.seq for commit in line] == list(reversed(range(years + 2)))
    assert all(child.parent == parent.id for child, parent in itertools.pairwise(line))


@pytest.mark.disk
@pytest.mark.parametrize("branches", [[MAIN], ["a", "b", "c", "team/d"]], ids=["one", "four"])
def test_writers_lose_nothing_and_readers_see_whole_commits(
    place: str, branches: list[str], times: int
) -> None:
    make_graph(place, branches)
    years = times * WRITERS // len(branches)
    with processes.pool(WRITERS + READERS) as pool:
        readers = [pool.submit(read_until, place, branches, years) for _ in range(READERS)]
        writers = [
            pool.submit(write_often, place, branch, times, OnConflict.PREPARE_AGAIN)
            for branch, _ in zip(itertools.cycle(branches), range(WRITERS), strict=False)
        ]
        assert [writer.result() for writer in writers] == [(times, 0)] * WRITERS
        assert all(reader.result() for reader in readers)
    for branch in branches:
        assert_one_line(place, branch, years)


def test_a_writer_that_is_refused_has_no_effect(place: str, times: int) -> None:
    make_graph(place, [MAIN])
    with processes.pool(3) as pool:
        writers = [pool.submit(write_often, place, MAIN, times, OnConflict.RAISE) for _ in range(3)]
        done = sum(writer.result()[0] for writer in writers)
    assert done >= times
    assert_one_line(place, MAIN, done)
