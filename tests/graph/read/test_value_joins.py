"""Variables that no edge ties: equal values do, or nothing does, or nothing can."""

import pytest

from tests.graph.read.town import Town


@pytest.mark.parametrize(
    ("rule", "match", "rows"),
    [
        ("null equals nothing", "$a: Person  $c: City  $a.name = $c.name", "ann rome, eve rome"),
        ("not even null", "$c: Person  $a: Person  $a.mood = $c.mood", "ann ann, bob bob"),
        ("whole numbers of two types", "$a: Person  $c: Film  $a.age = $c.id", "eve 2"),
        ("a fraction and a whole number", "$c: Film  $a: Person  $c.id = $a.height", "bob 2"),
        ("an id and a text", "$a: Person  $c: City  id($c) = $a.email", "ann ann"),
        ("a word of an enum and a text", "$a: Person  $c: City  $a.mood = $c.name", ""),
        (
            "what else is asked is asked too",
            "$a: Person  $c: Person  $a.name = $c.name  $a.email < $c.email  $c.age < 5",
            "ann eve",
        ),
        (
            "two equalities",
            "$a: Person  $c: Person  $a.age = $c.age  $a.email != $c.email  $a.height < $c.height",
            "ann dan",
        ),
        (
            "traversals go on from there",
            "$a lives $h  $c: City  $c.name = $a.name  $c.name != $h.name",
            "ann rome",
        ),
        ("from what an edge holds", "$a $e:knows $b  $c: Person  $e.since = $c.born", ""),
        (
            "inside a block",
            "$a: Person  $a lives $c  not { $x: City  $x.name = $a.name }",
            "bob oslo, cat rome",
        ),
        (
            "of a node that may be missing",
            "$a: Person  optional { $a lives $h }  $c: City  $c.name = $h.name",
            "ann oslo, bob oslo, cat rome",
        ),
    ],
)
def test_rows_join_by_value(town: Town, rule: str, match: str, rows: str) -> None:
    asked = f"match {{ {match} }} return {{ id($a) as a, id($c) as c }} order {{ a, c }}"
    expected = [tuple(pair.split()) for pair in rows.split(", ")] if rows else []
    assert town.ask(asked) == expected
    assert town.ask(asked, optimised=True) == expected
    counted = f"match {{ {match} }} return {{ count($a) as n }}"
    assert town.ask(counted, optimised=True) == [len(expected)]


def test_what_can_never_hold_reads_nothing(town: Town) -> None:
    town = Town(town.snapshot)
    pattern = "match { $p: Person  $p knows $f  $f lives{1,2} $c  $f.age > 3  $f.age < 3 } return "
    assert town.ask(pattern + "{ $p, $f.email, $c.name }", optimised=True) == []
    assert town.ask(pattern + "{ count($c) as n }", optimised=True) == [0]
    assert town.ask(pattern + "{ $f.email, count($c) as n }", optimised=True) == []
    assert town.ask(pattern + "distinct { $c.code }", optimised=True) == []
    assert town.cache.nbytes == 0


def test_a_node_that_is_not_there_is_not_looked_for_along_edges(town: Town) -> None:
    town = Town(town.snapshot)
    asked = 'match { $p: Person { email: "nobody" } } return { $p.email }'
    assert town.ask(asked) == []
    held = town.cache.nbytes
    walk = 'match { $p: Person { email: "nobody" }  $p knows{1,3} $f } return { $f.age }'
    assert town.ask(walk) == []
    assert town.cache.nbytes == held


def test_a_branch_that_nobody_looks_at_only_has_to_exist(town: Town) -> None:
    rows = town.ask(
        "match { $p knows $a  $a lives $b  $p knows $c  $c knows $d  $p knows $e  $e likes $f }"
        " return distinct { $p.email } order { $p.email }",
        optimised=True,
    )
    assert rows == ["ann", "cat"]
