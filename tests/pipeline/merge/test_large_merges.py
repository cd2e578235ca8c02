"""A merge by tasks, in files, comes to what a merge in memory comes to: rows and conflicts."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import MergeConflicts
from tests.pipeline.merge.world import change, in_files, new_graph, rows

CHANGES = [
    *(f'update Person set {{ age: {n} }} where name = "{p}"' for p in "abc" for n in (2, 3)),
    *(f'update Person set {{ phone: "{n}" }} where name = "{p}"' for p in "ad" for n in "zb"),
    'update Person set { phone: "was" } where name = "b"',
    *(f'insert Person {{ name: "{p}", age: {n} }}' for p in "ef" for n in (1, 2)),
    *(f'insert Person {{ name: "{p}", phone: "new" }}' for p in "gh"),
    *(f'delete Person where name = "{p}"' for p in "abd"),
    *(f'delete City where code = "{c}"' for c in "xy"),
    *(f'insert LivesIn {{ from: "{p}", to: "{c}" }}' for p in "bc" for c in "xy"),
    *(f'delete LivesIn where from = "{p}"' for p in "ab"),
    'update Owns set { price: 2 } where from = "b"',
    'update Owns set { price: 3 } where from = "b"',
    *(f'insert Likes {{ from: "b", to: "{p}", since: {n} }}' for p in "ac" for n in (1, 2)),
    'update Likes set { since: 2 } where from = "a"',
    'delete Likes where from = "c"',
]
SIDES = st.lists(st.sampled_from(CHANGES), max_size=5)
NUMBERS = iter(range(1_000_000))

# A task for every row, for a few, and one for all.
TASKS = st.sampled_from([1, 400, 1 << 30])


def told(graph: Graph, source: str, target: str, **options: Any) -> Any:
    """What a merge comes to: its outcome and counts, or its conflicts."""
    try:
        result = graph.branch_merge(source, target, **options)
    except MergeConflicts as refused:
        assert not refused.more
        conflicts = [conflict.to_json() for conflict in refused.conflicts]
        return [{k: v for k, v in c.items() if k != "message"} for c in conflicts]
    return result.outcome, result.counts


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
        choices = [
            {
                "type": each["type_name"],
                "id": each["entity_id"],
                "property": each["property"],
                "take": chance.choice(["ours", "theirs"]),
            }
            for each in expected
            if chance.random() < 0.9
        ]
        expected = told(graph, source, target, resolve=choices)
        assert told(large, source, copy, resolve=choices) == expected
    assert rows(large, copy) == rows(graph, target)
