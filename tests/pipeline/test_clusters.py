"""Loads on a standalone cluster of two workers, and through Spark Connect."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import OmnigraphError
from omnigraph.engine.graph import Graph
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.session import Spark, SparkSettings
from omnigraph.store.arrow import table_schema
from tests.pipeline.clusters import (
    Driver,
    Server,
    ancestors,
    load_there,
)
from tests.pipeline.world import edge, node, text

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SCHEMA = """
node Person { name: String @key  age: I32? }
node City { code: I64 @key }
edge Knows: Person -> Person { @key(src, dst) }
edge LivesIn: Person -> City @card(0..1)
"""


@pytest.fixture(params=["cluster_driver", "connect_driver"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver: Driver = request.getfixturevalue(request.param)
    return driver


@dataclass(frozen=True)
class Case:
    lines: list[dict[str, Any] | str]
    options: dict[str, Any] = field(default_factory=lambda: {"mode": "append"})


def people(names: range) -> list[dict[str, Any] | str]:
    return [
        node("City", code=1),
        *(node("Person", name=f"p{n}", age=n % 90) for n in names),
        *(edge("Knows", f"p{n}", f"p{n + 1}") for n in names[:-1]),
        *(edge("LivesIn", f"p{n}", 1) for n in names),
    ]


HELD = people(range(50))
# Enough for several tasks.
MANY = people(range(100, 12_000))[1:]
NEW: list[dict[str, Any] | str] = [node("Person", name=f"q{n}") for n in range(40)]

CASES = {
    "new rows beside those held": Case(
        [*people(range(100, 12_000))[1:], edge("Knows", "p100", "p1")]
    ),
    "types replaced": Case(people(range(30, 60)), {"mode": "overwrite"}),
    "a branch made first": Case(NEW, {"mode": "append", "branch": "draft", "from_": "main"}),
    "ids that are there": Case([*NEW, *HELD[:20]]),
    "rows that break rules of the set": Case(
        [*NEW, *NEW[:7], edge("Knows", "q1", "nobody"), edge("LivesIn", "p1", 1)]
    ),
    "lines that are none": Case([*NEW, "{", '{"type":"Nothing","data":{}}', *NEW]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_load_does_on_a_cluster_what_it_does_here(
    driver: Driver, tmp_path: Path, case: str
) -> None:
    lines, options = CASES[case].lines, CASES[case].options
    source = tmp_path / "in.jsonl"
    source.write_text(text(lines))
    here, there = graph_with(tmp_path / "here"), graph_with(tmp_path / "there")
    expected = outcome(lambda: here.load(source, engine="local", **options))
    found = outcome(lambda: driver.run(load_there, there.uri, str(source), **options))
    assert found == expected
    branch = "main" if "error" in expected else options.get("branch", "main")
    assert contents(there, branch) == contents(here, branch)


def test_tasks_run_on_both_workers(cluster: Server, cluster_driver: Driver) -> None:
    executors = set(cluster.executors())
    assert len(executors) == 2
    assert set(cluster_driver.run(ancestors_of_tasks)) & executors == executors


def ancestors_of_tasks() -> list[int]:
    """Inside a driver: the processes that started those of some tasks."""
    spark = Spark.open(SparkSettings())
    ran = spark.run(range(8), ancestors_here, doing="looking")
    return [pid for one in ran for pid in one.result]


def ancestors_here(_: int) -> list[int]:
    time.sleep(0.1)
    return ancestors(os.getpid())


def graph_with(place: Path) -> Graph:
    graph = Graph.init(str(place), SCHEMA)
    held = place.with_suffix(".jsonl")
    held.write_text(text(HELD))
    graph.load(held, mode="append", engine="local")
    return graph


def outcome(load: Callable[[], LoadResult]) -> dict[str, Any]:
    """What a load says of itself, whoever ran it."""
    try:
        loaded = load()
    except OmnigraphError as error:
        return error.to_json()
    return {"mode": loaded.mode, "nodes": loaded.nodes, "edges": loaded.edges}


def contents(graph: Graph, branch: str) -> dict[str, list[dict[str, Any]]]:
    """Every row, without the ids that a load makes up."""
    snapshot = graph.snapshot(branch)
    found: dict[str, list[dict[str, Any]]] = {}
    for entity in snapshot.catalog.entities:
        names = [n for n in table_schema(entity).names if n != "id" or entity.key]
        rows = snapshot.dataset(entity).scan(names).to_pylist()
        found[entity.name] = sorted(rows, key=lambda row: [str(value) for value in row.values()])
    return found
