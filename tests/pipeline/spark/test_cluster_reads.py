"""Frames, queries, exports and algorithms on a standalone cluster, and through Spark Connect."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from tests.pipeline.spark.clusters import HELD, Driver, contents, spark_there
from tests.pipeline.spark.test_clusters import graph_with

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

QUERY = """
query far($name: String) {
    match {
        $p: Person { name: $name }  $p knows{1,3} $f  $f livesIn $c
        $F: Person  $F.age = $f.age
        not { $f knows $p }
    }
    return { $f as friend, $f.name as who, collect($F.name) as like, sum($F.age) as ages }
    order { who }
}
"""


@pytest.fixture(params=[pytest.param("cluster_driver", marks=pytest.mark.deep), "connect_driver"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver: Driver = request.getfixturevalue(request.param)
    return driver


def test_a_cluster_reads_what_this_process_reads(driver: Driver, tmp_path: Path) -> None:
    graph = graph_with(tmp_path / "g.omni")
    told = driver.run(read_there, graph.uri, str(tmp_path / "export"))
    assert told["people"] == [f"p{n}" for n in sorted(range(41, 50))]
    assert told["rows"] == graph.query(QUERY, {"name": "p7"}).to_pylist() and told["rows"]
    for name, rows in told["scores"].items():
        here = getattr(graph.analytics, name)("Knows").to_pylist()
        assert rows == [pytest.approx(row) for row in here]
    again = Graph.init(tmp_path / "again.omni", graph.schema().text)
    again.load(str(tmp_path / "export"), mode="append", engine="local")
    assert contents(again, "main") == contents(graph, "main")


def read_there(uri: str, target: str) -> dict[str, Any]:
    """Inside a driver."""
    graph = Graph.open(uri, read_only=True)
    HELD.append(graph)
    session = spark_there().session
    people = graph.spark("Person", columns=["name"], where="age > 40", spark=session)
    graph.export(target, format="parquet", engine="spark", spark=session)
    scores = {
        name: getattr(graph.analytics, name)("Knows", spark=session).to_pylist()
        for name in ("pagerank", "connected_components", "triangle_count")
    }
    return {
        "scores": scores,
        "people": sorted(row.name for row in people.collect()),
        "rows": graph.query(QUERY, {"name": "p7"}, engine="spark", spark=session).to_pylist(),
    }
