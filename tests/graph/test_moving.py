"""A graph moved, copied and put back from a backup, with its branches: as a user meets it."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import GraphMissing, GraphMoved, StorageFailed
from omnigraph.base.ids import BranchName
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.store.layout import ADDRESS, MANIFEST
from tests.buckets import bucket_variables
from tests.places import copied, moved

SCHEMA = """
node Doc { name: String @key  size: I32?  body: Blob? }
edge Cites: Doc -> Doc
"""
CHANGES = """
query add($name: String, $size: I32, $body: Blob?) {
    insert Doc { name: $name, size: $size, body: $body }
    insert Cites { from: $name, to: "first" }
}
query resize($name: String, $size: I32) { update Doc set { size: $size } where name = $name }
query drop($name: String) { delete Doc where name = $name }
"""
QUESTIONS = """
query docs() { match { $d: Doc } return { $d.name as name, $d.size as size } order { name } }
query one($name: String) { match { $d: Doc { name: $name } } return { $d.size } }
query cited() { match { $d: Doc  $d cites $e } return { $d.name as d, $e.name as e } order { d } }
"""
LARGE = bytes(range(256)) * 2_000
MAIN, HIRING, SUB = BRANCHES = ("main", "team/hiring", "team/sub.2")
NAMES = ("first", "second", "third", "hired", "deep", "late")


@pytest.fixture(autouse=True)
def environment(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket_variables(s3).items():
        monkeypatch.setenv(name, value)


def add(graph: Graph, name: str, branch: str = MAIN, body: bytes | None = None) -> None:
    given = {"name": name, "size": len(name), "body": body}
    graph.mutate(CHANGES, "add", given, branch=branch)


def made(place: str) -> Graph:
    """Main, a branch and a branch of that one: with indexes, deletions, blobs, and a past."""
    graph = Graph.init(place, SCHEMA, durability="relaxed")
    add(graph, "first")
    add(graph, "second", body=LARGE)
    add(graph, "third", body=b"small")
    graph.optimize()  # so that branches inherit indexes
    graph.branch_create(HIRING)
    add(graph, "hired", HIRING, body=LARGE[::-1])
    graph.mutate(CHANGES, "drop", {"name": "third"}, branch=HIRING)
    graph.branch_create(SUB, from_=HIRING)
    add(graph, "deep", SUB)
    graph.mutate(CHANGES, "resize", {"name": "second", "size": 77}, branch=SUB)
    graph.optimize(SUB)
    graph.mutate(CHANGES, "drop", {"name": "hired"}, branch=SUB)
    add(graph, "late")
    return graph


def told(graph: Graph) -> dict[tuple[str, str], Any]:
    """What every commit of every branch answers to every kind of question."""
    return {
        (branch, commit.graph_commit_id): told_at(graph, branch, commit.graph_commit_id)
        for branch in graph.branches()
        for commit in graph.commits(branch)
    }


def told_at(graph: Graph, branch: str, snapshot: str | None = None) -> Any:
    at: dict[str, Any] = {"branch": branch, "snapshot": snapshot}
    docs = graph.query(QUESTIONS, "docs", **at).to_pylist()
    with_body = sorted({row["name"] for row in docs} & {"second", "third", "hired"})
    return (
        docs,
        graph.query(QUESTIONS, "cited", **at).to_pylist(),
        [graph.query(QUESTIONS, "one", {"name": name}, **at).to_pylist() for name in NAMES],
        [graph.blob("node", "Doc", name, "body", **at).read() for name in with_body],
    )


def names(graph: Graph, branch: str = MAIN) -> list[str]:
    return [row["name"] for row in graph.query(QUESTIONS, "docs", branch=branch).to_pylist()]


def clean_up(graph: Graph) -> None:
    """What a publish does now and then, at once: forget versions of the manifest."""
    for branch in graph.branches():
        line = graph.engine.store.branches.resolve(BranchName(branch)).lance_branch
        graph.engine.store.datasets.forget_old_versions(MANIFEST, line, older_than_s=0)


def files(place: str) -> dict[str, tuple[int, int]]:
    """Every file of a place with its inode and the time of its last change."""
    found = (file for file in Path(place).rglob("*") if file.is_file())
    return {str(f): ((stat := f.stat()).st_ino, stat.st_mtime_ns) for f in found}


# Moving -------------------------------------------------------------------------------------------


@pytest.mark.disk
def test_a_moved_graph_is_as_it_was_at_every_commit_of_every_branch(place: str) -> None:
    before = told(made(place))
    assert len(before) > 15
    graph = Graph.open(moved(place, f"{place}-in/another.place/of-its-own"))
    assert told(graph) == before
    clean_up(graph)
    assert told(Graph.open(graph.uri, read_only=True)) == before


@pytest.mark.disk
def test_all_that_can_be_done_to_a_graph_can_be_done_to_a_moved_one(place: str) -> None:
    made(place)
    graph = Graph.open(moved(place, f"{place}-moved"))
    past = {at: answer for at, answer in told(graph).items() if at[0] == MAIN}
    for branch in BRANCHES:
        add(graph, "new", branch)
        graph.mutate(CHANGES, "resize", {"name": "first", "size": 9}, branch=branch)
        graph.mutate(CHANGES, "drop", {"name": "second"}, branch=branch)
        graph.optimize(branch)
    graph.branch_create("another", from_=SUB)
    add(graph, "most", "another")
    clean_up(graph)
    assert names(graph) == ["first", "late", "new", "third"]
    assert names(graph, HIRING) == ["first", "hired", "new"]
    assert names(graph, SUB) == ["deep", "first", "new"]
    assert names(graph, "another") == ["deep", "first", "most", "new"]
    graph.branch_create("onward")
    add(graph, "merged", "onward")
    graph.branch_merge("onward")
    for branch in ("onward", "another", SUB, HIRING):
        graph.branch_delete(branch)
    again = Graph.open(moved(graph.uri, f"{place}-again"))
    assert again.branches() == [MAIN]
    assert names(again) == ["first", "late", "merged", "new", "third"]
    assert {at: told_at(again, *at) for at in past} == past


@pytest.mark.disk
def test_a_moved_graph_that_nobody_may_write_is_read_on_main_and_says_what_to_do(
    place: str,
) -> None:
    before = told(made(place))
    here = moved(place, f"{place}-moved")
    reader = Graph.open(here, read_only=True)
    mains = {at: answer for at, answer in before.items() if at[0] == MAIN}
    untouched = files(here)
    assert {at: told_at(reader, *at) for at in mains} == mains
    assert reader.branches() == list(BRANCHES)
    for commit in reader.commits():
        assert reader.commit(commit.graph_commit_id) == commit
    for branch in (HIRING, SUB):
        with pytest.raises(GraphMoved) as refused:
            names(reader, branch)
        assert (refused.value.here, refused.value.there) == (here, place)
        assert f"omnigraph optimize --store {here}" in (refused.value.hint or "")
        with pytest.raises(GraphMoved):
            reader.commits(branch)
    assert files(here) == untouched
    Graph.open(here)
    assert told(reader) == before  # the same handle, once someone has opened it to write


def test_a_graph_that_is_moved_away_under_a_handle_is_missed_by_name(place: str) -> None:
    graph = made(place)
    names(graph, HIRING)
    moved(place, f"{place}-moved")
    # A bucket is not asked whether the graph is still there before each read.
    missed = GraphMissing if "://" not in place else (GraphMissing, StorageFailed)
    for branch in (MAIN, HIRING, "no such branch"):
        with pytest.raises(missed, match=r"no graph at|Not found"):
            names(graph, branch)
        with pytest.raises(missed, match=r"no graph at|Not found"):
            add(graph, "x", branch)
    with pytest.raises(GraphMissing, match="no graph at"):
        graph.branch_create("new")
    if "://" not in place:
        with pytest.raises(GraphMissing, match="no graph at"):
            graph.branches()


@pytest.mark.disk
def test_a_graph_from_before_addresses_were_recorded_is_looked_at_once(place: str) -> None:
    graph = made(place)
    before = told(graph)
    graph.engine.store.objects.delete(ADDRESS)
    assert told(Graph.open(place)) == before
    assert graph.engine.store.objects.exists(ADDRESS)
    graph.engine.store.objects.delete(ADDRESS)
    assert told(Graph.open(moved(place, f"{place}-moved"))) == before


# Copying ------------------------------------------------------------------------------------------


def linked(source: str, target: str) -> str:
    """A copy that shares every file with the original, as backups do that save space."""
    return str(shutil.copytree(source, target, copy_function=os.link))


@pytest.mark.disk
@pytest.mark.parametrize(
    ("place", "copy"),
    [("disk", copied), ("disk", linked), ("s3", copied)],
    indirect=["place"],
    ids=["disk", "hard links", "s3"],
)
def test_a_copy_and_its_original_go_ways_of_their_own(
    place: str, copy: Callable[[str, str], str]
) -> None:
    original = made(place)
    before = told(original)
    untouched = files(place)
    other = Graph.open(copy(place, f"{place}-copy"))
    assert told(other) == before
    for branch in BRANCHES:
        add(other, "theirs", branch)
        other.mutate(CHANGES, "drop", {"name": "first"}, branch=branch)
        other.optimize(branch)
    clean_up(other)
    assert {file: state for file, state in files(place).items() if "__locks" not in file} == {
        file: state for file, state in untouched.items() if "__locks" not in file
    }
    assert told(Graph.open(place)) == before
    for branch in BRANCHES:
        add(original, "ours", branch)
        original.optimize(branch)
    clean_up(original)
    for branch in BRANCHES:
        assert "theirs" not in names(original, branch) and "first" in names(original, branch)
        assert "ours" not in names(other, branch) and "theirs" in names(other, branch)
    if "://" not in place:
        shutil.rmtree(place)
        assert names(Graph.open(other.uri), SUB) == ["deep", "second", "theirs"]


def test_a_copy_that_was_never_opened_to_write_does_not_read_the_original(place: str) -> None:
    made(place)
    copied(place, f"{place}-copy")
    with pytest.raises(GraphMoved):
        names(Graph.open(f"{place}-copy", read_only=True), HIRING)


def test_copies_of_one_graph_never_share_what_is_kept_on_disk(tmp_path: Path) -> None:
    """Versions of both have the same numbers; so have those of a backup put back in its place."""
    settings = replace(
        Settings(),
        cache_directory=tmp_path / "cache",
        traversal_mode=TraversalMode.CSR,
        read_limits=ReadLimits(min_disk_entry_bytes=0),
    )
    place, other, backup = (str(tmp_path / name) for name in ("g", "other", "backup"))

    def cited(place: str) -> list[Any]:
        graph = Graph.open(place, settings=settings)
        return [
            [row["d"] for row in graph.query(QUESTIONS, "cited", branch=branch).to_pylist()]
            for branch in BRANCHES
        ]

    def change_alike(place: str, added: str, dropped: str) -> None:
        """Make as many versions as anyone else does, of other rows."""
        for branch in BRANCHES:
            add(Graph.open(place), added, branch)
            Graph.open(place).mutate(CHANGES, "drop", {"name": dropped}, branch=branch)

    def changed(added: str, dropped: str) -> list[Any]:
        return [
            sorted({*before, added} - {dropped}) if dropped != "first" else [] for before in first
        ]

    made(place)
    first = cited(place)
    copied(place, other)
    copied(place, backup)
    changes = {place: ("ours", "second"), other: ("theirs", "first")}
    for where, change in changes.items():
        change_alike(where, *change)
        assert cited(where) == changed(*change)
    shutil.rmtree(place)
    copied(backup, place)
    assert cited(place) == first
    change_alike(place, "again", "deep")
    assert cited(place) == changed("again", "deep")
    assert cited(other) == changed("theirs", "first")
