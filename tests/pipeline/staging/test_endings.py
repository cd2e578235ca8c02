"""Whatever ends a load, exactly the right files remain: told by listing the graph's storage."""

import json
import os
import signal
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    KeyTaken,
    LoadUnderWay,
    OmnigraphError,
    ReadSetMoved,
    StorageFailed,
)
from omnigraph.base.failpoints import NEVER, Failpoint, Faults
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.results import LoadResult
from omnigraph.engine.settings import Settings
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.staging.area import Receipt
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import EDGES, LOCKS, NODES, STAGING
from omnigraph.store.lease import LEASE_S
from tests.buckets import bucket_access
from tests.crash.dying import InterruptAt
from tests.crash.faulty import store_of
from tests.pipeline.limits import MANY_TASKS
from tests.pipeline.staging.test_resume import PARSE, ROWS, SCHEMA, DiskFull, KillAt, Paused
from tests.pipeline.world import edge, text
from tests.places import let_leases_end

pytestmark = pytest.mark.pairs

FOREVER_S = 1_000_000.0
LOOSE = edge("Knows", "p0000", "nobody")


def opened(uri: str, faults: Faults = NEVER, *, lease_s: float = LEASE_S) -> Graph:
    settings = Settings(bucket_access=bucket_access(), load_limits=MANY_TASKS)
    return Graph(Engine.over(store_of(uri, lease_s=lease_s), settings, faults=faults))


@dataclass
class Place:
    """A graph on a disk or in a bucket, and an input of many tasks."""

    uri: str
    source: Path
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        catalog = compile_schema(SourceText(SCHEMA, "g.pg"))
        GraphStore.init(self.uri, catalog, source=SCHEMA, access=bucket_access())
        self.graph = opened(self.uri)
        self.give(ROWS)

    @property
    def is_bucket(self) -> bool:
        return "://" in self.uri

    def give(self, rows: list[Any]) -> None:
        self.source.write_text(text(rows))

    def load(self, graph: Graph | None = None, **options: Any) -> LoadResult:
        chosen = {"mode": "append", "engine": "local", "load_id": "x", **options}
        return (graph or self.graph).load(self.source, **chosen)

    def killed(self, how: str, **options: Any) -> None:
        child = get_context("spawn").Process(
            target=load_and_die, args=(self.uri, str(self.source), how), kwargs=options
        )
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL

    def rows(self) -> int:
        return sum(d.scan(["id"]).num_rows for d in self._datasets())

    def _datasets(self) -> list[Any]:
        snapshot = self.graph.snapshot().stored
        return [snapshot.dataset(entity) for entity in snapshot.catalog.entities]

    # What lies in storage ---------------------------------------------------------------------

    def unnamed(self) -> set[str]:
        """Data files that no commit names."""
        named = {f.path for d in self._datasets() for part in d.fragments for f in part.files}
        tables = [name for name in self.walk() if name.startswith((NODES, EDGES))]
        files = {name.rsplit("/", 1)[-1] for name in tables if "/data/" in name}
        return files - named

    def staged(self) -> list[str]:
        return [name for name in self.walk() if name.startswith(STAGING)]

    def received(self) -> set[str]:
        """Data files that receipts name."""
        objects = self.graph.engine.store.objects
        receipts = [objects.get(name) for name in self.staged() if name.count("/") == 2]
        files = [file for data in receipts for file in Receipt.from_json(data or b"").files]
        return {f["path"] for _, fragment in files for f in json.loads(fragment)["files"]}

    def locks(self) -> list[str]:
        return [name for name in self.walk() if name.startswith(f"{LOCKS}/load")]

    def walk(self) -> list[str]:
        return sorted(self.graph.engine.store.objects.walk(""))

    def assert_nothing_left(self, *, rows: int) -> None:
        assert self.rows() == rows
        assert (self.unnamed(), self.staged(), self.locks()) == (set(), [], [])


def load_and_die(uri: str, source: str, how: str, **options: Any) -> None:
    def progress(phase: str, done: int, total: int) -> None:
        if how == phase == PARSE and done > total / 2:
            os.kill(os.getpid(), signal.SIGKILL)

    graph = opened(uri, KillAt(how))
    chosen = {"mode": "append", "load_id": "x", **options}
    graph.load(source, engine="local", progress=progress, **chosen)


@pytest.fixture
def load(place: str, tmp_path: Path) -> Place:
    return Place(place, tmp_path / "in.jsonl")


@pytest.fixture
def in_bucket(bucket: str, tmp_path: Path) -> Place:
    return Place(bucket, tmp_path / "in.jsonl")


# The load ends by itself --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("load_id", ["x", None])
def test_a_load_that_is_published_leaves_the_files_of_its_commit(
    load: Place, mode: str, load_id: str | None
) -> None:
    load.load(mode=mode, load_id=load_id)
    load.assert_nothing_left(rows=len(ROWS))


def test_a_load_that_changes_nothing_leaves_no_file(load: Place) -> None:
    people = ROWS[: len(ROWS) // 2]
    load.give(people)
    load.load(mode="merge")
    assert load.load(mode="merge", load_id=None).commit is None
    load.assert_nothing_left(rows=len(people))
    assert load.load(mode="merge", load_id="y").commit is not None
    load.assert_nothing_left(rows=len(people))


@pytest.mark.disk
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_files_that_rejected_rows_have_left_go(load: Place, tmp_path: Path, mode: str) -> None:
    load.give([*ROWS, LOOSE, "{"])
    done = load.load(mode=mode, on_error="quarantine", quarantine=tmp_path / "bad")
    assert done.rejected == 2
    load.assert_nothing_left(rows=len(ROWS))


@pytest.mark.disk
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_load_that_breaks_a_rule_leaves_no_file(load: Place, mode: str, dry_run: bool) -> None:
    load.give([*ROWS, LOOSE])
    with pytest.raises(ConstraintViolated):
        load.load(mode=mode, dry_run=dry_run)
    load.assert_nothing_left(rows=0)


def test_a_load_in_conflict_with_another_leaves_no_file(load: Place) -> None:
    more = 'query q() { insert Person { name: "new" } }'
    paused = Paused(load.load, mode="overwrite")
    load.graph.mutate(more)
    paused.go_on()
    assert isinstance(paused.error, ReadSetMoved)
    load.assert_nothing_left(rows=1)


@pytest.mark.disk
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_load_that_is_resolved_again_leaves_the_files_of_its_commit(
    load: Place, mode: str
) -> None:
    paused = Paused(load.load, mode=mode)
    load.graph.mutate('query q() { insert Person { name: "new" } }')
    paused.go_on()
    assert paused.error is None
    load.assert_nothing_left(rows=len(ROWS) + 1)


def test_a_load_of_keys_that_others_took_leaves_no_file(load: Place) -> None:
    paused = Paused(load.load)
    load.graph.mutate('query q() { insert Person { name: "p0000" } }')
    paused.go_on()
    assert isinstance(paused.error, KeyTaken)
    load.assert_nothing_left(rows=1)


# The load is ended --------------------------------------------------------------------------------


@pytest.mark.disk
@pytest.mark.parametrize("load_id", ["x", None])
@pytest.mark.parametrize("when", [PARSE, "check", "publish"])
def test_an_interrupted_load_leaves_no_file_and_can_be_repeated_at_once(
    load: Place, when: str, load_id: str | None
) -> None:
    def stop(phase: str, done: int, total: int) -> None:
        if phase == when and done >= total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load.load(progress=stop, load_id=load_id)
    published = when == "publish"
    load.assert_nothing_left(rows=len(ROWS) if published else 0)
    if load_id is not None:
        assert load.load().is_repeat == published


def test_a_load_interrupted_before_it_is_armed_leaves_no_file(load: Place) -> None:
    with pytest.raises(KeyboardInterrupt):
        load.load(opened(load.uri, InterruptAt(Failpoint.AFTER_STAGE)))
    load.assert_nothing_left(rows=0)


def test_of_a_load_interrupted_when_it_is_armed_no_file_goes_until_it_is_resumed(
    load: Place,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        load.load(opened(load.uri, InterruptAt(Failpoint.AFTER_ARM)))
    assert load.unnamed() and load.staged() and not load.locks()
    # Of the branch: who is interrupted there gives nothing back.
    let_leases_end(load.graph.engine.store)
    result = load.load(resume=True)
    assert result.resumed_tasks == result.tasks
    load.assert_nothing_left(rows=len(ROWS))


@pytest.mark.parametrize("load_id", ["x", None])
def test_of_a_load_that_may_be_published_no_file_goes(load: Place, load_id: str | None) -> None:
    with pytest.raises(StorageFailed):
        load.load(opened(load.uri, DiskFull(Failpoint.AFTER_PUBLISH)), load_id=load_id)
    assert (load.rows(), load.unnamed()) == (len(ROWS), set())
    # A load with a name is resumed or concluded by it; nobody could ask for another.
    assert bool(load.staged()) == (load_id is not None)
    if load_id is not None:
        assert load.load().is_repeat
    load.assert_nothing_left(rows=len(ROWS))


@pytest.mark.parametrize("resume", [True, False])
def test_after_a_kill_the_files_that_receipts_name_are_there_until_someone_goes_on(
    load: Place, resume: bool
) -> None:
    load.killed(PARSE)
    left, received = load.unnamed(), load.received()
    # Files of tasks that were about to leave a receipt are nobody's.
    torn = left - received
    assert received and received <= left
    assert len(load.locks()) == 1
    if load.is_bucket:
        with pytest.raises(LoadUnderWay, match=r"process \d+ on "):
            load.load(resume=resume)
        assert (load.unnamed(), load.received()) == (left, received)
        let_leases_end(load.graph.engine.store)
    result = load.load(resume=resume)
    assert bool(result.resumed_tasks) == resume
    assert (load.rows(), load.staged(), load.locks()) == (len(ROWS), [], [])
    # The holder of a lease may live on and publish what it had staged.
    assert load.unnamed() == (torn if resume or not load.is_bucket else left)


@pytest.mark.disk
@pytest.mark.parametrize("point", [Failpoint.AFTER_PUBLISH, Failpoint.AFTER_DISARM])
def test_of_a_load_killed_when_it_was_published_the_files_stay(
    load: Place, point: Failpoint
) -> None:
    load.killed(point.value)
    let_leases_end(load.graph.engine.store)
    assert load.load().is_repeat
    load.assert_nothing_left(rows=len(ROWS))


# Two drivers, in a bucket -------------------------------------------------------------------------


def paused_and_lost(load: Place) -> Paused:
    """A load whose driver stands still until its lease has ended, and does not know it."""
    late = opened(load.uri, lease_s=FOREVER_S)
    first = Paused(lambda **options: load.load(late, **options))
    let_leases_end(load.graph.engine.store)
    return first


def test_a_driver_that_lost_its_lease_finds_its_load_done(in_bucket: Place) -> None:
    first = paused_and_lost(in_bucket)
    second = in_bucket.load(resume=True)
    assert second.resumed_tasks == second.tasks
    first.go_on()
    assert first.error is None
    assert (first.result.is_repeat, first.result.commit) == (True, second.commit)
    in_bucket.assert_nothing_left(rows=len(ROWS))


def test_a_driver_that_lost_its_lease_and_gives_up_takes_nothing_away(in_bucket: Place) -> None:
    first = paused_and_lost(in_bucket)
    second = Paused(in_bucket.load, resume=True)
    first.go_on(KeyboardInterrupt())
    assert isinstance(first.error, KeyboardInterrupt)
    assert in_bucket.staged() and in_bucket.unnamed()
    second.go_on()
    assert second.error is None
    in_bucket.assert_nothing_left(rows=len(ROWS))


def test_a_driver_that_lost_its_lease_does_not_publish(in_bucket: Place) -> None:
    first = paused_and_lost(in_bucket)
    second = Paused(in_bucket.load, resume=True)
    first.go_on()
    assert isinstance(first.error, LoadUnderWay)
    assert in_bucket.rows() == 0 and in_bucket.staged() and in_bucket.unnamed()
    second.go_on()
    assert second.error is None
    in_bucket.assert_nothing_left(rows=len(ROWS))


def test_a_driver_that_took_a_lease_and_gives_up_leaves_the_files_of_the_other(
    in_bucket: Place,
) -> None:
    first = paused_and_lost(in_bucket)
    before = in_bucket.unnamed()
    second = Paused(in_bucket.load, resume=True)
    second.go_on(KeyboardInterrupt())
    assert in_bucket.unnamed() == before
    first.go_on()
    assert isinstance(first.error, LoadUnderWay)
    assert (in_bucket.unnamed(), in_bucket.staged()) == (before, [])
    assert not in_bucket.load().is_repeat
    assert (in_bucket.rows(), in_bucket.unnamed()) == (len(ROWS), before)


# Several branches ---------------------------------------------------------------------------------


@pytest.mark.disk
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_load_onto_a_new_branch_has_its_files_once_and_they_go_with_the_branch(
    load: Place, mode: str
) -> None:
    load.load(branch="side", from_="main", mode=mode)
    side = load.graph.snapshot("side").stored
    datasets = [side.dataset(entity) for entity in side.catalog.entities]
    named = sorted(f.path for d in datasets for part in d.fragments for f in part.files)
    lying = [name.rsplit("/", 1)[-1] for name in load.walk() if "/data/" in name]
    assert sorted(name for name in lying if name in named) == named
    load.graph.branch_delete("side")
    load.assert_nothing_left(rows=0)


@pytest.mark.disk
def test_a_load_that_waits_on_a_branch_is_no_other_branchs(load: Place) -> None:
    load.graph.branch_create("side")
    load.killed(Failpoint.AFTER_STAGE.value, branch="side")
    let_leases_end(load.graph.engine.store)
    with pytest.raises(ArgumentInvalid, match="waits to be resumed on branch side"):
        load.load()
    assert load.load(branch="side", resume=True).resumed_tasks


@pytest.mark.disk
def test_a_repetition_leaves_alone_what_waits_on_another_branch(load: Place) -> None:
    load.graph.branch_create("side")
    load.load()
    load.killed(Failpoint.AFTER_STAGE.value, branch="side")
    let_leases_end(load.graph.engine.store)
    assert load.load().is_repeat
    assert load.load(branch="side", resume=True).resumed_tasks


def test_what_waited_on_a_branch_that_is_gone_is_in_nobodys_way(load: Place) -> None:
    load.graph.branch_create("side")
    load.killed(PARSE, branch="side")
    let_leases_end(load.graph.engine.store)
    load.graph.branch_delete("side")
    assert load.load().total_entities == len(ROWS)
    assert load.staged() == []


@pytest.mark.disk
@pytest.mark.parametrize("wrong", [{"mapping": {"nope": 1}}, {"source": "missing.jsonl"}], ids=str)
def test_a_resume_that_finds_no_input_leaves_what_was_staged(
    load: Place, wrong: dict[str, Any]
) -> None:
    load.killed(Failpoint.AFTER_STAGE.value)
    let_leases_end(load.graph.engine.store)
    staged = load.staged()
    options = {"mode": "append", "engine": "local", "load_id": "x", "resume": True, **wrong}
    with pytest.raises(OmnigraphError):
        load.graph.load(options.pop("source", load.source), **options)
    assert load.staged() == staged
    assert load.load(resume=True).resumed_tasks
