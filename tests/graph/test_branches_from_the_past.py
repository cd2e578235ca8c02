"""Branches from any moment, as callers name it."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    CommitMissing,
    CommitReclaimed,
    MomentMissing,
)

SCHEMA = "node City { name: String @key  pop: I32? }"
CITIES = "query q() { match { $c: City } return { $c.name as n, $c.pop as p } order { n } }"
LOST = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def turn(graph: Graph, number: int, branch: str = "main") -> None:
    graph.mutate(
        f'query q() {{ update City set {{ pop: {number} }} where name = "A" }}', branch=branch
    )


def size(graph: Graph, branch: str = "main") -> object:
    return graph.query(CITIES, branch=branch).to_pylist()[0]["p"]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """The size of the city A is 0, 1, 2, 3; on `side`, made at 2, it goes on with 20, 21."""
    graph = Graph.init(tmp_path / "g", SCHEMA, durability="relaxed")
    graph.mutate('query q() { insert City { name: "A", pop: 0 } }')
    for number in (1, 2, 3):
        turn(graph, number)
        if number == 2:
            graph.branch_create("side")
    for number in (20, 21):
        turn(graph, number, "side")
    return graph


MOMENTS: dict[str, tuple[Callable[[Graph], object], int]] = {
    "a branch": (lambda graph: "side", 21),
    "a commit": (lambda graph: graph.commits()[1], 2),
    "an id": (lambda graph: graph.commits()[2].graph_commit_id, 1),
    "a commit of another branch": (lambda graph: graph.commits("side")[1].graph_commit_id, 20),
    "a head of another branch": (lambda graph: graph.commits("side")[0].graph_commit_id, 21),
    "a time": (lambda graph: graph.commits()[1].created_at, 2),
    "a time as text": (lambda graph: graph.commits()[1].created_at.isoformat(), 2),
    "a version": (lambda graph: graph.commits()[2].graph_manifest_version, 1),
    "what is held": (lambda graph: graph.at(graph.commits("side")[1]), 20),
}


@pytest.mark.parametrize("named", MOMENTS)
def test_a_branch_starts_at_any_moment(graph: Graph, named: str) -> None:
    moment, expected = MOMENTS[named]
    graph.branch_create("new", from_=moment(graph))  # type: ignore[arg-type]
    assert size(graph, "new") == expected
    rows = [{"type": "City", "data": {"name": "B", "pop": 5}}]
    graph.load(rows, mode="merge", branch="new")
    for opened in (graph, Graph.open(graph.uri)):
        assert opened.query(CITIES, branch="new").to_pylist() == [
            {"n": "A", "p": expected},
            {"n": "B", "p": 5},
        ]
        before = opened.commits("new")[1]
        assert opened.query(CITIES, snapshot=before.graph_commit_id).to_pylist() == [
            {"n": "A", "p": expected}
        ]


def test_what_a_branch_from_the_past_lacks_is_merged_into_it(graph: Graph) -> None:
    for source in ("main", "side"):
        graph.branch_create(f"old/{source}", from_=graph.commits(source)[1])
        assert graph.branch_merge(source, f"old/{source}").outcome == "fast_forward"
        assert size(graph, f"old/{source}") == size(graph, source)
    turn(graph, 99, "old/side")
    assert graph.branch_merge("old/side", "side").outcome == "fast_forward"
    assert size(graph, "side") == 99


@pytest.mark.parametrize(
    ("moment", "error"),
    [
        ("nowhere", BranchMissing),
        (LOST, CommitMissing),
        ("1999-12-31", MomentMissing),
        (0, MomentMissing),
        (10_000, MomentMissing),
        (None, ArgumentInvalid),
    ],
)
def test_a_start_that_is_not_there_is_named(
    graph: Graph, moment: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        graph.branch_create("new", from_=moment)  # type: ignore[arg-type]
    assert graph.branches() == ["main", "side"]


def test_a_name_goes_before_a_moment(graph: Graph) -> None:
    today = f"{graph.commits()[0].created_at + timedelta(days=1):%Y-%m-%d}"
    graph.branch_create(today, from_=graph.commits()[2])
    graph.branch_create("new", from_=today)
    assert size(graph, "new") == 1


def test_no_branch_starts_where_the_rows_are_gone(graph: Graph) -> None:
    graph.branch_create("work", from_="main")
    turn(graph, 9, "work")
    made = graph.commits("work")[0]
    graph.branch_merge("work", "main")
    graph.branch_delete("work")
    with pytest.raises(CommitReclaimed):
        graph.branch_create("again", from_=made)
    graph.branch_create("work", from_=graph.commits()[1])
    assert size(graph, "work") == 3
