"""A merge by tasks, in files, comes to what a merge in memory comes to: rows and conflicts."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from tests.pipeline.merge.world import CHANGES, change, chosen, in_files, new_graph, rows, told

SIDES = st.lists(st.sampled_from(CHANGES), max_size=5)
NUMBERS = iter(range(1_000_000))

# A task for every row, for a few, and one for all.
TASKS = st.sampled_from([1, 400, 1 << 30])


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return new_graph(tmp_path_factory.mktemp("large"))


@settings(max_examples=12)
@given(
    ours=SIDES,
    theirs=SIDES,
    task_bytes=TASKS,
    take=st.sampled_from([None, "ours", "theirs"]),
    optimizes=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
def test_both_ways_come_to_the_same(
    graph: Graph,
    ours: list[str],
    theirs: list[str],
    task_bytes: int,
    take: Any,
    optimizes: bool,
    chance: Any,
) -> None:
    number = next(NUMBERS)
    source, target, copy = (f"{name}{number}" for name in ("source", "target", "copy"))
    graph.branch_create(target)
    graph.branch_create(source)
    change(graph, target, *ours)
    change(graph, source, *theirs)
    if optimizes:
        graph.optimize(branch=source)
    graph.branch_create(copy, target)
    large = in_files(graph, task_bytes=task_bytes)
    preview = told(graph, source, target, resolve=take, preview=True)
    assert told(large, source, copy, resolve=take, preview=True) == preview
    expected = told(graph, source, target, resolve=take)
    assert told(large, source, copy, resolve=take) == expected
    if isinstance(expected, list):
        choices = chosen(expected, chance)
        expected = told(graph, source, target, resolve=choices)
        assert told(large, source, copy, resolve=choices) == expected
    assert rows(large, copy) == rows(graph, target)
