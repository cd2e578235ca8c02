"""A query that ends at any look at the clock leaves nothing behind that changes a later answer."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import QueryCancelled
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits
from tests.graph.read.test_deadlines import Fuse

SCHEMA = """
node Person { name: String @key  age: I32?  city: String?  tags: [String]? }
node Team { name: String @key }
edge Knows: Person -> Person { weight: F64?  kind: I32? }
edge MemberOf: Person -> Team
"""
PEOPLE, FRIENDS = 60, 300

KNOWS = "$a: Person  $a $e: knows $b"
QUERIES = {
    "sorted": f"match {{ {KNOWS} }} return {{ $e.kind, $e.weight, $b.name }}"
    " order { $e.kind, $e.weight desc }",
    "grouped": f"match {{ {KNOWS} }} return {{ $b.city as c, count(distinct $e.weight) as n,"
    " min($b.name) as m, collect($e.kind) as k } order { c }",
    "distinct": f"match {{ {KNOWS} }} return distinct {{ $a.city as c, $e.weight as w }}"
    " order { c, w }",
    "undirected": "match { $a: Person  $a <knows> $b } return { $a.name as x, count($b) as n }"
    " order { x }",
    "equal values": "match { $a: Person  $b: Person  $a.city = $b.city  $a.age < $b.age }"
    " return { $a.name as x, $b.name as y } order { x, y }",
    "blocks": "match { $a: Person  $a knows $b  or { $b memberOf $t } { $b knows $c  $c.age > 30 }"
    "  not { $a memberOf $u } } return { count($b) as n }",
    "optional": "match { $a: Person  optional { $a knows $b  $b memberOf $t } }"
    " return { $a.name as x, $b.name as y, $t.name as z } order { x, y, z }",
    "walk": "match { $a: Person  $a knows{1,3} $b } return { $a.name as x, count($b) as n }"
    " order { x }",
    "whole nodes": f"match {{ {KNOWS} }} return {{ $b, $e.kind as k }}"
    " order { $b.name, $e.kind, $e.weight }",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, chance = tmp_path_factory.mktemp("friends") / "g", random.Random(4)

    def maybe(value: object) -> object:
        return value if chance.random() < 0.8 else None

    rows: list[object] = [{"type": "Team", "data": {"name": f"t{n}"}} for n in range(5)]
    for n in range(PEOPLE):
        data = {
            "name": f"p{n}",
            "age": maybe(chance.randrange(60)),
            "city": maybe(f"c{chance.randrange(6)}"),
            "tags": maybe([f"x{n % 3}", "y"]),
        }
        rows.append({"type": "Person", "data": data})
        if chance.random() < 0.3:
            rows.append({"edge": "MemberOf", "from": f"p{n}", "to": f"t{chance.randrange(5)}"})
    for _ in range(FRIENDS):
        ends = {side: f"p{chance.randrange(PEOPLE)}" for side in ("from", "to")}
        data = {"weight": maybe(chance.randrange(40) / 4), "kind": maybe(chance.randrange(4))}
        rows.append({"edge": "Knows", **ends, "data": data})
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    Graph.init(place, SCHEMA, durability="relaxed").load(lines, mode="append", engine="local")
    return place


def opened(place: Path, rows_at_once: int) -> Graph:
    limits = ReadLimits(max_chunk_rows=rows_at_once, max_block_bytes=4_096)
    return Graph.open(
        place,
        read_only=True,
        settings=replace(Settings(), read_limits=limits, cache_directory=None),
    )


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_ends_at_any_look_and_later_answers_are_as_before(place: Path, name: str) -> None:
    text = f"query q() {{ {QUERIES[name]} }}"
    fuse = Fuse()
    expected = opened(place, 25).query(text, cancel=fuse).to_pylist()
    assert expected
    assert fuse.asked > 15
    assert opened(place, 1 << 19).query(text).to_pylist() == expected
    shared = opened(place, 25)
    for until in range(0, fuse.asked, 1 + fuse.asked // 25):
        for graph in (shared, opened(place, 25)):
            ended = Fuse(until)
            try:
                # On a handle that knows a part already there is less to look at.
                assert graph.query(text, cancel=ended).to_pylist() == expected
                assert graph is shared
            except QueryCancelled:
                assert ended.asked <= until + 2
            assert graph.query(text).to_pylist() == expected
