"""Readers of several branches beside writers of them, in many threads and in another process.

Whatever a reader is told held at some moment between its question and its answer. Each branch has
one writer, which knows what the branch holds and writes down from when to when.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import MissingError, OmnigraphError
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits
from tests import processes
from tests.model.lineage import MAIN, Model, ModelCommit, Spelling
from tests.model.questions import CONTENTS, OTHERS, Question
from tests.model.shapes import Shape
from tests.model.steps import Tidy
from tests.model.walk import MOCK
from tests.model.wanderer import FOUNDING, Wanderer
from tests.model.world import SCHEMA, Ids, World

KEPT = [question for question in CONTENTS if question.needs(Shape())]
QUESTIONS = [*KEPT, *OTHERS]
STILL = "still"
"""A branch that nobody writes."""
READERS = 4


@dataclass(frozen=True)
class Change:
    """From some moment between `began` and `ended` on, a branch holds this; None: it is not there.

    Times are of the machine's one steady clock, so processes may compare them.
    """

    began: float
    ended: float
    world: World | None


@dataclass
class Timeline:
    """What a branch held, from the first moment on."""

    changes: list[Change] = field(default_factory=list)

    def between(self, start: float, end: float) -> Iterator[int]:
        """The numbers of the changes whose outcome a reader may have met."""
        for number, change in enumerate(self.changes):
            is_over = number + 1 < len(self.changes) and self.changes[number + 1].ended < start
            if change.began <= end and not is_over:
                yield number


@dataclass(frozen=True)
class Reading:
    branch: str
    question: Question
    start: float
    end: float
    rows: list[dict[str, Any]] | OmnigraphError


# Writers -----------------------------------------------------------------------------------------


class Writer:
    """The only one who writes a branch."""

    def __init__(self, graph: Graph, branch: str, seed: int) -> None:
        self._graph = graph
        self._branch = branch
        self._random = Random(seed)
        self._wanderer = Wanderer(seed, first_number=1000 * (seed + 1))
        self._ids = Ids()
        self.timeline = Timeline()

    def begin(self, world: World | None) -> None:
        self.timeline.changes.append(Change(0, 0, world))

    def change(self) -> None:
        before = self.timeline.changes[-1].world
        assert before is not None
        model = Model({"head": ModelCommit("head", before, ())}, {self._branch: ["head"]})
        step = self._wanderer.mutation(model, self._branch)
        refusals = step.refusals(model)
        began = time.monotonic()
        try:
            step.take(self._graph, Spelling(self._ids))
        except refusals:
            return
        assert not refusals, f"{step} was done"
        after = step.foretell(model).world
        self.timeline.changes.append(Change(began, time.monotonic(), after))
        for question in KEPT:
            # Who writes reads what was written, and learns the ids that the graph chose.
            rows = self._graph.query(question.text, branch=self._branch).to_pylist()
            assert question.answers(rows, self._ids) == question.expected(after), step

    def tidy(self) -> None:
        Tidy(self._branch).take(self._graph, Spelling(self._ids))

    def come_and_go(self, world: World, changes: int) -> None:
        """Make the branch, write it, and delete it."""
        began = time.monotonic()
        self._graph.branch_create(self._branch, STILL)
        self.timeline.changes.append(Change(began, time.monotonic(), world))
        for _ in range(changes):
            self.change()
        began = time.monotonic()
        self._graph.branch_delete(self._branch)
        self.timeline.changes.append(Change(began, time.monotonic(), None))


def write_on(graph: Graph, branch: str, world: World, *, seed: int, changes: int) -> Timeline:
    writer = Writer(graph, branch, seed)
    writer.begin(world)
    for number in range(changes):
        writer.change()
        if number % 5 == 4:
            writer.tidy()
    return writer.timeline


def come_and_go(graph: Graph, branch: str, world: World, *, seed: int, rounds: int) -> Timeline:
    writer = Writer(graph, branch, seed)
    writer.begin(None)
    for number in range(rounds):
        writer.come_and_go(world, changes=1 + number % 3)
    return writer.timeline


def come_and_go_elsewhere(
    place: str, branch: str, world: World, *, seed: int, rounds: int
) -> Timeline:
    graph = Graph.open(place, durability="relaxed", settings=Settings(embed=MOCK))
    return come_and_go(graph, branch, world, seed=seed, rounds=rounds)


# Readers -----------------------------------------------------------------------------------------


def read_on(
    graph: Graph, branches: list[str], *, seed: int, is_over: threading.Event
) -> list[Reading]:
    random, readings = Random(seed), list[Reading]()
    while not is_over.is_set():
        branch, question = random.choice(branches), random.choice(QUESTIONS)
        start = time.monotonic()
        rows: list[dict[str, Any]] | OmnigraphError
        try:
            rows = graph.query(question.text, branch=branch).to_pylist()
        except MissingError as missing:
            rows = missing
        readings.append(Reading(branch, question, start, time.monotonic(), rows))
        time.sleep(0.002)  # so that writers get their turn of the interpreter
    return readings


def judge(reading: Reading, timeline: Timeline, ids: Ids) -> None:
    worlds = [timeline.changes[n].world for n in timeline.between(reading.start, reading.end)]
    assert worlds, "a branch always holds something, or is not there"
    where = f"{reading.question.about} on {reading.branch}"
    if isinstance(reading.rows, OmnigraphError):
        assert None in worlds, f"{where}: {reading.rows}"
        return
    found = reading.question.answers(reading.rows, ids)
    expected = [reading.question.expected(world) for world in worlds if world is not None]
    assert found in expected, f"{where}:\n  found {found}\n  expected one of {expected}"


@pytest.mark.parametrize("has_cache", [False, True])
def test_what_a_reader_is_told_held_while_it_asked(
    has_cache: bool,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    many = 15 if request.config.getoption("--deep") else 1
    place = str(tmp_path / "g")
    Graph.init(place, SCHEMA, durability="relaxed")
    settings = Settings(
        embed=MOCK,
        cache_directory=tmp_path / "cache" if has_cache else None,
        read_limits=ReadLimits(min_disk_entry_bytes=0),
    )
    graph = Graph.open(place, durability="relaxed", settings=settings)
    FOUNDING.take(graph, Spelling(Ids()))
    world = FOUNDING.rows.apply(World(), mode="append")
    graph.branch_create(STILL)

    is_over = threading.Event()
    branches = [MAIN, STILL, "draft", "main.x"]
    process = processes.pool(1)
    with process, ThreadPoolExecutor(READERS + 2) as threads:
        readers = [
            threads.submit(read_on, graph, branches, seed=seed, is_over=is_over)
            for seed in range(READERS)
        ]
        writers: dict[str, Future[Timeline]] = {
            MAIN: threads.submit(write_on, graph, MAIN, world, seed=7, changes=20 * many),
            "draft": threads.submit(come_and_go, graph, "draft", world, seed=8, rounds=6 * many),
            "main.x": process.submit(
                come_and_go_elsewhere, place, "main.x", world, seed=9, rounds=6 * many
            ),
        }
        try:
            timelines = {branch: writer.result() for branch, writer in writers.items()}
        finally:
            is_over.set()
        readings = [reading for reader in readers for reading in reader.result()]

    timelines[STILL] = Timeline([Change(0, 0, world)])
    ids = Ids()
    for reading in readings:
        judge(reading, timelines[reading.branch], ids)
    assert {reading.branch for reading in readings} == {*branches}
