"""An adjacency brought up to date equals one built anew, after any changes of edges and nodes."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.read.topology import build
from omnigraph.read.topology.csr import Adjacency
from omnigraph.read.topology.follow import Delta, follow

Pair = tuple[int, int]
WAYS = {"out": (False,), "in": (True,), "both": (False, True)}


@dataclass
class Change:
    """Nodes and edges by their numbers before it; taken modulo how many there are."""

    dropped_nodes: set[int]
    moved_nodes: set[int]
    new_nodes: int
    dropped_edges: set[int]
    new_edges: list[Pair] = field(default_factory=list)


few = st.sets(st.integers(0, 9), max_size=2)
pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9)
changes = st.builds(Change, few, few, st.integers(0, 2), few, pairs)


def legs(edges: list[Pair], ways: tuple[bool, ...], *, first: int = 0) -> list[build.Leg]:
    sources, targets = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    ends = build.Ends(sources, targets)
    return [
        build.Leg(ends, way, 0, 0, edge_start=first, skips_loops=way and len(ways) == 2)
        for way in ways
    ]


def built(edges: list[Pair], nodes: int, ways: tuple[bool, ...], *, has_edges: bool) -> Adjacency:
    return build.adjacency(legs(edges, ways), height=nodes, width=nodes, has_edges=has_edges)


def shown(graph: Adjacency) -> list[list[tuple[int, ...]]]:
    """The entries of each origin."""
    runs = [graph.ranges(np.array([origin])).positions() for origin in range(graph.height)]
    return [list(zip(*(c[run].tolist() for c in graph.entries), strict=True)) for run in runs]


def after(change: Change, nodes: int, edges: list[Pair]) -> tuple[np.ndarray, list[Pair | None]]:
    """The new number of each node, and the ends of each old edge now, or None if it is gone."""
    dropped = {n % nodes for n in change.dropped_nodes}
    moved = [n for n in sorted({n % nodes for n in change.moved_nodes}) if n not in dropped]
    order = [n for n in range(nodes) if n not in dropped and n not in moved] + moved
    numbers = np.full(nodes, -1, dtype=np.int64)
    numbers[order] = np.arange(len(order))
    gone = {e % len(edges) for e in change.dropped_edges} if edges else set()
    ends = [(int(numbers[s]), int(numbers[t])) for s, t in edges]
    return numbers, [None if i in gone or min(pair) < 0 else pair for i, pair in enumerate(ends)]


@pytest.mark.parametrize("has_edges", [False, True])
@pytest.mark.parametrize("way", WAYS)
@given(edges=pairs, history=st.lists(changes, min_size=1, max_size=4))
def test_what_is_patched_equals_what_is_built(
    way: str, has_edges: bool, edges: list[Pair], history: list[Change]
) -> None:
    ways, nodes = WAYS[way], 6
    graph = built(edges, nodes, ways, has_edges=has_edges)
    for change in history:
        numbers, now = after(change, nodes, edges)
        kept = [pair for pair in now if pair is not None]
        lost = [
            (int(numbers[s]), int(numbers[t]))
            for (s, t), pair in zip(edges, now, strict=True)
            if pair is None
        ]
        is_same = bool((numbers == np.arange(nodes)).all())
        edge_numbers = np.cumsum([p is not None for p in now]) - 1 if now else np.empty(0, int)
        edge_numbers[[p is None for p in now]] = -1
        nodes = int((numbers >= 0).sum()) + change.new_nodes or 1
        new = [(s % nodes, t % nodes) for s, t in change.new_edges]
        edges = kept + new
        delta = Delta(
            origin_numbers=None if is_same else numbers,
            target_numbers=None if is_same else numbers,
            edge_numbers=edge_numbers if has_edges and lost else None,
            added=legs(new, ways, first=len(kept)),
            gone=[] if has_edges else legs(lost, ways),
        )
        everything = legs(edges, ways)
        graph = follow(graph, delta, lambda e=everything: e, height=nodes, width=nodes)  # type: ignore[misc]
        assert shown(graph) == shown(built(edges, nodes, ways, has_edges=has_edges))
