"""The kernels of walks and cycles agree with what they stand for, written out in plain Python."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import LimitExceeded
from omnigraph.read.limits import WalkLimits
from omnigraph.read.topology import pairs as pairing
from omnigraph.read.topology.csr import Adjacency
from omnigraph.read.topology.pairs import PairIndex
from omnigraph.read.topology.patch import renumbered, resized, with_runs
from omnigraph.read.topology.reach import reach, reach_counts

NODES = 7
Edges = list[tuple[int, int]]
# Loops and parallel edges included; half of all edges touch node 0.
ends = st.integers(0, NODES - 1) | st.just(0)
edge_lists = st.lists(st.tuples(ends, ends), max_size=20)
bounds = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda b: (b[0], b[0] + b[1]))

BY_MARKS = WalkLimits(max_nodes_per_origin=0)
BY_PRODUCTS = WalkLimits(min_nodes_per_reached=0)
WAYS = {
    "by marks": BY_MARKS,
    "by marks in small batches": replace(BY_MARKS, max_batch_marks=2 * NODES),
    "by products": BY_PRODUCTS,
    "by products in small blocks": replace(BY_PRODUCTS, max_block_walks=9),
}


def adjacency(edges: Edges, *, has_edges: bool = False) -> Adjacency:
    both = np.array(edges, dtype=np.int64).reshape(-1, 2)
    numbers = np.arange(len(edges)) if has_edges else None
    return Adjacency.of_pairs(both[:, 0], both[:, 1], height=NODES, width=NODES, edges=numbers)


def changed(graph: Adjacency, node: int, edges: Edges) -> tuple[Adjacency, Edges]:
    """With other edges from one node, which now lie behind all others; and all edges there are."""
    fresh = [(node, target) for source, target in edges if source != node]
    targets = np.array([target for _, target in fresh], dtype=np.int64)
    runs = Adjacency.of_pairs(
        np.zeros_like(targets),
        targets,
        height=1,
        width=NODES,
        edges=None if graph.edges is None else np.arange(len(targets)),
    )
    after = with_runs(graph, np.array([node]), runs, height=NODES, width=NODES)
    return after, [edge for edge in edges if edge[0] != node] + fresh


def first_reached(edges: Edges, origin: int, least: int, most: int) -> list[int]:
    depths = {origin: 0}
    frontier = {origin}
    for depth in range(1, most + 1):
        frontier = {t for s, t in edges if s in frontier} - depths.keys()
        depths |= dict.fromkeys(frontier, depth)
    if (origin, origin) in edges:
        depths[origin] = 1
    return sorted(node for node, depth in depths.items() if least <= depth <= most)


@pytest.mark.parametrize("way", WAYS)
@given(
    edges=edge_lists,
    origins=st.lists(ends, max_size=9),
    hops=bounds,
    moved=st.none() | ends,
    wanted=st.sets(ends),
)
def test_a_node_is_reached_once_at_the_least_depth(
    way: str,
    edges: Edges,
    origins: list[int],
    hops: tuple[int, int],
    moved: int | None,
    wanted: set[int],
) -> None:
    graph, (least, most) = adjacency(edges), hops
    if moved is not None:
        graph, edges = changed(graph, moved, edges)
    expected = [first_reached(edges, origin, least, most) for origin in origins]
    starts = np.array(origins, dtype=np.int64)
    is_wanted = np.isin(np.arange(NODES), list(wanted))
    limits = WAYS[way]
    counts, nodes = reach(
        graph, starts, least=least, most=most, admit=lambda _: None, limits=limits
    )
    only_counts = [
        reach_counts(
            graph,
            starts,
            least=least,
            most=most,
            admit=lambda _: None,
            is_wanted=mask,
            limits=limits,
        ).tolist()
        for mask in (None, is_wanted)
    ]
    assert counts.tolist() == [len(found) for found in expected]
    assert nodes.tolist() == [node for found in expected for node in found]
    assert only_counts[0] == counts.tolist()
    assert only_counts[1] == [len(wanted.intersection(found)) for found in expected]


@pytest.mark.parametrize("way", WAYS)
def test_a_search_can_be_refused_at_every_step(way: str) -> None:
    graph = adjacency([(a, b) for a in range(NODES) for b in range(NODES)])

    def refuse(pairs: int) -> None:
        raise LimitExceeded(what="pairs", limit=0, found=pairs)

    for search in (reach, reach_counts):
        with pytest.raises(LimitExceeded):
            search(graph, np.arange(NODES), least=1, most=2, admit=refuse, limits=WAYS[way])


def test_counting_from_everywhere_holds_one_block_of_pairs_at_a_time() -> None:
    """A ring: each node reaches two in two steps. A list holds them all, a count does not."""
    size = 10_000
    here = np.arange(size)
    ring = Adjacency.of_pairs(here, (here + 1) % size, height=size, width=size)
    limits = WalkLimits(max_block_walks=300)
    listed: list[int] = []
    counted: list[int] = []
    counts, nodes = reach(ring, here, least=1, most=2, admit=listed.append, limits=limits)
    assert counts.tolist() == [2] * size and len(nodes) == 2 * size
    found = reach_counts(ring, here, least=1, most=2, admit=counted.append, limits=limits)
    assert found.tolist() == [2] * size
    assert max(listed) >= 2 * (size - 300)
    assert max(counted) <= 300
    assert len(counted) == len(listed)


COLLIDING: dict[str, tuple[int, ...]] = {
    "nothing collides": pairing.MULTIPLIERS,
    "all collide at first": (0, *pairing.MULTIPLIERS[1:]),
    "all collide always": (0, 0),
    "no table at all": (),
}


@pytest.mark.parametrize("tables", COLLIDING)
@given(
    edges=edge_lists,
    asked=st.lists(st.tuples(ends, ends), max_size=40),
    has_edges=st.booleans(),
    moved=st.lists(ends, max_size=4),
    is_followed=st.booleans(),
)
def test_hashed_pairs_are_those_that_bisection_finds(
    tables: str,
    edges: Edges,
    asked: Edges,
    has_edges: bool,
    moved: list[int],
    is_followed: bool,
) -> None:
    graph = adjacency(edges, has_edges=has_edges)
    origins, targets = np.array(asked, dtype=np.int64).reshape(-1, 2).T
    multipliers = COLLIDING[tables]
    index = PairIndex.of(graph, multipliers)
    for node in moved:
        graph, edges = changed(graph, node, edges)
        followed = index.followed(graph, min_origins_per_change=1) if is_followed else None
        index = followed or PairIndex.of(graph, multipliers)
    rows, found = index.matches(origins, targets, at_a_time=7)
    expected = graph.ranges_between(origins, targets)
    order = np.argsort(rows)
    assert rows[order].tolist() == np.flatnonzero(expected.counts).tolist()
    assert found.counts[order].tolist() == expected.counts[rows[order]].tolist()
    assert found.lows[order].tolist() == expected.lows[rows[order]].tolist()
    counts = [edges.count(pair) for pair in asked]
    assert expected.counts.tolist() == (counts if has_edges else [min(n, 1) for n in counts])


@given(st.lists(st.tuples(st.integers(0, 2**31 - 2), st.integers(0, 2**31 - 2)), max_size=9))
def test_pairs_of_very_large_numbers_are_told_apart(asked: Edges) -> None:
    """The numbers of a pair are multiplied: that has to fit."""
    width = 2**31 - 1
    origins, targets = np.array(asked, dtype=np.int64).reshape(-1, 2).T
    few = np.unique(origins)
    rows = np.searchsorted(few, origins)
    graph = Adjacency.of_pairs(rows, targets, height=len(few), width=width)
    for wanted in (targets, (targets + 1) % width):
        found = PairIndex.of(graph).matches(rows, wanted).rows
        expected = np.flatnonzero(graph.ranges_between(rows, wanted).counts)
        assert sorted(found.tolist()) == expected.tolist()


def test_pairs_go_on_from_a_version_unless_its_nodes_have_other_numbers() -> None:
    before = adjacency([(0, 1), (1, 2), (2, 0)])
    after, _ = changed(before, 1, [(0, 4), (1, 2)])
    index = PairIndex.of(before)
    later = index.followed(after, min_origins_per_change=1)
    assert later is not None and later.keys is index.keys
    again, _ = changed(after, 2, [(0, 5), (2, 1)])
    last = later.followed(again, min_origins_per_change=1)
    assert last is not None and last.changed is not None
    assert np.flatnonzero(last.changed).tolist() == [1, 2]
    turned = np.arange(NODES)[::-1].copy()
    moved = renumbered(before, origins=None, targets=turned, edges=None, height=NODES, width=NODES)
    larger = resized(before, height=NODES + 1, width=NODES + 1)
    for other in (moved, larger):
        assert index.followed(other, min_origins_per_change=1) is None
    assert index.followed(after) is None, "too much has changed for so small a graph"
