"""A write that fails, a look, a second try: the row is there once.

The disk is full from a failpoint on, for this process as a whole: none of its files can grow. Notes
have no key, so a write that is made twice shows.
"""

import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ConflictError,
    EarlierWritePublished,
    OmnigraphError,
    OutcomePending,
    RequestIdReused,
    StorageError,
)
from omnigraph.base.failpoints import Failpoint, Faults
from omnigraph.engine.engine import Engine

SCHEMA = "node Note { text: String }"
NOTE = 'query note() { insert Note { text: "pay 100" } }'
COUNT = "query notes() { match { $n: Note } return { count($n) as notes } }"
LINES = b'{"type": "Note", "data": {"text": "pay 100"}}\n'


class FullFrom(Faults):
    """The disk is full from a point on, until there is room again."""

    def __init__(self, point: Failpoint) -> None:
        self._point: Failpoint | None = point

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            self._point = None
            limit_files(0)


def limit_files(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


def notes(graph: Graph) -> int:
    [row] = graph.query(COUNT).to_pylist()
    count: int = row["notes"]
    return count


def try_twice(place: str, point: Failpoint, kind: str, second: str) -> None:
    """In a process of its own: the limit holds for all its threads, and for no test."""
    graph = Graph(Engine.open(place, durability="relaxed", faults=FullFrom(point)))
    pending: OutcomePending | None = None

    def write(request_id: str | None) -> object:
        if kind == "load":
            return graph.load(LINES, mode="append", engine="local", load_id=request_id)
        return graph.mutate(NOTE, request_id=request_id)

    named = "mine" if second == "with its name" else None
    try:
        write(named)
    except OutcomePending as error:
        pending = error
    except StorageError:
        pass
    else:
        limit_files(resource.RLIM_INFINITY)
        assert notes(Graph.open(place)) == 1, "what was acknowledged is there"
        return
    if second == "after a look at a full disk":
        try:
            assert notes(graph) == 0 or pending is not None
        except OutcomePending as error:
            assert pending is not None and error.commit_id == pending.commit_id
    limit_files(resource.RLIM_INFINITY)
    if second == "after a look":
        if not notes(graph):
            write(None)
    elif second == "with its name":
        write(named)
    elif second == "with the name of the commit" and pending is not None:
        write(pending.commit_id)
    elif second == "by another handle":
        other = Graph.open(place)
        if not notes(other):
            other.mutate(NOTE)
    else:
        try:
            write(None)
        except EarlierWritePublished as error:
            assert pending is not None and error.commit_id == pending.commit_id
    assert notes(graph) == notes(Graph.open(place)) == 1


SECOND_TRIES = [
    "at once",
    "after a look",
    "after a look at a full disk",
    "with its name",
    "with the name of the commit",
    "by another handle",
]


def try_at_every_point(folder: Path, kind: str, second: str) -> None:
    for point in Failpoint:
        place = str(folder / f"{point.value}.omni")
        Graph.init(place, SCHEMA, durability="relaxed").close()
        try_twice(place, point, kind, second)


@pytest.mark.pairs
@pytest.mark.parametrize("second", SECOND_TRIES)
@pytest.mark.parametrize("kind", ["mutation", "load"])
def test_a_second_try_on_a_disk_that_was_full_writes_once(
    tmp_path: Path, kind: str, second: str
) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(try_at_every_point, tmp_path, kind, second).result()


# Whose write it was -------------------------------------------------------------------------------


class FullFromCompaction(Faults):
    """The disk is full from a point of the compaction that follows a write."""

    def __init__(self, point: Failpoint) -> None:
        self._point = point
        self.is_written = self.is_full = False

    def reach(self, point: Failpoint) -> None:
        if point is self._point and self.is_written and not self.is_full:
            self.is_full = True
            limit_files(0)
        self.is_written |= point is Failpoint.AFTER_DISARM


def pending_graph(
    place: Path, *, actor: str | None = None, is_load: bool = False
) -> tuple[Graph, OutcomePending]:
    """A graph with a write that is still to be finished, on a disk that has room again."""
    Graph.init(str(place), SCHEMA, durability="relaxed").close()
    full = FullFrom(Failpoint.AFTER_LAND_ALL)
    graph = Graph(Engine.open(str(place), durability="relaxed", faults=full))
    with pytest.raises(OutcomePending) as caught:
        if is_load:
            graph.load(LINES, mode="append", actor=actor)
        else:
            graph.mutate(NOTE, actor=actor)
    limit_files(resource.RLIM_INFINITY)
    return graph, caught.value


def answer_a_repetition_then_write(folder: Path) -> None:
    graph, pending = pending_graph(folder / "mutation.omni")
    assert graph.mutate(NOTE, request_id=pending.commit_id).is_repeat
    assert not graph.mutate(NOTE).is_repeat
    assert notes(graph) == 2
    graph, pending = pending_graph(folder / "load.omni", is_load=True)
    assert graph.load(LINES, mode="append", load_id=pending.commit_id).is_repeat
    assert not graph.mutate(NOTE).is_repeat
    assert notes(graph) == 2


def write_as_others_meanwhile(folder: Path) -> None:
    for number, looks in enumerate([False, True]):
        graph, pending = pending_graph(folder / f"{number}.omni", actor="ada")
        for other in ("bo", None):
            graph.mutate(NOTE, actor=other)
            if looks and other is not None:
                assert notes(graph.as_actor(other))
        with pytest.raises(EarlierWritePublished) as caught:
            graph.mutate(NOTE, actor="ada")
        assert caught.value.commit_id == pending.commit_id
        graph.mutate(NOTE, actor="ada")
        assert notes(graph) == 4


def fail_to_compact(folder: Path) -> None:
    for point in (Failpoint.AFTER_ARM, Failpoint.AFTER_LAND_ALL):
        place, full = str(folder / f"{point.value}.omni"), FullFromCompaction(point)
        Graph.init(place, SCHEMA, durability="relaxed").close()
        graph = Graph(Engine.open(place, durability="relaxed", faults=full))
        written = 0
        while not full.is_full:
            full.is_written = False
            graph.mutate(NOTE)
            written += 1
            assert written < 1_000
        assert notes(graph) == written, "a disk that is full can be read"
        limit_files(resource.RLIM_INFINITY)
        graph.mutate(NOTE)
        assert notes(graph) == notes(Graph.open(place)) == written + 1


@pytest.mark.parametrize(
    "case", [answer_a_repetition_then_write, write_as_others_meanwhile, fail_to_compact]
)
def test_only_the_caller_of_a_pending_write_is_refused_and_only_until_they_know(
    tmp_path: Path, case: Callable[[Path], None]
) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(case, tmp_path).result()


# Request ids --------------------------------------------------------------------------------------


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph.init(str(tmp_path / "g.omni"), SCHEMA, durability="relaxed")


PAY = "query pay($text: String, $more: [String]?) { insert Note { text: $text } }"


def test_a_request_is_carried_out_once_and_answered_as_often_as_it_is_sent(graph: Graph) -> None:
    first = graph.mutate(PAY, "pay", {"text": "a"}, request_id="r1", actor="ada")
    assert not first.is_repeat
    graph.mutate(PAY, "pay", {"text": "b"})
    for again in (graph, Graph.open(graph.uri)):
        second = again.mutate(PAY, "pay", {"text": "a"}, request_id="r1", actor="ada")
        assert second.is_repeat
        assert (second.commit, second.query_name) == (first.commit, first.query_name)
        assert (second.affected_nodes, second.affected_edges) == (1, 0)
    assert notes(graph) == 2


def test_an_id_belongs_to_one_request_of_one_actor_on_one_branch(graph: Graph) -> None:
    graph.branch_create("side")
    first = graph.mutate(PAY, "pay", {"text": "a"}, request_id="r1", actor="ada")
    assert first.commit is not None
    for other in ({"text": "b"}, {"text": "a", "more": ["x"]}):
        with pytest.raises(RequestIdReused) as caught:
            graph.mutate(PAY, "pay", other, request_id="r1", actor="ada")
        assert caught.value.commit_id == first.commit.graph_commit_id
        assert isinstance(caught.value, ConflictError)
    assert notes(graph) == 1
    assert not graph.mutate(PAY, "pay", {"text": "a"}, request_id="r1", actor="bo").is_repeat
    side = graph.branch("side")
    assert not side.mutate(PAY, "pay", {"text": "a"}, request_id="r1", actor="ada").is_repeat
    graph.branch_create("later")
    later = graph.branch("later")
    assert not later.mutate(PAY, "pay", {"text": "a"}, request_id="r1", actor="ada").is_repeat


def test_parameters_that_no_query_has_are_another_request(graph: Graph) -> None:
    within_itself: list[object] = []
    within_itself.append(within_itself)
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    graph.mutate(PAY, "pay", {"text": "a"}, request_id="r1")
    for more in ({"more": within_itself}, {"more": deep}, {7: "b"}, {None: "b"}):
        params: dict[Any, Any] = {"text": "a", **more}
        with pytest.raises(RequestIdReused):
            graph.mutate(PAY, "pay", params, request_id="r1")
    assert notes(graph) == 1


def test_a_request_that_failed_leaves_its_id_free(graph: Graph) -> None:
    with pytest.raises(OmnigraphError):
        graph.mutate(PAY, "pay", {"text": 3}, request_id="r1")
    assert not graph.mutate(PAY, "pay", {"text": "a"}, request_id="r1").is_repeat
    assert notes(graph) == 1


def test_the_id_of_a_commit_names_the_request_that_made_it(graph: Graph) -> None:
    commit = graph.mutate(PAY, "pay", {"text": "a"}).commit
    assert commit is not None
    again = graph.mutate(PAY, "pay", {"text": "a"}, request_id=commit.graph_commit_id)
    assert again.is_repeat and again.commit == commit
    loaded = graph.load(LINES, mode="append").commit
    assert loaded is not None
    repeated = graph.load(LINES, mode="append", load_id=loaded.graph_commit_id)
    assert repeated.is_repeat and repeated.commit == loaded
    assert notes(graph) == 2


@pytest.mark.parametrize("request_id", ["", " r", "r\n", "ü", "x" * 256, 7])
def test_an_id_that_no_header_could_hold_is_refused(graph: Graph, request_id: str) -> None:
    with pytest.raises(OmnigraphError, match="request_id"):
        graph.mutate(NOTE, request_id=request_id)
