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
