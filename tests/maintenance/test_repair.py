"""Repair: what it tells of files and commits that disagree, and what it does about it."""

from pathlib import Path

import lance
import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, ReadOnly, RecoveryRequired
from omnigraph.base.ids import TableKey
from omnigraph.store.layout import RECOVERY
from tests.maintenance.world import age_files, grow, made, opened, shown

PERSON = TableKey("node:Person")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = made(tmp_path / "g")
    grow(graph, "a b c d")
    return graph


def person_table(graph: Graph, branch: str = "main") -> Path:
    ref = graph.branch(branch).snapshot().stored.tables[PERSON].ref
    fork = "" if ref.branch is None else f"/tree/{ref.branch}"
    return Path(f"{graph.uri}/{ref.path}{fork}")


def test_a_graph_that_is_well_has_nothing_to_repair(graph: Graph) -> None:
    graph.branch_create("side")
    grow(graph, "e", branch="side")
    graph.optimize()
    before = graph.commits()
    assert graph.repair(confirm=True).findings == ()
    assert graph.commits() == before


@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_table_that_moved_and_kept_its_rows_is_published_when_confirmed(
    graph: Graph, branch: str
) -> None:
    graph.branch_create("side")
    grow(graph, "e f g", branch="side")
    before = shown(graph, branch)
    lance.dataset(str(person_table(graph, branch))).optimize.compact_files()
    with pytest.raises(RecoveryRequired):
        grow(graph, "z", branch=branch)
    told = graph.repair()
    [drift] = told.findings
    assert (drift.kind, drift.is_verified, drift.is_repaired) == ("drift", True, False)
    assert drift.where == f"node:Person on {branch}" and "the same" in drift.explanation
    assert told.commits == ()
    done = graph.repair(confirm=True, actor="keeper")
    assert [finding.is_repaired for finding in done.findings] == [True]
    [commit] = done.commits
    assert (commit.actor_id, commit.kind, commit.graph_branch) == ("keeper", "recovery", branch)
    assert shown(graph, branch) == before == shown(opened(graph.uri), branch)
    assert graph.repair().findings == ()
    grow(graph, "z", branch=branch)


def test_a_table_with_other_rows_is_published_only_by_force(graph: Graph) -> None:
    lance.dataset(str(person_table(graph))).delete("id = 'a'")
    before = shown(graph)
    kept = graph.repair(confirm=True)
    [drift] = kept.findings
    assert not drift.is_verified and not drift.is_repaired and kept.commits == ()
    assert "1 fewer" in drift.explanation and shown(graph) == before
    forced = graph.repair(confirm=True, force=True)
    assert [finding.is_repaired for finding in forced.findings] == [True]
    assert [row["name"] for row in shown(graph)["people"]] == [*"bcd"]
    changes = graph.commit_changes(forced.commits[0].graph_commit_id)
    assert [change["id"] for change in changes.changes.to_pylist()] == ["a"]
    grow(graph, "a")


def test_what_was_left_behind_and_what_is_missing_is_told(graph: Graph) -> None:
    graph.branch_create("side")
    grow(graph, "e", branch="side")
    table = lance.dataset(str(person_table(graph)))
    table.create_branch("leftover.x", (None, table.version))
    lance.write_dataset(table.to_table(["id"]), f"{graph.uri}/nodes/feed")
    file = next((person_table(graph) / "data").glob("*.lance"))
    file.rename(file.with_suffix(".away"))
    findings = {finding.kind: finding for finding in graph.repair().findings}
    assert set(findings) == {"leftover_fork", "unnamed_table", "missing_file"}
    assert findings["missing_file"].where.endswith(file.name)
    file.with_suffix(".away").rename(file)
    age_files(graph.uri, by_s=120)
    graph.cleanup(grace="0s", confirm=True)
    assert graph.repair().findings == ()
    assert len(shown(graph)["people"]) == 4


def test_a_repair_is_refused_where_it_is_not_meant_or_not_safe(graph: Graph) -> None:
    with pytest.raises(ArgumentInvalid, match="confirm"):
        graph.repair(force=True)
    with pytest.raises(ReadOnly):
        opened(graph.uri, read_only=True).repair()
    notes = Path(graph.uri) / RECOVERY
    notes.mkdir(exist_ok=True)
    (notes / "main.01ARZ3NDEKTSV4RRFFQ69G5FAV.json").write_text("{")
    with pytest.raises(RecoveryRequired):
        graph.repair(confirm=True)
