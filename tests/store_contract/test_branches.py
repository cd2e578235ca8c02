"""Branches: names, isolation, and forks that come only when something is written."""

from typing import Any

import pytest

from omnigraph.base.errors import ArgumentInvalid, BranchExists, BranchMissing
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branches import check_branch_name
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.graph_store import GraphStore
from tests import processes
from tests.store_contract.builders import (
    KNOWS,
    PERSON,
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

WORK = BranchName("work")


@pytest.fixture
def store(place: str) -> GraphStore:
    store = make_store(place)
    put(store, changes(people=people(ada=1), knows=knows("ada-ada")))
    return store


def names(store: GraphStore) -> list[str]:
    return [branch.name for branch in store.branches.list()]


def test_good_names_make_branches(store: GraphStore) -> None:
    # With as many slashes as a name of this length may have.
    deep = "s/" * 13 + "s" * 64
    good = ["_x", "a" * 90, deep, "team/ada/try-2", "v1.2_b", "work"]
    for name in good:
        create_branch(store, BranchName(name))
        assert contents(store, name) == contents(store)
        put(store, changes(people=people(ada=2)), branch=name)
        create_branch(store, BranchName(f"x{good.index(name)}"), BranchName(name))
        delete_branch(store, BranchName(f"x{good.index(name)}"))
    assert names(store) == names(open_store(store.root)) == ["main", *good]


@pytest.mark.parametrize(
    "name",
    [
        *("", "/", "a/", "/a", "a//b", "a b", "ä", "a..b", ".a", "-a", "a.", "a.lock", "a\n"),
        *("__x", "a/__x", "a\\b", "a:b", "../a", "a" * 91, "s/" * 44 + "ss"),
        *(None, 3, b"a", ("a",)),
    ],
)
def test_a_bad_name_is_refused(name: Any) -> None:
    with pytest.raises(ArgumentInvalid):
        check_branch_name(name)


@pytest.mark.parametrize("name", [None, 3, b"a", ("a",)])
def test_a_branch_is_asked_for_by_text(store: GraphStore, name: Any) -> None:
    with pytest.raises(ArgumentInvalid):
        store.snapshot(name)


def test_a_name_and_its_prefix_can_not_both_live(store: GraphStore) -> None:
    for first, second in [("a", "a"), ("b", "b/x"), ("c/x", "c"), ("d", "main"), ("e", "main/x")]:
        create_branch(store, BranchName(first))
        with pytest.raises(BranchExists):
            create_branch(store, BranchName(second))
    assert names(store) == ["main", "a", "b", "c/x", "d", "e"]


def test_a_missing_branch_is_named_beside_those_that_are_there(store: GraphStore) -> None:
    create_branch(store, WORK)
    with pytest.raises(BranchMissing) as caught:
        store.snapshot(BranchName("wrok"))
    assert caught.value.known == ("main", "work")
    with pytest.raises(BranchMissing):
        create_branch(store, BranchName("x"), BranchName("wrok"))
    with pytest.raises(BranchMissing):
        put(store, changes(people=people(ada=2)), branch="wrok")


def test_branches_do_not_see_each_others_writes(store: GraphStore) -> None:
    create_branch(store, WORK)
    put(store, changes(people=people(ada=10, bob=1)), branch=WORK)
    put(store, changes(people=people(ada=20)))
    create_branch(store, BranchName("deeper"), WORK)
    put(store, changes(people=people(ada=30), gone=["bob"]), branch="deeper")
    assert contents(store)[0] == {"ada": 20}
    assert contents(store, WORK)[0] == {"ada": 10, "bob": 1}
    assert contents(store, "deeper")[0] == {"ada": 30}
    assert contents(open_store(store.root), "deeper")[0] == {"ada": 30}


def test_a_table_is_forked_when_its_branch_first_writes_it_and_then_no_more(
    store: GraphStore,
) -> None:
    main = store.snapshot()
    create_branch(store, WORK)
    assert store.snapshot(WORK).tables == main.tables
    put(store, changes(people=people(bob=1)), branch=WORK)
    first = store.snapshot(WORK).tables[PERSON.table_key].ref
    put(store, changes(people=people(eve=1)), branch=WORK)
    second = store.snapshot(WORK).tables[PERSON.table_key].ref
    assert first.branch is not None and first.branch.startswith("work.")
    assert (second.branch, second.version) == (first.branch, first.version + 1)
    assert store.snapshot(WORK).tables[KNOWS.table_key] == main.tables[KNOWS.table_key]
    assert store.snapshot().tables == main.tables


def test_a_branch_of_a_branch_forks_what_it_inherited(store: GraphStore) -> None:
    create_branch(store, WORK)
    put(store, changes(people=people(bob=1)), branch=WORK)
    create_branch(store, BranchName("deeper"), WORK)
    put(store, changes(people=people(eve=1)), branch="deeper")
    put(store, changes(people=people(zoe=1)), branch=WORK)
    assert contents(store, WORK)[0] == {"ada": 1, "bob": 1, "zoe": 1}
    assert contents(store, "deeper")[0] == {"ada": 1, "bob": 1, "eve": 1}


def test_a_load_on_a_fresh_branch_brings_its_files_into_the_fork(store: GraphStore) -> None:
    create_branch(store, WORK)
    load(store, people=people(bob=2), knows=knows("bob-ada"), branch=WORK)
    load(store, people=people(eve=3), knows=knows("eve-ada"), branch=WORK)
    assert contents(store, WORK) == (
        {"ada": 1, "bob": 2, "eve": 3},
        {"ada-ada", "bob-ada", "eve-ada"},
    )
    assert contents(store) == ({"ada": 1}, {"ada-ada"})


def test_the_line_of_a_branch_goes_on_from_where_it_was_made(store: GraphStore) -> None:
    shared = list(store.history().line())
    create_branch(store, WORK)
    assert list(store.history().line(WORK)) == shared
    on_main = put(store, changes(people=people(ada=2)))
    on_work = put(store, changes(people=people(ada=3)), branch=WORK)
    assert [c.id for c in store.history().line(WORK)] == [on_work, *(c.id for c in shared)]
    assert next(store.history().line(WORK)).branch == WORK
    assert on_main is not None and on_work is not None
    assert store.history().ancestor_like(on_main, of=on_work) is None
    assert store.history().ancestor_like(shared[0].id, of=on_work) == shared[0]
    assert ages(store.snapshot_at(on_work)) == {"ada": 3}
    assert store.snapshot_at(on_work).branch == WORK
    assert store.snapshot_at(shared[0].id).branch == MAIN


def make_branch(place: str, name: str) -> bool:
    try:
        create_branch(open_store(place), BranchName(name))
    except BranchExists:
        return False
    return True


def test_of_many_processes_making_one_branch_one_succeeds(store: GraphStore) -> None:
    with processes.pool(3) as pool:
        made = list(pool.map(make_branch, [str(store.root)] * 3, ["a", "a", "a/b"]))
    assert made.count(True) == 1
    assert len(names(store)) == 2


def test_a_reader_learns_of_a_branch_made_elsewhere(store: GraphStore) -> None:
    reader = open_store(store.root)
    assert names(reader) == ["main"]
    create_branch(store, WORK)
    put(store, changes(people=people(ada=5)), branch=WORK)
    assert contents(reader, WORK)[0] == {"ada": 5}
