"""A process lives longer than its Spark session may: clusters are restarted, and a JVM dies."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import SparkFailed
from omnigraph.engine.results import LoadResult
from tests.pipeline.spark.clusters import Driver

# Drivers of their own, in no way of the session of this process.
pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

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
