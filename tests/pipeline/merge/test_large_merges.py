"""A merge by tasks, in files, comes to what a merge in memory comes to: rows and conflicts."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import MergeConflicts, OmnigraphError
from omnigraph.base.ids import BranchName
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.arrow import table_schema
from omnigraph.store.graph_store import GraphStore

SCHEMA = """
node Person { name: String @key  age: I32?  phone: String?  @unique(phone) }
node City { code: String @key }
edge LivesIn: Person -> City @card(0..1)
edge Owns: Person -> City { price: I32? }
edge Likes: Person -> Person { since: I32?  @key(src, dst) }
"""

# A task for every row, for a few, and one for all.
SIZES = {"rows": 1, "few": 400, "whole": 1 << 30}

START = [
    *(f'insert Person {{ name: "{name}", age: 1, phone: "{name}" }}' for name in "abcd"),
    *(f'insert City {{ code: "{code}" }}' for code in "xy"),
    'insert LivesIn { from: "a", to: "x" }',
    'insert Owns { from: "b", to: "y", price: 1 }',
    'insert Likes { from: "a", to: "b", since: 1 }',
    'insert Likes { from: "c", to: "d", since: 1 }',
]

CHANGES = [
    *(f'update Person set {{ age: {n} }} where name = "{p}"' for p in "abc" for n in (2, 3)),
    *(f'update Person set {{ phone: "{n}" }} where name = "{p}"' for p in "ad" for n in "zb"),
    'update Person set { phone: "was" } where name = "b"',
    *(f'insert Person {{ name: "{p}", age: {n} }}' for p in "ef" for n in (1, 2)),
    *(f'insert Person {{ name: "{p}", phone: "new" }}' for p in "gh"),
    *(f'delete Person where name = "{p}"' for p in "abd"),
    *(f'delete City where code = "{c}"' for c in "xy"),
    *(f'insert LivesIn {{ from: "{p}", to: "{c}" }}' for p in "bc" for c in "xy"),
    *(f'delete LivesIn where from = "{p}"' for p in "ab"),
    'update Owns set { price: 2 } where from = "b"',
    'update Owns set { price: 3 } where from = "b"',
    *(f'insert Likes {{ from: "b", to: "{p}", since: {n} }}' for p in "ac" for n in (1, 2)),
    'update Likes set { since: 2 } where from = "a"',
    'delete Likes where from = "c"',
]


def change(graph: Graph, *changes: str, branch: str) -> None:
    """Make the changes that the rules allow there."""
    for text in changes:
        try:
            graph.mutate(f"query q() {{ {text} }}", branch=branch)
        except OmnigraphError as refused:
            assert refused.code not in ("parse_error", "type_error"), text


def in_files(graph: Graph, size: str = "few") -> Graph:
    """The same graph, all merges of which are large ones."""
    limits = LoadLimits(max_merged_bytes=-1, max_unwritten_bytes=SIZES[size])
    chosen = Settings(load_engine="local", load_limits=limits)
    return Graph(Engine.open(graph.uri, durability="relaxed", settings=chosen))


def rows(graph: Graph, branch: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of a branch, by type and id."""
    snapshot = GraphStore.open(graph.uri).snapshot(BranchName(branch))
    found = {}
    for entity in snapshot.catalog.entities:
        table = snapshot.dataset(entity).scan(table_schema(entity).names).sort_by("id")
        assert table.num_rows == snapshot.tables[entity.table_key].row_count
        found[str(entity.name)] = table.to_pylist()
    return found


def told(graph: Graph, source: str, target: str, **options: Any) -> Any:
    """What a merge comes to: its counts, or its conflicts."""
    try:
        result = graph.branch_merge(source, target, **options)
    except MergeConflicts as refused:
        conflicts = [conflict.to_json() for conflict in refused.conflicts]
        return [{k: v for k, v in c.items() if k != "message"} for c in conflicts]
    except OmnigraphError as refused:
        return refused.code
    return result.outcome, result.counts


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = Graph.init(str(tmp_path_factory.mktemp("large") / "g"), SCHEMA, durability="relaxed")
    change(graph, *START, branch="main")
    return graph


SIDES = st.lists(st.sampled_from(CHANGES), max_size=5)
NUMBER = iter(range(1_000_000))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ours=SIDES,
    theirs=SIDES,
    resolve=st.sampled_from([None, "ours", "theirs"]),
    size=st.sampled_from([*SIZES]),
    optimizes=st.booleans(),
)
def test_both_ways_come_to_the_same(
    graph: Graph, ours: list[str], theirs: list[str], resolve: Any, size: str, optimizes: bool
) -> None:
    number = next(NUMBER)
    source, target, copy = (f"{name}{number}" for name in ("source", "target", "copy"))
    graph.branch_create(target)
    graph.branch_create(source)
    change(graph, *ours, branch=target)
    change(graph, *theirs, branch=source)
    if optimizes:
        graph.optimize(branch=source)
    graph.branch_create(copy, target)
    large = in_files(graph, size)
    expected = told(graph, source, target, resolve=resolve)
    assert told(large, source, copy, resolve=resolve, preview=True) is not None
    got = told(large, source, copy, resolve=resolve)
    assert got == expected
    assert rows(large, copy) == rows(graph, target)
