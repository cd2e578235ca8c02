"""Optimize, statistics, deleting branches: as a user meets them."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import BranchHasChildren, BranchMissing, ReadOnly
from omnigraph.base.ids import TableKey
from omnigraph.engine.results import IndexInfo
from omnigraph.engine.settings import Settings
from omnigraph.store.limits import StoreLimits
from tests.graph.people import QUERIES, SCHEMA

PERSON, WORKS_AT = TableKey("node:Person"), TableKey("edge:WorksAt")
LATER = "1 row came later or moved: optimize adds them"
NAMES = ["ada", "bob", "eve", "zoe"]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    graph.mutate('query q() { insert Company { name: "Engines" } }')
    for name in NAMES:
        hire(graph, name)
    return graph


def hire(graph: Graph, name: str, branch: str = "main") -> None:
    who = {"email": f"{name}@x", "name": name, "company": "Engines"}
    graph.mutate(QUERIES, "hire", who, branch=branch)


def answers(graph: Graph, branch: str = "main") -> list[object]:
    return [
        graph.query(QUERIES, name, params, branch=branch).to_pylist()
        for name, params in (
            ("everyone", {}),
            ("staff", {}),
            ("friends_of", {"email": "ada@x"}),
            ("older_than", {"age": 0}),
        )
    ]


def test_optimizing_changes_files_and_no_answer(graph: Graph) -> None:
    before, head = answers(graph), graph.commits(limit=1)[0]
    result = graph.optimize(actor="keeper")
    assert result.compacted == (WORKS_AT, PERSON)
    assert result.indexed == ("edge:WorksAt", "node:Company", "node:Person")
    assert result.commit == graph.commits(limit=1)[0]
    assert (result.commit.kind, result.commit.actor_id) == ("optimize", "keeper")
    assert result.commit.parent_commit_id == head.graph_commit_id
    assert answers(graph) == before == answers(Graph.open(graph.uri, read_only=True))
    assert graph.optimize().commit is None
    # Neither a precondition nor a merge base minds it.
    graph.mutate(QUERIES, "leave", {"email": "zoe@x"}, if_commit=head.graph_commit_id)
    assert len(graph.query(QUERIES, "everyone")) == 3


def test_a_branch_merges_into_a_target_that_was_only_optimized(graph: Graph) -> None:
    graph.branch_create("side")
    hire(graph, "new", branch="side")
    graph.optimize()
    graph.optimize("side")
    graph.branch_merge("side")
    assert answers(graph) == answers(graph, "side")
    assert len(graph.query(QUERIES, "everyone")) == len(NAMES) + 1


def test_statistics_tell_sizes_and_what_indexes_answer_for(graph: Graph) -> None:
    graph.mutate(QUERIES, "leave", {"email": "zoe@x"})
    scattered = graph.stats()
    assert scattered.commit == graph.commits(limit=1)[0].graph_commit_id
    assert {k: t.row_count for k, t in scattered.tables.items()} == {
        "node:Person": 3,
        "node:Company": 1,
        "edge:Knows": 0,
        "edge:WorksAt": 3,
    }
    assert scattered.tables[PERSON].fragments == 3
    assert scattered.tables[PERSON].bytes > 0
    assert scattered.tables[PERSON].coverage("id") == 0
    wanted = {(index.table, index.column): index.pending for index in graph.indexes()}
    assert wanted[PERSON, "id"] == "it is not built yet: optimize builds it"
    assert wanted[TableKey("edge:Knows"), "src"] == "the table is empty"
    graph.optimize()
    hire(graph, "new")
    people = graph.stats().tables[PERSON]
    assert (people.fragments, people.coverage("id"), people.coverage("name")) == (2, 0.75, 0)
    assert IndexInfo(WORKS_AT, "dst", "btree", True, True, 4, 3, LATER) in graph.indexes()


def test_a_branch_can_be_deleted_and_made_again(graph: Graph) -> None:
    graph.branch_create("side")
    hire(graph, "new", branch="side")
    graph.branch_create("child", from_="side")
    with pytest.raises(BranchHasChildren, match="child"):
        graph.branch_delete("side")
    graph.branch_delete("child")
    graph.branch_delete("side")
    assert graph.branches() == ["main"]
    with pytest.raises(BranchMissing):
        graph.query(QUERIES, "everyone", branch="side")
    graph.branch_create("side")
    assert answers(graph, "side") == answers(graph)


def test_a_merged_branch_can_go_and_what_it_brought_stays(graph: Graph) -> None:
    graph.branch_create("side")
    hire(graph, "new", branch="side")
    graph.branch_merge("side")
    merged = answers(graph)
    graph.branch_delete("side")
    assert answers(graph) == merged
    hire(graph, "newer")
    assert len(graph.query(QUERIES, "everyone")) == len(NAMES) + 2


def test_a_graph_opened_to_read_is_neither_optimized_nor_cut(graph: Graph) -> None:
    graph.branch_create("side")
    reader = Graph.open(graph.uri, read_only=True)
    with pytest.raises(ReadOnly):
        reader.optimize()
    with pytest.raises(ReadOnly):
        reader.branch_delete("side")
    assert reader.branches() == ["main", "side"]


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_branches_that_are_gone_leave_nothing_in_memory(graph: Graph, is_elsewhere: bool) -> None:
    """Whoever deletes them: what this handle holds does not grow with their number."""
    few = StoreLimits(max_landed_handles=8, max_kept_branches=8, max_kept_snapshots=8)
    reader = Graph.open(graph.uri, settings=Settings(store_limits=few))
    writer = graph if is_elsewhere else reader

    def held() -> list[int]:
        store = reader.engine.store
        parts = (
            store.datasets._landed,
            store.manifest._warm,
            store._snapshots,
            reader.engine.cache,
        )
        return [len(part) for part in parts]

    sizes = []
    for number in range(24):
        name = f"side-{number}"
        writer.branch_create(name)
        hire(writer, f"new{number}", branch=name)
        assert len(answers(reader, name)) == 4
        assert len(reader.query(QUERIES, "everyone")) == 4
        writer.branch_delete(name)
        sizes.append(held())
    assert sizes[-1] == sizes[11]


def test_commits_leave_no_more_in_memory_than_the_limit(graph: Graph) -> None:
    """Lance keeps a note of every version and file it has read, until its cache is full."""
    limit = 2**19
    few = StoreLimits(max_file_notes_bytes=limit)
    writer = Graph.open(graph.uri, settings=Settings(store_limits=few))
    session = writer.engine.store.datasets._session
    empty = session.size_bytes()
    for number in range(32):
        hire(writer, f"new{number}")
    # A cache lets go of old notes a moment after it takes in new ones.
    assert empty < session.size_bytes() < 1.5 * limit
