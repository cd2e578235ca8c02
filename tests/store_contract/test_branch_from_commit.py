"""Branches from any commit: whole from the first moment, and never seen with another head."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.base.errors import (
    BranchExists,
    BranchHasChildren,
    BranchMissing,
    CommitMissing,
)
from omnigraph.base.failpoints import Crash
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.store.limits import StoreLimits
from omnigraph.store.moving import bring_here
from tests.crash.dying import Life, mortal_store
from tests.places import let_leases_end
from tests.store_contract.builders import (
    ages,
    changes,
    contents,
    knows,
    load,
    make_store,
    open_store,
    people,
    put,
)

FEW = StoreLimits(commits_per_cold_fragment=8)
PAST, WORK, DEEPER = BranchName("past"), BranchName("team/work"), BranchName("deeper")


def grown(store: GraphStore, count: int, branch: str = MAIN, *, first: int = 1) -> list[CommitId]:
    """Commits that count the age of ada up, and what they are called."""
    made = []
    for age in range(first, first + count):
        edges = knows("ada-ada") if age == first else None
        id_ = put(store, changes(people=people(ada=age), knows=edges), branch=branch)
        assert id_ is not None
        made.append(id_)
    return made


def line(store: GraphStore, branch: str) -> list[CommitId]:
    return [commit.id for commit in store.history().line(BranchName(branch))]


def test_a_branch_from_a_past_commit_shows_it_and_goes_its_own_way(place: str) -> None:
    store = make_store(place)
    ids = grown(store, 5)
    for at, age in ((ids[2], 3), (ids[4], 5)):
        name = BranchName(f"at-{age}")
        create_branch(store, name, at=at)
        for opened in (store, open_store(place)):
            assert contents(opened, name) == ({"ada": age}, {"ada-ada"})
            assert line(opened, name) == line(opened, MAIN)[5 - age :]
            assert opened.snapshot(name).commit.id == at
        put(store, changes(people=people(bob=age), knows=knows("bob-ada")), branch=name)
        load(store, people=people(eve=1), knows=knows("eve-ada"), branch=name)
        for opened in (store, open_store(place)):
            assert contents(opened, name)[0] == {"ada": age, "bob": age, "eve": 1}
            assert line(opened, name)[2:] == line(opened, MAIN)[5 - age :]
            assert [ages(opened.snapshot_at(c)) for c in line(opened, name)[2:4]] == [
                {"ada": age},
                {"ada": age - 1},
            ]
    assert contents(store) == ({"ada": 5}, {"ada-ada"})


@pytest.mark.parametrize("count", [2, 1, FEW.commits_per_cold_fragment + 6])
def test_a_commit_may_be_as_old_as_the_graph(tmp_path: Path, count: int) -> None:
    """Also one that only a cold fragment has."""
    store = make_store(tmp_path, limits=FEW)
    ids = grown(store, count)
    whole = line(store, MAIN)
    for number, at in enumerate((whole[-1], ids[0])):
        name = BranchName(f"x{number}")
        create_branch(store, name, at=at)
        own = grown(store, FEW.commits_per_cold_fragment + 3, name, first=1000)
        for opened in (store, open_store(tmp_path)):
            assert line(opened, name) == [*reversed(own), *whole[whole.index(at) :]]
            assert ages(opened.snapshot_at(own[0])) == {"ada": 1000}
            assert opened.history().merge_base(ids[-1], own[-1]).id == at
    assert line(open_store(tmp_path), MAIN) == whole


def test_a_branch_from_a_commit_of_another_branch_needs_that_one(place: str) -> None:
    store = make_store(place)
    grown(store, 1)
    create_branch(store, WORK)
    ids = grown(store, 3, WORK, first=10)
    create_branch(store, PAST, at=ids[1])
    create_branch(store, DEEPER, PAST)
    put(store, changes(people=people(kim=1)), branch=DEEPER)
    for needed, child in ((WORK, PAST), (PAST, DEEPER)):
        with pytest.raises(BranchHasChildren) as caught:
            delete_branch(store, needed)
        assert caught.value.children == (child,)
    assert contents(open_store(place), PAST) == ({"ada": 11}, {"ada-ada"})
    assert contents(open_store(place), DEEPER)[0] == {"ada": 11, "kim": 1}
    for name in (DEEPER, PAST, WORK):
        delete_branch(store, name)
    assert [*store.datasets.forks(MANIFEST)] == []
    create_branch(store, PAST, at=line(store, MAIN)[0])


def test_what_can_not_be_made_a_branch_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    ids = grown(store, 3)
    with pytest.raises(BranchExists):
        create_branch(store, MAIN, at=ids[0])
    create_branch(store, PAST, at=ids[0])
    with pytest.raises(BranchExists):
        create_branch(store, PAST, at=ids[1])
    with pytest.raises(CommitMissing):
        create_branch(store, WORK, at=CommitId("01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    with pytest.raises(CommitMissing):
        [gone] = grown(store, 1, PAST)
        delete_branch(store, PAST)
        create_branch(store, WORK, at=gone)
    assert [*store.datasets.forks(MANIFEST)] == []


def test_it_survives_the_clean_up_of_what_it_was_made_from(tmp_path: Path) -> None:
    full = FEW.commits_per_cold_fragment
    store = make_store(tmp_path, limits=replace(FEW, keep_versions_s=0))
    ids = grown(store, 10)
    create_branch(store, PAST, at=ids[4])
    grown(store, 2 * full, first=100)
    grown(store, full + 2, PAST, first=1000)
    grown(store, full, first=500)
    for opened in (store, open_store(tmp_path)):
        assert contents(opened, PAST)[0] == {"ada": 1000 + full + 1}
        assert line(opened, PAST)[-6:] == line(opened, MAIN)[-6:]
        assert ages(opened.snapshot_at(ids[4])) == {"ada": 5}


def test_it_moves_with_its_graph(tmp_path: Path) -> None:
    store = make_store(tmp_path / "here")
    ids = grown(store, 3)
    create_branch(store, PAST, at=ids[1])
    put(store, changes(people=people(bob=1)), branch=PAST)
    shutil.move(tmp_path / "here", tmp_path / "there")
    moved = open_store(tmp_path / "there")
    bring_here(moved)
    assert contents(moved, PAST) == ({"ada": 2, "bob": 1}, {"ada-ada"})
    put(moved, changes(people=people(bob=2)), branch=PAST)
    delete_branch(moved, PAST)
    assert [*moved.datasets.forks(MANIFEST)] == []


# Crashes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_crash_leaves_the_whole_branch_or_none(place: str, is_after: bool) -> None:
    for steps in range(1, 12):
        at = f"{place}{steps}"
        store = make_store(at)
        grown(store, 1)
        create_branch(store, WORK)
        ids = grown(store, 3, WORK, first=10)
        try:
            create_branch(mortal_store(at, Life(steps, is_after=is_after)), PAST, at=ids[1])
        except Crash:
            was_killed = True
        else:
            was_killed = False
        other = open_store(at)
        let_leases_end(other)
        if PAST in (branch.name for branch in other.branches.list()):
            for opened in (store, other):
                assert contents(opened, PAST) == ({"ada": 11}, {"ada-ada"})
                assert line(opened, PAST) == line(opened, WORK)[1:]
            with pytest.raises(BranchHasChildren):
                delete_branch(other, WORK)
            delete_branch(other, PAST)
        else:
            assert was_killed
            with pytest.raises(BranchMissing):
                store.snapshot(PAST)
            if steps % 2:
                create_branch(other, PAST, at=ids[0])
                assert contents(other, PAST)[0] == {"ada": 10}
                delete_branch(other, PAST)
        delete_branch(other, WORK)  # whatever the crash has left is in nobody's way
        assert [*other.datasets.forks(MANIFEST)] == []
        if not was_killed:
            return
    raise AssertionError("making a branch takes more steps than it should")


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_crash_in_its_deletion_leaves_it_whole_or_gone(tmp_path: Path, is_after: bool) -> None:
    for steps in range(1, 12):
        at = tmp_path / str(steps)
        store = make_store(at)
        ids = grown(store, 3)
        create_branch(store, WORK)
        create_branch(store, PAST, at=ids[1])
        put(store, changes(people=people(bob=1)), branch=PAST)
        try:
            delete_branch(mortal_store(at, Life(steps, is_after=is_after)), PAST)
        except Crash:
            was_killed = True
        else:
            was_killed = False
        other = open_store(at)
        if PAST in (branch.name for branch in other.branches.list()):
            assert contents(other, PAST)[0] == {"ada": 2, "bob": 1}
            delete_branch(other, PAST)
        create_branch(other, PAST, at=ids[0])
        assert contents(other, PAST)[0] == {"ada": 1}
        if not was_killed:
            return
    raise AssertionError("a deletion takes more steps than it should")
