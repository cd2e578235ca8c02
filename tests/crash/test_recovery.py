"""Recovery itself: killed at every step, faced with old, broken and foreign things."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.base.errors import OutcomePending, RecoveryRequired, StorageFailed
from omnigraph.base.failpoints import NEVER, Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN
from omnigraph.store.audit import RecoveryAction
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import RECOVERY
from omnigraph.store.moving import bring_here
from omnigraph.store.objects import DiskObjects
from omnigraph.store.transactions import Append, DatasetRef, StagedTransaction, Update
from omnigraph.write.recover import RECOVERY_ACTOR, recover_all
from omnigraph.write.sidecar import sidecars
from tests import places
from tests.buckets import location_of
from tests.crash.dying import OLD, SCENARIOS, Life, Scenario, mortal_store
from tests.crash.faulty import store_of
from tests.places import let_leases_end
from tests.store_contract.builders import (
    PERSON,
    ages,
    changes,
    contents,
    open_store,
    people,
    put,
)

EDIT = SCENARIOS["an edit of main"]


def crashed(place: Path | str, point: Failpoint, scenario: Scenario = EDIT) -> GraphStore:
    store = scenario.graph(place)
    with pytest.raises(Crash):
        scenario.write(store, CrashAt(point))
    return open_store(place)


def lose_staged_files(store: GraphStore) -> None:
    """Take from an unfinished write the files of the table that has not landed."""
    let_leases_end(store)
    with store.fence(MAIN) as held:
        [sidecar] = sidecars(store, held)
    second = sidecar.tables[1].transactions[0]
    assert isinstance(second.operation, Update)
    for fragment in second.operation.new:
        for file in json.loads(fragment)["files"]:
            store.objects.delete(f"{second.base.path}/data/{file['path']}")


def version_file(store: GraphStore, path: str, version: int) -> Path:
    return Path(str(store.root), path, "_versions", f"{2**64 - 1 - version:020}.manifest")


class Ways:
    """What a killed recovery may have been doing."""

    @staticmethod
    def nothing_landed(place: str) -> GraphStore:
        return crashed(place, Failpoint.AFTER_ARM)

    @staticmethod
    def one_landed(place: str) -> GraphStore:
        return crashed(place, Failpoint.AFTER_LAND_1)

    @staticmethod
    def one_landed_and_the_rest_lost(place: str) -> GraphStore:
        store = crashed(place, Failpoint.AFTER_LAND_1)
        lose_staged_files(store)
        return store

    @staticmethod
    def all_landed(place: str) -> GraphStore:
        return crashed(place, Failpoint.AFTER_LAND_ALL)

    @staticmethod
    def published(place: str) -> GraphStore:
        return crashed(place, Failpoint.AFTER_PUBLISH)


WAYS: dict[Callable[[str], GraphStore], tuple[object, RecoveryAction]] = {
    Ways.nothing_landed: (OLD, RecoveryAction.ROLLED_BACK),
    Ways.one_landed: (EDIT.new, RecoveryAction.ROLLED_FORWARD),
    Ways.one_landed_and_the_rest_lost: (OLD, RecoveryAction.ROLLED_BACK),
    Ways.all_landed: (EDIT.new, RecoveryAction.ROLLED_FORWARD),
    Ways.published: (EDIT.new, RecoveryAction.ROLLED_FORWARD),
}


def copied(store: GraphStore, place: str) -> None:
    """The same graph, at home in another place."""
    bring_here(open_store(places.copied(str(store.root), place)))


@pytest.mark.disk
@pytest.mark.parametrize(
    ("place", "way", "is_after"),
    [
        *(("disk", way, is_after) for way in WAYS for is_after in (False, True)),
        ("s3", Ways.nothing_landed, True),
        ("s3", Ways.one_landed_and_the_rest_lost, True),
        ("s3", Ways.published, False),
    ],
    indirect=["place"],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_recovery_killed_at_any_step_and_run_again_comes_to_the_same_end(
    place: str, way: Callable[[str], GraphStore], is_after: bool
) -> None:
    expected, action = WAYS[way]
    broken = way(f"{place}/broken")
    let_leases_end(broken)
    for steps in range(1, 20):
        copied(broken, f"{place}/{steps}")
        try:
            recover_all(mortal_store(f"{place}/{steps}", Life(steps, is_after=is_after)))
        except Crash:
            was_killed = True
        else:
            was_killed = False
        store = open_store(f"{place}/{steps}")
        let_leases_end(store)
        recover_all(store)
        assert contents(store) == expected
        assert [record.action for record in store.audit.records()] == [action]
        assert store.objects.list(RECOVERY) == []
        put(store, changes(people=people(zoe=1)))
        if not was_killed:
            return
    raise AssertionError("recovery takes more steps than it should")


def test_a_write_that_can_not_be_finished_is_undone_by_a_commit_that_says_so(
    tmp_path: Path,
) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_LAND_1)
    before = store.snapshot()
    lose_staged_files(store)
    recover_all(store)
    head = next(store.history().line())
    assert (head.kind, head.actor) == (CommitKind.RECOVERY, RECOVERY_ACTOR)
    assert head.parent == before.commit.id
    [change] = head.changes
    was = before.tables[change.key].ref
    assert change.ref.version == was.version + 2
    assert head.extra == {f"to_version:{change.key}": str(was.version)}


def test_a_note_that_outlived_its_settling_harms_no_later_commit(tmp_path: Path) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_LAND_1)
    [name] = store.objects.list(RECOVERY)
    note = store.objects.get(name)
    assert note is not None
    lose_staged_files(store)
    recover_all(store)
    put(store, changes(people=people(ada=77)))
    after = contents(store)
    store.objects.put(name, note)
    recover_all(store)
    assert contents(store) == after
    assert len(store.audit.records()) == 1
    assert store.objects.list(RECOVERY) == []


@pytest.mark.parametrize("note", [b"", b"{", b'{"format": 2}', b'{"format": 1}', b"[]"])
def test_a_note_that_can_not_be_read_stops_writers_and_not_readers(
    tmp_path: Path, note: bytes
) -> None:
    store = EDIT.graph(tmp_path)
    store.objects.put(f"{RECOVERY}/main.01ARZ3NDEKTSV4RRFFQ69G5FAV.json", note)
    with pytest.raises(RecoveryRequired):
        put(store, changes(people=people(ada=5)))
    with pytest.raises(RecoveryRequired):
        recover_all(open_store(tmp_path))
    assert contents(open_store(tmp_path)) == OLD
    assert len(store.objects.list(RECOVERY)) == 1


@pytest.mark.parametrize(
    ("strangers", "outcome"), [(1, "unexpected_at_p1"), (2, "unexpected_multistep")]
)
def test_a_table_moved_by_a_stranger_is_left_to_an_operator(
    tmp_path: Path, strangers: int, outcome: str
) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_ARM)
    ref = store.snapshot().tables[PERSON.table_key].ref
    for number in range(strangers):
        unnamed = Append(store.datasets.stage_rows(ref, people(**{f"ghost{number}": 0})))
        ref = store.datasets.land(store.datasets.stage(ref, unnamed, {}))
    with pytest.raises(RecoveryRequired, match=outcome):
        put(store, changes(people=people(ada=5)))
    assert contents(store) == OLD


def test_a_table_that_lies_behind_what_the_manifest_names_is_left_to_an_operator(
    tmp_path: Path,
) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_ARM)
    ref = store.snapshot().tables[PERSON.table_key].ref
    version_file(store, ref.path, ref.version).unlink()
    with pytest.raises(RecoveryRequired, match="invariant_violation"):
        recover_all(open_store(tmp_path))


def test_a_writer_at_work_is_not_recovered_from_under_its_hands(tmp_path: Path) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_ARM)
    with store.fence(MAIN):
        recover_all(open_store(tmp_path))
        assert len(store.objects.list(RECOVERY)) == 1
    recover_all(open_store(tmp_path))
    assert store.objects.list(RECOVERY) == []


# Storage that fails without dying --------------------------------------------------------------


class FailingObjects(DiskObjects):
    """A disk that refuses one kind of call."""

    def __init__(self, root: Path, refused: str) -> None:
        super().__init__(root, Durability.RELAXED)
        self._refused = refused

    def _refuse(self, call: str) -> None:
        if call == self._refused:
            raise StorageFailed(doing=call, path=RECOVERY, reason="permission denied")

    def put(self, name: str, data: bytes) -> None:
        self._refuse("put")
        super().put(name, data)

    def list(self, folder: str) -> list[str]:
        self._refuse("list")
        return super().list(folder)

    def delete(self, name: str) -> None:
        self._refuse("delete")
        super().delete(name)


class FailingDatasets(Datasets):
    """Datasets of which some calls fail a number of times."""

    def __init__(self, root: str, *, landings: int = 0, audits: int = 0, is_late: bool = False):
        super().__init__(location_of(root), Durability.RELAXED)
        self._landings, self._audits, self._is_late = landings, audits, is_late

    def land(self, staged: StagedTransaction) -> DatasetRef:
        if staged.base.path.startswith("nodes") and self._landings:
            self._landings -= 1
            if self._is_late:
                super().land(staged)
            raise StorageFailed(doing="land", path=staged.base.path, reason="I/O error")
        return super().land(staged)

    def append_inline(self, path: str, rows: pa.Table) -> None:
        if self._audits:
            self._audits -= 1
            raise StorageFailed(doing="append to", path=path, reason="no space left on device")
        super().append_inline(path, rows)


@pytest.mark.parametrize("call", ["put", "list"])
def test_a_write_whose_note_can_not_be_put_or_listed_has_no_effect(
    tmp_path: Path, call: str
) -> None:
    EDIT.graph(tmp_path)
    with pytest.raises(StorageFailed, match="permission denied"):
        put(store_of(tmp_path, objects=FailingObjects(tmp_path, call)), changes(people=people(x=1)))
    assert contents(open_store(tmp_path)) == OLD
    assert open_store(tmp_path).objects.list(RECOVERY) == []


def test_notes_that_can_not_be_listed_refuse_an_opening_to_write(tmp_path: Path) -> None:
    EDIT.graph(tmp_path)
    with pytest.raises(StorageFailed):
        recover_all(store_of(tmp_path, objects=FailingObjects(tmp_path, "list")))


def test_a_note_that_can_not_be_removed_leaves_the_commit_standing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    EDIT.graph(tmp_path)
    store = store_of(tmp_path, objects=FailingObjects(tmp_path, "delete"))
    assert put(store, changes(people=people(ada=5)))
    assert "stays for the next writer" in caplog.text
    healthy = open_store(tmp_path)
    assert ages(healthy.snapshot())["ada"] == 5
    put(healthy, changes(people=people(ada=6)))
    assert ages(healthy.snapshot())["ada"] == 6
    assert healthy.objects.list(RECOVERY) == []


@pytest.mark.parametrize("is_late", [False, True], ids=["before_landing", "after_landing"])
def test_a_landing_that_fails_once_is_finished_by_the_writer_itself(
    tmp_path: Path, is_late: bool
) -> None:
    EDIT.graph(tmp_path)
    store = store_of(tmp_path, datasets=FailingDatasets(str(tmp_path), landings=1, is_late=is_late))
    commit = EDIT.write(store, NEVER)
    assert next(store.history().line()).id == commit
    assert contents(store) == EDIT.new
    assert store.objects.list(RECOVERY) == []
    assert [r.action for r in store.audit.records()] == [RecoveryAction.ROLLED_FORWARD]


def test_a_disk_that_stays_broken_leaves_the_write_to_the_next_writer(tmp_path: Path) -> None:
    EDIT.graph(tmp_path)
    store = store_of(tmp_path, datasets=FailingDatasets(str(tmp_path), landings=2))
    with pytest.raises(OutcomePending, match="I/O error"):
        EDIT.write(store, NEVER)
    assert contents(open_store(tmp_path)) == OLD
    recover_all(open_store(tmp_path))
    assert contents(open_store(tmp_path)) == EDIT.new


def test_a_recovery_that_can_not_be_logged_is_tried_again_and_logged_once(tmp_path: Path) -> None:
    crashed(tmp_path, Failpoint.AFTER_LAND_ALL)
    store = store_of(tmp_path, datasets=FailingDatasets(str(tmp_path), audits=1))
    with pytest.raises(StorageFailed, match="no space"):
        recover_all(store)
    assert len(store.objects.list(RECOVERY)) == 1
    recover_all(store)
    assert len(store.audit.records()) == 1
    assert store.objects.list(RECOVERY) == []
    assert contents(store) == EDIT.new
