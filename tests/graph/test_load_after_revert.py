"""A load that was reverted is not there any more, so its name can be loaded again."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ChangeFeedGap
from omnigraph.base.ids import TableKey

ROWS = [{"type": "City", "data": {"name": "a"}}]


def load(graph: Graph, branch: str = "main") -> bool:
    """Load the rows by one name; tells whether that was done before."""
    return graph.load(ROWS, mode="merge", load_id="monday", branch=branch).is_repeat


def cities(graph: Graph) -> int:
    return graph.stats().tables[TableKey("node:City")].row_count


def test_a_load_is_repeated_after_its_revert_and_not_after_the_revert_of_that(
    tmp_path: Path,
) -> None:
    graph = Graph.init(tmp_path / "g", "node City { name: String @key }", durability="relaxed")
    assert not load(graph) and load(graph)
    undone = graph.revert(graph.commits(limit=1)[0])
    assert cities(graph) == 0
    assert undone.commit is not None
    graph.revert(undone.commit)
    assert load(graph) and cities(graph) == 1
    graph.revert(graph.commits(limit=1)[0])
    assert not load(graph) and load(graph) and cities(graph) == 1


def test_a_merge_brings_no_name_of_a_load_that_its_branch_has_reverted(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g", "node City { name: String @key }", durability="relaxed")
    graph.branch_create("side")
    assert not load(graph, "side")
    loaded = graph.commits("side", limit=1)[0]
    graph.revert(loaded, "side")
    graph.branch_merge("side", delete=True)
    assert not load(graph) and cities(graph) == 1
    with pytest.raises(ChangeFeedGap, match="deleted with branch side") as gap:
        graph.commit_changes(loaded)
    assert gap.value.deleted_branch == "side" and "merged" in str(gap.value.hint)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Main has a row of its own, and a branch that was made before it came."""
    graph = Graph.init(tmp_path / "g", "node City { name: String @key }", durability="relaxed")
    graph.branch_create("side")
    graph.load([{"type": "City", "data": {"name": "m"}}], mode="append")
    return graph


def assert_name_is_free(graph: Graph, branch: str) -> None:
    count = "query q() { match { $c: City } return { $c.name as name } }"
    assert "a" not in {row["name"] for row in graph.query(count, branch=branch).to_pylist()}
    assert not load(graph, branch)
    assert "a" in {row["name"] for row in graph.query(count, branch=branch).to_pylist()}
    assert load(graph, branch)


def test_a_load_that_came_by_a_merge_is_repeated_after_its_revert(graph: Graph) -> None:
    load(graph, "side")
    loaded = graph.commits("side", limit=1)[0]
    graph.branch_merge("side")
    assert load(graph)
    graph.revert(loaded)
    assert load(graph, "side"), "it was not reverted there"
    assert_name_is_free(graph, "main")


def test_a_load_is_repeated_after_a_merge_of_its_revert(graph: Graph) -> None:
    load(graph, "side")
    loaded = graph.commits("side", limit=1)[0]
    graph.branch_merge("side")
    undone = graph.revert(loaded, "side").commit
    assert undone is not None and load(graph)
    graph.branch_merge("side")
    graph.revert(undone, "side")
    graph.branch_merge("side", "main")
    assert load(graph), "the revert was reverted"
    graph.revert(loaded, "side")
    graph.branch_merge("side")
    assert_name_is_free(graph, "main")


def test_a_load_is_repeated_on_a_branch_after_the_revert_of_its_merge_came_back(
    graph: Graph,
) -> None:
    load(graph, "side")
    graph.branch_merge("side")
    graph.revert(graph.commits(limit=1)[0])
    graph.branch_merge("main", "side")
    assert_name_is_free(graph, "side")


def test_a_load_of_the_same_name_on_both_sides_is_there_while_one_of_them_is(graph: Graph) -> None:
    load(graph), load(graph, "side")
    graph.revert(graph.commits("side", limit=1)[0], "side")
    graph.branch_merge("side")
    assert load(graph) and cities(graph) == 2


def test_the_revert_of_a_load_of_which_no_row_is_left_frees_its_name(graph: Graph) -> None:
    load(graph)
    loaded = graph.commits(limit=1)[0]
    graph.mutate('query q() { delete City where name = "a" }')
    assert load(graph) and cities(graph) == 1
    assert graph.revert(loaded, preview=True).outcome == "reverted"
    undone = graph.revert(loaded)
    assert (undone.outcome, undone.counts) == ("reverted", {})
    assert graph.revert(loaded).outcome == "nothing_to_revert"
    assert undone.commit is not None
    assert graph.revert(undone.commit).outcome == "reverted" and load(graph)
    graph.revert(graph.commits(limit=1)[0])
    assert_name_is_free(graph, "main")
