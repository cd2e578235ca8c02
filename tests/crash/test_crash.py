"""Every kind of write, dead at every failpoint: the old commit or the new one, never a mixture."""

from multiprocessing import get_context
from pathlib import Path

import pytest

from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.store.audit import RecoveryAction
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import RECOVERY
from omnigraph.write.recover import recover_all
from tests.crash.dying import OLD, SCENARIOS, die_for_real
from tests.store_contract.builders import changes, contents, open_store, people, put

ROLLED_BACK = {Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM}
LEFT_NO_NOTE = {Failpoint.AFTER_STAGE, Failpoint.AFTER_DISARM}


def assert_settled(store: GraphStore, scenario: str, point: Failpoint) -> None:
    """The outcome is whole, nothing waits for recovery, the log says what was done."""
    expected = SCENARIOS[scenario]
    is_old = point in ROLLED_BACK
    assert contents(store, expected.branch) == (OLD if is_old else expected.new)
    assert store.objects.list(RECOVERY) == []
    records = store.audit.records()
    assert len(records) == (point not in LEFT_NO_NOTE)
    for record in records:
        forward, back = RecoveryAction.ROLLED_FORWARD, RecoveryAction.ROLLED_BACK
        assert record.action is (back if is_old else forward)
        assert record.branch == expected.branch
        assert record.actor in ("tester", "loader")


def assert_writable(store: GraphStore, branch: str) -> None:
    put(store, changes(people=people(zoe=99)), branch=branch)
    assert contents(store, branch)[0]["zoe"] == 99


@pytest.mark.parametrize("point", Failpoint)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_crash_leaves_the_old_commit_or_the_new_one(
    tmp_path: Path, scenario: str, point: Failpoint
) -> None:
    branch = SCENARIOS[scenario].branch
    with pytest.raises(Crash):
        SCENARIOS[scenario].write(SCENARIOS[scenario].graph(tmp_path), CrashAt(point))
    reader = open_store(tmp_path)
    assert contents(reader, branch) in (OLD, SCENARIOS[scenario].new)
    store = open_store(tmp_path)
    recover_all(store)
    assert_settled(store, scenario, point)
    assert_writable(store, branch)
    assert contents(reader, branch) == contents(store, branch)


@pytest.mark.parametrize("point", Failpoint)
def test_the_next_write_of_a_live_process_heals_what_it_finds(
    tmp_path: Path, point: Failpoint
) -> None:
    scenario = SCENARIOS["an edit of main"]
    store = scenario.graph(tmp_path)
    with pytest.raises(Crash):
        scenario.write(store, CrashAt(point))
    assert put(store, changes(gone=["nobody"])) is None
    assert_settled(store, "an edit of main", point)


def test_a_crash_on_one_branch_stops_no_other(tmp_path: Path) -> None:
    scenario = SCENARIOS["the first edit of a branch"]
    store = scenario.graph(tmp_path)
    with pytest.raises(Crash):
        scenario.write(store, CrashAt(Failpoint.AFTER_LAND_1))
    assert_writable(store, "main")
    assert len(store.objects.list(RECOVERY)) == 1
    assert_writable(store, scenario.branch)
    assert store.objects.list(RECOVERY) == []


@pytest.mark.parametrize(
    ("scenario", "point"),
    [
        ("an edit of main", Failpoint.AFTER_ARM),
        ("an edit of main", Failpoint.AFTER_LAND_1),
        ("the first edit of a branch", Failpoint.AFTER_LAND_1),
        ("a load", Failpoint.AFTER_LAND_ALL),
        ("the first load of a branch", Failpoint.AFTER_PUBLISH),
    ],
)
def test_a_killed_process_leaves_the_old_commit_or_the_new_one(
    tmp_path: Path, scenario: str, point: Failpoint
) -> None:
    SCENARIOS[scenario].graph(tmp_path)
    child = get_context("spawn").Process(target=die_for_real, args=(str(tmp_path), scenario, point))
    child.start()
    child.join()
    assert child.exitcode == 9
    store = open_store(tmp_path)
    recover_all(store)
    assert_settled(store, scenario, point)
    assert_writable(store, SCENARIOS[scenario].branch)
