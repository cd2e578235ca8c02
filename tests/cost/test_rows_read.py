"""How many rows a mutation looks at: as many as it is about, however large the tables are."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.store.changes import Edits, RowEdits
from tests.cost.metering import metered_graph
from tests.store_contract.builders import put, rows_of

SCHEMA = """
node Person { name: String @key  nick: I64 @unique  age: I32  team: String? @index }
node Slot { day: Date  hour: I32  note: String?  @key(day, hour) }
edge Knows: Person -> Person { since: I32?  @key(src, dst) }
edge Boss: Person -> Person @card(0..1) { @unique(src, dst) }
"""

FRESH = 3

MUTATIONS = {
    "an insert": 'insert Person { name: "new", nick: -1, age: 1 }',
    "an upsert": 'insert Person { name: "p7", nick: 7, age: 99 }',
    "an upsert of a fresh row": 'insert Person { name: "fresh1", nick: -11, age: 99 }',
    "an insert of an edge": 'insert Knows { from: "p7", to: "p9" }',
    "an upsert of an edge": 'insert Knows { from: "p7", to: "p8", since: 5 }',
    "an insert of an edge of which there may be one": 'insert Boss { from: "fresh1", to: "p9" }',
    "an insert on a composite key": 'insert Slot { day: "1970-01-08", hour: 7, note: "n" }',
    "an update by key": 'update Person set { age: 98 } where name = "p7"',
    "an update by a list of keys": 'update Person set { age: 97 } where name in ["p7", "fresh1"]',
    "an update by id": 'update Person set { age: 96 } where id = "p7"',
    "an update by a composite key": (
        'update Slot set { note: "m" } where hour = 7 and day = "1970-01-08"'
    ),
    "an update by a unique property": "update Person set { age: 95 } where nick = 7",
    "an update by an indexed property": 'update Person set { age: 94 } where team = "t7"',
    "an update of an edge by its ends": (
        'update Knows set { since: 6 } where from = "p7" and to = "p8"'
    ),
    "an update of edges by one end": 'update Knows set { since: 7 } where to = "p7"',
    "a delete of an edge": 'delete Knows where from = "p7" and to = "p8"',
    "a delete with its edges": 'delete Person where name = "p7"',
    "a delete of nothing": 'delete Person where name = "nobody"',
}


def grow(place: Path, size: int) -> None:
    """So many people, each knowing the next; the last few came after the indexes were made."""
    with Graph.init(str(place), SCHEMA, durability="relaxed") as graph:
        put(graph.engine.store, rows(graph.schema().catalog, [(f"p{n}", n) for n in range(size)]))
        graph.optimize()
        put(
            graph.engine.store,
            rows(graph.schema().catalog, [(f"fresh{n}", -10 - n) for n in range(FRESH)]),
        )


def rows(catalog: Catalog, people: list[tuple[str, int]]) -> Edits:
    names = [name for name, _ in people]
    pairs = list(zip(names, [*names[1:], names[0]], strict=True))
    nodes, edges = catalog.node_by_name, catalog.edge_by_name
    tables = [
        rows_of(
            nodes["Person"],
            [
                {"id": name, "name": name, "nick": nick, "age": 1, "team": f"t{nick}"}
                for name, nick in people
            ],
        ),
        rows_of(
            nodes["Slot"],
            [{"id": f'["{nick}","{nick}"]', "day": abs(nick), "hour": nick} for _, nick in people],
        ),
        rows_of(
            edges["Knows"],
            [{"id": f'["{a}","{b}"]', "src": a, "dst": b, "since": 1} for a, b in pairs],
        ),
        rows_of(
            edges["Boss"],
            [{"id": f"{a}>{b}", "src": a, "dst": b} for a, b in pairs if a.startswith("p")],
        ),
    ]
    keys = [e.table_key for e in (nodes["Person"], nodes["Slot"], edges["Knows"], edges["Boss"])]
    changes = (RowEdits(table) for table in tables)
    return Edits(dict(zip(keys, changes, strict=True)), reads=frozenset())


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("sizes")
    for size in (100, 10_000):
        grow(folder / str(size), size)
    return {size: folder / str(size) for size in (100, 10_000)}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_looks_at_no_more_rows_in_a_larger_graph(
    places: dict[int, Path], mutation: str
) -> None:
    looked_at = {}
    for size, place in places.items():
        graph, meter = metered_graph(place)
        # On a branch of its own, so that each finds the graph as it was made.
        branch = mutation.replace(" ", "-")
        graph.branch_create(branch)
        graph.mutate(f"query q() {{ {MUTATIONS[mutation]} }}", branch=branch)
        looked_at[size] = meter.rows
    assert looked_at[10_000] == looked_at[100]
    assert looked_at[10_000] <= 30
