"""A graph is opened with the files of a policy, and then obeys them."""

from pathlib import Path

import pytest

from omnigraph import Graph, Policy
from omnigraph.errors import PolicyDenied, PolicyInvalid
from tests.policy.bundles import one_rule

SCHEMA = "node Person { email: String @key  team: String?  salary: I64? }"
PEOPLE = "query people() { match { $p: Person } return { $p.email } order { $p.email } }"


@pytest.fixture
def graph(tmp_path: Path) -> str:
    made = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    rows = [("ada", "red"), ("bo", "blue"), ("cy", None)]
    made.load(
        [{"type": "Person", "data": {"email": e, "team": t, "salary": 1}} for e, t in rows],
        mode="append",
    )
    return str(made.uri)


def test_files_a_path_or_a_policy_mean_the_same(graph: str, tmp_path: Path) -> None:
    text = one_rule(types="[Person]", when="resource.team == principal.team")
    file, more = tmp_path / "policy.yaml", tmp_path / "more.cedar"
    file.write_text(text)
    more.write_text('forbid (principal, action, resource) when { principal.id == "eve" };')
    for given in (file, str(file), [file, more], (str(file),), Policy.read(file)):
        opened = Graph.open(graph, policy=given, actor="ada")
        assert opened.query(PEOPLE).to_pylist() == [{"p.email": "ada"}]
    with pytest.raises(PolicyDenied):
        Graph.open(graph, policy=[file, more], actor="eve").query(PEOPLE)
    with pytest.raises(PolicyDenied):
        Graph.open(graph, policy=file).query(PEOPLE)


def test_a_policy_that_does_not_fit_keeps_the_graph_closed(graph: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(one_rule(types="[Persn]"))
    with pytest.raises(PolicyInvalid) as invalid:
        Graph.open(graph, policy=file, actor="ada")
    assert invalid.value.findings[0].diagnostic.code == "A012"
