"""Indexes and files are looked after while a server lives, in nobody's way."""

import json
import random
import signal
import threading
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.surfaces.server.admission import Admission
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.logs import JsonLines
from omnigraph.surfaces.server.metrics import Metrics
from omnigraph.surfaces.server.upkeep import Upkeep
from omnigraph.write.upkeep import UPKEEP_ACTOR
from tests.processes import PATIENCE_S, wait_until
from tests.surfaces.server.process import server_process
from tests.surfaces.server.world import PEOPLE, G, make_graph, serve_here

OPEN = "--unauthenticated"
OFTEN = ("--upkeep-s", "0.1")
NO_ROUND = "omnigraph_upkeep_rounds_total 0.0"
VECTORS, LONG = 2_000, 64


def are_covered(graph: Graph) -> bool:
    return all(index.built and not index.pending for index in graph.indexes() if not waits(index))


def waits(index: object) -> bool:
    """There is nothing to build it of."""
    return "empty" in (getattr(index, "pending", None) or "")


def kinds(graph: Graph) -> list[str]:
    return [commit.kind for commit in graph.commits()]


class Slow:
    """A write waits at a point until it is let go; or fails there, as often as is said."""

    def __init__(self, point: Failpoint, *, failures: int = 0) -> None:
        self.point = point
        self.failures = failures
        self.is_there, self.may_go = threading.Event(), threading.Event()

    def reach(self, point: Failpoint) -> None:
        if point is not self.point:
            return
        if self.failures:
            self.failures -= 1
            raise RuntimeError("a defect of ours")
        self.is_there.set()
        assert self.may_go.wait(PATIENCE_S)


def upkeep_of(graph: Graph, metrics: Metrics | None = None) -> Upkeep:
    metrics = metrics or Metrics(Admission(ServerLimits()))
    return Upkeep({"people": graph}, metrics, pause_s=0.01, yield_s=PATIENCE_S)


def test_fresh_rows_come_under_the_indexes_of_a_served_graph_and_no_answer_changes(
    tmp_path: Path,
) -> None:
    graph = make_graph(tmp_path)
    assert not are_covered(graph)
    with server_process(tmp_path / "people.omni", OPEN, *OFTEN) as server:

        def rows() -> object:
            return httpx2.post(f"{server.url}{G}/query", json={"query": PEOPLE}).json()["rows"]

        before = rows()
        wait_until(lambda: are_covered(graph), "the rows never came under an index")
        assert rows() == before
        line = server.wait_for("upkeep")
        assert (line["graph"], line["branch"], line["kind"]) == ("people", "main", "index")
        commit = graph.commits(limit=1)[0]
        assert (line["commit"], commit.actor_id) == (commit.graph_commit_id, UPKEEP_ACTOR)
        metrics = httpx2.get(f"{server.url}/metrics").text
        assert 'omnigraph_upkeep_commits_total{kind="index"} 1.0' in metrics
        assert server.stop() == 0
        assert server.wait_for("stopped")


def test_a_server_stops_beside_a_build_and_leaves_the_old_commit_or_the_new_one(
    tmp_path: Path,
) -> None:
    place = tmp_path / "people.omni"
    graph = Graph.init(place, f"node Doc {{ n: I32 @key  v: Vector({LONG}) @index }}")
    chance = random.Random(7)
    docs = [
        {"type": "Doc", "data": {"n": n, "v": [chance.random() for _ in range(LONG)]}}
        for n in range(VECTORS)
    ]
    graph.load(docs, mode="append", engine="local")
    with server_process(place, OPEN, *OFTEN) as server:
        wait_until(
            lambda: NO_ROUND not in httpx2.get(f"{server.url}/metrics").text,
            "the upkeep never began",
        )
        assert server.stop(signal.SIGTERM) == 0
        assert server.wait_for("stopped")
    again = Graph.open(place)
    assert kinds(again) in (["load", "init"], ["index", "load", "init"])
    counted = again.query("query q() { match { $d: Doc } return { count($d) as n } }")
    assert counted.to_pylist() == [{"n": VECTORS}]
    again.optimize()
    assert are_covered(again)


def test_the_upkeep_ends_with_its_server_or_is_left_behind(tmp_path: Path) -> None:
    make_graph(tmp_path)
    slow = Slow(Failpoint.AFTER_ARM)
    graph = Graph(Engine.open(str(tmp_path / "people.omni"), faults=slow))
    upkeep = upkeep_of(graph)
    upkeep.start()
    assert slow.is_there.wait(PATIENCE_S)
    assert not upkeep.wait(0)
    slow.may_go.set()
    assert upkeep.wait(PATIENCE_S)
    assert kinds(graph)[0] == "index"


def test_a_server_without_upkeep_has_no_thread_for_it(tmp_path: Path) -> None:
    graph = make_graph(tmp_path)
    upkeep = Upkeep({"people": graph}, Metrics(Admission(ServerLimits())), pause_s=0)
    upkeep.start()
    assert not [t for t in threading.enumerate() if t.name == "omnigraph-upkeep"]
    assert upkeep.wait(PATIENCE_S)


def test_requests_under_way_go_first(tmp_path: Path) -> None:
    graph, metrics = make_graph(tmp_path), Metrics(Admission(ServerLimits()))
    metrics.requests_under_way = 1
    upkeep = upkeep_of(graph, metrics)
    upkeep.start()
    wait_until(lambda: NO_ROUND not in metrics.text().decode(), "it never began")
    assert upkeep.wait(PATIENCE_S)
    assert kinds(graph) == ["load", "init"]
    metrics.requests_under_way = 0
    later = upkeep_of(graph, metrics)
    later.start()
    wait_until(lambda: are_covered(graph), "the rows never came under an index")
    assert later.wait(PATIENCE_S)


def test_a_failure_of_the_upkeep_is_told_and_disturbs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_graph(tmp_path)
    broken = Slow(Failpoint.AFTER_STAGE, failures=2)
    broken.may_go.set()
    graph = Graph(Engine.open(str(tmp_path / "people.omni"), settings=Settings(), faults=broken))
    world = serve_here(graph)
    upkeep = upkeep_of(graph, world.app.metrics)
    before = world.names()
    upkeep.start()
    wait_until(lambda: are_covered(graph), "it never tried again")
    assert upkeep.wait(PATIENCE_S)
    assert world.names() == before
    assert "omnigraph_upkeep_failures_total 2.0" in world.get("/metrics").text
    told = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [line["graph"] for line in told if "failed" in line["message"]] == ["people"] * 2


def test_two_servers_of_one_graph_lose_no_write_and_make_none_twice(tmp_path: Path) -> None:
    """Both write, both read what the other has written at once, and both look after the files."""
    graph = make_graph(tmp_path)
    place = tmp_path / "people.omni"
    write = "query note($text: String) { insert Note { text: $text } }"
    read = "query n($text: String) { match { $n: Note { text: $text } } return { $n.text } }"
    many, failures = 6, list[str]()

    def work(here: str, there: str, who: str) -> None:
        with httpx2.Client(timeout=PATIENCE_S) as client:
            for n in range(many):
                params = {"text": f"{who}-{n}"}
                done = client.post(f"{here}{G}/mutate", json={"query": write, "params": params})
                seen = client.post(f"{there}{G}/query", json={"query": read, "params": params})
                if not done.is_success or seen.json().get("rows") != [{"n.text": params["text"]}]:
                    failures.append(f"{done.text} {seen.text}")

    with (
        server_process(place, OPEN, *OFTEN) as one,
        server_process(place, OPEN, *OFTEN) as two,
    ):
        ways = [(one.url, two.url, "a"), (two.url, one.url, "b")] * 2
        workers = [
            threading.Thread(target=work, args=(here, there, f"{who}{n}"))
            for n, (here, there, who) in enumerate(ways)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        wait_until(lambda: are_covered(graph), "the rows never came under an index")
        notes = "query notes() { match { $n: Note } return { $n.text } }"
        answers = [
            httpx2.post(f"{server.url}{G}/query", json={"query": notes}).json()["rows"]
            for server in (one, two)
        ]
        assert (one.stop(), two.stop()) == (0, 0)
    assert not failures
    expected = Counter(f"{who}{n}-{i}" for n, (_, _, who) in enumerate(ways) for i in range(many))
    for rows in answers:
        assert Counter(row["n.text"] for row in rows) == expected
    made = Counter(kinds(graph))
    assert made["mutation"] == expected.total()
    assert made["index"] + made["optimize"] > 0
