"""The files of a branch's history: many small ones become one, and the history stays as it was."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.store.limits import StoreLimits
from tests.maintenance.world import SCHEMA, grow, readable, shown

FEW = Settings(store_limits=StoreLimits(commits_per_cold_fragment=2, max_cold_fragments=3))


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(tmp_path / "g", SCHEMA, durability="relaxed", settings=FEW)
    grow(graph, "a b c d e f")
    graph.branch_create("side")
    grow(graph, "g h i j k", branch="side")
    grow(graph, "l m n o")
    graph.branch_merge("side")
    return graph


def cold_files(graph: Graph, branch: str = "main") -> int:
    store = graph.engine.store
    return len(store.state(store.branches.resolve(branch)).cold)  # type: ignore[arg-type]


@pytest.mark.parametrize("branch", ["main", "side"])
def test_many_files_of_a_history_become_one(graph: Graph, branch: str) -> None:
    watcher = Graph.open(graph.uri, read_only=True, settings=FEW)
    graph.optimize(branch)  # its commits may fill a file, too
    before, log = readable(graph), watcher.log().commits
    assert graph.optimize(branch).history_files == 0
    grow(graph, "p q r s t u v w", branch=branch)
    old = cold_files(graph, branch)
    lines = {name: graph.commits(name) for name in ("main", "side")}
    result = graph.optimize(branch)
    assert result.history_files >= old > 3
    assert cold_files(graph, branch) == 1
    for handle in (graph, watcher, Graph.open(graph.uri, settings=FEW)):
        added = 0 if result.commit is None else 1
        now = {name: handle.commits(name) for name in ("main", "side")}
        assert now[branch][added:] == lines[branch]
        assert set(log) <= set(handle.log().commits)
        assert before.items() <= readable(handle).items()
    grow(graph, "x y z", branch=branch)
    assert len(shown(graph, branch)["people"]) > 20
    graph.branch_merge("side", "main")
