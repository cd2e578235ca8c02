"""An answer that is written: one commit on a branch, by the rules of every write."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.errors import ArgumentInvalid, BranchMissing, NameMissing
from tests.analytics.test_answers import WORLD

READ = """
query ranks() { match { $p: Person } return { $p.name, $p.rank, $p.group } order { $p.name } }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return WORLD.made(tmp_path / "g.omni")


def ranks(graph: Any) -> list[Any]:
    return [row["p.rank"] for row in graph.query(READ)]


def test_an_answer_becomes_a_property_as_one_commit(graph: Graph) -> None:
    before = graph.commits()[0]
    result = graph.analytics.pagerank("Knows", write_to="rank", actor="ada", message="scores")
    assert ranks(graph) == [row["score"] for row in result]
    newest = graph.commits()[0]
    assert result.commit == newest and newest.parent_commit_id == before.graph_commit_id
    assert (newest.kind, newest.actor_id, newest.message) == ("mutation", "ada", "scores")
    assert result.written == {"Person": 4} and result.graph_commit_id == before.graph_commit_id
    again = graph.analytics.pagerank("Knows", write_to="rank")
    assert again.commit is None and again.written == {} and len(graph.commits()) == 3


def test_each_property_takes_the_column_that_is_named(graph: Graph) -> None:
    graph.analytics.degrees("Knows", write_to={"rank": "in_degree", "group": "out_degree"})
    rows = [(row["p.rank"], row["p.group"]) for row in graph.query(READ)]
    assert rows == [(2.0, 2), (1.0, 1), (1.0, 1), (0.0, 0)]


def test_every_type_that_has_the_property_gets_it(graph: Graph) -> None:
    result = graph.analytics.pagerank(write_to="rank")
    assert result.written == {"Company": 2, "Person": 4}
    assert graph.analytics.connected_components(write_to="group").written == {"Person": 4}


def test_a_branch_is_written_by_itself_and_a_moment_to_a_branch(graph: Graph) -> None:
    graph.branch_create("scores")
    graph.branch("scores").analytics.shortest_paths("Knows", source="a", write_to="group")
    assert [row["p.group"] for row in graph.branch("scores").query(READ)] == [0, 1, 2, None]
    moment = graph.snapshot()
    moment.analytics.pagerank("Knows", write_to="rank", write_branch="scores")
    assert ranks(graph) == [None] * 4 and all(ranks(graph.branch("scores")))
    with pytest.raises(ArgumentInvalid, match="a moment is not written to"):
        moment.analytics.pagerank("Knows", write_to="rank")


def test_nodes_that_are_gone_by_then_get_nothing_and_new_ones_keep_what_they_have(
    graph: Graph,
) -> None:
    moment = graph.snapshot()
    graph.mutate('query q() { delete Person where name = "d" }')
    graph.load(
        [{"type": "Person", "data": {"name": "e", "rank": 7.0}}], mode="append", engine="local"
    )
    result = moment.analytics.pagerank("Knows", write_to="rank", write_branch="main")
    assert result.written == {"Person": 3} and len(result) == 4
    assert ranks(graph)[-1] == 7.0 and [row["p.name"] for row in graph.query(READ)] == list("abce")


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a property": ({"write_to": "ranks"}, ArgumentInvalid, "Person has no property of this name"),
    "a whole number": ({"write_to": "group"}, ArgumentInvalid, "Person.group is a I64"),
    "a text": ({"write_to": "note"}, ArgumentInvalid, "Person.note is a String"),
    "a column": ({"write_to": {"rank": "scores"}}, NameMissing, "no column of pagerank named"),
    "nothing": ({"write_to": {}}, ArgumentInvalid, "it must name a property"),
    "no name": ({"write_to": ""}, ArgumentInvalid, "a property starts with a lower-case letter"),
    "a type's name": ({"write_to": "Rank"}, ArgumentInvalid, "a property starts with a lower-case"),
    "a number": ({"write_to": 5}, ArgumentInvalid, "it must be the name of a property, or a dict"),
    "a list": ({"write_to": ["rank"]}, ArgumentInvalid, "the name of a property, or a dict of"),
    "a column that is a number": ({"write_to": {"rank": 5}}, ArgumentInvalid, "it must be a name"),
    "a property that is a number": ({"write_to": {5: "score"}}, ArgumentInvalid, "must be a name"),
    "a branch": ({"write_to": "rank", "write_branch": "no"}, BranchMissing, "no branch named no"),
    "a message alone": ({"message": "why"}, ArgumentInvalid, "the commit that write_to makes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_t_be_written_is_refused_before_anything_runs(graph: Graph, case: str) -> None:
    given, error, words = REFUSED[case]
    told: list[str] = []
    with pytest.raises(error) as refused:
        graph.analytics.pagerank("Knows", progress=lambda *p: told.append(p[0]), **given)
    assert words in str(refused.value) and not told
    assert len(graph.commits()) == 2


def test_an_error_says_which_line_the_schema_lacks(graph: Graph) -> None:
    for run, line in (
        (graph.analytics.pagerank, "`x: F64?` to node Person"),
        (graph.analytics.k_core, "`x: I64?` to node Person"),
    ):
        with pytest.raises(ArgumentInvalid) as refused:
            run("Knows", write_to="x")
        assert line in (refused.value.hint or "")


@pytest.mark.parametrize("default", ["", "@default(0.0)"])
def test_a_node_that_was_not_reached_gets_no_other_value_instead(
    tmp_path: Path, default: str
) -> None:
    schema = f"node P {{ name: String @key  far: F64 {default} }}  edge K: P -> P"
    graph = Graph.init(tmp_path / "g.omni", schema, durability="relaxed")
    rows: list[dict[str, Any]] = [{"type": "P", "data": {"name": n, "far": 5.0}} for n in "abc"]
    graph.load([*rows, {"edge": "K", "from": "a", "to": "b"}], mode="append", engine="local")
    with pytest.raises(
        ArgumentInvalid, match=r"1 node of P has no value, and P\.far can't be null"
    ):
        graph.analytics.shortest_paths("K", source="a", write_to="far")
    assert len(graph.commits()) == 2
    graph.mutate('query q() { delete P where name = "c" }')
    assert graph.analytics.shortest_paths("K", source="a", write_to="far").written == {"P": 2}


def test_paths_of_pairs_are_not_written(graph: Graph) -> None:
    with pytest.raises(ArgumentInvalid, match="belong to no node"):
        graph.analytics.shortest_paths("Knows", pairs=[("a", "b")], write_to="rank")
