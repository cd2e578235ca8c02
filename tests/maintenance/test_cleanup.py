"""Cleanup as a user meets it: what goes, what stays and why, and what is said of it."""

import gc
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    ChangeFeedGap,
    CommitReclaimed,
    OmnigraphError,
    ReadOnly,
    RecoveryRequired,
)
from omnigraph.store.layout import RECOVERY
from tests.maintenance.world import (
    PUT,
    SCHEMA,
    age_files,
    files,
    grow,
    made,
    named_by_nobody,
    opened,
    readable,
    shown,
)

NOW: dict[str, Any] = {"grace": "0s", "confirm": True}
"""Nobody else is at work, and it is meant."""


@pytest.fixture
def graph(place: str) -> Graph:
    return made(place)


# Commits ------------------------------------------------------------------------------------------


def test_the_newest_commits_of_each_branch_stay_and_the_others_say_that_they_are_gone(
    graph: Graph,
) -> None:
    grow(graph, "a b c d")
    graph.branch_create("side")
    grow(graph, "e f", branch="side")
    grow(graph, "g h i")
    before = readable(graph)
    result = graph.cleanup(keep=2, **NOW)
    after = readable(graph)
    kept = {c.graph_commit_id for b in ("main", "side") for c in graph.commits(b)[:2]}
    base = graph.commits("side")[2].graph_commit_id
    assert result.kept == {"newest": 4, "merge_base": 1}
    assert after == {commit: before[commit] for commit in kept | {base}}
    assert set(result.commits) == before.keys() - after.keys()
    assert readable(opened(graph.uri)) == after
    gone = graph.commits()[-2]
    for moment in (gone, gone.created_at, gone.graph_manifest_version):
        with pytest.raises(CommitReclaimed, match="cleanup") as caught:
            graph.at(moment)
    assert caught.value.by == "cleanup"
    assert "commit list" in (caught.value.hint or "")
    assert graph.commit(gone.graph_commit_id) == gone
    with pytest.raises(CommitReclaimed):
        graph.branch_create("past", from_=gone)
    assert graph.branches() == ["main", "side"]


def test_a_branch_is_merged_and_deleted_after_a_cleanup(graph: Graph) -> None:
    grow(graph, "a b c")
    graph.branch_create("side")
    grow(graph, "e f", branch="side")
    grow(graph, "g h i j")
    graph.cleanup(keep=1, **NOW)
    graph.branch_merge("side")
    assert [row["name"] for row in shown(graph)["people"]] == [*"abcefghij"]
    graph.branch_delete("side")
    graph.cleanup(keep=1, **NOW)
    assert [row["name"] for row in shown(opened(graph.uri))["people"]] == [*"abcefghij"]
    grow(graph, "z")


def test_a_commit_is_as_old_as_the_time_since_it_was_the_newest(graph: Graph) -> None:
    grow(graph, "a b c d e")
    assert not graph.cleanup(keep=1, older_than="1h", **NOW).commits
    assert not graph.cleanup(keep=1, older_than=timedelta(minutes=5), **NOW).commits
    assert not graph.cleanup(keep=1, confirm=True).commits, "others have an hour to read on"
    result = graph.cleanup(keep=2, older_than="0s", **NOW)
    assert (len(result.commits), result.kept) == (4, {"newest": 2})


def test_a_dry_run_reports_the_same_and_removes_nothing(graph: Graph) -> None:
    grow(graph, "a b c d e")
    graph.branch_create("side")
    grow(graph, "f", branch="side")
    graph.branch_delete("side")
    before = files(graph.uri)
    would = graph.cleanup(keep=1, grace="0s", dry_run=True)
    assert files(graph.uri) == before
    assert would.dry_run and would.files and would.commits
    did = graph.cleanup(keep=1, **NOW)
    assert (did.tables, did.commits, did.kept) == (would.tables, would.commits, would.kept)
    after = files(graph.uri)
    assert len(before) - len(after) == did.files
    assert sum(before.values()) - sum(after.values()) == did.bytes
    assert graph.cleanup(keep=1, **NOW).files == 0
    assert not named_by_nobody(graph.uri)


def test_what_this_process_reads_stays_until_it_is_let_go(graph: Graph) -> None:
    grow(graph, "a b")
    held, other = graph.at(graph.commits()[0]), opened(graph.uri, read_only=True)
    past = other.at(other.commits()[1])
    grow(graph, "c d e f")
    result = graph.cleanup(keep=1, **NOW)
    assert result.kept == {"newest": 1, "in_use": 2}
    ask = "query q() { match { $p: Person } return { count($p) as n } }"
    assert [held.query(ask).to_pylist(), past.query(ask).to_pylist()] == [[{"n": 2}], [{"n": 1}]]
    del held, past, other
    assert graph.cleanup(keep=1, **NOW).kept == {"newest": 1}


def test_a_commit_that_only_a_dead_cycle_holds_goes(
    graph: Graph, request: pytest.FixtureRequest
) -> None:
    grow(graph, "a b")
    gc.disable()
    request.addfinalizer(gc.enable)
    cycle: list[object] = [graph.at(graph.commits()[1])]
    cycle.append(cycle)
    assert graph.cleanup(keep=1, **NOW).kept == {"newest": 1, "in_use": 1}
    del cycle
    assert graph.cleanup(keep=1, **NOW).kept == {"newest": 1}


def changed_after(graph: Graph, cursor: str) -> list[object]:
    return [block.changes.to_pylist() for block in graph.changes(cursor).blocks]


def test_a_cursor_on_a_commit_that_stays_goes_on_and_any_other_is_told_of_a_gap(
    graph: Graph,
) -> None:
    grow(graph, "a b c d e f")
    commits = [commit.graph_commit_id for commit in graph.commits()]
    early, late = (
        graph.changes(start=f"after:{c}", limit=1).cursor for c in (commits[5], commits[2])
    )
    expected = changed_after(graph, late)
    graph.cleanup(keep=2, **NOW)
    assert changed_after(graph, late) == expected
    starts: list[dict[str, Any]] = [
        {"cursor": early},
        {"start": "beginning"},
        {"start": f"after:{commits[3]}"},
    ]
    for start in starts:
        with pytest.raises(ChangeFeedGap) as caught:
            graph.changes(**start)
    assert caught.value.first_unreadable_commit_id == commits[2]


# Files that nobody names --------------------------------------------------------------------------


def test_a_type_that_was_dropped_goes_with_the_last_commit_that_had_it(graph: Graph) -> None:
    graph.mutate(PUT, "found", {"name": "york"})
    cities = graph.engine.store.snapshot().tables["node:City"].ref.path  # type: ignore[index]
    smaller = "\n".join(line for line in SCHEMA.splitlines() if "City" not in line)
    graph.schema_apply(smaller, allow_data_loss=True)
    graph.cleanup(keep=2, **NOW)
    assert any(name.startswith(cities) for name in files(graph.uri))
    grow(graph, "a b")
    result = graph.cleanup(keep=2, **NOW)
    assert not any(name.startswith(cities) for name in files(graph.uri))
    assert result.tables["node:City"].kept_files == 0
    assert not named_by_nobody(graph.uri)
    graph.schema_apply(SCHEMA)
    graph.mutate(PUT, "found", {"name": "york"})


def test_young_files_that_nobody_names_wait_and_old_ones_go(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    grow(graph, "a b")
    table = graph.engine.store.snapshot().tables["node:Person"].ref.path  # type: ignore[index]
    home = tmp_path / "g" / table
    strays = [
        home / "data" / "0123.lance",
        home / "_deletions" / "0-1-2.arrow",
        home / "_indices" / "f0f0" / "page_data.lance",
        home / "tree" / "gone.x" / "data" / "1.lance",
        home / "tree" / "gone.x" / "_transactions" / "1.txn",
        home / "_refs" / "branches" / "x.json.tmp.1",
        tmp_path / "g" / "nodes" / "feed" / "data" / "1.lance",
        tmp_path / "g" / "_schemas" / "feed.json",
        tmp_path / "g" / "__staging" / "01ARZ3NDEKTSV4RRFFQ69G5FAV" / "rows.parquet",
        tmp_path / "g" / "__recovery" / ".unfinished-1-a",
    ]
    mine = [home / "data" / "notes.txt", home / "README.md", tmp_path / "g" / "notes" / "a.json"]
    for stray in (*strays, *mine):
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_text("{}")
    waiting = graph.cleanup(confirm=True)
    assert waiting.files == 0 and waiting.waiting_files == 7
    assert all(stray.exists() for stray in strays)
    age_files(tmp_path / "g", by_s=25 * 3600)
    result = graph.cleanup(confirm=True)
    assert not [stray for stray in strays if stray.exists()]
    assert all(file.exists() for file in mine)
    assert result.waiting_files == 0
    assert shown(graph) == shown(opened(graph.uri))


def test_old_versions_of_the_manifest_go_and_the_whole_history_stays_known(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    grow(graph, " ".join(f"p{n}" for n in range(70)))
    graph.branch_create("side", from_=graph.commits()[3])
    grow(graph, "x y", branch="side")
    before = [graph.commits(branch) for branch in ("main", "side")]
    age_files(tmp_path / "g", by_s=3600)
    result = graph.cleanup(keep=1, **NOW)
    assert result.tables["__manifest"].kept_versions == 3, "of main, of side, and of its origin"
    for handle in (graph, opened(graph.uri)):
        assert [handle.commits(branch) for branch in ("main", "side")] == before
    assert not named_by_nobody(graph.uri)
    grow(graph, "z")
    grow(graph, "z", branch="side")
    graph.branch_merge("side")


def test_the_locks_of_branches_that_are_gone_go_with_them(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    for name in ("a", "b", "team/c"):
        graph.branch_create(name)
        grow(graph, "x", branch=name)
    graph.branch_delete("team/c")
    graph.branch_delete("a")
    graph.cleanup(**NOW)
    locks = sorted(lock.name.partition(".")[0] for lock in (tmp_path / "g/__locks").iterdir())
    assert locks == ["__branches", "b", "main"]


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({}, "confirm"),
        ({"keep": 0, "confirm": True}, "keep"),
        ({"keep": True, "confirm": True}, "keep"),
        ({"keep": "3", "confirm": True}, "keep"),
        ({"older_than": "7", "confirm": True}, "older_than"),
        ({"older_than": 7, "confirm": True}, "older_than"),
        ({"older_than": "-1d", "confirm": True}, "older_than"),
        ({"older_than": timedelta(days=-1), "confirm": True}, "older_than"),
        ({"grace": "soon", "dry_run": True}, "grace"),
        ({"grace": "99999999w", "dry_run": True}, "grace"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(
    tmp_path: Path, arguments: dict[str, Any], argument: str
) -> None:
    graph = made(tmp_path / "g")
    before = files(graph.uri)
    with pytest.raises(ArgumentInvalid) as caught:
        graph.cleanup(**arguments)
    assert caught.value.argument == argument
    assert files(graph.uri) == before


def test_a_graph_opened_to_read_is_not_cleaned(graph: Graph) -> None:
    grow(graph, "a b c")
    with pytest.raises(ReadOnly):
        opened(graph.uri, read_only=True).cleanup(keep=1, **NOW)


@pytest.mark.parametrize("note", ["main.01ARZ3NDEKTSV4RRFFQ69G5FAV.json", "whose.json"])
def test_nothing_is_removed_while_an_unfinished_write_can_not_be_settled(
    tmp_path: Path, note: str
) -> None:
    graph = made(tmp_path / "g")
    grow(graph, "a b c")
    (tmp_path / "g" / RECOVERY).mkdir(exist_ok=True)
    (tmp_path / "g" / RECOVERY / note).write_text("{")
    before = files(graph.uri)
    with pytest.raises(RecoveryRequired):
        graph.cleanup(keep=1, **NOW)
    assert files(graph.uri).keys() >= before.keys()


def test_an_empty_graph_has_nothing_to_clean(graph: Graph) -> None:
    assert graph.cleanup(keep=1, **NOW).files == 0
    grow(graph, "a")
    with pytest.raises(OmnigraphError):
        graph.query("query q() { nonsense }")
    assert graph.cleanup(keep=5, **NOW).files == 0


@pytest.mark.disk
def test_what_lance_was_about_to_write_goes_with_the_table_that_it_lies_in(tmp_path: Path) -> None:
    """Lance writes `NAME#1` first, and a process may be killed before it removes that name."""
    graph = made(tmp_path / "g")
    grow(graph, "a b")
    [version, *_] = (tmp_path / "g/nodes").glob("*/_versions/*.manifest")
    unnamed = tmp_path / "g/nodes/0000000000000001.01ARZ3NDEKTSV4RRFFQ69G5FAV/_versions"
    unnamed.mkdir(parents=True)
    left = [version.with_name(f"{version.name}#1"), unnamed / f"{version.name}#23"]
    for file in left:
        file.write_bytes(b"half")
    kept = version.with_name("notes#draft.txt")
    kept.write_bytes(b"somebody's own")
    age_files(graph.uri, by_s=120)
    graph.cleanup(keep=1, grace="0s", confirm=True)
    assert not any(file.exists() for file in left) and kept.exists()
    assert graph.repair().findings == ()
