"""Patterns inside patterns: not, exists, count, optional, or."""

import pytest

from tests.graph.read.town import Town


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("not { $p lives $_ }", "dan eve"),
        ("not { $p knows $f  $f.age is null }", "bob cat dan eve"),
        ("not { $p knows $f  not { $f lives $_ } }", "ann bob eve"),
        ("exists { $p knows $f  $f lives $_ }", "ann bob cat"),
        ("exists { $p likes $_ }  $p knows $p", ""),
        ("count { $p knows $f } >= 2", "cat"),
        ("count { $p $e:knows $f } >= 2", "ann cat"),
        ("count { $p knows $f } = 0", "eve"),
        ("count { $p knows $f  $f knows $g } = 2", "bob cat"),
        ("or { $p likes $_ } { $p.age > 35 }", "ann bob cat"),
        ('or { $p.age = 30 } { $p.name = "Ann" }', "ann dan eve"),
    ],
)
def test_a_block_filters_without_multiplying(town: Town, condition: str, kept: str) -> None:
    answer = town.ask(
        f"match {{ $p: Person  {condition} }} return {{ $p.email }} order {{ $p.email }}"
    )
    assert answer == kept.split()


def test_optional_keeps_rows_without_a_match(town: Town) -> None:
    rows = town.ask(
        "match { $p: Person  optional { $p lives $c } }"
        " return { $p.email, $c.name, id($c) } order { $p.email }"
    )
    assert rows == [
        ("ann", "Oslo", "oslo"),
        ("bob", "Oslo", "oslo"),
        ("cat", "Ann", "rome"),
        ("dan", None, None),
        ("eve", None, None),
    ]


def test_a_missing_optional_node_is_null_as_a_whole_and_counts_for_nothing(town: Town) -> None:
    query = 'match { $p: Person { email: "eve" }  optional { $p lives $c } } return '
    assert town.ask(query + "{ $c }") == [None]
    assert town.ask(query + "{ $p.email, count($c) as n, count($c.name) as m }") == [("eve", 0, 0)]
    assert town.ask(query + "{ count($p) as n }") == [1]


def test_optional_counts_as_many_paths_as_the_block_has(town: Town) -> None:
    rows = town.ask(
        "match { $p: Person  optional { $p knows $f  $f knows $g } }"
        " return { $p.email, count($f) as n } order { $p.email }"
    )
    assert rows == [("ann", 1), ("bob", 2), ("cat", 2), ("dan", 1), ("eve", 0)]


def test_a_row_without_a_match_counts_once(town: Town) -> None:
    rows = town.ask(
        "match { $p: Person  optional { $p <knows> $f } }"
        " return { $p.email, count($p) as n } order { $p.email }"
    )
    assert rows == [("ann", 2), ("bob", 2), ("cat", 3), ("dan", 2), ("eve", 1)]


def test_or_binds_what_every_block_binds_as_a_set(town: Town) -> None:
    rows = town.ask(
        'match { $p: Person { email: "cat" }'
        "  or { $p knows $x } { $x knows $p } { $p <knows> $x } }"
        " return { $x.email } order { $x.email }"
    )
    assert rows == ["ann", "bob", "dan"]


def test_or_may_bind_different_types(town: Town) -> None:
    rows = town.ask(
        'match { $p: Person { email: "ann" }  or { $p knows $x } { $p lives $x }  $x: Named }'
        " return { $x.name } order { $x.name }"
    )
    assert rows == ["Bob", "Oslo"]
