"""Every kind of write, dead at every failpoint: the old commit or the new one, never a mixture."""

import shutil
from pathlib import Path

import pytest

from omnigraph.base.errors import CommitMissing
from omnigraph.base.failpoints import NEVER, Crash, CrashAt, Failpoint
from omnigraph.base.ids import BranchName
from omnigraph.pipeline.spark.session import Spark
from omnigraph.store.audit import RecoveryAction
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.commits import CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import RECOVERY
from omnigraph.store.location import DiskLocation
from omnigraph.store.moving import bring_here
from omnigraph.write.recover import recover_all
from tests.crash.dying import (
    HIRED,
    MUTATIONS,
    OLD,
    READY,
    SCENARIOS,
    Life,
    Scenario,
    add_type,
    check_pages,
    graph_of,
    mortal_store,
    vector_count,
    with_pages,
)
from tests.graph.people import write_ndjson
from tests.places import let_leases_end
from tests.store_contract.builders import changes, contents, knows, open_store, people, put

# In a bucket the writer may be alive: what it has not published is undone, however far it came.
ROLLED_BACK = {Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM}
ROLLED_BACK_IN_A_BUCKET = {*ROLLED_BACK, Failpoint.AFTER_LAND_1, Failpoint.AFTER_LAND_ALL}
LEFT_NO_NOTE = {Failpoint.AFTER_STAGE, Failpoint.AFTER_DISARM}


def assert_settled(store: GraphStore, scenario: Scenario, point: Failpoint) -> None:
    """The outcome is whole, nothing waits for recovery, the log says what was done."""
    is_on_disk = isinstance(store.root, DiskLocation)
    is_old = point in (ROLLED_BACK if is_on_disk else ROLLED_BACK_IN_A_BUCKET)
    assert contents(store, scenario.branch) == (scenario.old if is_old else scenario.new)
    if scenario.kind in (CommitKind.OPTIMIZE, CommitKind.INDEX):  # no content could tell
        kinds = {commit.kind for commit in store.history().line(BranchName(scenario.branch))}
        if scenario.prepare is not with_pages or scenario.kind is CommitKind.OPTIMIZE:
            assert (scenario.kind in kinds) == (not is_old)
        check_pages(store)
    if scenario.kind is CommitKind.EMBED:
        assert vector_count(store) == (0 if is_old else 2)
    if scenario.prepare is add_type:
        assert ("City" in type_names(store)) is is_old
    assert store.objects.list(RECOVERY) == []
    records = store.audit.records()
    assert len(records) == (point not in LEFT_NO_NOTE)
    for record in records:
        forward, back = RecoveryAction.ROLLED_FORWARD, RecoveryAction.ROLLED_BACK
        assert record.action is (back if is_old else forward)
        assert (record.branch, record.kind) == (scenario.branch, scenario.kind.value)


def type_names(store: GraphStore) -> set[str]:
    """The types of the head's schema. Each has its table, and no other table is named."""
    snapshot = store.snapshot()
    assert {e.table_key for e in snapshot.catalog.entities} == {*snapshot.tables}
    return {entity.name for entity in snapshot.catalog.entities}


def assert_writable(store: GraphStore, branch: str) -> None:
    graph_of(store, NEVER).mutate(MUTATIONS, "welcome", branch=branch)
    assert contents(store, branch)[0]["zoe"] == 99


def check_crash(place: Path | str, scenario: Scenario, point: Failpoint) -> None:
    with pytest.raises(Crash):
        scenario.write(scenario.graph(place), CrashAt(point))
    reader = open_store(place)
    assert contents(reader, scenario.branch) in (scenario.old, scenario.new)
    store = open_store(place)
    let_leases_end(store)
    recover_all(store)
    assert_settled(store, scenario, point)
    assert_writable(store, scenario.branch)
    assert contents(reader, scenario.branch) == contents(store, scenario.branch)


# All of them on a disk. A bucket makes a difference to what recovery does, not to who writes.
MATRIX = [
    *(("disk", scenario, point) for scenario in SCENARIOS for point in Failpoint),
    *(("s3", "an edit of main", point) for point in Failpoint),
    ("s3", "the first edit of a branch", Failpoint.AFTER_ARM),
    ("s3", "the first load of a branch", Failpoint.AFTER_LAND_1),
    ("s3", "a large load that merges", Failpoint.AFTER_LAND_1),
    ("s3", "a merge", Failpoint.AFTER_LAND_1),
    ("s3", "a large merge of two that moved", Failpoint.AFTER_LAND_1),
    ("s3", "another schema", Failpoint.AFTER_LAND_1),
    ("s3", "an embedding", Failpoint.AFTER_LAND_1),
    ("s3", "an optimize", Failpoint.AFTER_LAND_1),
    ("s3", "an optimize of every kind of index", Failpoint.AFTER_LAND_1),
    ("s3", "an optimize of every kind of index", Failpoint.AFTER_PUBLISH),
    ("s3", "an optimize of a branch", Failpoint.AFTER_LAND_1),
    ("s3", "an index build", Failpoint.AFTER_ARM),
]


@pytest.mark.parametrize(("place", "scenario", "point"), MATRIX, indirect=["place"])
def test_a_crash_leaves_the_old_commit_or_the_new_one(
    place: str, scenario: str, point: Failpoint
) -> None:
    check_crash(place, SCENARIOS[scenario], point)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("point", Failpoint)
def test_a_crash_in_a_load_on_spark_leaves_the_old_commit_or_the_new_one(
    tmp_path: Path, spark: Spark, point: Failpoint
) -> None:
    envelopes: list[dict[str, object]] = [
        {"type": "Person", "data": {"name": "eve", "age": 3}},
        {"edge": "Knows", "from": "eve", "to": "ada"},
    ]
    data = write_ndjson(tmp_path / "people.jsonl", envelopes)
    load = Scenario(
        CommitKind.LOAD,
        lambda store, faults: graph_of(store, faults).load(data, mode="append", spark=spark),
        HIRED,
    )
    check_crash(tmp_path / "g", load, point)


@pytest.mark.parametrize("point", Failpoint)
def test_the_next_write_of_a_live_process_heals_what_it_finds(
    tmp_path: Path, point: Failpoint
) -> None:
    scenario = SCENARIOS["an edit of main"]
    store = scenario.graph(tmp_path)
    with pytest.raises(Crash):
        scenario.write(store, CrashAt(point))
    assert put(store, changes(gone=["nobody"])) is None
    assert_settled(store, scenario, point)


def test_a_crash_on_one_branch_stops_no_other(tmp_path: Path) -> None:
    scenario = SCENARIOS["the first edit of a branch"]
    store = scenario.graph(tmp_path)
    with pytest.raises(Crash):
        scenario.write(store, CrashAt(Failpoint.AFTER_LAND_1))
    assert_writable(store, "main")
    assert len(store.objects.list(RECOVERY)) == 1
    assert_writable(store, scenario.branch)
    assert store.objects.list(RECOVERY) == []


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_crash_in_a_deletion_leaves_the_branch_whole_or_gone(
    tmp_path: Path, is_after: bool
) -> None:
    scenario = SCENARIOS["the first edit of a branch"]
    work = BranchName(scenario.branch)
    for steps in range(1, 10):
        place = tmp_path / str(steps)
        put(scenario.graph(place), changes(people=people(ada=5), knows=knows("x-y")), branch=work)
        expected = contents(open_store(place), work)
        try:
            delete_branch(mortal_store(place, Life(steps, is_after=is_after)), work)
        except Crash:
            was_killed = True
        else:
            was_killed = False
        store = open_store(place)
        recover_all(store)
        if work in (branch.name for branch in store.branches.list()):
            assert steps == 1 and not is_after
            assert contents(store, work) == expected
            delete_branch(store, work)
        create_branch(store, work)
        assert contents(store, work) == contents(store) == scenario.old
        assert_writable(store, work)
        if not was_killed:
            return
    raise AssertionError("a deletion takes more steps than it should")


def test_an_optimize_that_dies_between_any_two_landings_is_finished(tmp_path: Path) -> None:
    """A table lands up to three versions for one commit."""
    scenario, begun = SCENARIOS["an optimize of every kind of index"], 0
    scenario.graph(tmp_path / "before")
    for steps in range(1, 10):
        place = tmp_path / str(steps)
        shutil.copytree(tmp_path / "before", place)
        bring_here(open_store(place))
        mortal = mortal_store(place, Life(steps, is_after=True))
        try:
            scenario.write(mortal, NEVER)
        except Crash:
            was_killed = True
        else:
            was_killed = False
        store = open_store(place)
        recover_all(store)
        outcomes = [o for record in store.audit.records() for o in record.outcomes.values()]
        begun += outcomes.count("begun")
        assert contents(store) == OLD
        check_pages(store)
        assert next(store.history().line()).kind is CommitKind.OPTIMIZE
        assert store.objects.list(RECOVERY) == []
        if not was_killed:
            assert begun > 1
            return
    raise AssertionError("an optimize takes more steps than it should")


@pytest.mark.parametrize("point", Failpoint)
def test_a_merge_that_a_crash_cut_short_brings_the_commits_of_its_branch_or_none(
    tmp_path: Path, point: Failpoint
) -> None:
    """Whoever finishes it has only its note: the branch goes before that."""
    scenario = SCENARIOS["a merge"]
    store = scenario.graph(tmp_path)
    merged = store.snapshot(READY).commit
    with pytest.raises(Crash):
        scenario.write(store, CrashAt(point))
    other = open_store(tmp_path)
    delete_branch(other, READY)
    recover_all(other)
    is_merged = next(other.history().line()).kind is CommitKind.MERGE
    assert is_merged == (point not in ROLLED_BACK)
    for healed in (store, other, open_store(tmp_path)):
        if is_merged:
            assert healed.history().get(merged.id) == merged
            assert merged.id in healed.history().ancestors(healed.snapshot().commit.id)
        else:
            with pytest.raises(CommitMissing):
                healed.history().get(merged.id)
