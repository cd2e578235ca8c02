"""Histories with several merge bases: a merge by tasks comes to what a merge in memory comes to."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import MergeConflicts
from omnigraph.base.ids import BranchName
from omnigraph.store.commits import Commit
from tests.pipeline.conftest import DEEP_ON_SPARK
from tests.pipeline.merge.test_earlier_schemas import OURS, later_graph
from tests.pipeline.merge.test_large_merges import TASKS
from tests.pipeline.merge.world import (
    CHANGES,
    change,
    chosen,
    data_files,
    in_files,
    named_files,
    new_graph,
    rows,
    staging,
    told,
)

NUMBERS = iter(range(1_000_000))

# Steps that lead to a pair of branches, each of a side and what is done there.
SIDES = st.sampled_from(["left", "right"])
EDITS = st.tuples(SIDES, st.sampled_from(CHANGES))
MERGES = st.sampled_from([("crossing", "ours"), ("crossing", "theirs"), ("third", "theirs")])


class Crossing:
    """Two branches of a graph that have merged each other's past, or a third branch both."""

    def __init__(self, graph: Graph, *, right: str = "main", third: str = "main") -> None:
        """`right` and `third` are where these branches begin; the left one begins at main."""
        self.graph = graph
        self._numbers = iter(range(1_000))
        self._prefix = f"x{next(NUMBERS)}"
        self._third = third
        self.left, self.right = self.branch("left", "main"), self.branch("right", right)

    def branch(self, name: str, from_: str) -> str:
        called = f"{self._prefix}-{name}-{next(self._numbers)}"
        self.graph.branch_create(called, from_=from_)
        return called

    def edit(self, side: str, *texts: str) -> None:
        change(self.graph, getattr(self, side), *texts)

    def cross(self, resolve: str) -> None:
        """Each takes the head that the other had: both heads are bases of what follows."""
        olds = [self.branch("old", side) for side in (self.left, self.right)]
        for old, side in zip(reversed(olds), (self.left, self.right), strict=True):
            self.graph.branch_merge(old, side, resolve=resolve)

    def third(self, text: str, resolve: str) -> None:
        """Both take a branch that neither was made from."""
        third = self.branch("third", self._third)
        change(self.graph, third, text)
        for side in (self.left, self.right):
            self.graph.branch_merge(third, side, resolve=resolve)

    @property
    def bases(self) -> tuple[Commit, ...]:
        store = self.graph.engine.store
        heads = [store.snapshot(BranchName(name)).commit.id for name in (self.left, self.right)]
        return store.history().merge_bases(heads[0], heads[1])


def agree(crossing: Crossing, large: Graph, *, take: Any, chance: Random) -> None:
    """Merge the right branch into the left one and into a copy of it, in both ways."""
    graph, source, target = crossing.graph, crossing.right, crossing.left
    copy = crossing.branch("copy", target)
    for options in ({"preview": True}, {}):
        expected = told(graph, source, target, resolve=take, **options)
        assert told(large, source, copy, resolve=take, **options) == expected
    if isinstance(expected, list):
        choices = chosen(expected, chance)
        expected = told(graph, source, target, resolve=choices)
        assert told(large, source, copy, resolve=choices) == expected
    assert rows(large, copy) == rows(graph, target)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return new_graph(tmp_path_factory.mktemp("crossing"))


@settings(max_examples=8)
@given(
    before=st.lists(EDITS, min_size=1, max_size=4),
    merges=st.lists(st.tuples(MERGES, st.lists(EDITS, max_size=3)), min_size=1, max_size=3),
    third=st.sampled_from(CHANGES),
    last=st.lists(EDITS, min_size=1, max_size=4),
    task_bytes=TASKS,
    take=st.sampled_from([None, "ours", "theirs"]),
    optimizes=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
def test_both_ways_come_to_the_same(
    graph: Graph,
    before: list[tuple[str, str]],
    merges: list[tuple[tuple[str, str], list[tuple[str, str]]]],
    third: str,
    last: list[tuple[str, str]],
    task_bytes: int,
    take: Any,
    optimizes: bool,
    chance: Random,
) -> None:
    crossing = Crossing(graph)
    for edit in before:
        crossing.edit(*edit)
    for (kind, resolve), edits in merges:
        if kind == "crossing":
            crossing.cross(resolve)
        else:
            crossing.third(third, resolve)
        for edit in edits:
            crossing.edit(*edit)
    if optimizes:
        graph.optimize(branch=crossing.right)
    for edit in last:
        crossing.edit(*edit)
    agree(crossing, in_files(graph, task_bytes=task_bytes), take=take, chance=chance)


LATER_EDITS = st.lists(st.sampled_from(OURS), max_size=3)
EARLIER_EDITS = st.lists(st.sampled_from(CHANGES), max_size=3)
SOURCES = st.one_of(
    st.tuples(st.just(True), EARLIER_EDITS, EARLIER_EDITS),
    st.tuples(st.just(False), LATER_EDITS, LATER_EDITS),
)
"""Whether a source has the earlier schema, and what is changed there."""


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, str]:
    return later_graph(tmp_path_factory.mktemp("later"))


@settings(max_examples=6)
@given(
    ours=st.tuples(LATER_EDITS, LATER_EDITS),
    source=SOURCES,
    third=st.sampled_from(CHANGES),
    task_bytes=TASKS,
    take=st.sampled_from([None, "ours", "theirs"]),
    chance=st.randoms(use_true_random=False),
)
def test_both_ways_come_to_the_same_with_bases_of_an_earlier_schema(
    later: tuple[Graph, str],
    ours: tuple[list[str], list[str]],
    source: tuple[bool, list[str], list[str]],
    third: str,
    task_bytes: int,
    take: Any,
    chance: Random,
) -> None:
    graph, before = later
    is_early, *theirs = source
    crossing = Crossing(graph, right=before if is_early else "main", third=before)
    crossing.edit("left", *ours[0])
    crossing.edit("right", *theirs[0])
    if is_early:
        graph.branch_merge(crossing.branch("old", crossing.right), crossing.left, resolve="ours")
    crossing.third(third, "ours")  # theirs may break a rule
    crossing.edit("left", *ours[1])
    crossing.edit("right", *theirs[1])
    agree(crossing, in_files(graph, task_bytes=task_bytes), take=take, chance=chance)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=DEEP_ON_SPARK)])
def test_a_crossing_merge_is_one_commit_and_leaves_no_other_file(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    graph = new_graph(tmp_path)
    crossing = Crossing(graph)
    crossing.edit("left", *CHANGES[:2], CHANGES[-1])
    crossing.edit("right", *(f'insert Person {{ name: "new {n}", age: {n} }}' for n in range(6)))
    crossing.cross("theirs")
    crossing.edit("left", 'update Person set { age: 9 } where name = "new 1"')
    crossing.edit("right", 'delete Person where name = "new 2"', CHANGES[0])
    crossing.edit("right", 'update Person set { age: 8 } where name = "new 1"')
    assert len(crossing.bases) == 2
    copy = crossing.branch("copy", crossing.left)
    files, large = data_files(graph), in_files(graph, engine=engine)
    with pytest.raises(MergeConflicts) as caught:
        large.branch_merge(crossing.right, copy)
    assert [(c.entity_id, c.base, c.ours, c.theirs) for c in caught.value.conflicts] == [
        ("new 1", 1, 9, 8)
    ]
    assert (data_files(graph), staging(graph)) == (files, [])
    head = graph.snapshot(copy).stored.commit.id
    merged = large.branch_merge(crossing.right, copy, resolve="theirs")
    commit = graph.snapshot(copy).stored.commit
    assert (commit.parent, commit.merged_parent) == (head, merged.source_commit_id)
    assert data_files(graph) - files <= named_files(graph, copy)
    assert staging(graph) == []
    graph.branch_merge(crossing.right, crossing.left, resolve="theirs")
    assert rows(graph, copy) == rows(graph, crossing.left)
    assert large.branch_merge(crossing.right, copy).outcome == "already_up_to_date"
