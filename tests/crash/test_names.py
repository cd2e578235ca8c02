"""Names of branches that begin as other names do: no write is ever taken for another branch's."""

import json
from collections.abc import Callable

import pytest

from omnigraph.base.errors import BranchHasChildren, RecoveryRequired
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branches import Branch
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import MANIFEST, RECOVERY
from omnigraph.store.transactions import DatasetRef
from omnigraph.write.recover import recover_all
from omnigraph.write.sidecar import branches_to_recover, drop_orphans, has_sidecars
from tests.crash.dying import EDIT, EDITED, OLD
from tests.places import let_leases_end
from tests.store_contract.builders import (
    changes,
    contents,
    knows,
    make_store,
    open_store,
    people,
    put,
)

ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
WORK = BranchName("work")

# How a branch may be called, given the branch `work`: each begins as something else's name does.
ODD: dict[str, Callable[[Branch], str]] = {
    "main and a dot": lambda work: "main.x",
    "a note of main": lambda work: f"main.{ULID}",
    "a branch and a dot": lambda work: f"{work.name}.x",
    "an incarnation": lambda work: work.incarnation,
    "a fork": lambda work: f"{work.incarnation}.{ULID}",
}


def with_work(place: str) -> GraphStore:
    store = make_store(place)
    put(store, changes(people=people(ada=1, bob=2), knows=knows("ada-bob", "bob-ada")))
    create_branch(store, WORK)
    put(store, changes(people=people(kim=3)), branch=WORK)
    return store


def everything(store: GraphStore) -> dict[str, object]:
    """What every branch but the odd one holds, and which commits led there."""
    return {
        name: (contents(store, name), [c.id for c in store.history().line(name)])
        for name in (MAIN, WORK)
    }


@pytest.mark.parametrize(
    ("place", "odd", "point"),
    [
        *(("disk", odd, Failpoint.AFTER_LAND_ALL) for odd in ODD),
        *((place, "main and a dot", Failpoint.AFTER_ARM) for place in ("disk", "s3")),
        ("s3", "main and a dot", Failpoint.AFTER_LAND_ALL),
    ],
    indirect=["place"],
)
@pytest.mark.parametrize("is_alive", [True, False], ids=["alive", "dead"])
def test_an_unfinished_write_is_its_own_branchs_whatever_that_is_called(
    place: str, odd: str, point: Failpoint, is_alive: bool
) -> None:
    store = with_work(place)
    name = BranchName(ODD[odd](store.branches.resolve(WORK)))
    create_branch(store, name)
    before = everything(store)

    class Meanwhile:
        """Others open the graph and write their branches while the writer is inside its write."""

        def reach(self, reached: Failpoint) -> None:
            if reached is point:
                other = open_store(place)
                recover_all(other)
                for branch in (MAIN, WORK):
                    assert put(other, changes(gone=["nobody"]), branch=branch) is None
                assert everything(other) == before
                if not is_alive:
                    raise Crash

    if is_alive:
        put(store, EDIT, branch=name, faults=Meanwhile())
    else:
        with pytest.raises(Crash):
            put(store, EDIT, branch=name, faults=Meanwhile())
    let_leases_end(store)
    healed = open_store(place)
    recover_all(healed)
    assert contents(healed, name) in ((OLD, EDITED) if not is_alive else (EDITED,))
    assert everything(healed) == before
    assert healed.objects.list(RECOVERY) == []
    put(healed, changes(people=people(zoe=1)), branch=name)
    delete_branch(healed, name)
    assert everything(open_store(place)) == before
    for branch in (MAIN, WORK):
        put(open_store(place), changes(people=people(eve=1)), branch=branch)


@pytest.mark.parametrize("odd", ODD)
def test_notes_of_a_deleted_branch_go_and_no_others(place: str, odd: str) -> None:
    store = with_work(place)
    name = BranchName(ODD[odd](store.branches.resolve(WORK)))
    create_branch(store, name)
    for branch in (MAIN, WORK, name):
        with pytest.raises(Crash):
            put(store, EDIT, branch=branch, faults=CrashAt(Failpoint.AFTER_ARM))
    notes = store.objects.list(RECOVERY)
    assert len(notes) == 3 and branches_to_recover(store) == sorted([MAIN, WORK, name])
    drop_orphans(store)
    assert store.objects.list(RECOVERY) == notes
    let_leases_end(store)
    delete_branch(store, name)
    drop_orphans(store)
    assert len(store.objects.list(RECOVERY)) == 2
    assert all(has_sidecars(store, store.branches.resolve(b)) for b in (MAIN, WORK))


@pytest.mark.parametrize("branch", [MAIN, WORK])
def test_a_note_of_another_branchs_write_is_left_to_an_operator(place: str, branch: str) -> None:
    store = with_work(place)
    other = WORK if branch == MAIN else MAIN
    with pytest.raises(Crash):
        put(store, EDIT, branch=branch, faults=CrashAt(Failpoint.AFTER_LAND_ALL))
    [name] = store.objects.list(RECOVERY)
    mine, its = store.branches.resolve(BranchName(branch)), store.branches.resolve(other)
    store.objects.put(
        name.replace(mine.incarnation, its.incarnation), store.objects.get(name) or b""
    )
    before = everything(store)
    with pytest.raises(RecoveryRequired, match=f"the branch {branch}, not to {other}"):
        put(store, changes(people=people(eve=1)), branch=other)
    assert everything(store) == before


def test_a_note_that_speaks_of_another_lines_tables_is_left_to_an_operator(place: str) -> None:
    store = with_work(place)
    with pytest.raises(Crash):
        put(store, EDIT, branch=WORK, faults=CrashAt(Failpoint.AFTER_LAND_ALL))
    [name] = store.objects.list(RECOVERY)
    note = json.loads(store.objects.get(name) or b"")
    for table in note["tables"]:
        table["transactions"][0]["base"]["branch"] = None
    store.objects.put(name, json.dumps(note).encode())
    let_leases_end(store)
    with pytest.raises(RecoveryRequired):
        recover_all(open_store(place))


def test_a_branch_owns_its_own_line_and_no_other() -> None:
    lines = {
        None: Branch(MAIN, None),
        f"work.{ULID}": Branch(WORK, f"work.{ULID}"),
        f"work.{ULID}.{ULID}": Branch(BranchName(f"work.{ULID}"), f"work.{ULID}.{ULID}"),
        f"work.{ULID}-7": Branch(WORK, f"work.{ULID}-7"),
        f"main.x.{ULID}": Branch(BranchName("main.x"), f"main.x.{ULID}"),
    }
    forks = {line: line and f"{line}.{ULID}" for line in lines}
    for line, branch in lines.items():
        owned = [fork for fork in forks.values() if branch.owns(DatasetRef("nodes/p", fork, 1))]
        assert owned == [forks[line]]
    assert not any(b.owns(DatasetRef("nodes/p", "stranger", 1)) for b in lines.values())


@pytest.mark.parametrize("left", ["{name}.json.tmp.0f3a", "{name}.json.tmp"])
def test_what_a_killed_maker_of_a_branch_leaves_is_no_branch(place: str, left: str) -> None:
    store = with_work(place)
    last = put(store, changes(people=people(ada=7)), branch=WORK)
    assert last is not None
    store.objects.put(f"{MANIFEST}/_refs/branches/{left.format(name=f'b.{ULID}')}", b"{")
    for handle in (store, open_store(place)):
        assert [branch.name for branch in handle.branches.list()] == [MAIN, WORK]
        assert handle.snapshot_at(last).commit.id == last
        assert handle.history().get(last).id == last
        create_branch(handle, BranchName("b"))
        delete_branch(handle, BranchName("b"))
    delete_branch(store, WORK)
    assert [branch.name for branch in store.branches.list()] == [MAIN]


def test_a_fork_that_nobody_here_has_named_is_no_branch_and_keeps_its_source(place: str) -> None:
    store = with_work(place)
    work = store.branches.resolve(WORK)
    state = store.state(work)
    source = DatasetRef(MANIFEST, state.branch, state.version)
    for name in ("stranger", f"main.{ULID}", "x.y"):
        store.datasets.fork(source, name)
    assert [branch.name for branch in store.branches.list()] == [MAIN, WORK]
    with pytest.raises(BranchHasChildren, match="stranger"):
        delete_branch(store, WORK)
    assert store.history().ancestors(state.head)
