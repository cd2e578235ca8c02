"""What an actor may write: rows that they see and may change, as they were and as they will be."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar
from omnigraph.errors import ConstraintViolated, PolicyDenied, TypeCheckFailed
from omnigraph.lang.plan.conditions import NEVER, AnyOf, Not
from tests.policy.firm import (
    IN,
    KNOWS,
    NO_PAY,
    NO_PEOPLE,
    PERSON,
    RED,
    TEAM,
    equals,
    is_not,
    make,
    opened,
)
from tests.reference.table_policy import Role, Sees

WRITES_RED = Sees({PERSON: equals("team", "red")})
ROLES = {
    "red": Role(RED),  # sees red people, and may write what they see
    "careful": Role(changes=WRITES_RED),  # sees all, and writes red people only
    "clerk": Role(NO_PAY),
    "guest": Role(NO_PEOPLE),
    "payless": Role(changes=Sees(hidden_properties={PERSON: frozenset({"salary"})})),
    "nodes_only": Role(changes=Sees({KNOWS: NEVER, IN: NEVER})),
    "no_teams": Role(changes=Sees(hidden_types=frozenset({TEAM}))),
}
SAME_WORDS = "not all of its rows may be written"


@pytest.fixture
def boss(tmp_path: Path) -> Graph:
    return opened(make(tmp_path), ROLES, "boss")


def state(graph: Graph) -> list[Any]:
    boss = graph.as_actor("boss")
    people = "query q() { match { $p: Person } return { $p } order { $p.email } }"
    known = (
        "query q() { match { $p $e:knows $q } "
        "return { $p.email as p, $q.email as q, $e.since as s } order { p, q } }"
    )
    return [*boss.query(people).to_pylist(), *boss.query(known).to_pylist()]


def denied(graph: Graph, text: str) -> None:
    """The mutation is denied in the words of every such denial, and nothing has changed."""
    before, commits = state(graph), len(graph.as_actor("boss").commits())
    with pytest.raises(PolicyDenied) as told:
        graph.mutate(text)
    assert told.value.reason == SAME_WORDS
    who = told.value.actor
    assert str(told.value) == f"the policy denies change on branch main to {who}: {SAME_WORDS}"
    assert (state(graph), len(graph.as_actor("boss").commits())) == (before, commits)


# Rows that are hidden -----------------------------------------------------------------------------


def test_an_update_and_a_delete_meet_visible_rows_only(boss: Graph) -> None:
    red, before = boss.as_actor("red"), state(boss)
    for text in (
        'query u() { update Person set { name: "X" } where email = "cy" }',
        "query u() { update Knows set { since: 9 } where since > 1 }",
        'query d() { delete Person where team = "blue" }',
    ):
        done = red.mutate(text)
        assert (done.affected_nodes, done.affected_edges, done.commit) == (0, 0, None)
    assert state(boss) == before
    assert red.mutate('query u() { update Person set { badge: null } where team != "" }').commit
    assert [p["p"]["badge"] for p in state(boss)[:4]] == [None, None, "b30", "b40"]


def test_an_insert_that_meets_a_hidden_row_is_denied_whatever_it_holds(boss: Graph) -> None:
    red = boss.as_actor("red")
    (cy,) = (row["p"] for row in state(boss)[:4] if row["p"]["email"] == "cy")
    same = f'email: "cy", name: "{cy["name"]}", team: "blue", salary: 30, badge: "b30"'
    for values in (same, same.replace("blue", "red"), 'email: "cy", name: "N", team: "red"'):
        denied(red, f"query i() {{ insert Person {{ {values} }} }}")


def test_a_unique_value_of_a_hidden_row_is_denied_without_a_word_of_it(boss: Graph) -> None:
    red = boss.as_actor("red")
    insert = (
        'query i() {{ insert Person {{ email: "{e}", name: "N", team: "red", badge: "{b}" }} }}'
    )
    denied(red, insert.format(e="new", b="b30"))
    with pytest.raises(ConstraintViolated) as told:
        red.mutate(insert.format(e="new", b="b20"))
    assert "badge" in str(told.value)


def test_an_edge_to_a_hidden_node_is_an_edge_to_nothing(boss: Graph) -> None:
    red = boss.as_actor("red")
    texts = []
    for there in ("cy", "zz"):
        with pytest.raises(ConstraintViolated) as told:
            red.mutate(f'query i() {{ insert Knows {{ from: "ada", to: "{there}" }} }}')
        texts.append(str(told.value).replace(there, "…"))
    assert texts[0] == texts[1]


def test_a_cascade_over_hidden_edges_is_denied(boss: Graph) -> None:
    """bo knows cy, whom red people can't see; with nobody hidden it goes."""
    denied(boss.as_actor("red"), 'query d() { delete Person where email = "bo" }')
    assert boss.mutate('query d() { delete Person where email = "bo" }').affected_edges == 3


def test_a_cascade_into_a_hidden_type_is_denied(boss: Graph) -> None:
    denied(boss.as_actor("guest"), 'query d() { delete Team where name = "red" }')


def test_too_many_edges_are_told_as_far_as_they_are_seen(boss: Graph) -> None:
    boss.mutate('query i() { insert Team { name: "x" } }')
    boss.mutate('query i() { insert In { from: "ada", to: "x" } }')
    hides = {"blind": Role(Sees({IN: NEVER}))}
    blind = opened(boss, {**ROLES, **hides}, "blind")
    third = 'query i() { insert In { from: "ada", to: "blue" } }'
    with pytest.raises(ConstraintViolated) as told:
        boss.mutate(third)
    assert "3 In edges" in str(told.value)
    with pytest.raises(PolicyDenied) as hidden:
        blind.mutate(third)
    assert hidden.value.reason == SAME_WORDS


# Rows that may not be written ---------------------------------------------------------------------


def test_rows_are_judged_as_they_were_and_as_they_will_be(boss: Graph) -> None:
    careful = boss.as_actor("careful")
    denied(careful, 'query u() { update Person set { name: "X" } where email = "cy" }')
    denied(careful, 'query u() { update Person set { team: "blue" } where email = "ada" }')
    denied(careful, 'query u() { update Person set { team: "red" } where email = "cy" }')
    denied(careful, 'query d() { delete Person where email = "cy" }')
    denied(careful, 'query i() { insert Person { email: "n", name: "N", team: "blue" } }')
    assert careful.mutate(
        'query u() { update Person set { name: "X" } where email = "ada" }'
    ).commit
    red = 'query i() { insert Person { email: "n", name: "N", team: "red" } }'
    assert careful.mutate(red).affected_nodes == 1


def test_the_last_word_of_a_mutation_counts(boss: Graph) -> None:
    """Two statements may lead through a row that may not be written to one that may."""
    text = (
        'query u() { insert Person { email: "n", name: "N", team: "blue" } '
        'update Person set { team: "red" } where email = "n" }'
    )
    assert boss.as_actor("careful").mutate(text).affected_nodes == 1


def test_a_row_that_stays_as_it_is_is_not_written(boss: Graph) -> None:
    same = 'query u() { update Person set { name: "Cy" } where email = "cy" }'
    assert boss.as_actor("careful").mutate(same).commit is None


def test_edges_that_a_cascade_takes_must_be_writable(boss: Graph) -> None:
    nodes_only = boss.as_actor("nodes_only")
    denied(nodes_only, 'query d() { delete Person where email = "ada" }')
    assert nodes_only.mutate(
        'query u() { update Person set { name: "X" } where email = "ada" }'
    ).commit


def test_a_type_that_may_not_be_written_is_denied_whole(boss: Graph) -> None:
    no_teams = boss.as_actor("no_teams")
    denied(no_teams, 'query i() { insert Team { name: "green" } }')
    assert no_teams.query("query q() { match { $t: Team } return { count($t) as n } }")


# Properties ---------------------------------------------------------------------------------------


def test_hidden_values_stay_whatever_is_written_around_them(boss: Graph) -> None:
    clerk = boss.as_actor("clerk")
    clerk.mutate('query u() { update Person set { name: "X" } where team = "red" }')
    clerk.mutate('query i() { insert Person { email: "cy", name: "Y", team: "blue" } }')
    clerk.mutate('query i() { insert Person { email: "new", name: "N", team: "blue" } }')
    pay = {
        row["p"]["email"]: row["p"]["salary"]
        for row in state(boss)
        if "p" in row and isinstance(row["p"], dict)
    }
    assert pay == {"ada": 10, "bo": 20, "cy": 30, "di": 40, "new": None}
    with pytest.raises(TypeCheckFailed):
        clerk.mutate(
            "query u() { update Person set { salary: 1 } where team = 'red' }".replace("'", '"')
        )


def test_a_rule_over_a_hidden_property_is_denied_in_the_same_words(boss: Graph) -> None:
    """No two people of a team earn the same, and the clerk knows of no salaries."""
    boss.mutate('query u() { update Person set { salary: 10 } where email = "di" }')
    denied(
        boss.as_actor("clerk"), 'query u() { update Person set { team: "red" } where email = "di" }'
    )


def test_rows_that_need_a_hidden_value_are_not_inserted(boss: Graph) -> None:
    hides = {"nameless": Role(Sees(hidden_properties={PERSON: frozenset({"team"})}))}
    nameless = opened(boss, {**ROLES, **hides}, "nameless")
    denied(nameless, 'query i() { insert Person { email: "n", name: "N" } }')
    assert nameless.mutate(
        'query u() { update Person set { name: "X" } where email = "ada" }'
    ).commit


def test_a_property_that_is_seen_and_may_not_be_set_stays(boss: Graph) -> None:
    payless = boss.as_actor("payless")
    denied(payless, 'query u() { update Person set { salary: 11 } where email = "ada" }')
    denied(payless, 'query i() { insert Person { email: "n", name: "N", team: "red", salary: 1 } }')
    assert payless.mutate(
        'query i() { insert Person { email: "n", name: "N", team: "red" } }'
    ).commit
    assert payless.mutate(
        'query u() { update Person set { name: "X" } where email = "ada" }'
    ).commit


def test_conditions_of_every_shape_judge_rows(boss: Graph) -> None:
    rule = AnyOf((equals("team", "red"), Not(equals("salary", 40, Scalar.I64))))
    mixed = opened(boss, {**ROLES, "mixed": Role(changes=Sees({PERSON: rule}))}, "mixed")
    denied(mixed, 'query u() { update Person set { name: "X" } where email = "di" }')
    assert mixed.mutate('query u() { update Person set { name: "X" } where email = "cy" }').commit


def test_an_edge_to_a_hidden_node_is_refused_alike_whether_it_is_there_or_not(
    tmp_path: Path,
) -> None:
    """Also one that is there and equal, which changes nothing."""
    schema = "node P { k: String @key }\nedge E: P -> P { n: I32?  @key(src, dst) }"
    graph = Graph.init(tmp_path / "g.omni", schema, durability="relaxed")
    graph.load(
        [
            *({"type": "P", "data": {"k": k}} for k in "ab"),
            {"edge": "E", "from": "a", "to": "b", "data": {"n": 1}},
        ],
        mode="append",
    )
    seen = Sees({TypeName("P"): is_not("b")})
    actor = opened(graph, {"actor": Role(seen)}, "actor")
    told = set()
    for number in (1, 2):
        for end in ("b", "c"):
            with pytest.raises(ConstraintViolated) as refused:
                actor.mutate(f'query q() {{ insert E {{ from: "a", to: "{end}", n: {number} }} }}')
            told.add(str(refused.value).replace(f"'{end}'", "it"))
    assert told == {'E: "to" is it, and there is no such P'}
