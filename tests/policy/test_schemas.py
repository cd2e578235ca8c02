"""A graph that is open with a policy takes no schema that the policy would not fit."""

from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.errors import BranchesInTheWay, OmnigraphError, PolicyDenied, PolicyInTheWay

SCHEMA = """
node Person { email: String @key  team: String?  pay: I64?  age: I32? }
node Note { text: String? }
edge Knows: Person -> Person { since: I32? }
"""
POLICY = """\
version: 1
rules:
  - {id: all, allow: {actors: everyone, actions: [read, change]}}
  - {id: boss, allow: {actors: [boss], actions: [schema_apply, branch_create]}}
  - id: own-team
    deny:
      actors: [ann]
      actions: [read]
      types: [Person]
      unless: resource.team == "red"
  - id: no-pay
    deny: {actors: [ann], actions: [read], types: [Person], properties: [pay]}
  - id: no-notes
    deny:
      actors: [ann]
      actions: [read]
      types: [Note]
"""
ROWS = [
    {"type": "Person", "data": {"email": "ada", "team": "red", "pay": 1}},
    {"type": "Person", "data": {"email": "bo", "team": "blue", "pay": 2}},
]
PEOPLE = "query q() { match { $p: Person } return { $p } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    (tmp_path / "policy.yaml").write_text(POLICY)
    made = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed", actor="founder")
    made.load(ROWS, mode="append")
    policy = tmp_path / "policy.yaml"
    return Graph.open(made.uri, durability="relaxed", policy=policy, actor="boss")


REFUSED = {
    "a type gets another name": (
        SCHEMA.replace("node Note", 'node Memo @rename_from("Note")'),
        "no-notes",
        17,
    ),
    "a type goes": (SCHEMA.replace("node Note { text: String? }", ""), "no-notes", 17),
    "a property gets another name": (
        SCHEMA.replace("team: String?", 'squad: String? @rename_from("team")'),
        "own-team",
        10,
    ),
    "a property goes": (SCHEMA.replace("team: String?", ""), "own-team", 10),
    "a hidden property gets another name": (
        SCHEMA.replace("pay: I64?", 'wage: I64? @rename_from("pay")'),
        "no-pay",
        12,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_rule_names_keeps_its_name(graph: Graph, case: str) -> None:
    schema, rule, line = REFUSED[case]
    before, files = graph.commits(), sorted(Path(graph.uri).rglob("*"))
    with pytest.raises(PolicyInTheWay) as refused:
        graph.schema_apply(schema)
    (told,) = refused.value.rules
    assert told.startswith(f"rule {rule} at ") and f"policy.yaml:{line}:" in told
    assert "without the policy" in (refused.value.hint or "")
    plan = graph.schema_plan(schema)
    assert plan.supported and plan.steps and not plan.can_be_applied
    assert plan.rules_in_the_way == (told,) and told in str(plan)
    assert graph.commits() == before
    written = [path for path in sorted(Path(graph.uri).rglob("*")) if path not in files]
    assert not [path for path in written if path.suffix in (".lance", ".json", ".pg")]
    assert len(graph.as_actor("ann").query(PEOPLE)) == 1


def test_other_changes_are_taken_and_rules_go_on(graph: Graph) -> None:
    more = SCHEMA.replace("age: I32?", 'years: I32? @rename_from("age")  mood: String?')
    more = more.replace("since: I32?", 'year: I32? @rename_from("since")')
    plan = graph.schema_plan(more)
    assert plan.can_be_applied and plan.rules_in_the_way == ()
    assert graph.schema_apply(more).applied
    (row,) = graph.as_actor("ann").query(PEOPLE).to_pylist()
    assert row["p"]["email"] == "ada" and "pay" not in row["p"] and "years" in row["p"]


def test_without_the_policy_the_schema_changes_and_another_policy_goes_on(
    graph: Graph, tmp_path: Path
) -> None:
    schema, _, _ = REFUSED["a property gets another name"]
    Graph.open(graph.uri, durability="relaxed").schema_apply(schema)
    with pytest.raises(PolicyDenied):  # the old policy does not fit: nothing is shown
        graph.as_actor("ann").query(PEOPLE)
    changed = tmp_path / "changed.yaml"
    changed.write_text(POLICY.replace("resource.team", "resource.squad"))
    ann = graph.under_policy(changed).as_actor("ann")
    assert [row["p"]["squad"] for row in ann.query(PEOPLE).to_pylist()] == ["red"]


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA.replace("pay: I64?  age: I32?", 'pay: I32? @rename_from("age")'),
        SCHEMA.replace(
            "pay: I64?  age: I32?", 'wage: I64? @rename_from("pay")  pay: I32? @rename_from("age")'
        ),
        SCHEMA.replace("node Note {", 'node Memo @rename_from("Note") { }\nnode Note {'),
    ],
)
def test_a_name_never_passes_to_another_by_one_change(graph: Graph, schema: str) -> None:
    """A rule about the name would go on, about something else."""
    before = _ids(graph)
    with suppress(OmnigraphError):
        graph.schema_apply(schema, allow_data_loss=True)
    after = _ids(graph)
    assert all(before[name] == after[name] for name in before.keys() & after.keys())


def _ids(graph: Graph) -> dict[str, int]:
    entities = graph.schema().catalog.entities
    properties = {f"{e.name}.{p.name}": int(p.id) for e in entities for p in e.properties}
    return {**{str(e.name): int(e.id) for e in entities}, **properties}


def test_the_policy_is_told_of_before_branches(graph: Graph) -> None:
    graph.branch_create("side")
    with pytest.raises(PolicyInTheWay):
        graph.schema_apply(REFUSED["a type goes"][0])
    plain = SCHEMA.replace("age: I32?", 'years: I32? @rename_from("age")')
    with pytest.raises(BranchesInTheWay):
        graph.schema_apply(plain)
