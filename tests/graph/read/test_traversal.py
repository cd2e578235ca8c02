"""What a traversal reaches: sets of nodes, and one row per edge where edges are named."""

import pytest

from tests.graph.read.town import Town


@pytest.mark.parametrize(
    ("rule", "origin", "traversal", "reached"),
    [
        ("parallel edges are one", "ann", "$p knows $f", ["bob"]),
        ("a loop yields its node", "dan", "$p knows $f", ["dan"]),
        ("no edges, nobody", "eve", "$p knows $f", []),
        ("backwards", "ann", "$f knows $p", ["cat"]),
        ("either way", "ann", "$p <knows> $f", ["bob", "cat"]),
        ("a loop either way is one", "dan", "$p <knows> $f", ["cat", "dan"]),
        ("exactly two hops", "ann", "$p knows{2,2} $f", ["cat"]),
        ("a cycle never brings the source back", "ann", "$p knows{1,3} $f", ["bob", "cat", "dan"]),
        ("not even at the cycle's length", "ann", "$p knows{3,3} $f", ["dan"]),
        ("a loop counts at one hop", "dan", "$p knows{1,3} $f", ["dan"]),
        ("and not later", "dan", "$p knows{2,3} $f", []),
        ("first reached below the minimum", "bob", "$p <knows>{2,2} $f", ["dan"]),
        ("a variable can be its own target", "dan", "$p knows $p  $p knows $f", ["dan"]),
        ("two types don't chain", "ann", "$p lives{1,2} $c  $f lives $c", ["ann", "bob"]),
        ("a target bound elsewhere", "ann", '$p knows{1,3} $f  $f.email = "cat"', ["cat"]),
        ("a target bound first", "ann", '$f: Person { email: "cat" }  $p knows $f', []),
    ],
)
def test_a_traversal_gives_a_set(
    town: Town, rule: str, origin: str, traversal: str, reached: list[str]
) -> None:
    answer = town.ask(
        f'match {{ $p: Person {{ email: "{origin}" }}  {traversal} }}'
        " return { $f.email } order { $f.email }"
    )
    assert answer == reached


@pytest.mark.parametrize(
    "clauses",
    [
        '$p: Person { email: "ann" }  $p knows $f  $f knows $g',
        '$f knows $g  $p knows $f  $p: Person { email: "ann" }',
        '$g: Person  $f knows $g  $p: Person { email: "ann" }  $p knows $f',
    ],
)
def test_the_order_of_clauses_never_changes_the_answer(town: Town, clauses: str) -> None:
    assert town.ask(f"match {{ {clauses} }} return {{ $g.email }}") == ["cat"]


@pytest.mark.parametrize(
    ("rule", "traversal", "edges"),
    [
        ("parallel edges are two rows", '$p: Person { email: "ann" }  $p $e:knows $f', "k1 k2"),
        ("a loop either way is one row", '$p: Person { email: "dan" }  $p $e:<knows> $f', "k5 k6"),
        ("between bound ends too", '$p $e:knows $f  $p knows $f  $p.email = "ann"', "k1 k2"),
        ("a set beside it adds nothing", "$p $e:knows $p  $p knows $p", "k6"),
        ("their properties filter", '$p $e:knows $f  $e.since < "2021-06-01"', "k1 k3"),
        ("null is no date", '$p $e:knows $f  $e.since != "2020-01-01"', "k3 k4 k6"),
    ],
)
def test_a_named_edge_gives_one_row_per_edge(
    town: Town, rule: str, traversal: str, edges: str
) -> None:
    answer = town.ask(f"match {{ {traversal} }} return {{ id($e) }} order {{ id($e) }}")
    assert answer == edges.split()


def test_equal_ids_in_different_types_are_different_nodes(town: Town) -> None:
    rows = town.ask('match { $x: Named  id($x) = "ann" } return { $x.name } order { $x.name }')
    assert rows == ["Ann", "Annecy"]
    groups = town.ask("match { $x: Named } return { $x, count($x) as n }")
    assert [n for _, n in groups] == [1] * 8


def test_several_edge_types_lead_to_one_set(town: Town) -> None:
    rows = town.ask('match { $p: Person { email: "ann" }  $p knows|lives $x } return { $x.name }')
    assert sorted(rows) == ["Bob", "Oslo"]


def test_a_walk_passes_through_types_it_does_not_end_in(town: Town) -> None:
    rows = town.ask(
        'match { $p: Person { email: "bob" }  $p knows|lives|near{2,2} $c  $c: City }'
        " return { $c.code }"
    )
    assert rows == ["rome"]


@pytest.mark.parametrize("shown", ["count($e)", "$e.since, count($e)", "min($e.since), count($e)"])
def test_all_edges_either_way_are_counted_as_they_are_listed(town: Town, shown: str) -> None:
    """An edge comes once from either end and a loop once, also if nobody looks at its ends."""
    either = "match { $p $e:<knows> $f }"
    listed = town.ask(f"{either} return {{ id($e), id($p) }}")
    ways = town.ask("match { $p $e:knows $f } return { $p.email, $f.email }")
    loops = [source for source, target in ways if source == target]
    assert loops
    counted = town.ask(f"{either} return {{ {shown} }}")
    total = sum(row if isinstance(row, int) else row[-1] for row in counted)
    assert total == len(listed) == 2 * len(ways) - len(loops)
