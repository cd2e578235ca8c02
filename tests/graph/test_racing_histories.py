"""Processes that write, merge and change the schema of one graph at once: nothing is lost.

Each process keeps a book of what it was told is done. The commits of main, replayed by these books,
come to what main holds.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    MergeConflicts,
    PreconditionFailed,
    ReadSetMoved,
)
from omnigraph.results import CommitInfo, MergeResult
from tests import processes

SCHEMA = """
node Item { name: String @key  by: String }
node Tally { name: String @key  value: I32 }
edge Beside: Item -> Tally { @key(src, dst) }
"""
QUERIES = """
query add($name: String, $by: String, $value: I32) {
    insert Item { name: $name, by: $by }
    insert Beside { from: $name, to: "shared" }
    update Tally set { value: $value } where name = "shared"
}
query only_add($name: String, $by: String) { insert Item { name: $name, by: $by } }
query drop($name: String) { delete Item where name = $name }
query items() { match { $i: Item } return { $i.name as name } }
query beside() { match { $i: Item  $i beside $t } return { $i.name as name } }
query shared() { match { $t: Tally } return { $t.value as value } }
"""
WRITERS = 4
UPKEEP = ("optimize", "index", "recovery")


@dataclass(frozen=True)
class Deed:
    """What a commit on main did."""

    commit: str
    added: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    """Those of the added that have an edge."""
    value: int | None = None
    new_type: str | None = None


@dataclass(frozen=True)
class Book:
    deeds: list[Deed]
    conflicts: int = 0
    refused: int = 0


def take_part(uri: str, me: int, rounds: int) -> Book:
    """What each process does. Any error that it does not expect ends the test."""
    part = Part(Graph.open(uri, durability="relaxed"), me)
    for number in range(rounds):
        part.write(number)
        part.merge(number)
        part.evolve(number)
    return Book(part.deeds, part.conflicts, part.refused)


class Part:
    def __init__(self, graph: Graph, me: int) -> None:
        self._graph = graph
        self._me = me
        self.deeds: list[Deed] = []
        self.conflicts = self.refused = 0

    def write(self, number: int) -> None:
        name, value = f"{self._me}-{number}", self._me * 1000 + number
        values = {"name": name, "by": f"w{self._me}", "value": value}
        commit = self._graph.mutate(QUERIES, "add", values).commit
        assert commit is not None
        named = frozenset([name])
        self._note(commit, Deed("", added=named, beside=named, value=value))

    def merge(self, number: int) -> None:
        """Work on a branch: half the time on what all others work on too."""
        branch, name = f"w{self._me}/{number}", f"{self._me}-{number}-branch"
        value = self._me * 1000 + 500 + number if number % 2 else None
        graph, old = self._graph, f"{self._me}-{number}"
        graph.branch_create(branch)
        item = {"name": name, "by": f"w{self._me}"}
        if value is None:
            graph.mutate(QUERIES, "only_add", item, branch=branch)
        else:
            graph.mutate(QUERIES, "add", {**item, "value": value}, branch=branch)
        graph.mutate(QUERIES, "drop", {"name": old}, branch=branch)
        result = self._merged(branch)
        assert result.commit is not None and result.branch_deleted
        added = frozenset([name])
        beside = added if value is not None else frozenset[str]()
        self._note(result.commit, Deed("", added, frozenset([old]), beside, value))

    def _merged(self, branch: str) -> MergeResult:
        try:
            return self._graph.branch_merge(branch, delete=True)
        except MergeConflicts as found:
            self.conflicts += 1
            clashes = {(c.kind, c.entity_id) for c in found.conflicts}
            assert clashes == {("divergent_update", "shared")}
            return self._graph.branch_merge(branch, resolve="theirs", delete=True)

    def evolve(self, number: int) -> None:
        """Add a type to the schema that was seen, if it still is the schema."""
        graph, name = self._graph, f"Kind{self._me}x{number}"
        for _ in range(3):
            seen = graph.commits(limit=1)[0].graph_commit_id
            text = graph.schema(snapshot=seen).text
            try:
                applied = graph.schema_apply(
                    f"{text}\nnode {name} {{ name: String @key }}\n", if_commit=seen
                )
            except (PreconditionFailed, ReadSetMoved):
                self.refused += 1
                continue
            self._note(applied.commit, Deed("", new_type=name))
            return

    def _note(self, commit: CommitInfo | None, deed: Deed) -> None:
        assert commit is not None
        self.deeds.append(replace(deed, commit=commit.graph_commit_id))


@dataclass
class Replayed:
    """What main comes to, commit by commit."""

    items: set[str]
    beside: set[str]
    types: set[str]
    value: int = 0

    def apply(self, deed: Deed) -> None:
        assert not deed.added & self.items and deed.dropped <= self.items, deed
        self.items = (self.items | deed.added) - deed.dropped
        self.beside = (self.beside | deed.beside) - deed.dropped
        self.value = self.value if deed.value is None else deed.value
        if deed.new_type is not None:
            self.types.add(deed.new_type)


def test_processes_that_write_merge_and_change_the_schema_lose_nothing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rounds = 12 if request.config.getoption("--deep") else 2
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    graph.mutate('query q() { insert Tally { name: "shared", value: 0 } }')
    begun = len(graph.commits())
    with processes.pool(WRITERS) as pool:
        parts = [pool.submit(take_part, graph.uri, me, rounds) for me in range(WRITERS)]
        books = [part.result() for part in parts]

    deeds = {deed.commit: deed for book in books for deed in book.deeds}
    assert len(deeds) == sum(len(book.deeds) for book in books), "no two own one commit"
    line = graph.commits()[::-1]
    told = Replayed(set(), set(), {"Item", "Tally"})
    for before, commit in pairwise(line[begun - 1 :]):
        assert commit.parent_commit_id == before.graph_commit_id, "the line is one line"
        if commit.merged_parent_commit_id is not None:
            merged = graph.commit(commit.merged_parent_commit_id)
            assert merged.graph_branch.startswith("w"), "it is known when its branch is gone"
        if commit.kind not in UPKEEP:
            told.apply(deeds.pop(commit.graph_commit_id))
    assert not deeds, "what was done is on main"

    for reader in (graph, Graph.open(graph.uri, read_only=True)):
        assert names(reader, "items") == told.items
        assert names(reader, "beside") == told.beside
        (shared,) = reader.query(QUERIES, "shared").to_pylist()
        assert shared["value"] == told.value
        assert {str(node.name) for node in reader.schema().catalog.nodes} == told.types
        assert reader.branches() == ["main"]


def names(graph: Graph, query: str) -> set[str]:
    rows = graph.query(QUERIES, query).to_pylist()
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"] for row in rows}
