"""Loads whose driver dies, and what the next one makes of what is left."""

import gzip
import os
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    LoadUnderWay,
    SourceInvalid,
    StagedLoadMissing,
    StorageFailed,
)
from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.engine import Engine
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.sources.splits import LineRange
from omnigraph.pipeline.staging.area import Ending, Receipt, StagingArea, TaskArea
from omnigraph.pipeline.staging.receipts import NamedTask, name_tasks, stage_task
from omnigraph.pipeline.staging.stage import StageJob, TaskOutput
from omnigraph.store.layout import GRAPH, STAGING
from omnigraph.store.location import DiskLocation
from tests.pipeline.limits import MANY_TASKS, with_limits
from tests.pipeline.world import edge, node, text
from tests.processes import PATIENCE_S

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
ALL = "query q() { match { $p: Person } return { $p.name } }"
COUNT = 400
ROWS = [
    *(node("Person", name=f"p{n:04}", age=n % 90) for n in range(COUNT)),
    *(edge("Knows", f"p{n:04}", f"p{(n * 7) % COUNT:04}") for n in range(COUNT)),
]


def opened(uri: str, limits: LoadLimits = MANY_TASKS, **options: Any) -> Graph:
    return Graph(Engine.open(uri, settings=with_limits(limits), **options))


class Place:
    def __init__(self, place: Path) -> None:
        self.source = place / "in.jsonl"
        self.source.write_text(text(ROWS))
        self.uri = str(place / "graph")
        # Open while others die: it never had a chance to recover at its opening.
        Graph.init(self.uri, SCHEMA)
        self.graph = opened(self.uri)

    def load(self, **options: Any) -> Any:
        return self.graph.load(
            self.source, **{"mode": "append", "engine": "local", "load_id": "x", **options}
        )

    def killed(self, how: str, **options: Any) -> None:
        child = get_context("spawn").Process(
            target=load_and_die, args=(self.uri, str(self.source), how), kwargs=options
        )
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL

    def assert_loaded_once(self) -> None:
        for graph in (self.graph, Graph.open(self.uri)):
            snapshot = graph.snapshot().stored
            people, knows = snapshot.catalog.nodes[0], snapshot.catalog.edges[0]
            names = snapshot.dataset(people).scan(["name"])["name"].to_pylist()
            assert sorted(names) == [f"p{n:04}" for n in range(COUNT)]
            assert snapshot.dataset(knows).scan(["src", "dst"]).num_rows == COUNT
        assert self.staged() == []

    def staged(self) -> list[str]:
        return [str(file) for file in Path(self.uri, STAGING).rglob("*")]

    def files(self) -> set[Path]:
        return set(Path(self.uri).glob("*/*/data/*.lance"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


START, PARSE = "start", "parse"


class KillAt:
    def __init__(self, point: str) -> None:
        self._point = point

    def reach(self, point: Failpoint) -> None:
        if point.value == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


def load_and_die(uri: str, source: str, how: str, **options: Any) -> None:
    """In a process of its own: killed when it starts, in the middle of the input, or at a step of
    the write."""

    def progress(phase: str, done: int, total: int) -> None:
        if how == phase == START or (how == phase == PARSE and done > total / 2):
            os.kill(os.getpid(), signal.SIGKILL)

    graph = opened(uri, faults=KillAt(how))
    chosen = {"mode": "append", "load_id": "x", **options}
    graph.load(source, engine="local", progress=progress, **chosen)


def test_a_load_killed_while_it_reads_goes_on_where_it_was(place: Place) -> None:
    place.killed(PARSE)
    assert place.graph.commits()[0].kind == "init"
    # Beside them are the record of the load, their folder, and a file that was half written.
    whole = [name for name in place.staged() if not Path(name).name.startswith(".unfinished-")]
    done = len(whole) - 2
    garble_first_line(place.source)
    result = place.load(resume=True)
    assert result.resumed_tasks == done > result.tasks / 2
    assert result.tasks > result.resumed_tasks
    assert result.read == len(ROWS)
    place.assert_loaded_once()


def garble_first_line(file: Path) -> None:
    """Who reads it again will not like it; who only looks at the file sees no change."""
    about, content = file.stat(), file.read_bytes()
    file.write_bytes(b"#" * 10 + content[10:])
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


def test_what_has_changed_since_is_read_again(place: Place) -> None:
    place.killed(PARSE)
    rows = [node("Person", name="p0000", age=89), *ROWS[1:]]
    place.source.write_text(text(rows))
    result = place.load(resume=True)
    assert result.resumed_tasks == 0
    place.assert_loaded_once()
    [first] = place.graph.query(
        'query q() { match { $p: Person { name: "p0000" } } return { $p.age as age } }'
    ).to_pylist()
    assert first == {"age": 89}


@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_load_goes_on_where_its_graph_was_moved(place: Place, branch: str) -> None:
    if branch != "main":
        place.graph.branch_create(branch)
        place.graph.mutate('query q() { insert Person { name: "x" } }', branch=branch)
    place.killed(PARSE, branch=branch)
    moved = str(Path(place.uri).rename(Path(place.uri).with_name("moved")))
    graph = opened(moved)
    done = graph.load(
        place.source, mode="append", engine="local", load_id="x", resume=True, branch=branch
    )
    assert done.resumed_tasks > 0
    assert len(graph.query(ALL, branch=branch)) == COUNT + (branch != "main")
    assert not list(Path(moved, STAGING).rglob("*"))


def test_a_copy_takes_nothing_away_from_a_load_of_the_original(place: Place) -> None:
    place.killed(PARSE)
    staged, files = place.staged(), place.files()
    copy = opened(shutil.copytree(place.uri, f"{place.uri}-copy"))
    # It begins anew, and so throws away what it finds of an earlier driver.
    assert copy.load(place.source, mode="append", engine="local", load_id="x").resumed_tasks == 0
    assert (place.staged(), place.files()) == (staged, files)
    assert place.load(resume=True).resumed_tasks > 0
    place.assert_loaded_once()


@pytest.mark.values
@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("point", [PARSE, *(point.value for point in Failpoint)])
def test_wherever_a_driver_dies_the_load_can_be_done_again(
    place: Place, point: str, resume: bool
) -> None:
    place.killed(point)
    # Once a dataset has moved, the load of the dead is finished and not done again.
    is_finished = point not in (PARSE, Failpoint.AFTER_STAGE.value, Failpoint.AFTER_ARM.value)
    result = place.load(resume=resume)
    assert result.is_repeat == is_finished
    assert (result.resumed_tasks > 0) == (resume and not is_finished)
    if not is_finished:
        was_written_now = result.resumed_tasks < result.tasks
        assert (result.seconds["write"] > 0) == was_written_now
    place.assert_loaded_once()


def test_a_load_that_is_over_leaves_nothing_to_resume(place: Place) -> None:
    place.load()
    assert place.staged() == []
    with pytest.raises(StagedLoadMissing) as caught:
        place.load(load_id="y", resume=True)
    assert caught.value.known == ()
    assert place.load(resume=True).is_repeat


def test_a_refused_load_leaves_neither_files_nor_a_record(place: Place) -> None:
    before = place.files()
    place.source.write_text(text([*ROWS, edge("Knows", "p0000", "nobody")]))
    with pytest.raises(ConstraintViolated):
        place.load()
    assert place.files() == before
    assert place.staged() == []


@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_load_that_can_not_read_all_its_input_leaves_nothing(
    place: Place, mode: LoadModeName, is_small: bool
) -> None:
    if is_small:
        place.graph = opened(place.uri, replace(MANY_TASKS, max_lookup_bytes=10**9))
    before = place.files()
    packed = gzip.compress(text(ROWS).encode())
    broken = place.source.with_name("late.jsonl.gz")
    broken.write_bytes(packed[:-9])
    with pytest.raises(SourceInvalid, match="truncated"):
        place.graph.load([place.source, broken], mode=mode, engine="local")
    assert place.files() == before
    assert place.staged() == []


def test_an_interrupted_load_leaves_neither_files_nor_a_record(place: Place) -> None:
    before = place.files()

    def stop(phase: str, done: int, total: int) -> None:
        if phase == PARSE and done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="nothing was loaded"):
        place.load(progress=stop)
    assert place.files() == before
    assert place.staged() == []
    place.load()
    place.assert_loaded_once()


def test_a_load_is_resumed_as_it_was_begun(place: Place) -> None:
    place.killed(PARSE)
    with pytest.raises(ArgumentInvalid, match="mode"):
        place.load(mode="overwrite", resume=True)
    place.graph.branch_create("draft")
    with pytest.raises(ArgumentInvalid, match="branch"):
        place.load(branch="draft", resume=True)
    with pytest.raises(StagedLoadMissing) as caught:
        place.load(load_id="z", resume=True)
    assert caught.value.known == ("x",)
    with pytest.raises(ArgumentInvalid, match="load_id"):
        place.load(load_id=None, resume=True)


class Paused:
    """A load in a thread of its own, that waits when it is ready to be published."""

    def __init__(self, load: Callable[..., Any], **options: Any) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._ready, self._go = threading.Event(), threading.Event()
        self._failure: BaseException | None = None
        arguments = {"progress": self._pause, **options}
        self._thread = threading.Thread(target=self._load, args=(load, arguments))
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def go_on(self, failure: BaseException | None = None) -> None:
        self._failure = failure
        self._go.set()
        self._thread.join()

    def _load(self, load: Callable[..., Any], arguments: dict[str, Any]) -> None:
        try:
            self.result = load(**arguments)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error
            self._ready.set()

    def _pause(self, phase: str, done: int, total: int) -> None:
        if phase == "publish" and not done:
            self._ready.set()
            assert self._go.wait(PATIENCE_S)
            if self._failure is not None:
                raise self._failure


def test_a_load_whose_driver_lives_is_left_alone(place: Place) -> None:
    first = Paused(place.load)
    for resume in (True, False):
        with pytest.raises(LoadUnderWay, match=f"in process {os.getpid()} on "):
            place.load(resume=resume)
    first.go_on()
    assert first.error is None
    place.assert_loaded_once()


def test_a_load_is_resumed_by_one_driver_only(place: Place) -> None:
    place.killed(PARSE)
    first = Paused(place.load, resume=True)
    with pytest.raises(LoadUnderWay):
        place.load(resume=True)
    first.go_on()
    assert first.result.resumed_tasks
    place.assert_loaded_once()


class DiskFull:
    """A disk that is full when a step of the write is reached."""

    def __init__(self, point: Failpoint) -> None:
        self._point: Failpoint | None = point

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            self._point = None
            raise StorageFailed(doing="write", path="somewhere", reason="no space left")


@pytest.mark.parametrize("load_id", ["x", None])
@pytest.mark.parametrize("point", Failpoint)
def test_a_load_whose_write_fails_can_be_repeated_at_once(
    place: Place, point: Failpoint, load_id: str | None
) -> None:
    before = place.files()
    failing = opened(place.uri, faults=DiskFull(point))
    is_published = point in (Failpoint.AFTER_PUBLISH, Failpoint.AFTER_DISARM)
    # Once a dataset has moved, recovery finishes the load behind our back.
    is_healed = point in (Failpoint.AFTER_LAND_1, Failpoint.AFTER_LAND_ALL)
    if is_healed:
        failing.load(place.source, mode="append", engine="local", load_id=load_id)
    else:
        with pytest.raises(StorageFailed, match="no space left"):
            failing.load(place.source, mode="append", engine="local", load_id=load_id)
    if point is Failpoint.AFTER_STAGE:
        assert place.files() == before
    if load_id is not None:
        assert place.load().is_repeat == (is_published or is_healed)
    elif not (is_published or is_healed):
        place.load(load_id=None)
    place.assert_loaded_once()


def test_a_branch_made_for_a_load_that_died_is_taken_by_its_repetition(place: Place) -> None:
    place.killed(PARSE, branch="draft", from_="main")
    result = place.load(branch="draft", from_="main")
    assert (result.resumed_tasks, result.total_entities) == (0, len(ROWS))


@pytest.mark.parametrize("phase", [START, PARSE])
def test_a_load_that_died_on_a_branch_of_its_own_can_be_made_again(
    place: Place, phase: str
) -> None:
    place.killed(phase, branch="draft", from_="main")
    assert place.load(branch="draft", from_="main").total_entities == len(ROWS)


def test_a_load_goes_to_the_branch_that_is_there_already(place: Place) -> None:
    place.load(branch="draft", from_="main")
    again = place.load(branch="draft", from_="main", load_id="y", mode="merge")
    assert (again.is_repeat, again.branch) == (False, "draft")
    assert place.graph.branches() == ["main", "draft"]


def test_a_small_load_with_a_name_may_die_on_a_branch_of_its_own(
    place: Place,
) -> None:
    place.source.write_text(text(ROWS[:3]))
    place.killed(Failpoint.AFTER_STAGE.value, branch="draft", from_="main")
    assert place.load(branch="draft", from_="main", resume=True).total_entities == 3


def test_a_branch_made_for_a_load_is_there_when_it_is_resumed(place: Place) -> None:
    place.killed(PARSE, branch="draft", from_="main")
    result = place.load(branch="draft", from_="main", resume=True)
    assert result.resumed_tasks
    assert result.total_entities == len(ROWS)
    main = place.graph.snapshot("main").stored
    assert main.dataset(main.catalog.nodes[0]).row_count == 0


def test_a_task_that_ends_after_its_load_leaves_nothing(place: Place) -> None:
    """On a cluster a task may outlive the load that was given up."""
    job, task = whole_input(place)
    area = StagingArea(place.graph.engine.store)
    area.open({}, name=None)
    tasks = area.for_tasks
    assert tasks is not None
    area.close(Ending.NOTHING)
    with pytest.raises(StorageFailed, match="given up"):
        stage_task(job, tasks, task)
    assert place.files() == set()
    assert place.staged() == []


def test_of_two_copies_of_a_task_the_later_one_leaves_nothing(
    place: Place,
) -> None:
    job, task = whole_input(place)
    area = StagingArea(place.graph.engine.store)
    area.open({}, name=None)
    tasks = area.for_tasks
    assert tasks is not None
    copy, first = tasks, list[TaskOutput]()

    class Overtaken(TaskArea):
        def leave_receipt(self, name: str, receipt: Receipt, *, is_final: bool) -> Receipt:
            first.append(stage_task(job, copy, task))
            return super().leave_receipt(name, receipt, is_final=is_final)

    late = stage_task(job, Overtaken(**vars(tasks)), task)
    assert [late.tables] == [output.tables for output in first]
    assert (late.was_done, late.read) == (True, len(ROWS))
    assert len(place.files()) == sum(len(table.files) for table in late.tables)
    area.close(Ending.NOTHING)
    assert place.files() == set()
    assert place.staged() == []


def whole_input(place: Place) -> tuple[StageJob, NamedTask]:
    snapshot = place.graph.snapshot().stored
    job = StageJob(
        catalog=snapshot.catalog,
        homes={e.table_key: snapshot.home(e) for e in snapshot.catalog.entities},
        root=snapshot.root,
        graph=Path(place.uri, GRAPH).read_bytes(),
        now_ms=0,
    )
    file, size = str(place.source), place.source.stat().st_size
    tasks = name_tasks(
        job,
        [(LineRange(file, DiskLocation(Path(file)), 0, size),)],
        schema_hash=snapshot.schema_hash,
    )
    return job, tasks[0]
