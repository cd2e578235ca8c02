"""Repair: what it tells of files and commits that disagree, and what it does about it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import lance
import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    OmnigraphError,
    ReadOnly,
    RecoveryRequired,
    StorageFailed,
)
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


DAMAGE: dict[str, Callable[[Path], list[Path]]] = {
    "rows": lambda table: [*(table / "data").glob("*.lance")],
    "deletions": lambda table: [*table.glob("_deletions/*")],
    "an index": lambda table: [*(table / "_indices").rglob("*.lance")],
    "the version": lambda table: [*(table / "_versions").glob("*.manifest")],
}


def torn_at_the_head(graph: Graph, what: str) -> Path:
    """Make a commit of which one file is cut off; the commit before it is whole."""
    graph.optimize()  # so that a row is deleted from a file that has others
    table = person_table(graph)
    before = {*DAMAGE[what](table)}
    graph.mutate('query q() { delete Person where name = "a" }')
    grow(graph, "z")
    if what == "an index":
        graph.optimize()
    file = max({*DAMAGE[what](table)} - before, key=lambda path: path.stat().st_mtime_ns)
    os.truncate(file, file.stat().st_size // 2)
    return file


@pytest.mark.parametrize("what", DAMAGE)
def test_a_torn_file_of_the_newest_commit_is_told_with_what_can_be_saved(
    graph: Graph, what: str
) -> None:
    file = torn_at_the_head(graph, what)
    opened_again = opened(graph.uri)
    [finding] = opened_again.repair(confirm=True).findings
    assert finding.kind == "torn_file" and file.name in finding.where
    assert "node:Person" in finding.explanation
    command = re.search(r"omnigraph (branch create saved --from \S+)", finding.explanation)
    assert command is not None
    run = subprocess.run(
        [sys.executable, "-m", "omnigraph", *command[1].split(), "--store", graph.uri],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    saved = shown(opened(graph.uri), "saved")["people"]
    assert [row["name"] for row in saved] in ([*"abcd"], [*"bcd"], [*"bcdz"])


@pytest.mark.parametrize("what", DAMAGE)
def test_a_cleanup_leaves_all_commits_while_the_newest_can_not_be_read(
    graph: Graph, what: str
) -> None:
    first = graph.commits()[0].graph_commit_id
    torn_at_the_head(graph, what)
    damaged = opened(graph.uri)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="omnigraph repair") as refused:
            damaged.cleanup(keep=1, grace="0s", confirm=True)
        assert "node:Person" in str(refused.value)
        assert len(shown(damaged, snapshot=first)["people"]) == 4
    if what == "the version":
        return  # nothing can be built on it
    # Rows that are written anew make the newest commit readable.
    damaged.load([{"type": "Person", "data": {"name": "new"}}], mode="overwrite", engine="local")
    damaged.cleanup(keep=1, grace="0s", confirm=True)
    assert [row["name"] for row in shown(opened(graph.uri))["people"]] == ["new"]


@pytest.mark.parametrize("what", DAMAGE)
def test_whatever_is_done_to_a_damaged_table_fails_by_a_typed_error(
    graph: Graph, what: str
) -> None:
    torn_at_the_head(graph, what)
    newest = graph.commits()[0].graph_commit_id
    for attempt in (
        lambda g: shown(g),
        lambda g: g.mutate('query q() { delete Person where name = "b" }'),
        lambda g: g.optimize(),
        lambda g: g.revert(newest),
        lambda g: g.commit_changes(newest),
        lambda g: g.diff(g.commits()[-1].graph_commit_id, newest),
        lambda g: g.branch_create("beside"),
        lambda g: g.branch_merge("beside"),
    ):
        with suppress(OmnigraphError):
            attempt(opened(graph.uri))
