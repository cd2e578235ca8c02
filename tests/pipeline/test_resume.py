"""Loads whose driver dies, and what the next one makes of what is left."""

import json
import os
import signal
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    LoadUnderWay,
    StagedLoadMissing,
    StorageFailed,
)
from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.graph import Graph
from omnigraph.pipeline import load as load_module
from omnigraph.pipeline import record as record_module
from omnigraph.pipeline.account import name_tasks, stage_task
from omnigraph.pipeline.sources import plan as plan_module
from omnigraph.pipeline.sources.pieces import LineRange
from omnigraph.pipeline.stage import StageJob
from omnigraph.store.layout import GRAPH, STAGING
from tests.pipeline.world import edge, node, text

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
COUNT = 400
ROWS = [
    *(node("Person", name=f"p{n:04}", age=n % 90) for n in range(COUNT)),
    *(edge("Knows", f"p{n:04}", f"p{(n * 7) % COUNT:04}") for n in range(COUNT)),
]


@pytest.fixture(autouse=True)
def many_tasks() -> Iterator[None]:
    """Small loads as if they were large: in many tasks, and in files."""
    with pytest.MonkeyPatch.context() as patch:
        make_tasks_small(patch)
        yield


def make_tasks_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan_module, "LEAST_TASK_BYTES", 3_000)
    patch.setattr(plan_module, "MOST_TASK_BYTES", 3_000)
    patch.setattr(load_module, "SMALL_BYTES", -1)


class Place:
    def __init__(self, place: Path) -> None:
        self.source = place / "in.jsonl"
        self.source.write_text(text(ROWS))
        self.uri = str(place / "graph")
        # Open while others die: it never had a chance to recover at its opening.
        self.graph = Graph.init(self.uri, SCHEMA)

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
            snapshot = graph.snapshot()
            people, knows = snapshot.catalog.nodes[0], snapshot.catalog.edges[0]
            names = snapshot.dataset(people).scan(["name"])["name"].to_pylist()
            assert sorted(names) == [f"p{n:04}" for n in range(COUNT)]
            assert snapshot.dataset(knows).scan(["src", "dst"]).num_rows == COUNT
        assert self.staged() == []

    def staged(self) -> list[str]:
        return [str(file) for file in Path(self.uri, STAGING).rglob("*.json")]

    def files(self) -> set[Path]:
        return set(Path(self.uri).glob("*/*/data/*.lance"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


READ = "read"


class KillAt:
    def __init__(self, point: str) -> None:
        self._point = point

    def reach(self, point: Failpoint) -> None:
        if point.value == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


def load_and_die(uri: str, source: str, how: str, **options: Any) -> None:
    """In a process of its own: killed in the middle of the input, or at a step of the write."""

    def progress(phase: str, done: int, total: int) -> None:
        if how == phase == READ and done > total / 2:
            os.kill(os.getpid(), signal.SIGKILL)

    make_tasks_small(pytest.MonkeyPatch())
    graph = Graph.open(uri, faults=KillAt(how))
    chosen = {"mode": "append", "load_id": "x", **options}
    graph.load(source, engine="local", progress=progress, **chosen)


def test_a_load_killed_while_it_reads_goes_on_where_it_was(place: Place) -> None:
    place.killed(READ)
    assert place.graph.commits()[0].kind == "init"
    done = len(place.staged()) - 1
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
    place.killed(READ)
    rows = [node("Person", name="p0000", age=89), *ROWS[1:]]
    place.source.write_text(text(rows))
    result = place.load(resume=True)
    assert result.resumed_tasks == 0
    place.assert_loaded_once()
    [first] = place.graph.query(
        'query q() { match { $p: Person { name: "p0000" } } return { $p.age as age } }'
    ).to_pylist()
    assert first == {"age": 89}


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("point", [READ, *(point.value for point in Failpoint)])
def test_wherever_a_driver_dies_the_load_can_be_done_again(
    place: Place, point: str, resume: bool
) -> None:
    place.killed(point)
    # Once a dataset has moved, the load of the dead is finished and not done again.
    is_finished = point not in (READ, Failpoint.AFTER_STAGE.value, Failpoint.AFTER_ARM.value)
    result = place.load(resume=resume)
    assert result.is_repeat == is_finished
    assert (result.resumed_tasks > 0) == (resume and not is_finished)
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


def test_an_interrupted_load_leaves_neither_files_nor_a_record(place: Place) -> None:
    before = place.files()

    def stop(phase: str, done: int, total: int) -> None:
        if phase == READ and done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="nothing was loaded"):
        place.load(progress=stop)
    assert place.files() == before
    assert place.staged() == []
    place.load()
    place.assert_loaded_once()


def test_a_load_is_resumed_as_it_was_begun(place: Place) -> None:
    place.killed(READ)
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


def test_a_load_whose_driver_may_live_is_left_alone(place: Place) -> None:
    place.killed(READ)
    [record] = [file for file in place.staged() if file.endswith("/x.json")]
    told = json.loads(Path(record).read_text())
    Path(record).write_text(json.dumps({**told, "host": "elsewhere"}))
    for resume in (True, False):
        with pytest.raises(LoadUnderWay, match="elsewhere"):
            place.load(resume=resume)
    long_ago = told["heartbeat_ms"] - int(record_module.SILENCE_S * 1000) - 60_000
    Path(record).write_text(json.dumps({**told, "host": "elsewhere", "heartbeat_ms": long_ago}))
    assert place.load(resume=True).resumed_tasks
    place.assert_loaded_once()


def test_a_branch_made_for_a_load_is_there_when_it_is_resumed(place: Place) -> None:
    place.killed(READ, branch="draft", from_="main")
    result = place.load(branch="draft", from_="main", resume=True)
    assert result.resumed_tasks
    assert result.total_entities == len(ROWS)
    assert place.graph.snapshot("main").dataset(place.graph.catalog.nodes[0]).row_count == 0


def test_a_task_that_ends_after_its_load_leaves_nothing(place: Place) -> None:
    """On a cluster a task may outlive the load that was given up."""
    snapshot = place.graph.snapshot()
    job = StageJob(
        catalog=snapshot.catalog,
        uris={e.table_key: snapshot.staging_uri(e) for e in snapshot.catalog.entities},
        options=None,
        root=place.uri,
        graph=Path(place.uri, GRAPH).read_bytes(),
        now_ms=0,
    )
    file, size = str(place.source), place.source.stat().st_size
    tasks = name_tasks(job, [(LineRange(file, file, 0, size),)], schema_hash=snapshot.schema_hash)
    with pytest.raises(StorageFailed, match="given up"):
        stage_task(job, f"{STAGING}/x", tasks[0])
    assert place.files() == set()
    assert place.staged() == []
