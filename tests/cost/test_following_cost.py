"""How many rows a handle reads again after a commit: those that the commit wrote, and no others."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from tests.cost.metering import metered_graph

SCHEMA = """
node Doc { name: String @key  body: String?  vector: Vector(4)?  year: I32 }
edge Cites: Doc -> Doc
"""
DOCS, FRESH = 60, 3
ASKED = {
    "words": 'match { $d: Doc  search($d.body, "word") } return { count($d) as n }',
    "best words": 'match { $d: Doc } return { $d.name } order { bm25($d.body, "odd") } limit 3',
    "vectors": "match { $d: Doc } return { $d.name } order { nearest($d.vector, [1, 2, 3, 4]) }"
    " limit 3",
    "a column": "match { $d: Doc } return { sum($d.year) as years }",
    "edges": "match { $d: Doc  $d cites $e } return { count($e) as n }",
}
# New rows, and one that was changed. Rankings also read names, to show them, and ids, for ties;
# edges are numbered by the ids of the nodes that they end in.
NEW = FRESH + 1
READ = {
    "words": NEW,
    "best words": 3 * NEW,
    "vectors": 3 * NEW,
    "a column": NEW,
    "edges": NEW + FRESH,
}


def rows(first: int, count: int) -> list[dict[str, object]]:
    numbers = range(first, first + count)
    edges: list[dict[str, object]] = [
        {"edge": "Cites", "from": f"d{n:03}", "to": "d000"} for n in numbers
    ]
    docs: list[dict[str, object]] = [
        {
            "type": "Doc",
            "data": {
                "name": f"d{n:03}",
                "body": f"word {n} {'odd' if n % 2 else 'even'}",
                "vector": [1.0, n % 5, n % 7, 1.0],
                "year": n,
            },
        }
        for n in numbers
    ]
    return [*docs, *edges]


def made(place: Path, sizes: Sequence[int], limits: StoreLimits) -> Graph:
    settings = Settings(store_limits=limits)
    graph = Graph.init(place, SCHEMA, durability="relaxed", settings=settings)
    for before, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
        graph.load(rows(before, size), mode="append", engine="local")
    return graph


def ask(graph: Graph, name: str) -> list[dict[str, object]]:
    return graph.query(f"query q() {{ {ASKED[name]} }}").to_pylist()


def read_again(
    place: Path,
    name: str,
    change: Callable[[Graph], object],
    sizes: Sequence[int] = (10, 10, 10, 10, 10, 10),
    limits: StoreLimits = DEFAULT_LIMITS,
) -> int:
    """The rows that a question reads once more after a change by somebody else."""
    writer = made(place, sizes, limits)
    reader, meter = metered_graph(place)
    ask(reader, name)
    change(writer)
    before = meter.rows_from_files
    found = ask(reader, name)
    after = meter.rows_from_files
    assert found == ask(Graph.open(place), name)
    return after - before


@pytest.mark.parametrize("name", ASKED)
def test_after_a_compaction_no_row_is_read_again(tmp_path: Path, name: str) -> None:
    assert read_again(tmp_path / "g", name, lambda graph: graph.optimize()) == 0


@pytest.mark.parametrize("name", ASKED)
def test_nor_if_rows_were_moved_behind_others(tmp_path: Path, name: str) -> None:
    """Files that are large enough stay where they are, and what was small between them goes."""

    def change(graph: Graph) -> None:
        ids = "match { $d: Doc } return { $d.name }"
        before = graph.query(f"query q() {{ {ids} }}").to_pylist()
        graph.optimize()
        assert graph.query(f"query q() {{ {ids} }}").to_pylist() != before

    large = StoreLimits(max_fragment_rows=20)
    assert read_again(tmp_path / "g", name, change, (20, 5, 5, 20, 5, 5), large) == 0


@pytest.mark.parametrize("name", ASKED)
def test_of_rows_that_came_before_the_compaction_only_those_are_read(
    tmp_path: Path, name: str
) -> None:
    def change(graph: Graph) -> None:
        graph.load(rows(DOCS, FRESH), mode="append", engine="local")
        graph.mutate('query q() { delete Doc where name = "d007" }')
        graph.mutate('query q() { update Doc set { body: "word odd" } where name = "d008" }')
        graph.optimize()

    assert read_again(tmp_path / "g", name, change) == READ[name]
