"""One at a time: two applies at once, a lock that is lost, a lock that a dead process left."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from omnigraph.base.errors import ClusterLocked, LockLost, LockMissing, StorageFailed, StoreUnfit
from omnigraph.cluster.lock import force_unlock, locked, read_lock
from omnigraph.cluster.steps import ApplyPoint
from omnigraph.store.fenced_objects import FencedObjects
from tests.buckets import CARELESS
from tests.cluster.world import PERSON, Deployment, Does


@pytest.fixture
def deployment(tmp_path: Path, place: str) -> Deployment:
    return Deployment(tmp_path / "folder", place).write({"p.pg": PERSON}, p="schema: p.pg")


def test_of_two_applies_at_once_one_wins_and_the_other_is_told_by_whom(
    deployment: Deployment,
) -> None:
    told: list[ClusterLocked] = []

    def meanwhile() -> None:
        with pytest.raises(ClusterLocked) as refused:
            deployment.apply(actor="bob")
        told.append(refused.value)

    deployment.apply(actor="ada", faults=Does(ApplyPoint.AFTER_MIGRATE_ALL, meanwhile))
    assert (told[0].owner, told[0].operation, told[0].is_dead) == ("ada", "apply", False)
    assert told[0].lock_id in (told[0].hint or "")
    deployment.assert_settled()


def test_applies_that_race_end_in_one_revision(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "folder").write({"p.pg": PERSON}, p="schema: p.pg")
    start, ended = threading.Barrier(4), list[object]()

    def race() -> None:
        start.wait()
        try:
            ended.append(deployment.apply())
        except ClusterLocked as refused:
            ended.append(refused)

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 4
    assert deployment.place.applied().revision == 1
    deployment.assert_settled()


@pytest.mark.parametrize("point", [ApplyPoint.AFTER_ARM, ApplyPoint.AFTER_TEXTS])
def test_a_holder_whose_lock_was_taken_away_does_not_change_the_ledger(
    tmp_path: Path, point: ApplyPoint
) -> None:
    deployment = Deployment(tmp_path / "folder").write({"p.pg": PERSON}, p="schema: p.pg")
    with pytest.raises(LockLost):
        deployment.apply(faults=Does(point, deployment.unlock))
    assert deployment.place.ledger()[1] is None
    deployment.apply()
    deployment.assert_settled()


def test_a_holder_whose_lock_is_taken_away_in_the_middle_of_a_delete_stops_there(
    tmp_path: Path,
) -> None:
    deployment = Deployment(tmp_path / "folder").write({"p.pg": PERSON}, p="schema: p.pg")
    deployment.apply()
    place, looks = deployment.place, iter((True, False))

    def confirm() -> None:
        if not next(looks):
            raise LockLost("01", "somebody took it away (force-unlock)")

    before = len(list(place.graph("p").objects().survey("")))
    with pytest.raises(LockLost):
        place.delete_graph("p", confirm)
    assert len(list(place.graph("p").objects().survey(""))) == before - 1


def test_a_holder_that_another_one_followed_does_not_take_its_lock_away(
    deployment: Deployment,
) -> None:
    with pytest.raises(LockLost), locked(deployment.place, operation="a", owner="ada") as held:
        deployment.unlock()
        with locked(deployment.place, operation="b", owner="bob") as others:
            try:
                held.confirm()
            finally:
                assert read_lock(deployment.place) == others.lock
    assert read_lock(deployment.place) is None


def test_only_the_lock_that_is_named_is_taken_away(deployment: Deployment) -> None:
    with pytest.raises(LockMissing, match="not locked"):
        force_unlock(deployment.place, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with locked(deployment.place, operation="a", owner=None) as held:
        with pytest.raises(LockMissing, match=held.lock.id):
            force_unlock(deployment.place, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
        assert force_unlock(deployment.place, held.lock.id) == held.lock


def test_what_a_dead_process_left_is_told_and_finished(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "folder").write({"p.pg": PERSON}, p="schema: p.pg")
    program = """
import os, sys
from pathlib import Path
from omnigraph.cluster.apply import apply
from omnigraph.cluster.folder import read_folder
from omnigraph.cluster.place import ClusterPlace
from omnigraph.cluster.steps import ApplyPoint
class Faults:
    def reach(self, point):
        if point is ApplyPoint.AFTER_CREATE_1:
            os._exit(9)
apply(ClusterPlace.at(sys.argv[1]), read_folder(Path(sys.argv[2])), actor="ada", faults=Faults())
"""
    words = [sys.executable, "-c", program, deployment.storage, str(deployment.path)]
    assert subprocess.run(words, check=False).returncode == 9
    with pytest.raises(ClusterLocked, match="does not run any more") as refused:
        deployment.apply()
    force_unlock(deployment.place, refused.value.lock_id)
    assert deployment.apply().finished is not None
    deployment.assert_settled()


@pytest.mark.parametrize("ending", [StorageFailed("write", "a", "it is full"), KeyboardInterrupt()])
def test_an_apply_that_fails_or_is_interrupted_gives_the_lock_back(
    tmp_path: Path, ending: BaseException
) -> None:
    deployment = Deployment(tmp_path / "folder").write({"p.pg": PERSON}, p="schema: p.pg")

    def end() -> None:
        raise ending

    with pytest.raises(type(ending)):
        deployment.apply(faults=Does(ApplyPoint.AFTER_CREATE_1, end))
    assert read_lock(deployment.place) is None
    deployment.apply()
    deployment.assert_settled()


def test_a_lock_that_was_edited_is_told_with_what_to_do(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "folder").write({"p.pg": PERSON}, p="schema: p.pg")
    deployment.apply()
    file = Path(deployment.storage) / "__cluster" / "lock.json"
    fields: dict[str, object] = {
        "id": "01",
        "owner": None,
        "operation": "apply",
        "taken_at": "",
        "host": "",
    }
    odd: list[dict[str, object]] = [{"pid": "12"}, {"pid": 12, "more": 1}]
    odd += [{"pid": 12, each: 5} for each in fields]
    locks = [json.dumps({**fields, **each}) for each in odd]
    for text in ("rubbish", '{"id": 3}', "[1]", "[]", *locks):
        file.write_text(text)
        with pytest.raises(StorageFailed, match="changed by hand") as refused:
            deployment.apply()
        assert str(file) in str(refused.value)
    file.unlink()
    deployment.apply()


def test_a_bucket_that_ignores_conditions_is_refused(tmp_path: Path, s3: str) -> None:
    deployment = Deployment(tmp_path / "folder", f"s3://{CARELESS}/{tmp_path.name}")
    deployment.write({"p.pg": PERSON}, p="schema: p.pg")
    with pytest.raises(StoreUnfit):
        deployment.apply()


def test_a_swap_on_a_disk_is_made_by_one_of_many(tmp_path: Path) -> None:
    objects = FencedObjects(tmp_path / "new")
    first = objects.swap("a", b"0", expected=None)
    assert first is not None and objects.swap("a", b"1", expected=None) is None
    start, won = threading.Barrier(8), list[bytes]()

    def swap(data: bytes) -> None:
        start.wait()
        if FencedObjects(tmp_path / "new").swap("a", data, expected=first) is not None:
            won.append(data)

    threads = [threading.Thread(target=swap, args=(b"%d" % n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and objects.get("a") == won[0]


def test_a_storage_that_is_a_file_is_told_by_its_path(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "folder").write({"p.pg": PERSON}, p="schema: p.pg")
    Path(deployment.storage).write_text("")
    for use in (deployment.plan, deployment.apply):
        with pytest.raises(StorageFailed) as refused:
            use()
        assert deployment.storage in str(refused.value)
