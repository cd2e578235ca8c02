"""The past by commit, by manifest version and by time, on main and on branches."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.clock import SystemClock
from omnigraph.base.errors import ArgumentInvalid, BranchMissing, CommitMissing, MomentMissing
from omnigraph.base.failpoints import Crash, Failpoint
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from tests.graph.people import QUERIES, SCHEMA

START = datetime(2030, 1, 1, tzinfo=UTC)


class SteppingClock(SystemClock):
    """Moves only when told."""

    def __init__(self) -> None:
        super().__init__()
        self.time = START

    def now_ms(self) -> int:
        return int(self.time.timestamp() * 1000)


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def graph(tmp_path: Path, clock: SteppingClock) -> Graph:
    """Ada's age is the minutes since the start; on `side` it goes on from minute 2 by tens."""
    schema = SourceText(SCHEMA)
    graph = Graph(Engine.init(str(tmp_path / "g"), schema, durability="relaxed", clock=clock))
    clock.time += timedelta(minutes=1)
    graph.mutate('query q() { insert Person { email: "ada@x", name: "Ada", age: 1 } }')
    for minute in (2, 3, 4):
        clock.time += timedelta(minutes=1)
        turn(graph, minute)
        if minute == 2:
            graph.branch_create("side")
    turn(graph, 40, branch="side")
    return graph


def turn(graph: Graph, age: int, branch: str = "main") -> None:
    graph.mutate(QUERIES, "birthday", {"email": "ada@x", "age": age}, branch=branch)


def age_at(graph: Graph, moment: object, branch: str | None = None) -> int | None:
    rows = graph.query(QUERIES, "everyone", snapshot=moment, branch=branch)  # type: ignore[arg-type]
    return next((row["p.age"] for row in rows), None)


def at_minute(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def test_a_commit_is_read_by_its_id_from_any_branch(graph: Graph) -> None:
    for branch in ("main", "side"):
        for commit in graph.commits(branch):
            minutes = (commit.created_at - START) // timedelta(minutes=1)
            expected = 40 if commit.graph_branch == "side" else minutes or None
            assert age_at(graph, commit.graph_commit_id) == expected
            assert graph.commit(commit.graph_commit_id) == commit


def test_a_commit_beside_a_branch_that_it_is_not_on_is_refused(graph: Graph) -> None:
    ours, theirs = graph.commits()[0], graph.commits("side")[0]
    shared = graph.commits("side")[-1]
    for moment in (ours, ours.graph_commit_id, graph.at(ours)):
        with pytest.raises(ArgumentInvalid, match=r"branch 'side': commit \w+ is not on this"):
            graph.at(moment, "side")
        with pytest.raises(ArgumentInvalid) as refused:
            graph.stats("side", snapshot=moment)
        assert refused.value.hint == "leave out the branch: a commit is read wherever it was made"
    with pytest.raises(ArgumentInvalid, match="branch 'main'"):
        graph.at(theirs, "main")
    with pytest.raises(ArgumentInvalid, match="branch 'main'"):
        graph.stats("main", snapshot=theirs)
    for commit in (theirs, shared):
        assert graph.branch("side").at(commit.graph_commit_id).commit == commit
        assert graph.at(commit).commit == commit


@pytest.mark.parametrize("moment", [3.5, True, [], object()])
def test_what_is_no_moment_is_refused_by_the_name_of_its_argument(
    graph: Graph, moment: Any
) -> None:
    with pytest.raises(ArgumentInvalid, match=r"^moment .*it must be a commit"):
        graph.at(moment)
    with pytest.raises(ArgumentInvalid, match=r"^snapshot .*it must be a commit"):
        graph.stats(snapshot=moment)


def test_a_time_means_the_last_commit_at_or_before_it(graph: Graph) -> None:
    ages = [age_at(graph, at_minute(m)) for m in (0, 1, 1.5, 2, 3.999, 4, 500)]
    assert ages == [None, 1, 1, 2, 3, 4, 4]
    ages = [age_at(graph, at_minute(m), "side") for m in (1, 2, 3.5, 4, 500)]
    assert ages == [1, 2, 2, 40, 40]


@pytest.mark.parametrize(
    "text", ["2030-01-01T00:03:00Z", "2030-01-01 00:03:30", "2030-01-01T02:03:00+02:00"]
)
def test_a_time_may_be_text_and_is_in_utc_unless_it_says_otherwise(graph: Graph, text: str) -> None:
    assert age_at(graph, text) == 3


def test_a_manifest_version_means_what_the_branch_held_then(graph: Graph) -> None:
    for branch in ("main", "side"):
        for commit in graph.commits(branch):
            snapshot = graph.at(commit.graph_manifest_version, branch)
            assert snapshot.commit.graph_commit_id == commit.graph_commit_id


def test_the_past_stays_as_it_was(graph: Graph) -> None:
    held = graph.at(at_minute(2))
    turn(graph, 99)
    graph.optimize()
    assert age_at(graph, at_minute(2)) == age_at(graph, held.graph_commit_id) == 2


@pytest.mark.parametrize(
    ("moment", "error"),
    [
        (START - timedelta(milliseconds=1), MomentMissing),
        ("1999-12-31", MomentMissing),
        (0, MomentMissing),
        (10_000, MomentMissing),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", CommitMissing),
        ("01ARZ3ND", CommitMissing),
        ("yesterday", CommitMissing),
    ],
)
def test_a_moment_that_is_not_there_is_named(
    graph: Graph, moment: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        graph.at(moment)  # type: ignore[arg-type]
    with pytest.raises(CommitMissing):
        graph.commit("01ARZ3ND")
    with pytest.raises(BranchMissing):
        graph.at(START, "nowhere")


def test_what_is_held_of_a_branch_is_missing_once_the_branch_is_deleted(graph: Graph) -> None:
    held = graph.snapshot("side")
    graph.branch_delete("side")
    with pytest.raises(CommitMissing):
        held.query(QUERIES, "everyone")
    with pytest.raises(CommitMissing):
        held.export(BytesIO())


class Later:
    """Time passes at a failpoint, and somebody asks for the graph as it is then."""

    def __init__(self, clock: SteppingClock, point: Failpoint, ask: Callable[[], None]) -> None:
        self._clock, self._point, self._ask = clock, point, ask

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            self._clock.time += timedelta(minutes=1)
            self._ask()
            self._clock.time += timedelta(minutes=1)


@pytest.mark.parametrize("dies", [False, True], ids=["lives", "dies"])
@pytest.mark.parametrize(
    "point", [Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM, Failpoint.AFTER_LAND_ALL]
)
def test_a_time_that_was_asked_for_gives_the_same_again_when_a_write_under_way_is_done(
    graph: Graph, clock: SteppingClock, point: Failpoint, dies: bool
) -> None:
    asked: list[tuple[datetime, int | None]] = []

    def ask() -> None:
        asked.append((clock.time, age_at(Graph.open(graph.uri, read_only=True), clock.time)))
        if dies:
            raise Crash

    writer = Graph(Engine.open(graph.uri, clock=clock, faults=Later(clock, point, ask)))
    try:
        turn(writer, 5)
    except Crash:
        clock.time += timedelta(minutes=1)
        graph = Graph(Engine.open(graph.uri, clock=clock))  # which may publish it, minutes later
    [(time, age)] = asked
    assert age_at(graph, time) == age == 4


def test_times_never_step_back_along_a_line_though_a_clock_does(
    graph: Graph, clock: SteppingClock
) -> None:
    clock.time -= timedelta(hours=1)
    turn(graph, 5)
    turn(graph, 50, branch="side")
    clock.time += timedelta(hours=2)
    turn(graph, 6)
    for branch in ("main", "side"):
        times = [commit.created_at for commit in graph.commits(branch)]
        assert times == sorted(times, reverse=True)
    assert (age_at(graph, at_minute(3)), age_at(graph, at_minute(4))) == (3, 5)
