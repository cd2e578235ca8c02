"""A large graph comes back from its export to the last bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.base.choices import ExportFormat
from omnigraph.store.arrow import table_schema
from tests.pipeline.conftest import DEEP_ON_SPARK

SCHEMA = """
node Person {
    email: String @key
    name: String?
    age: I32?  steps: I64  seed: U64  score: F32?  weight: F64?  is_tall: Bool?
    born: Date?  seen: DateTime?  face: Vector(2)?  tags: [String]?
}
node City { code: I64 @key  name: String }
edge Knows: Person -> Person { since: Date?  weight: F64 }
edge LivesIn: Person -> City
"""
CITIES = 1_000


def columns(count: int) -> dict[str, pa.Table]:
    """Rows by type, about as many nodes as edges; every value of a type may be there, and null."""
    rng = np.random.default_rng(19)
    people, edges = count // 2, count * 2 // 5
    emails = pa.array([f"p{n}@example.org" for n in range(people)])

    def some(values: Any, type_: pa.DataType | None = None) -> pa.Array:
        return pa.array(values, type_, mask=rng.random(len(values)) < 0.1)

    words = np.array(["", "a", 'q"', "\\", "\n", "\u2028", "é", "🦀", "\x01", ", ;"], object)
    floats = rng.integers(0, 2**64, people, np.uint64).view(np.float64)
    floats = np.where(np.isfinite(floats), floats, 0.1)
    lists = [None if n % 7 == 0 else words[: n % 4].tolist() for n in range(people)]
    person = {
        "email": emails,
        "name": some(words[rng.integers(0, 10, people)] + words[rng.integers(0, 10, people)]),
        "age": some(rng.integers(-(2**31), 2**31, people, np.int32)),
        "steps": pa.array(rng.integers(-(2**63), 2**63, people, np.int64)),
        "seed": pa.array(rng.integers(0, 2**64, people, np.uint64)),
        "score": some(rng.random(people, np.float32)),
        "weight": some(floats),
        "is_tall": some(rng.random(people) < 0.5),
        "born": some(rng.integers(-700_000, 2_900_000, people).astype("datetime64[D]")),
        "seen": some(
            rng.integers(-(10**12), 10**13, people).astype("datetime64[ms]"),
            pa.timestamp("ms"),
        ),
        "face": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(2 * people, np.float32)), 2),
        "tags": pa.array(lists, pa.list_(pa.string())),
    }

    def picked(many: int) -> pa.Array:
        return emails.take(pa.array(rng.integers(0, people, many)))

    days = rng.integers(0, 20_000, edges).astype("datetime64[D]")
    return {
        "Person": pa.table(person),
        "City": pa.table({"code": np.arange(CITIES), "name": [f"c{n}" for n in range(CITIES)]}),
        "Knows": pa.table(
            {
                "from": picked(edges),
                "to": picked(edges),
                "since": some(days),
                "weight": rng.random(edges),
            }
        ),
        "LivesIn": pa.table(
            {"from": picked(count // 10), "to": rng.integers(0, CITIES, count // 10)}
        ),
    }


def made(folder: Path, count: int, **how: Any) -> Graph:
    tables = folder / "tables"
    tables.mkdir()
    for name, table in columns(count).items():
        pq.write_table(table, tables / f"{name}.parquet")
    graph = Graph.init(folder / "g.omni", SCHEMA, durability="relaxed")
    graph.load(tables, mode="append", **how)
    # Rows of several commits, and some that are gone.
    graph.mutate("query leave() { delete City where code < 10 }")
    graph.mutate('query rename() { update City set { name: "other" } where code = 500 }')
    return graph


def stored(graph: Graph) -> dict[str, pa.Table]:
    """All rows of each type, by id."""
    snapshot = graph.snapshot().stored
    return {
        entity.name: snapshot.dataset(entity)
        .scan(table_schema(entity).names)
        .sort_by("id")
        .combine_chunks()
        for entity in snapshot.catalog.entities
    }


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    ("engine", "count"),
    [("local", 2_000), pytest.param("spark", 1_000_000, marks=DEEP_ON_SPARK)],
)
def test_a_graph_is_equal_to_what_its_export_is_loaded_as(
    tmp_path: Path, engine: str, count: int, format: ExportFormat, request: pytest.FixtureRequest
) -> None:
    how: dict[str, Any] = {"engine": "local"}
    if engine == "spark":
        how = {"spark": request.getfixturevalue("spark").session}
    graph = made(tmp_path, count, **how)
    target = tmp_path / f"export{'.jsonl' * (engine == 'local' and format == 'jsonl')}"
    result = graph.export(target, format=format, **how)
    twin = Graph.init(tmp_path / "twin.omni", SCHEMA, durability="relaxed")
    twin.load(target, mode="append", **how)
    ours, theirs = stored(graph), stored(twin)
    for name, table in ours.items():
        assert table.equals(theirs[name]), name
    counts = {name: table.num_rows for name, table in ours.items()}
    assert {**result.nodes, **result.edges} == counts
    assert counts["Person"] == count // 2 and counts["City"] == CITIES - 10
    assert count * 0.98 < sum(counts.values()) < count * 1.02 + CITIES
