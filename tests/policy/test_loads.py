"""Loads under a policy: rows that may be written are loaded, all of them or none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.engine.settings import Settings
from omnigraph.errors import ConstraintViolated, KeyTaken, OmnigraphError, PolicyDenied
from omnigraph.pipeline.limits import LoadLimits
from tests.policy.firm import NO_PAY, NO_PEOPLE, PERSON, RED, equals, make, opened
from tests.reference.table_policy import Role, Sees

ROLES = {
    "red": Role(RED),
    "careful": Role(changes=Sees({PERSON: equals("team", "red")})),
    "clerk": Role(NO_PAY),
    "guest": Role(NO_PEOPLE),
}
SAME_WORDS = "not all of its rows may be written"
IN_MEMORY = LoadLimits()
IN_FILES = LoadLimits(max_lookup_bytes=0)


@pytest.fixture(params=["memory", "files"])
def boss(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Graph]:
    limits = IN_MEMORY if request.param == "memory" else IN_FILES
    settings = Settings(load_engine="local", load_limits=limits)
    with opened(make(tmp_path), ROLES, "boss", settings) as graph:
        yield graph


def person(email: str, team: str, **more: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"email": email, "name": email, "team": team, **more}}


def knows(one: str, other: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": one, "to": other}


def people(graph: Graph) -> list[dict[str, Any]]:
    everyone = "query q() { match { $p: Person } return { $p } order { $p.email } }"
    return graph.as_actor("boss").query(everyone).to_pylist()


def denied(graph: Graph, rows: list[dict[str, Any]], **more: Any) -> None:
    before, commits = people(graph), len(graph.as_actor("boss").commits())
    with pytest.raises(PolicyDenied) as told:
        graph.load(rows, **{"mode": "merge", **more})
    assert told.value.reason == SAME_WORDS
    assert (people(graph), len(graph.as_actor("boss").commits())) == (before, commits)


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_rows_that_may_be_written_are_loaded(boss: Graph, mode: Any) -> None:
    for actor in ("red", "careful"):
        rows = [person(f"new-{actor}", "red"), knows("ada", f"new-{actor}")]
        done = boss.as_actor(actor).load(rows, mode=mode)
        assert (done.total_entities, done.hints) == (2, ())
    assert [p["p"]["email"] for p in people(boss)][-2:] == ["new-careful", "new-red"]


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_one_row_that_may_not_be_written_stops_all(boss: Graph, mode: Any) -> None:
    for actor in ("careful",):
        rows = [person("one", "red"), person("two", "blue")]
        denied(boss.as_actor(actor), rows, mode=mode)


def test_a_merge_never_replaces_a_row_that_is_hidden_or_withheld(boss: Graph) -> None:
    for actor in ("red", "careful"):
        denied(boss.as_actor(actor), [person("cy", "red")])
    # Nor does it tell that its row is the same.
    same = person("cy", "blue", salary=30, badge="b30", photo="base64:AAAA")
    same["data"]["name"] = "Cy"
    denied(boss.as_actor("red"), [same])
    assert boss.as_actor("careful").load([same], mode="merge").commit is None
    done = boss.as_actor("red").load([person("bo", "red", salary=21)], mode="merge")
    assert done.rows["Person"].updated == 1


def test_an_append_of_a_hidden_key_is_denied_and_of_a_visible_one_told(boss: Graph) -> None:
    red = boss.as_actor("red")
    denied(red, [person("cy", "red")], mode="append")
    denied(red, [person("x", "red", badge="b40")], mode="append")
    with pytest.raises((KeyTaken, PolicyDenied)) as told:
        red.load([person("bo", "red")], mode="append")
    assert isinstance(told.value, KeyTaken) or boss.engine.settings.load_limits == IN_FILES


def test_an_edge_to_a_hidden_node_is_refused(boss: Graph) -> None:
    texts = set()
    for there in ("di", "zz"):
        with pytest.raises(OmnigraphError) as told:
            boss.as_actor("red").load([knows("ada", there)], mode="append")
        assert isinstance(told.value, ConstraintViolated | PolicyDenied)
        texts.add(str(told.value).replace(there, "…"))
    assert len(texts) == 1


def test_what_a_load_of_partly_hidden_types_may_not(boss: Graph, tmp_path: Path) -> None:
    rows = [person("new", "red")]
    for actor in ("red", "careful"):
        denied(boss.as_actor(actor), rows, mode="overwrite")
        aside = {"on_error": "quarantine", "quarantine": tmp_path / actor}
        denied(boss.as_actor(actor), rows, **aside)
        assert not (tmp_path / actor).exists()
    denied(boss.as_actor("clerk"), rows)
    # Of a type that is seen whole it may.
    teams = [{"type": "Team", "data": {"name": "green"}}]
    for actor in ("red", "careful", "clerk", "guest"):
        assert boss.as_actor(actor).load(teams, mode="merge").total_entities == 1


def test_an_overwrite_under_hidden_edges_is_denied(boss: Graph) -> None:
    """The guest sees teams whole, but not who is in them."""
    teams = [{"type": "Team", "data": {"name": "green"}}]
    with pytest.raises(PolicyDenied):
        boss.as_actor("guest").load(teams, mode="overwrite")


def test_a_hidden_type_is_unknown_to_a_load(boss: Graph) -> None:
    with pytest.raises(OmnigraphError) as told:
        boss.as_actor("guest").load([person("x", "red")], mode="append")
    assert told.value.code in ("parse_error", "constraint_violation", "source_invalid")
    with pytest.raises(OmnigraphError) as other:
        rows = [{"type": "Ghost", "data": {"email": "x", "name": "x", "team": "red"}}]
        boss.as_actor("guest").load(rows, mode="append")
    assert str(told.value).replace("Person", "…") == str(other.value).replace("Ghost", "…")


def test_mistakes_in_the_rows_themselves_are_told(boss: Graph) -> None:
    wrong = {"type": "Person", "data": {"email": "x", "team": "red", "salary": -1}}
    with pytest.raises(ConstraintViolated) as told:
        boss.as_actor("red").load([wrong], mode="append")
    assert "name" in told.value.details["examples"][0]["message"]


def test_a_rehearsal_is_judged_as_the_load(boss: Graph) -> None:
    denied(boss.as_actor("red"), [person("cy", "red")], dry_run=True)
    done = boss.as_actor("red").load([person("n", "red")], mode="merge", dry_run=True)
    assert done.total_entities == 1 and len(people(boss)) == 4


def test_a_load_into_a_new_branch_goes_by_the_rules_of_that_branch(boss: Graph) -> None:
    done = boss.as_actor("red").load([person("n", "red")], mode="merge", branch="b", from_="main")
    assert done.commit is not None and done.commit.graph_branch == "b"
    denied(boss.as_actor("careful"), [person("n", "blue")], branch="b")


@pytest.mark.parametrize("limits", [IN_MEMORY, IN_FILES], ids=["memory", "files"])
def test_edges_that_a_node_must_have_are_not_named_where_they_are_hidden(
    tmp_path: Path, limits: LoadLimits
) -> None:
    schema = "node P { k: String @key }\nnode T { k: String @key }\nedge In: P -> T @card(1..)"
    graph = Graph.init(tmp_path / "g.omni", schema, durability="relaxed")
    settings = Settings(load_engine="local", load_limits=limits)
    roles = {"actor": Role(Sees(hidden_types=frozenset({TypeName("T")})))}
    boss = opened(graph, roles, "boss", settings)
    row = [{"type": "P", "data": {"k": "a"}}]
    with pytest.raises(ConstraintViolated):
        boss.load(row, mode="append")
    for mode in ("append", "merge", "overwrite"):
        with pytest.raises(PolicyDenied) as told:
            boss.as_actor("actor").load(row, mode=mode)
        assert told.value.reason == SAME_WORDS
