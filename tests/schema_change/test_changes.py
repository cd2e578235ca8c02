"""Rows that were written before a change of the schema read right after it, on every path."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import BlobMissing, BranchesInTheWay
from omnigraph.base.types import EnumOf, Scalar
from omnigraph.lang.schema.catalog import EdgeType, NodeType
from omnigraph.lang.schema.persist import schema_hash
from tests.schema_change.world import (
    BEFORE,
    CHANGES,
    PERSON,
    Change,
    Image,
    Row,
    graph_of,
    image,
    make_graph,
    schema,
)

COMPARED = {Scalar.STRING, Scalar.I32, Scalar.I64, Scalar.F32, Scalar.F64, Scalar.BOOL}


def assert_reads(graph: Graph, expected: Image, **at: Any) -> None:
    """An export, scans, filters by every property, traversals and blobs tell the same rows."""
    assert image(graph, **at) == expected
    catalog = graph.schema(**at).catalog
    for node in catalog.nodes:
        assert_nodes(graph, node, expected[node.name], **at)
    for edge in catalog.edges:
        assert_edges(graph, edge, expected[edge.name], **at)


def assert_nodes(graph: Graph, node: NodeType, rows: dict[str, Row], **at: Any) -> None:
    scan = f"query q() {{ match {{ $p: {node.name} }} return {{ $p }} }}"
    for [found] in (tuple(row.values()) for row in graph.query(scan, **at)):
        row = rows[found["id"]]
        for name, value in found.items():
            if name != "id" or name in row:
                assert row.get(name) == value
    for property_ in node.properties:
        if property_.type is Scalar.BLOB:
            for id_ in list(rows)[:2]:
                if property_.name in rows[id_]:
                    blob = graph.blob("node", node.name, id_, property_.name, **at)
                    assert blob.read() == b"\0\1\2"
                else:
                    with pytest.raises(BlobMissing):
                        graph.blob("node", node.name, id_, property_.name, **at)
        if property_.type not in COMPARED and not isinstance(property_.type, EnumOf):
            continue
        declared = "String" if isinstance(property_.type, EnumOf) else property_.type
        match = f"$p: {node.name} {{ {property_.name}: $v }}"
        text = f"query q($v: {declared}) {{ match {{ {match} }} return {{ id($p) as id }} }}"
        for value in {row.get(property_.name) for row in rows.values()} - {None}:
            found_ids = {r["id"] for r in graph.query(text, {"v": value}, **at)}
            assert found_ids == {k for k, row in rows.items() if row.get(property_.name) == value}


def assert_edges(graph: Graph, edge: EdgeType, rows: dict[str, Row], **at: Any) -> None:
    walk = f"match {{ $a: {edge.source} $a {edge.query_name} $b }}"
    pairs = graph.query(f"query q() {{ {walk} return {{ id($a) as a id($b) as b }} }}", **at)
    assert sorted(f"{r['a']} {r['b']}" for r in pairs) == sorted(rows)
    back = f"match {{ $b: {edge.target} $a {edge.query_name} $b }}"
    counted = graph.query(f"query q() {{ {back} return {{ count($a) as n }} }}", **at)
    assert [r["n"] for r in counted] == [len(rows)]


def write_on(graph: Graph, change: Change, expected: Image, branch: str = "main") -> Image:
    """Insert, upsert, update and delete by the new schema; give what there must be then."""
    rows = {name: dict(of) for name, of in expected.items()}
    person, key = change.person, change.key
    fresh: Row = {key: "new@x", "team": "green", **change.more}
    graph.load([{"type": person, "data": fresh}], mode="append", branch=branch)
    rows[person]["new@x"] = {**change.spare, **fresh}
    again = {**fresh, key: "newer@x"}
    if "nick" in again:
        again["nick"] = "other"
    graph.load([{"type": person, "data": again}], mode="merge", branch=branch)
    rows[person]["newer@x"] = {**change.spare, **again}
    update = f'query m() {{ update {person} set {{ team: "gold" }} where {key} = "p1@x" }}'
    graph.mutate(update, branch=branch)
    if "p1@x" in rows[person]:
        rows[person]["p1@x"] = {**rows[person]["p1@x"], "team": "gold"}
    graph.mutate(f'query m() {{ delete {person} where {key} = "p2@x" }}', branch=branch)
    rows[person].pop("p2@x", None)
    for edge in graph.schema(branch).catalog.edges:
        rows[edge.name] = {k: v for k, v in rows[edge.name].items() if "p2@x" not in k.split()}
    return rows


MATRIX = [
    *((named, False) for named in CHANGES),
    *(
        pytest.param(named, True, marks=() if named == "all at once" else pytest.mark.deep)
        for named in CHANGES
    ),
]


@pytest.mark.parametrize(("named", "is_empty"), MATRIX)
def test_rows_read_right_after_a_change_and_after_all_that_follows(
    named: str, is_empty: bool, tmp_path: Path
) -> None:
    change, place = CHANGES[named], tmp_path / "graph"
    graph = make_graph(place, is_empty=is_empty)
    before, head = image(graph), graph.commits(limit=1)[0]
    warm = graph_of(place)
    assert_reads(warm, before)

    applied = graph.schema_apply(change.after, message="onwards")
    assert applied.applied and applied.commit is not None
    assert applied.commit.kind == "schema" and applied.commit.message == "onwards"
    assert {step.kind for step in applied.steps} == {*change.kinds}
    expected = change.rows(before)
    for handle in (graph, warm, graph_of(place)):
        assert_reads(handle, expected)
        assert image(handle, snapshot=head) == before
        assert str(handle.schema(snapshot=head)) == BEFORE

    rows = write_on(graph, change, expected)
    for handle in (graph, warm, graph_of(place)):
        assert_reads(handle, rows)
    graph.optimize()
    for handle in (graph, warm, graph_of(place)):
        assert_reads(handle, rows)
        assert image(handle, snapshot=head) == before
        assert image(handle, snapshot=applied.commit) == expected


@pytest.mark.parametrize("named", CHANGES)
def test_a_branch_keeps_its_schema_or_stands_in_the_way(named: str, tmp_path: Path) -> None:
    change = CHANGES[named]
    graph = make_graph(tmp_path / "graph")
    graph.branch_create("old")
    before, head = image(graph), graph.commits(limit=1)
    if not change.is_additive:
        with pytest.raises(BranchesInTheWay) as refused:
            graph.schema_apply(change.after)
        assert refused.value.branches == ("old",) and "old" in str(refused.value)
        assert graph.commits(limit=1) == head and image(graph) == before
        graph.branch_delete("old")
        assert graph.schema_apply(change.after).applied
        return
    graph.schema_apply(change.after)
    for handle in (graph, graph_of(tmp_path / "graph")):
        assert image(handle) == change.rows(before)
        assert_reads(handle, before, branch="old")
    insert = 'query m() { insert Person { email: "old@x", team: "red" } }'
    graph.mutate(insert, branch="old")
    assert image(graph, branch="old")["Person"]["old@x"] == {"email": "old@x", "team": "red"}
    assert image(graph) == change.rows(before)


@pytest.mark.parametrize("named", CHANGES)
def test_a_branch_made_after_a_change_is_written_and_merged_by_the_new_schema(
    named: str, tmp_path: Path
) -> None:
    change = CHANGES[named]
    graph = make_graph(tmp_path / "graph")
    expected = change.rows(image(graph))
    graph.schema_apply(change.after)
    graph.branch_create("new")
    rows = write_on(graph, change, expected, branch="new")
    assert_reads(graph, rows, branch="new")
    assert image(graph) == expected
    assert graph.branch_merge("new").outcome == "fast_forward"
    for handle in (graph, graph_of(tmp_path / "graph")):
        assert_reads(handle, rows)


@pytest.mark.parametrize("named", CHANGES)
def test_the_same_schema_again_changes_nothing(named: str, tmp_path: Path) -> None:
    graph = make_graph(tmp_path / "graph", is_empty=True)
    graph.schema_apply(CHANGES[named].after)
    head = graph.commits(limit=1)
    again = graph.schema_apply(CHANGES[named].after + "\n// a word")
    assert not again.applied and again.commit is None and again.steps == () and again.supported
    assert graph.commits(limit=1) == head
    catalog = graph.schema().catalog
    assert graph.engine.store.snapshot().schema_hash == schema_hash(catalog)


def test_changes_follow_each_other_and_a_name_that_comes_back_is_a_new_thing(
    tmp_path: Path,
) -> None:
    graph = make_graph(tmp_path / "graph")
    before = image(graph)
    dropped = CHANGES["drop properties"]
    graph.schema_apply(dropped.after)
    graph.schema_apply(BEFORE)
    assert image(graph) == dropped.rows(before)
    graph.mutate('query m() { update Person set { nick: "back" } where email = "p1@x" }')
    graph.schema_apply(CHANGES["widen numbers"].after)
    graph.schema_apply(_wide(CHANGES["drop types"].after))
    graph.schema_apply(_wide(CHANGES["add filled properties"].after), message="types again")
    graph.optimize()
    rows = image(graph_of(tmp_path / "graph"))
    assert rows["City"] == {} and rows["LivesIn"] == {}
    assert rows["Person"]["p1@x"]["nick"] == "back" and "nick" not in rows["Person"]["p2@x"]
    assert {row["extra"] for row in rows["Person"].values()} == {7}


@pytest.mark.parametrize("named", CHANGES)
def test_an_export_is_loaded_by_the_schema_that_it_has_with_it(named: str, tmp_path: Path) -> None:
    graph = make_graph(tmp_path / "graph")
    graph.schema_apply(CHANGES[named].after)
    assert image(again_from_export(graph, tmp_path)) == image(graph)


def test_a_schema_shows_the_order_of_keys_that_ids_have(tmp_path: Path) -> None:
    """Whatever order a later text has: a graph that is made of it must give rows the same ids."""
    first = """
        interface Placed { x: I64  y: I64  @key(x, y) }
        node Point implements Placed { }
        node Pair { a: String  b: String  @key(a, b) }
        edge Near: Point -> Pair { n: I64  @key(src, dst, n) }
    """
    later = """
        /* é🦀 */ interface Placed { y: I64  z: I64 @rename_from("x") @key(/* é🦀 */ y,
            z) }
        node Point implements Placed { }
        node Pair { a: String  c: String @rename_from("b")  @key(c, a) }  // @key(c, a)
        edge Near: Point -> Pair { n: I64  @key(n, dst, src) }
    """
    graph = Graph.init(tmp_path / "graph", first, durability="relaxed")
    nodes = [
        {"type": "Point", "data": {"x": 1, "y": 2}},
        {"type": "Pair", "data": {"a": "a", "b": "b"}},
    ]
    edge = {"edge": "Near", "from": '["1","2"]', "to": '["a","b"]', "data": {"n": 3}}
    graph.load([*nodes, edge], mode="append")
    graph.schema_apply(later)
    shown = later.replace("é🦀 */ y,\n            z)", "é🦀 */ z,\n            y)")
    shown = shown.replace("@key(c, a) }", "@key(a, c) }").replace("n, dst, src", "src, dst, n")
    assert graph.schema().text == shown
    assert image(again_from_export(graph, tmp_path)) == image(graph)


def again_from_export(graph: Graph, place: Path) -> Graph:
    graph.export(place / "out", format="parquet")
    again = Graph.init(place / "again", place / "out/schema.pg", durability="relaxed")
    again.load(str(place / "out"), mode="append", engine="local")
    return again


def test_indexes_go_by_the_names_of_properties(tmp_path: Path) -> None:
    graph = make_graph(tmp_path / "graph")
    indexed = schema(PERSON.replace("I32?", "I64?").replace("nick:", "name:") + "@index(age)")
    graph.schema_apply(
        indexed.replace("name: String?", 'name: String? @rename_from("nick") @index')
    )
    graph.optimize()
    found = {index.column for index in graph.indexes() if index.table == "node:Person"}
    assert found == {"id", "age", "name"}


def _wide(schema: str) -> str:
    """The schema with numbers as they are once widened: they can't become narrower again."""
    return schema.replace("I32?", "I64?").replace("F32", "F64")
