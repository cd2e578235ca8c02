"""Deleting branches: gone at once and whole, whatever happens to the files."""

import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchHasChildren,
    BranchMissing,
    StorageFailed,
)
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.branches import Branch
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import MANIFEST, RECOVERY
from omnigraph.store.limits import StoreLimits
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.recover import recover_all
from omnigraph.write.work import Replay, Work
from tests.crash.faulty import store_of
from tests.store_contract.builders import (
    KNOWS,
    PERSON,
    changes,
    contents,
    knows,
    make_store,
    open_store,
    people,
    put,
)

WORK = BranchName("team/work")
DEEPER = BranchName("deeper")


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    store = make_store(tmp_path / "g")
    put(store, changes(people=people(ada=1), knows=knows("ada-ada")))
    create_branch(store, WORK)
    put(store, changes(people=people(ada=2), knows=knows("ada-bob")), branch=WORK)
    return store


def forks(store: GraphStore) -> list[str]:
    paths = [store.snapshot().tables[entity.table_key].ref.path for entity in (PERSON, KNOWS)]
    for path in paths:
        assert set(store.datasets.fork_names(path)) == set(store.datasets.forks(path))
    return [fork for path in (*paths, MANIFEST) for fork in store.datasets.forks(path)]


def test_a_deleted_branch_is_gone_for_every_handle_and_main_is_as_it_was(
    store: GraphStore,
) -> None:
    reader, before = open_store(str(store.root)), contents(store)
    assert contents(reader, WORK)[0] == {"ada": 2}
    delete_branch(store, WORK)
    for handle in (store, reader):
        assert [branch.name for branch in handle.branches.list()] == [MAIN]
        with pytest.raises(BranchMissing):
            handle.snapshot(WORK)
        with pytest.raises(BranchMissing):
            put(handle, changes(people=people(ada=3)), branch=WORK)
        assert contents(handle) == before
    assert forks(store) == []


def test_only_a_branch_that_is_there_and_is_not_main_can_be_deleted(store: GraphStore) -> None:
    with pytest.raises(ArgumentInvalid, match="main can't be deleted"):
        delete_branch(store, MAIN)
    with pytest.raises(BranchMissing):
        delete_branch(store, BranchName("wrok"))
    delete_branch(store, WORK)
    with pytest.raises(BranchMissing):
        delete_branch(store, WORK)


def test_a_branch_goes_only_after_those_made_from_it(store: GraphStore) -> None:
    create_branch(store, DEEPER, WORK)
    with pytest.raises(BranchHasChildren) as caught:
        delete_branch(store, WORK)
    assert (caught.value.code, caught.value.children) == ("branch_in_use", (DEEPER,))
    assert contents(store, DEEPER) == contents(store, WORK)
    delete_branch(store, DEEPER)
    delete_branch(store, WORK)
    assert forks(store) == []


def test_a_branch_made_again_is_another_one(store: GraphStore) -> None:
    reader, old = open_store(str(store.root)), store.branches.resolve(WORK)
    assert contents(reader, WORK)[0] == {"ada": 2}
    delete_branch(store, WORK)
    create_branch(store, WORK)
    assert contents(reader, WORK)[0] == {"ada": 1}
    put(store, changes(people=people(ada=5)), branch=WORK)
    assert contents(reader, WORK)[0] == {"ada": 5}
    assert store.branches.resolve(WORK).incarnation != old.incarnation


def test_who_waited_for_a_branch_that_was_made_again_holds_the_new_one(store: GraphStore) -> None:
    other, is_waiting = open_store(str(store.root)), threading.Event()

    def wait() -> Branch:
        other.branches.resolve(WORK)
        is_waiting.set()
        with other.fence(WORK) as held:
            return held.branch

    with ThreadPoolExecutor(1) as pool:
        with store.fence(WORK) as held:
            waited = pool.submit(wait)
            is_waiting.wait()
            time.sleep(0.02)  # by now it most likely stands before the old branch's fence
            store.branches.delete(held.branch)
            create_branch(store, WORK)
        assert waited.result() == store.branches.resolve(WORK) != held.branch


def test_a_write_prepared_on_a_branch_that_is_deleted_meanwhile_has_no_effect(
    store: GraphStore,
) -> None:
    def delete_meanwhile(snapshot: Snapshot) -> Work:
        prepared = Replay(changes(people=people(ada=9))).prepare(snapshot)
        delete_branch(store, WORK)
        return prepared

    with pytest.raises(BranchMissing):
        put(open_store(str(store.root)), delete_meanwhile, branch=WORK)
    assert contents(store)[0] == {"ada": 1}


class StuckDatasets(Datasets):
    """Forks of tables can't be removed."""

    def delete_fork(self, path: str, name: str) -> None:
        if path != MANIFEST:
            raise StorageFailed(doing="delete", path=path, reason="permission denied")
        super().delete_fork(path, name)


def test_files_that_can_not_be_removed_are_in_nobodys_way(
    store: GraphStore, caplog: pytest.LogCaptureFixture
) -> None:
    place = Path(str(store.root))
    stuck = store_of(place, datasets=StuckDatasets(store.root, Durability.RELAXED))
    delete_branch(stuck, WORK)
    assert "deleted branch team/work" in caplog.text
    assert len(forks(store)) == 2
    create_branch(store, WORK)
    put(store, changes(people=people(ada=7), knows=knows("eve-ada")), branch=WORK)
    assert contents(store, WORK) == ({"ada": 7}, {"ada-ada", "eve-ada"})


def test_a_deletion_that_was_cut_off_leaves_files_and_nothing_else(store: GraphStore) -> None:
    lance_branch = store.branches.resolve(WORK).lance_branch
    assert lance_branch is not None
    # What a kill leaves right after the branch has disappeared.
    reference = Path(str(store.root), MANIFEST, "_refs/branches")
    shutil.rmtree(reference)
    opened = open_store(str(store.root))
    recover_all(opened)
    assert [branch.name for branch in opened.branches.list()] == [MAIN]
    create_branch(opened, WORK)
    assert contents(opened, WORK) == contents(opened)


def test_an_unfinished_write_goes_with_its_branch(store: GraphStore) -> None:
    with pytest.raises(Crash):
        put(
            store,
            changes(people=people(ada=9), knows=knows("x-y")),
            branch=WORK,
            faults=CrashAt(Failpoint.AFTER_LAND_1),
        )
    assert len(store.objects.list(RECOVERY)) == 1
    delete_branch(store, WORK)
    recover_all(open_store(str(store.root)))
    assert store.objects.list(RECOVERY) == []
    assert contents(store) == ({"ada": 1}, {"ada-ada"})


# Others, while a branch that they never asked about goes ------------------------------------------


def gone_once_listed(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process deletes the branch between the listing of branches and a look at each."""
    real = store.branches.list

    def listed() -> list[Branch]:
        found = real()
        if WORK in {branch.name for branch in found}:
            delete_branch(open_store(store.root), WORK)
        return found

    monkeypatch.setattr(store.branches, "list", listed)


UNRELATED: dict[str, Callable[[GraphStore, CommitId], object]] = {
    "time travel": lambda store, commit: store.snapshot_at(commit),
    "a commit": lambda store, commit: store.history().get(commit),
    "descent": lambda store, commit: list(store.history().line_of(commit)),
    "recovery": lambda store, commit: recover_all(store),
}


@pytest.mark.parametrize("asked", UNRELATED)
@pytest.mark.parametrize("is_long", [False, True], ids=["short", "long"])
def test_a_branch_that_goes_meanwhile_is_nothing_to_those_who_asked_for_another(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, asked: str, is_long: bool
) -> None:
    if is_long:  # so that its history does not lie in the one fragment that a state is read from
        frequent = open_store(store.root, StoreLimits(commits_per_cold_fragment=2))
        for age in range(6):
            put(frequent, changes(people=people(ada=age)), branch=WORK)
    with pytest.raises(Crash):
        put(store, changes(people=people(ada=9)), branch=WORK, faults=CrashAt(Failpoint.AFTER_ARM))
    last = BranchName("z")  # looked at after the one that goes
    create_branch(store, last)
    commit = put(store, changes(people=people(eve=1)), branch=last)
    assert commit is not None
    other = open_store(store.root)
    gone_once_listed(other, monkeypatch)
    UNRELATED[asked](other, commit)
    assert WORK not in {branch.name for branch in open_store(store.root).branches.list()}
    with pytest.raises(BranchMissing):
        other.snapshot(WORK)
