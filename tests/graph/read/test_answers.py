"""What an answer holds: groups, order, limits, and nodes as objects."""

import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import LimitExceeded
from omnigraph.read.context import Budget
from tests.graph.read.town import Town


@pytest.mark.parametrize(
    ("returned", "row"),
    [
        ("count($p) as n", 5),
        ("count($p.age) as n", 4),
        ("count(distinct $p.age) as n", 3),
        ("sum($p.age) as n", 102),
        ("sum(distinct $p.age) as n", 72),
        ("avg($p.age) as n", 25.5),
        ("min($p.name) as n", "Ann"),
        ("max($p.name) as n", "Zoë"),
        ("min($p.born) as n", date(1994, 5, 1)),
        ("max($p.seen) as n", datetime(2024, 2, 29, 11, tzinfo=UTC)),
        ("collect($p.name) as n", ["Ann", "Ann", "Bob", "Zoë"]),
        ("collect(distinct $p.name) as n", ["Ann", "Bob", "Zoë"]),
        ("sum($p.height) as n", 5.25),
    ],
)
def test_an_aggregate_skips_nulls(town: Town, returned: str, row: Any) -> None:
    assert town.ask(f"match {{ $p: Person }} return {{ {returned} }}") == [row]


def test_aggregates_over_nothing_are_null_and_counts_are_zero(town: Town) -> None:
    nobody = 'match { $p: Person { email: "nobody" } } return '
    all_of = (
        "count($p) as a, sum($p.age) as b, avg($p.age) as c, min($p.age) as d, max($p.age) as e"
    )
    assert town.ask(f"{nobody} {{ {all_of}, collect($p.name) as f }}") == [
        (0, None, None, None, None, [])
    ]
    assert town.ask(f"{nobody} {{ $p.name, {all_of} }}") == []


def test_aggregates_over_only_nulls_are_null(town: Town) -> None:
    rows = town.ask(
        'match { $p: Person { email: "bob" } } return { sum($p.age) as a, max($p.age) as b }'
    )
    assert rows == [(None, None)]


def test_null_is_a_group_of_its_own(town: Town) -> None:
    rows = town.ask("match { $p: Person } return { $p.name, count($p) as n } order { $p.name }")
    assert rows == [(None, 1), ("Ann", 2), ("Bob", 1), ("Zoë", 1)]


def test_rows_keep_their_multiplicity_unless_asked_to_be_distinct(town: Town) -> None:
    query = "match { $p: Person  $p.age = 30 } return { %s $p.age }"
    assert town.ask(query % "") == [30, 30]
    assert town.ask(query % "distinct") == [30]


@pytest.mark.parametrize(
    ("order", "emails"),
    [
        ("$p.age", "bob eve ann dan cat"),
        ("$p.age desc", "cat ann dan eve bob"),
        ("$p.name, $p.age desc", "cat ann eve bob dan"),
        ("$p.mood desc", "bob ann cat dan eve"),
        ("$p.born desc, $p.height", "bob ann cat eve dan"),
    ],
)
def test_nulls_are_smallest_and_ties_fall_to_ascending_ids(
    town: Town, order: str, emails: str
) -> None:
    query = f"match {{ $p: Person }} return {{ $p.email }} order {{ {order} }}"
    assert town.ask(query) == emails.split()
    for count in range(7):
        assert town.ask(f"{query} limit {count}") == emails.split()[:count]
    assert town.ask(f"{query} limit 2 offset 1") == emails.split()[1:3]
    assert town.ask(f"{query} offset 9") == []


def test_groups_with_equal_counts_fall_to_their_keys(town: Town) -> None:
    rows = town.ask(
        "match { $p: Person } return { $p.name as name, count($p) as n } order { n } limit 3"
    )
    assert rows == [(None, 1), ("Bob", 1), ("Zoë", 1)]


def test_a_node_is_an_object_without_blobs_and_vectors(town: Town) -> None:
    (ann,) = town.ask('match { $p: Person { email: "ann" } } return { $p }')
    assert ann == {
        "id": "ann",
        "age": 30,
        "born": date(1994, 5, 1),
        "email": "ann",
        "height": 1.5,
        "mood": "glad",
        "name": "Ann",
        "seen": datetime(2024, 2, 29, 11, tzinfo=UTC),
        "tags": ["a", "b"],
    }
    assert next(iter(ann)) == "id"


def test_a_node_with_a_property_called_id_shows_the_property(town: Town) -> None:
    assert town.ask("match { $f: Film } return { $f } order { $f.id } limit 1") == [
        {"id": 1, "title": "One"}
    ]


def test_nodes_of_several_types_show_what_any_of_them_has(town: Town) -> None:
    rows = town.ask('match { $x: Named  id($x) = "ann" } return { $x } order { $x.name }')
    assert [(row["name"], row["age"], row["people"]) for row in rows] == [
        ("Ann", 30, None),
        ("Annecy", None, 2**53),
    ]


def test_constants_are_written_on_every_row(town: Town) -> None:
    rows = town.ask(
        "($x: String?) match { $f: Film }"
        ' return { 1 as a, "x" as b, now() as c, $x as d, null as e }'
    )
    assert rows == [(1, "x", datetime(2024, 2, 29, 12, tzinfo=UTC), None, None)] * 2


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("I64", 1),
        ("String", "x"),
        ("Date", "2024-05-31"),
        ("[I64]", [1, 2]),
        ("[String]", []),
        ("Vector(2)", [1.0, 2.0]),
        ("[Date]?", None),
    ],
)
def test_a_constant_of_any_type_stands_on_as_many_rows_as_there_are(
    town: Town, type_: str, value: object
) -> None:
    columns = "return { $v as v, $f.title as title } order { title }"
    for title, count in (("One", 1), ("None", 0)):
        match = f'($v: {type_}) match {{ $f: Film {{ title: "{title}" }} }}'
        assert len(town.ask(f"{match} {columns}", v=value)) == count


@pytest.mark.parametrize(
    ("pattern", "step"),
    [
        ("$a: Person  $b: City", "$b: City"),
        ("$a: Person  $a knows $b", "$a knows $b"),
        ("$a: Person  $a knows{1,3} $b", "$a knows{1,3} $b"),
        ("$a: Person  optional { $a knows{1,3} $b }", "$a knows{1,3} $b"),
    ],
)
def test_a_query_that_explodes_is_refused_by_name(town: Town, pattern: str, step: str) -> None:
    with pytest.raises(LimitExceeded) as refused:
        town.ask(f"match {{ {pattern} }} return {{ $a.id, $b.id }}", budget=Budget(160))
    assert step in str(refused.value)


def test_counting_paths_takes_no_room_for_the_paths(town: Town) -> None:
    pattern = "match { $a: Person  $b: Person  $c: Person  $d: City  $a knows $e } "
    assert town.ask(pattern + "return { count($a) as n }", budget=Budget(300)) == [5**2 * 3 * 5]
    with pytest.raises(LimitExceeded):
        town.ask(pattern + "return { $a.email }", budget=Budget(300))


def test_a_count_beyond_64_bits_is_refused(town: Town) -> None:
    many = "  ".join(f"$p{i}: Person" for i in range(28))
    with pytest.raises(LimitExceeded):
        town.ask(f"match {{ {many} }} return {{ count($p0) as n }}")


def test_an_offset_by_itself_keeps_the_order(town: Town) -> None:
    asked = "match { $p: Person } return { $p.email } order { $p.email desc } offset 2"
    assert town.ask(asked) == ["cat", "bob", "ann"]


@pytest.mark.parametrize("key", ["", "$p.kind, "])
def test_a_sum_of_floats_is_never_infinite_and_a_mean_is_right(tmp_path: Path, key: str) -> None:
    graph = Graph.init(tmp_path / "g", "node P { name: String @key  kind: I32  size: F64 }")
    largest = sys.float_info.max
    rows = [{"name": name, "kind": 1, "size": largest} for name in "ab"]
    graph.load([{"type": "P", "data": row} for row in rows], mode="append", engine="local")
    asked = f"query q() {{ match {{ $p: P }} return {{ {key}%s($p.size) as n }} }}"
    with pytest.raises(LimitExceeded, match=r"the sum `n` exceeds the limit of 1\.79"):
        graph.query(asked % "sum")
    assert graph.query(asked % "avg").to_pylist()[0]["n"] == largest


def test_ties_fall_in_the_order_in_which_variables_are_bound_not_mentioned(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g", "node A { k: String @key  n: I32 }\nedge E: A -> A")
    nodes = [{"type": "A", "data": {"k": k, "n": 1}} for k in "ab"]
    edges = [{"edge": "E", "from": one, "to": other} for one, other in ("ab", "ba")]
    graph.load([*nodes, *edges], mode="append")
    rest = "return { $x.k as x, $y.k as y } order { $x.n } }"
    filtered = graph.query(f"query q() {{ match {{ $y.n = 1  $x e $y }} {rest}").to_pylist()
    assert filtered == [{"x": "a", "y": "b"}, {"x": "b", "y": "a"}]
    inside = graph.query(
        f"query q() {{ match {{ exists {{ $y e $x }} $x e $y }} {rest}"
    ).to_pylist()
    assert inside == [{"x": "b", "y": "a"}, {"x": "a", "y": "b"}]


def test_a_whole_number_beside_a_fraction_is_the_nearest_one_and_a_parameter_exact(
    tmp_path: Path,
) -> None:
    graph = Graph.init(tmp_path / "g", "node A { k: String @key  f: F64 }")
    graph.load([{"type": "A", "data": {"k": "a", "f": 2.0**53}}], mode="append")
    text = "match {{ $a: A  $a.f = {} }} return {{ $a.k }} }}"
    literal = graph.query("query q() { " + text.format(2**53 + 1))
    given = graph.query("query q($n: I64) { " + text.format("$n"), {"n": 2**53 + 1})
    assert [literal.to_pylist(), given.to_pylist()] == [[{"a.k": "a"}], []]
