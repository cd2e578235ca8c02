"""Types, properties and rows that an actor may not see are not there, at any door."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.engine.settings import Settings
from omnigraph.errors import (
    ChangeCursorRejected,
    EntityMissing,
    NameMissing,
    OmnigraphError,
    PolicyDenied,
    TypeCheckFailed,
)
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.text.format import format_schema
from omnigraph.read.tables.cold_lookups import TraversalMode
from tests.policy.firm import KNOWS, NO_PAY, NO_PEOPLE, PERSON, RED, TEAM, make, names, opened
from tests.reference.table_policy import Role, Sees

ROLES = {"clerk": Role(NO_PAY), "guest": Role(NO_PEOPLE), "red": Role(RED)}


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return opened(make(tmp_path_factory.mktemp("firm")), ROLES, "boss")


@pytest.fixture(scope="module")
def clerk(boss: Graph) -> Graph:
    return boss.as_actor("clerk")


@pytest.fixture(scope="module")
def guest(boss: Graph) -> Graph:
    return boss.as_actor("guest")


@pytest.fixture(scope="module")
def red(boss: Graph) -> Graph:
    return boss.as_actor("red")


def exported(graph: Graph, **more: Any) -> list[dict[str, Any]]:
    sink = io.BytesIO()
    graph.export(sink, **more)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


# Types and properties ----------------------------------------------------------------------------


def test_a_hidden_type_is_unknown_to_queries_and_is_not_suggested(
    boss: Graph, guest: Graph
) -> None:
    asked = "query q() { match { $p: Persn } return { count($p) as n } }"
    with pytest.raises(TypeCheckFailed) as known:
        boss.query(asked)
    with pytest.raises(TypeCheckFailed) as hidden:
        guest.query(asked)
    assert "Person" in str(known.value.hint) and "Person" not in str(hidden.value.hint)
    assert [d["hint"] for d in hidden.value.details["diagnostics"]] == [
        "known here: Named, Note, Team"
    ]
    with pytest.raises(TypeCheckFailed) as real:
        guest.query(asked.replace("Persn", "Person"))
    missing = asked.replace("Persn", "Nobody")
    with pytest.raises(TypeCheckFailed) as nothing:
        guest.query(missing)
    assert str(real.value) == str(nothing.value).replace("Nobody", "Person")


def test_an_edge_that_ends_in_a_hidden_type_is_hidden_too(guest: Graph) -> None:
    assert names(guest.schema().catalog) == ["Note", "Team"]
    with pytest.raises(TypeCheckFailed):
        guest.query("query q() { match { $n: Note  $n about $p } return { count($p) as n } }")


def test_a_hidden_property_is_unknown_in_every_place_of_a_query(boss: Graph, clerk: Graph) -> None:
    for clause in (
        "match { $p: Person } return { $p.salary }",
        "match { $p: Person { salary: 10 } } return { $p.name }",
        "match { $p: Person  $p.salary > 1 } return { $p.name }",
        "match { $p: Person } return { $p.name } order { $p.salary }",
        "match { $p: Person } return { sum($p.salary) as s }",
        "match { $p $e:knows $q } return { $e.secret }",
    ):
        assert len(boss.query(f"query q() {{ {clause} }}"))
        with pytest.raises(TypeCheckFailed):
            clerk.query(f"query q() {{ {clause} }}")


def test_whole_entities_are_shown_without_hidden_properties(boss: Graph, clerk: Graph) -> None:
    asked = 'query q() { match { $p: Person { email: "ada" } } return { $p } }'
    (shown,), (whole,) = clerk.query(asked).to_pylist(), boss.query(asked).to_pylist()
    assert {*whole["p"]} - {*shown["p"]} == {"salary"}


def test_the_schema_shows_what_is_there(boss: Graph, clerk: Graph, guest: Graph) -> None:
    assert clerk.schema().text == (
        "interface Named {\n    name: String\n}\n\n"
        "node Person implements Named {\n    email: String @key\n    team: String @index\n"
        "    badge: String? @unique\n    photo: Blob?\n}\n\n"
        "node Note implements Named {\n    text: String\n}\n\n"
        "node Team {\n    name: String @key\n}\n\n"
        "edge Knows: Person -> Person {\n    since: I32?\n}\n\n"
        "edge About: Note -> Person\nedge In: Person -> Team @card(0..2)\n"
    )
    assert "secret" in boss.schema().text
    for graph in (clerk, guest):
        schema = graph.schema()
        compiled = compile_schema(SourceText(schema.text))
        assert {e.name: {*e.by_name} for e in compiled.entities} == {
            e.name: {*e.by_name} for e in schema.catalog.entities
        }
        assert format_schema(SourceText(schema.text)) == schema.text


def test_exports_leave_out_what_is_hidden(
    clerk: Graph, guest: Graph, red: Graph, tmp_path: Path
) -> None:
    assert {line.get("type") or line["edge"] for line in exported(guest)} == {"Team"}
    people = exported(clerk, types=["Person"])
    assert len(people) == 4 and not any("salary" in line["data"] for line in people)
    assert [line["data"]["email"] for line in exported(red, types=["Person"])] == ["ada", "bo"]
    clerk.export(tmp_path / "out", format="parquet")
    assert "salary" not in (tmp_path / "out" / "schema.pg").read_text()
    assert sorted(p.name for p in (tmp_path / "out").rglob("*.parquet"))
    with pytest.raises(NameMissing) as missing:
        exported(guest, types=["Persona"])
    assert "Person" not in str(missing.value).replace("Persona", "")


def test_stats_and_indexes_know_of_nothing_hidden(
    boss: Graph, clerk: Graph, guest: Graph, red: Graph
) -> None:
    boss.optimize()
    assert {*guest.stats().tables} == {"node:Note", "node:Team"}
    assert {*guest.indexes()} < {*boss.indexes()}
    assert red.stats().tables["node:Person"].row_count == 2  # type: ignore[index]
    assert red.stats().tables["edge:Knows"].row_count == 1  # type: ignore[index]
    assert clerk.stats().tables["node:Person"].bytes == 0  # type: ignore[index]
    shown = {table.type_name: table.entity_count for table in red.tables().datasets}
    assert (shown[PERSON], shown[TEAM]) == (2, 2)
    assert {table.type_name for table in guest.tables().datasets} == {"Note", "Team"}
    assert not [i for i in clerk.indexes() if i.column in ("salary", "secret")]


def test_a_plan_tells_of_visible_rows_alone(boss: Graph, red: Graph) -> None:
    asked = "query q() { match { $p: Person  $p knows $f } return { $f.name } }"
    for analyze in (False, True):
        told, hidden = (g.explain(asked, analyze=analyze) for g in (boss, red))
        rows = [[step.rows_expected for step in plan.steps] for plan in (told, hidden)]
        assert rows[0] != rows[1]
    assert max(step.rows or 0 for step in hidden.steps) <= 2


def test_a_plan_is_silent_about_indexes_of_types_that_are_shown_in_part(boss: Graph) -> None:
    """Whether one is asked depends on how many rows there are, hidden ones too."""
    boss.optimize()
    cold = Settings(traversal_mode=TraversalMode.INDEXED)
    asked = 'query q() { match { $p: Person  $p.badge >= "b1" } return { $p.name } }'
    notes = {}
    for actor in ("boss", "red"):
        plan = opened(boss, ROLES, actor, cold).explain(asked, analyze=True)
        notes[actor] = [note for step in plan.steps for note in step.notes]
    assert notes == {"boss": ["Person: by the index badge_btree"], "red": []}


def test_blobs_of_hidden_rows_and_properties_are_missing(boss: Graph, red: Graph) -> None:
    assert boss.blob("node", "Person", "cy", "photo").size == 3
    with pytest.raises(EntityMissing):
        red.blob("node", "Person", "cy", "photo")


# Changes -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, str, str]:
    """A firm in which things have happened: a raise, a move to the red team, a new blue one."""
    graph = make(tmp_path_factory.mktemp("moved"))
    before = graph.snapshot().graph_commit_id
    graph.mutate('query a() { update Person set { salary: 11 } where email = "ada" }')
    graph.mutate('query b() { update Person set { team: "red" } where email = "cy" }')
    commit = graph.mutate(
        'query c() { insert Person { email: "ed", name: "Ed", team: "blue" } }'
    ).commit
    assert commit is not None
    return opened(graph, ROLES, "boss"), before, commit.graph_commit_id


def changed(graph: Graph, before: str) -> list[tuple[str, str, str]]:
    diff = graph.diff(before, "main")
    assert len(diff) == len(diff.to_pylist()) == sum(c.total for c in diff.counts.values())
    return [(c["type"]["name"], c["id"], c["op"]) for c in diff]


def test_a_diff_shows_what_an_actor_sees_of_it(moved: tuple[Graph, str, str]) -> None:
    boss, before, _ = moved
    assert changed(boss.as_actor("guest"), before) == []
    seen = changed(boss.as_actor("clerk"), before)
    assert seen == [("Person", "cy", "update"), ("Person", "ed", "insert")]
    # cy comes into sight, and so do the edges to those who were there.
    red = [c for c in changed(boss.as_actor("red"), before) if c[0] == "Person"]
    assert red == [("Person", "ada", "update"), ("Person", "cy", "insert")]
    for change in boss.as_actor("clerk").diff(before, "main"):
        for image in (change["before"], change["after"]):
            assert image is None or "salary" not in image["properties"]


def test_the_feed_and_the_changes_of_a_commit_agree_with_the_diff(
    moved: tuple[Graph, str, str],
) -> None:
    boss, before, last = moved
    for actor, expected in (("clerk", ["cy", "ed"]), ("guest", []), ("red", ["ada", "cy"])):
        graph = boss.as_actor(actor)
        page = graph.changes(start=f"after:{before}", types=None)
        people = [c["id"] for b in page.blocks for c in b.changes if c["type"]["name"] == "Person"]
        assert (people, page.caught_up) == (expected, True)
    assert len(boss.as_actor("red").commit_changes(last).changes) == 0
    with pytest.raises(NameMissing):
        boss.as_actor("guest").changes(types=["Person"])


def test_a_page_that_another_actor_was_given_is_not_gone_on_with(
    moved: tuple[Graph, str, str],
) -> None:
    boss, _, _ = moved
    first = boss.changes(start="beginning", limit=1)
    with pytest.raises(ChangeCursorRejected):
        boss.as_actor("guest").changes(first.cursor, limit=1)


def test_a_baseline_holds_what_is_visible(moved: tuple[Graph, str, str]) -> None:
    boss, _, _ = moved
    for actor, people in (("red", 3), ("guest", 0), ("clerk", 5)):
        sink = io.BytesIO()
        told = boss.as_actor(actor).changes_baseline(sink)
        lines = [json.loads(line) for line in sink.getvalue().splitlines()]
        assert sum(line.get("type") == "Person" for line in lines) == people
        assert told.export.total_entities == len(lines)


def test_commits_name_nothing_hidden_that_a_schema_dropped(tmp_path: Path) -> None:
    graph = make(tmp_path)
    text = graph.schema().text.replace("salary: I64? @range(0..)   // secret\n", "")
    graph.schema_apply(
        text.replace("    @unique(team, salary)\n", "").replace("  secret: String?", "")
    )
    policy = {"clerk": Role(Sees(hidden_properties={KNOWS: frozenset({"secret"})}))}
    # At the new head there is no secret to hide, so the policy of the clerk is asked of the past.
    boss = opened(graph, policy, "boss")
    for told in (boss.commits()[0], boss.log().commits[0], boss.snapshot().commit):
        assert {*told.drops} == {"Person.salary", "Knows.secret"}
    clerk = boss.as_actor("clerk")
    for told in (clerk.commits()[0], clerk.log().commits[0], clerk.snapshot().commit):
        assert {*told.drops} == {"Person.salary"}


# What is about everything ------------------------------------------------------------------------


def test_another_schema_is_for_those_who_see_all_of_this_one(boss: Graph) -> None:
    text = boss.schema().text.replace("badge: String? @unique", "badge: String?")
    assert boss.schema_plan(text).steps
    for actor in ROLES:
        for door in (boss.as_actor(actor).schema_plan, boss.as_actor(actor).schema_apply):
            with pytest.raises(PolicyDenied) as denied:
                door(text)
            assert denied.value.reason == "it is for those who see everything"


def test_every_error_of_a_guest_is_silent_about_people(guest: Graph) -> None:
    for call in (
        lambda: guest.blob("node", "Persn", "ada", "photo"),
        lambda: guest.export(io.BytesIO(), types=["Persn"]),
        lambda: guest.diff("main", "main", types=["Persn"]),
        lambda: guest.mutate('query d() { delete Persn where email = "ada" }'),
        lambda: guest.query("query q() { match { $p: Note  $p knos $q } return { $p } }"),
    ):
        with pytest.raises(OmnigraphError) as told:
            call()
        text = json.dumps([str(told.value), told.value.hint, told.value.details])
        assert "Knows" not in text and "Person" not in text


def test_the_tag_of_a_blob_tells_of_nothing_hidden(tmp_path: Path) -> None:
    boss = opened(make(tmp_path), {"red": Role(RED), "clerk": Role(NO_PAY)}, "boss")

    def tags() -> list[str]:
        actors = ("red", "clerk", "boss")
        return [boss.as_actor(a).blob("node", "Person", "ada", "photo").etag for a in actors]

    before = tags()
    boss.mutate('query a() { update Person set { salary: 11 } where email = "ada" }')
    after = tags()
    assert before[:2] == after[:2] and before[2] != after[2]
    # The same bytes in another row, which lies elsewhere.
    assert boss.as_actor("red").blob("node", "Person", "bo", "photo").etag == after[0]
    boss.load(
        [
            {
                "type": "Person",
                "data": {"email": "ada", "name": "A", "team": "red", "photo": "base64:AAAB"},
            }
        ],
        mode="merge",
    )
    assert not {*tags()} & {*after}


def test_a_plan_does_not_tell_how_a_type_with_hidden_parts_is_stored(tmp_path: Path) -> None:
    """A write of what is hidden would be seen by an index that does not cover it yet."""
    settings = Settings(traversal_mode=TraversalMode.INDEXED)
    roles = {"red": Role(RED), "clerk": Role(NO_PAY)}
    boss = opened(make(tmp_path), roles, "boss", settings)
    asked = 'query q() { match { $p: Person  $p.team = "red" } return { $p.email } }'

    def notes() -> list[tuple[str, ...]]:
        found = []
        for actor in ("red", "clerk", "boss"):
            fresh = opened(boss, roles, actor, settings)  # nobody has read the column
            plan = fresh.explain(asked, analyze=True)
            found.append(tuple(note for step in plan.steps for note in step.notes))
        return found

    before = notes()
    boss.optimize()
    after = notes()
    assert before[:2] == after[:2] == [(), ()] and before[2] != after[2]
