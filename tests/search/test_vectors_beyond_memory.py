"""`nearest` among vectors that no cache can hold: by the index of the files, or all of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from omnigraph import Graph
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits

SCHEMA = "node Page { name: String @key  half: I32 @index  away: Bool  v: Vector(16)? @index }"
NEAR = """
query near($v: Vector(16)) {
    match { $p: Page } return { $p.name, nearest($p.v, $v) as d } order { d } limit 10
}
query all($v: Vector(16)) {
    match { $p: Page } return { $p.name, nearest($p.v, $v, exact) as d } order { d } limit 10
}
query half($v: Vector(16)) {
    match { $p: Page { half: 1 } } return { $p.name, nearest($p.v, $v) as d } order { d } limit 10
}
query away($v: Vector(16)) {
    match { $p: Page { away: true } }
    return { $p.name, nearest($p.v, $v) as d } order { d } limit 10
}
query few($v: Vector(16)) {
    match { $p: Page  $p.name starts_with "n1234" }
    return { $p.name, nearest($p.v, $v) as d } order { d } limit 10
}
"""
COUNT = 60_000
# A matrix takes half of the cache at most; up to so many vectors are looked at one by one.
SMALL = ReadLimits(max_cache_bytes=2_000_000, max_exact_floats=16 * 500)


def vectors(seed: int, count: int) -> NDArray[np.float32]:
    """Clusters that overlap."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(60, 16))
    noise = chance.normal(size=(count, 16)) * 0.7
    return np.asarray(centres[chance.integers(0, 60, count)] + noise, dtype=np.float32)


def away(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which vectors point away from that of ones: about one in ten."""
    exact = rows.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1) * np.sqrt(rows.shape[1])
    return np.asarray(exact.sum(axis=1) < -0.4 * lengths)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Most vectors are indexed; some came later, some are gone, some were changed."""
    graph = Graph.init(str(tmp_path_factory.mktemp("g") / "g"), SCHEMA, durability="relaxed")
    add(graph, 0, COUNT, seed=1)
    graph.optimize()
    add(graph, COUNT, COUNT + 500, seed=1)
    change = "query q($v: Vector(16)) { update Page set { v: $v } where half = 7 }"
    graph.mutate(change, params={"v": [1.0] * 16})
    graph.mutate('query q() { delete Page where name starts_with "n99" }')
    return graph


def add(graph: Graph, start: int, stop: int, *, seed: int) -> None:
    add_vectors(graph, start, vectors(seed + start, stop - start))


def add_vectors(graph: Graph, start: int, found: NDArray[np.float32]) -> None:
    numbers = np.arange(start, start + len(found))
    half = np.where(numbers % 997 == 0, 7, numbers % 2)
    rows = pa.table(
        {
            "name": [f"n{number}" for number in numbers],
            "half": pa.array(half, pa.int32()),
            "away": pa.array(away(found)),
            "v": pa.array(list(found), pa.list_(pa.float32(), 16)),
        }
    )
    graph.load({"Page": rows}, mode="append", engine="local")


def reopened(graph: Graph, limits: ReadLimits) -> Graph:
    settings = replace(Settings.from_environment(), read_limits=limits, cache_directory=None)
    return Graph(Engine.over(graph.engine.store, settings))


def asked(graph: Graph, name: str, query: NDArray[np.float32]) -> dict[str, float]:
    rows = graph.query(NEAR, name, {"v": query.tolist()}).to_pylist()
    return {row["p.name"]: row["d"] for row in rows}


def test_the_index_of_the_files_finds_nearly_all_and_distances_are_true(graph: Graph) -> None:
    small, large = reopened(graph, SMALL), reopened(graph, ReadLimits())
    found = {"near": 0, "half": 0}
    queries = vectors(5, 10)
    for query in queries:
        for name in found:
            ours, truth = asked(small, name, query), asked(large, name, query)
            assert len(ours) == 10
            found[name] += len(ours.keys() & truth.keys())
            assert all(ours[row] == truth[row] for row in ours.keys() & truth.keys())
        # What is to be exact, and what few rows are chosen from, is.
        assert asked(small, "all", query) == asked(large, "near", query)
        assert asked(small, "few", query) == asked(large, "few", query)
    assert min(found.values()) >= 0.97 * 10 * len(queries)
    again = reopened(graph, SMALL)
    assert [asked(small, "near", q) for q in queries] == [asked(again, "near", q) for q in queries]


def test_an_explanation_says_what_was_looked_at(graph: Graph) -> None:
    small = reopened(graph, SMALL)
    notes = {
        name: [
            note
            for step in small.explain(NEAR, name, {"v": [1.0] * 16}, analyze=True).steps
            for note in step.notes
            if note.startswith("Page.v")
        ]
        for name in ("near", "all", "few")
    }
    assert "the nearest lists" in notes["near"][0]
    assert "every vector" in notes["all"][0] and "every vector" in notes["few"][0]


def test_of_rows_that_all_lie_far_away_the_nearest_are_found(graph: Graph) -> None:
    """The lists nearest to the query have none of the rows that the filter leaves."""
    small, large = reopened(graph, SMALL), reopened(graph, ReadLimits())
    queries = 1 + 0.2 * vectors(6, 10)
    found = 0
    for query in queries:
        ours, truth = asked(small, "away", query), asked(large, "away", query)
        assert len(ours) == 10
        assert all(ours[row] == truth[row] for row in ours.keys() & truth.keys())
        found += len(ours.keys() & truth.keys())
    assert found >= 0.95 * 10 * len(queries)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_how_long_a_query_is_does_not_matter_to_the_index(graph: Graph, scale: float) -> None:
    small = reopened(graph, SMALL)
    for query in vectors(7, 3):
        long = (query.astype(np.float64) * scale).astype(np.float32)
        assert asked(small, "near", long).keys() == asked(small, "near", query).keys()


def test_late_vectors_of_extreme_length_stand_in_nobodys_way(tmp_path: Path) -> None:
    """The index does not cover them, and in 32 bits their distances are no numbers."""
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    add(graph, 0, 1_500, seed=8)
    graph.optimize()
    late = vectors(9, 300).astype(np.float64)
    late[::2] *= 1e25
    late[1::2] *= 1e-25
    add_vectors(graph, 1_500, late.astype(np.float32))
    small = reopened(graph, ReadLimits(max_cache_bytes=20_000, max_exact_floats=16 * 100))
    for query in vectors(9, 3):
        assert asked(small, "near", query) == asked(graph, "near", query)
        assert asked(small, "half", query) == asked(graph, "half", query)
