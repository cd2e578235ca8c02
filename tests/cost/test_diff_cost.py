"""What a diff and the feed look at: as much as was changed, however large the tables are."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from tests.cost.counting import SETTLE_S, Calls, counted_store
from tests.cost.metering import metered_graph

SCHEMA = "node Person { number: I64 @key  age: I32 }"
REMOVE = "query remove() { delete Person where number < 5 }"
CHANGED = 20


def people(numbers: range, age: int) -> pa.Table:
    ages = np.full(len(numbers), age)
    return pa.table({"number": pa.array(numbers, pa.int64()), "age": pa.array(ages, pa.int32())})


WHERE_ROWS_MOVED = ("compacted", "both")
STATES = ["untouched", "with deletions before", "main moved", "compacted", "both"]


@pytest.fixture(scope="module", params=STATES)
def state(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def places(state: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same change, of two commits, on graphs of two sizes."""
    made = []
    for size in (300, 6_000):
        place = tmp_path_factory.mktemp("diff") / "g"
        with Graph.init(place, SCHEMA, durability="relaxed") as graph:
            for half in (range(size // 2), range(size // 2, size)):
                graph.load({"Person": people(half, 1)}, mode="append", engine="local")
            if state == "with deletions before":
                graph.mutate("query some() { delete Person where number in [100, 200] }")
            graph.branch_create("x")
            rows = people(range(5, CHANGED), 2)
            graph.load({"Person": rows}, mode="merge", engine="local", branch="x")
            graph.mutate(REMOVE, branch="x")
            if state in WHERE_ROWS_MOVED:
                assert graph.optimize(branch="x").compacted
            if state in ("main moved", "both"):
                graph.load({"Person": people(range(5), 3)}, mode="merge", engine="local")
        made.append(place)
    time.sleep(SETTLE_S)
    return made


def compare(graph: Graph) -> None:
    assert len(graph.diff("main", "x").to_pylist()) == CHANGED


def follow(graph: Graph) -> None:
    (start, *_) = (c.graph_commit_id for c in graph.commits("x") if c.graph_branch == "main")
    assert len(graph.changes(start=f"after:{start}", branch="x")) == CHANGED


@pytest.mark.parametrize("step", [compare, follow])
def test_rows_are_looked_at_as_they_changed(
    places: list[Path], state: str, step: Callable[[Graph], None]
) -> None:
    looked_at = []
    for place in places:
        graph, meter = metered_graph(place)
        step(graph)
        # No file is read to tell which of the moved rows are what they were.
        has_moved = state in WHERE_ROWS_MOVED
        looked_at.append(meter.rows_from_files if has_moved else meter.rows)
    assert looked_at[0] == looked_at[1] > 0


@pytest.mark.parametrize("step", [compare, follow])
def test_storage_is_asked_as_often(places: list[Path], step: Callable[[Graph], None]) -> None:
    asked: list[Calls] = []
    for place in places:
        store, calls = counted_store(place)
        step(Graph(Engine.over(store, Settings())))
        asked.append(Counter(calls))
    assert asked[0] == asked[1]
