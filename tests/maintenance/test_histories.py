"""Any history, then any cleanup: what is kept reads as before, the rest says that it is gone."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import CommitReclaimed, OmnigraphError
from omnigraph.results import CleanupResult
from tests.maintenance.world import (
    PUT,
    SCHEMA,
    age_files,
    made,
    named_by_nobody,
    opened,
    readable,
    shown,
)

BRANCHES = ["main", "a", "a-b", "team/c"]
SHAPES = [
    SCHEMA,
    f"{SCHEMA}\nnode Thing {{ name: String @key @index }}",
    SCHEMA.replace("age: I32?", "age: I32?  nick: String?"),
]


@dataclass(frozen=True)
class Step:
    """What is done: some of it makes no sense at some moments, and is refused."""

    kind: str
    branch: str
    other: str
    number: int

    def take(self, graph: Graph) -> None:
        name = f"p{self.number}"
        match self.kind:
            case "insert":
                graph.mutate(PUT, "put", {"name": name, "age": 0}, branch=self.branch)
            case "update":
                graph.mutate(PUT, "age", {"name": "p1", "age": self.number}, branch=self.branch)
            case "meet":
                graph.mutate(PUT, "meet", {"one": "p1", "other": name}, branch=self.branch)
            case "delete":
                graph.mutate(PUT, "drop", {"name": name}, branch=self.branch)
            case "load":
                rows = [{"type": "Person", "data": {"name": f"l{n}"}} for n in range(self.number)]
                graph.load(rows, mode="merge", branch=self.branch, engine="local")
            case "branch":
                graph.branch_create(self.other, from_=self.branch)
            case "branch from the past":
                graph.branch_create(self.other, from_=graph.commits(self.branch)[self.number])
            case "delete a branch":
                graph.branch_delete(self.other)
            case "merge":
                graph.branch_merge(self.other, self.branch)
            case "optimize":
                graph.optimize(self.branch)
            case "schema":
                graph.schema_apply(SHAPES[self.number % len(SHAPES)], allow_data_loss=True)
            case _:
                raise AssertionError(self.kind)


KINDS = ["insert", "insert", "update", "meet", "delete", "load", "branch", "branch from the past"]
KINDS += ["delete a branch", "merge", "optimize", "schema"]
STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(KINDS),
        st.sampled_from(BRANCHES),
        st.sampled_from(BRANCHES[1:]),
        st.integers(0, 5),
    ),
    max_size=14,
)


def walk(graph: Graph, steps: list[Step]) -> None:
    for step in steps:
        try:
            step.take(graph)
        except (OmnigraphError, IndexError):
            continue


def cleaned(graph: Graph, keep: int) -> CleanupResult:
    """Clean up, and check all that a cleanup promises."""
    age_files(graph.uri, by_s=120)  # a version of the manifest stays for a minute
    before = readable(graph)
    heads = {branch: shown(graph, branch) for branch in graph.branches()}
    newest = {c.graph_commit_id for branch in heads for c in graph.commits(branch)[:keep]}
    result = graph.cleanup(keep=keep, grace="0s", confirm=True)
    kept = {commit: rows for commit, rows in before.items() if commit not in result.commits}
    assert newest & before.keys() <= kept.keys()
    for handle in (graph, opened(graph.uri)):
        assert readable(handle) == kept
        assert {branch: shown(handle, branch) for branch in handle.branches()} == heads
    assert not named_by_nobody(graph.uri)
    for one in heads:
        for other in heads.keys() - {one}:
            try:
                graph.branch_merge(one, other, preview=True)
            except CommitReclaimed:
                raise
            except OmnigraphError:
                continue  # of two schemas, say: no business of a cleanup's
    again = graph.cleanup(keep=keep, grace="0s", confirm=True)
    assert (again.files, again.commits, again.waiting_files) == (0, (), 0)
    return result


@given(histories=st.lists(st.tuples(STEPS, st.integers(1, 5)), min_size=1, max_size=2))
def test_what_a_cleanup_keeps_reads_as_before_and_nothing_else_is_left(
    tmp_path_factory: pytest.TempPathFactory, histories: list[tuple[list[Step], int]]
) -> None:
    graph = made(tmp_path_factory.mktemp("graph") / "g")
    for steps, keep in histories:
        walk(graph, steps)
        cleaned(graph, keep)


def test_a_branch_that_was_merged_both_ways_and_made_from_the_past(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    walk(
        graph,
        [
            Step("insert", "main", "a", 1),
            Step("branch", "main", "a", 0),
            Step("insert", "a", "a", 2),
            Step("insert", "main", "a", 3),
            Step("merge", "main", "a", 0),
            Step("branch", "a", "a-b", 0),
            Step("insert", "a-b", "a", 4),
            Step("insert", "a", "a", 5),
            Step("merge", "main", "a-b", 0),
            Step("merge", "a", "a-b", 0),
            Step("delete a branch", "main", "a-b", 0),
            Step("branch from the past", "main", "team/c", 3),
            Step("update", "team/c", "a", 3),
            Step("update", "main", "a", 4),
        ],
    )
    assert graph.branches() == ["main", "a", "team/c"]
    assert cleaned(graph, 1).kept["merge_base"]
