"""A process lives longer than its Spark session may: clusters are restarted, and a JVM dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import LimitExceeded, SparkFailed
from omnigraph.engine.results import LoadResult
from tests.pipeline.spark.clusters import Driver, ancestors, connect_server, processes
from tests.processes import PATIENCE_S, wait_until

# Drivers of their own, in no way of the session of this process.
pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

RUNS = "org.apache.spark.deploy.SparkSubmit"

ROW = '{"type": "Person", "data": {"name": "%s"}}\n'


@pytest.mark.deep
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_load_begins_another_session_where_its_own_is_over(tmp_path: Path, how: str) -> None:
    driver = Driver({"OMNIGRAPH_SPARK_MASTER": "local[1]"})
    try:
        Graph.init(tmp_path / "g", "node Person { name: String @key }").close()
        told, results = driver.run(load_with_an_end_between, str(tmp_path), how)
    finally:
        driver.stop()
    assert told == "spark_error"
    assert [result.inserted for result in results] == [1, 1]


def load_with_an_end_between(place: str, how: str) -> tuple[str, list[LoadResult]]:
    """Inside a driver: what a session says that is over, and loads before and after."""
    with Graph.open(f"{place}/g") as graph:
        results = [load_one(graph, place, "first")]
        session = end_session(how)
        with pytest.raises(SparkFailed) as caught:
            # It was the caller's to begin, so it is the caller's to replace.
            load_one(graph, place, "between", spark=session)
        results.append(load_one(graph, place, "second"))
        return caught.value.code, results


def load_one(graph: Graph, place: str, name: str, **options: object) -> LoadResult:
    source = Path(place, f"{name}.jsonl")
    source.write_text(ROW % name)
    return graph.load(source, mode="append", **(options or {"engine": "spark"}))  # type: ignore[arg-type]


def end_session(how: str) -> object:
    """As Spark does by itself when its master has given it up; or as a system short of memory."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    if how == "stopped":
        session.sparkContext._jsc.sc().stop()
    else:
        gateway: Any = SparkContext._gateway
        gateway.proc.kill()
        gateway.proc.wait()
    return session


@pytest.mark.deep
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_an_algorithm_whose_session_ends_in_its_midst_says_so(tmp_path: Path, how: str) -> None:
    graph = Graph.init(tmp_path / "g", "node P { n: I64 @key }\nedge To: P -> P { @key(src, dst) }")
    edges = [{"edge": "To", "from": n, "to": n + 1} for n in range(9)]
    nodes = [{"type": "P", "data": {"n": n}} for n in range(10)]
    graph.load([*nodes, *edges], mode="append", engine="local")
    driver = Driver({"OMNIGRAPH_SPARK_MASTER": "local[1]"})
    try:
        told = driver.run(walk_until_it_ends, graph.uri, how)
    finally:
        driver.stop()
    assert told == "spark_error"


def walk_until_it_ends(uri: str, how: str) -> str:
    """Inside a driver: what a call says whose session ends while it keeps rows."""

    def hear(phase: str, done: int, total: int) -> None:
        if phase == "run" and done == 1:
            end_session(how)

    with Graph.open(uri, read_only=True) as graph:
        with pytest.raises(SparkFailed) as caught:
            graph.analytics.shortest_paths("To", source="0", engine="spark", progress=hear)
        return caught.value.code


# The server of Connect dies -----------------------------------------------------------------------


@pytest.mark.deep
def test_a_call_ends_though_its_connect_server_is_dead(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g", "node P { n: I64 @key }\nedge To: P -> P { @key(src, dst) }")
    nodes = [{"type": "P", "data": {"n": n}} for n in range(400)]
    edges = [{"edge": "To", "from": n, "to": n + 1} for n in range(399)]
    graph.load([*nodes, *edges], mode="append", engine="local")
    is_walking = tmp_path / "walking"
    with connect_server(tmp_path) as server:
        driver = Driver({"OMNIGRAPH_SPARK_REMOTE": server.url})
        try:
            driver.start(walk_until_it_dies, graph.uri, is_walking)
            wait_until(is_walking.exists, "nothing runs")
            for process in server.processes:
                assert process.stdin is not None
                process.stdin.close()
            told = driver.answer()
        finally:
            driver.stop()
    assert told[0] == "spark_error"
    assert told[1] in ("spark_error", "resource_limit")


def walk_until_it_dies(uri: str, is_walking: Path) -> list[str]:
    """Inside a driver: what a call says whose server dies, and one with a deadline after that.

    The path takes a round for each of its edges, so there is time enough to die in.
    """
    run, told = Graph.open(uri, read_only=True).analytics, []

    def hear(phase: str, done: int, total: int) -> None:
        if phase == "run" and done >= 2:
            is_walking.touch()

    for timeout_s in (None, 5.0):
        with pytest.raises((LimitExceeded, SparkFailed)) as caught:
            run.shortest_paths("To", source="0", engine="spark", progress=hear, timeout_s=timeout_s)
        told.append(caught.value.code)
    return told


# A start that is interrupted ----------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("after_s", [0.0, 1.0, 3.0])
def test_ctrl_c_while_spark_starts_leaves_no_java_and_no_traceback(
    tmp_path: Path, after_s: float
) -> None:
    Graph.init(tmp_path / "g", "node Person { name: String @key }").close()
    query = "query q() { match { $p: Person } return { count($p) as n } }"
    words = ["query", "-e", query, "--engine", "spark", "--store", str(tmp_path / "g")]
    process = subprocess.Popen(
        [sys.executable, "-m", "omnigraph", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: bool(java_below(process.pid)), "Spark does not start")
    time.sleep(after_s)
    begun = java_below(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert "Traceback" not in said and "interrupted" in said
    wait_until(lambda: not any(Path(f"/proc/{n}").exists() for n in begun), "Java is still there")


def java_below(pid: int) -> list[int]:
    """The JVMs of sessions that a process has started."""
    return [java for java, _, words in processes() if RUNS in words and pid in ancestors(java)]
