"""What a caller can do with an answer and with a plan."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import DependencyMissing, LimitExceeded

SCHEMA = """
node Person { email: String @key  bio: String? }
edge Knows: Person -> Person
"""
QUERIES = """
query everyone() {
    match { $p: Person }
    return { $p.email as email, $p.bio as bio }
    order { email }
}
query friends($email: String) {
    match { $p: Person { email: $email }  $p knows $f }
    return { $f.email as email }
}
query add($email: String, $bio: String?) { insert Person { email: $email, bio: $bio } }
query know($a: String, $b: String) { insert Knows { from: $a, to: $b } }
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    place = tmp_path_factory.mktemp("results") / "graph"
    with Graph.init(str(place), SCHEMA, durability="relaxed") as graph:
        for number in range(25):
            bio = "<b>bold & big</b>" if number == 0 else None
            graph.mutate(QUERIES, "add", {"email": f"p{number:02}", "bio": bio})
        for number in range(1, 4):
            graph.mutate(QUERIES, "know", {"a": "p00", "b": f"p{number:02}"})
        yield graph


def test_rows_come_in_batches_of_the_size_asked_for(graph: Graph) -> None:
    answer = graph.query(QUERIES, "everyone")
    assert [batch.num_rows for batch in answer.batches(10)] == [10, 10, 5]
    assert [row["email"] for row in answer] == answer.to_arrow()["email"].to_pylist()


def test_a_notebook_shows_the_first_rows_and_no_markup_of_the_data(graph: Graph) -> None:
    shown = graph.query(QUERIES, "everyone")._repr_html_()
    assert shown.count("<tr>") == 21
    assert "25 rows" in shown
    assert "<b>" not in shown
    assert "&lt;b&gt;bold &amp; big&lt;/b&gt;" in shown


def test_polars_is_asked_for_by_name_where_it_is_missing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(DependencyMissing, match="Polars"):
        graph.query(QUERIES, "everyone").to_polars()


def test_explain_says_what_to_expect_and_analyze_what_came(graph: Graph) -> None:
    plan = str(graph.explain(QUERIES, "friends"))
    assert [line.split()[0] for line in plan.splitlines()] == [
        "NodeScan",
        "Filter",
        "Expand",
        "Project",
    ]
    assert all("rows" in line for line in plan.splitlines())
    analyzed = graph.explain(QUERIES, "friends", {"email": "p00"}, analyze=True)
    ran = str(analyzed).splitlines()
    # Three nodes reached: eight bytes for the number of each, and nothing else is carried.
    assert ran[2].endswith(" 24B  3 rows")
    assert all(" ms " in line and "B  " in line for line in ran)
    assert "InsertNode" in str(graph.explain(QUERIES, "add"))


def test_the_steps_of_a_plan_are_values(graph: Graph) -> None:
    plan = graph.explain(QUERIES, "friends")
    assert (plan.query_name, plan.is_analyzed) == ("friends", False)
    assert plan.graph_commit_id == graph.commits(limit=1)[0].graph_commit_id
    assert repr(plan) == "<Explanation of friends: 4 steps>"
    assert [step.operator for step in plan.steps] == ["NodeScan", "Filter", "Expand", "Project"]
    assert all(step.rows_expected is not None and step.rows is None for step in plan.steps)
    ran = graph.explain(QUERIES, "friends", {"email": "p00"}, analyze=True)
    assert ran.is_analyzed and [step.text for step in ran.steps] == [s.text for s in plan.steps]
    assert (ran.steps[2].rows, ran.steps[2].bytes) == (3, 24)
    assert all(step.ms is not None and step.ms >= 0 for step in ran.steps)
    [added] = graph.explain(QUERIES, "add").steps
    assert (added.operator, added.rows_expected, added.depth) == ("InsertNode", None, 0)


def test_a_query_may_be_given_less_than_it_needs(graph: Graph) -> None:
    with pytest.raises(LimitExceeded):
        graph.query(QUERIES, "friends", {"email": "p00"}, memory_bytes=1)
    with pytest.raises(LimitExceeded):
        graph.query(QUERIES, "everyone", timeout_s=0)


def test_a_plan_changes_with_the_size_of_the_graph_and_the_answer_does_not(
    tmp_path: Path,
) -> None:
    asked = """
    query q() { match { $p: Person  $p knows $f  $p.bio = "a"  $f.bio = "b" } return { $p.email } }
    """
    with Graph.init(str(tmp_path / "graph"), SCHEMA, durability="relaxed") as graph:
        assert graph.query(asked).to_pylist() == []
        for email, bio in (("x", "a"), ("y", "b"), ("z", "b"), ("w", "b")):
            graph.mutate(QUERIES, "add", {"email": email, "bio": bio})
        graph.mutate(QUERIES, "know", {"a": "x", "b": "y"})
        assert graph.query(asked).to_pylist() == [{"p.email": "x"}]
