"""What is made from an earlier version equals what is read anew, whatever happened in between."""

import tempfile
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.base.ids import MAIN
from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk import DiskCache
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.limits import StoreLimits
from omnigraph.store.snapshot import Snapshot
from tests.graph.read.town import Town
from tests.laws.lines import (
    ACTS,
    COMPACTIONS,
    Act,
    Lines,
    Step,
    changes,
    contents,
    endings,
    stored,
)

QUESTIONS = [
    "match { $a: Person  $a knows $b } return { $a.email as a, $b.name as b } order { a, b }",
    "match { $a: Person  $b knows $a } return { $a.name as a, count($b) as n } order { n, a }",
    "match { $a: Person  $a <knows>{1,2} $b } return { count($b) as n }",
    "match { $a: Person  $a $e:knows $b } return { id($e) as e, $b.email as b } order { e, b }",
    "match { $a: Named  $a knows|lives $b } return { $a.email as a, $b.email as b } order { a, b }",
    "match { $a: Person  $a knows $b  $b knows $c } return { count($c) as n }",
    "match { $a: Person  $a $e:<knows> $b } return { $a.email, id($e) as e, $b.name } order { e }",
    "match { $a: Person  $a $e:knows|lives $b } return { id($e) as e, $b.email as b } order { e }",
    "match { $a: Person  $b: Person  $a $e:knows $b } return { $a.email as a, count($e) as n }"
    " order { n, a }",
    'match { $a: Person { email: "p1" } } return { $a.name }',
]


# On graphs this small nothing is worth following, and everything must be.
FOLLOW_ALL = ReadLimits(
    min_edges_per_change=0,
    max_rows_per_kept_row=1000,
    max_rows_per_row_taken=0,
    min_disk_entry_bytes=0,
)


few = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=max(6, settings().max_examples // 10),
)


@given(st.lists(changes(), min_size=2, max_size=5))
@few
def test_a_warm_reader_sees_what_a_cold_one_sees(history: list[list[Step]]) -> None:
    cache = RuntimeCache(FOLLOW_ALL)
    with tempfile.TemporaryDirectory() as root:
        graph = Lines(Path(root))
        for steps in history:
            graph.act(("change", 0, 0, steps))
            agree(graph.store.snapshot(MAIN), cache)
        # Back again: what was read last is now what comes later.
        for moment in reversed(graph.moments):
            agree(moment.snapshot, cache)


Answers = dict[str, list[Any]]


def test_what_one_branch_left_in_memory_serves_any_other(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    is_deep = request.config.getoption("--deep")
    graph = endings(tmp_path)
    heads = [graph.store.snapshot(branch) for branch in graph.lines]
    expected = {head.branch: answers(head, RuntimeCache(FOLLOW_ALL)) for head in heads}
    for line in graph.lines:
        assert stored(graph.store.snapshot(line)) == contents(graph.lines[line].rows)
    for one, other in permutations(range(len(heads)), 2):
        # Half of them has every branch on either side.
        if not is_deep and (one + other) % 2 == 0:
            continue
        before, after = heads[one], heads[other]
        cache = RuntimeCache(FOLLOW_ALL)
        answers(before, cache)
        assert answers(after, cache) == expected[after.branch], (before.branch, after.branch)


def test_what_one_branch_left_on_disk_serves_any_other(tmp_path: Path) -> None:
    graph = endings(tmp_path)
    heads = [graph.store.snapshot(branch) for branch in graph.lines]
    expected = {head.branch: answers(head, RuntimeCache(FOLLOW_ALL)) for head in heads}
    for number, (before, after) in enumerate(permutations(heads[:6], 2)):
        kept = DiskCache(tmp_path / f"cache-{number}", FOLLOW_ALL)
        answers(before, RuntimeCache(FOLLOW_ALL, disk=kept))
        again = answers(after, RuntimeCache(FOLLOW_ALL, disk=kept))
        assert again == expected[after.branch], (before.branch, after.branch)


def test_nothing_is_made_from_a_branch_that_another_process_deleted(tmp_path: Path) -> None:
    graph = endings(tmp_path)
    reader = GraphStore.open(graph.place)
    expected = {b: answers(reader.snapshot(b), RuntimeCache(FOLLOW_ALL)) for b in graph.lines}
    for gone in reversed([branch for branch in graph.lines if branch != MAIN]):
        caches = {branch: RuntimeCache(FOLLOW_ALL) for branch in graph.lines if branch != gone}
        for branch, cache in caches.items():
            answers(reader.snapshot(gone), cache)
            # How its rows lie in the other branch is known, and what is made of them is not yet.
            Town(reader.snapshot(branch), cache).ask("match { $p: Named } return { $p.email }")
        graph.delete(gone)
        for branch, cache in caches.items():
            assert answers(reader.snapshot(branch), cache) == expected[branch], (gone, branch)


def answers(snapshot: Snapshot, cache: RuntimeCache) -> Answers:
    town = Town(snapshot, cache)
    return {question: town.ask(question) for question in QUESTIONS}


@given(ACTS, st.booleans(), st.randoms(use_true_random=False), COMPACTIONS)
@few
def test_a_warm_reader_of_several_branches_sees_what_a_cold_one_sees(
    acts: list[Act], reads_elsewhere: bool, order: Random, limits: StoreLimits
) -> None:
    """Also where the branches are written and deleted by another process."""
    cache = RuntimeCache(FOLLOW_ALL)
    with tempfile.TemporaryDirectory() as root:
        graph = Lines(Path(root), limits)
        reader = GraphStore.open(graph.place) if reads_elsewhere else graph.store
        for act in acts:
            graph.act(act)
            for branch, line in graph.lines.items():
                snapshot = reader.snapshot(branch)
                assert stored(snapshot) == contents(line.rows)
                agree(snapshot, cache)
        moments = list(graph.moments)
        order.shuffle(moments)
        for moment in moments:
            agree(moment.snapshot, cache)


def agree(snapshot: Snapshot, cache: RuntimeCache) -> None:
    assert answers(snapshot, cache) == answers(snapshot, RuntimeCache(FOLLOW_ALL))
