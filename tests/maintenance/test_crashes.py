"""A cleanup that dies at any step: what it keeps can be read, and the next one removes the rest."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.failpoints import Crash
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from tests.crash.dying import Life, mortal_store
from tests.maintenance.world import age_files, files, grow, made, named_by_nobody, opened, readable
from tests.places import copied, let_leases_end

KEEP = 2


def untidy(place: str) -> Graph:
    """A graph with something of all that a cleanup removes."""
    graph = made(place)
    grow(graph, "a b")
    graph.optimize()
    for name in ("side", "gone"):
        graph.branch_create(name)
        grow(graph, "c d e", branch=name)
    graph.branch_delete("gone")
    grow(graph, "f g")
    graph.optimize()
    return graph


def die_in_cleanup(place: str, steps: int, *, is_after: bool) -> bool:
    """Clean up and die at a step of it; False: it took fewer steps."""
    store = mortal_store(place, Life(steps, is_after=is_after))
    try:
        Graph(Engine.over(store, Settings())).cleanup(keep=KEEP, grace="0s", confirm=True)
    except Crash:
        return True
    return False


@pytest.mark.parametrize("is_after", [pytest.param(False, marks=pytest.mark.deep), True])
def test_a_cleanup_that_dies_at_any_step_is_finished_by_the_next(
    tmp_path: Path, is_after: bool
) -> None:
    graph = untidy(str(tmp_path / "g"))
    age_files(graph.uri, by_s=120)
    before = readable(graph)
    expected = opened(copied(graph.uri, str(tmp_path / "whole")))
    age_files(expected.uri, by_s=120)
    expected.cleanup(keep=KEEP, grace="0s", confirm=True)
    kept = readable(expected)
    steps = range(1, 200, 5 if is_after else 7)
    for number in steps:
        place = copied(graph.uri, str(tmp_path / f"died-{number}"))
        opened(place)
        age_files(place, by_s=120)
        has_died = die_in_cleanup(place, number, is_after=is_after)
        survivor = opened(place)
        there = readable(survivor)
        assert kept.items() <= there.items() <= before.items()
        survivor.cleanup(keep=KEEP, grace="0s", confirm=True)
        assert readable(survivor) == kept
        assert not named_by_nobody(place)
        assert len(files(place)) == len(files(expected.uri))
        if not has_died:
            assert number > 20, "a cleanup has many steps"
            return
    raise AssertionError("it never came to an end")


def test_in_a_bucket_a_cleanup_that_died_holds_up_the_next_until_its_leases_end(
    bucket: str,
) -> None:
    graph = untidy(bucket)
    before = readable(graph)
    assert die_in_cleanup(bucket, 5, is_after=True)
    survivor = opened(bucket, read_only=True)
    there = readable(survivor)
    assert there.items() <= before.items()
    let_leases_end(survivor.engine.store)
    next_ = opened(bucket)
    next_.cleanup(keep=KEEP, grace="0s", confirm=True)
    kept = readable(next_)
    assert kept.items() <= there.items()
    assert {c.graph_commit_id for b in ("main", "side") for c in next_.commits(b)[:KEEP]} <= set(
        kept
    )
    assert not named_by_nobody(bucket)
    grow(next_, "z")
