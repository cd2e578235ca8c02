"""The arrays under a traversal: adjacency, reach, ids to rows, and the cache that keeps them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.read.topology import reach as reaching
from omnigraph.read.topology.cache import RuntimeCache
from omnigraph.read.topology.csr import Adjacency
from omnigraph.read.topology.ids import IdIndex
from omnigraph.read.topology.reach import reach

NODES = 6
pairs = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=15)


def adjacency(edges: list[tuple[int, int]], *, has_edges: bool = False) -> Adjacency:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    numbers = np.arange(len(edges)) if has_edges else None
    return Adjacency.of_pairs(ends[:, 0], ends[:, 1], height=NODES, width=NODES, edges=numbers)


@given(pairs)
def test_neighbours_are_a_sorted_set_unless_edges_are_told_apart(
    edges: list[tuple[int, int]],
) -> None:
    plain, told_apart = adjacency(edges), adjacency(edges, has_edges=True)
    assert told_apart.edges is not None
    for node in range(NODES):
        own = plain.ranges(np.array([node])).positions()
        assert list(plain.neighbours[own]) == sorted({t for s, t in edges if s == node})
        own = told_apart.ranges(np.array([node])).positions()
        assert list(told_apart.neighbours[own]) == sorted(t for s, t in edges if s == node)
        assert all(edges[e][0] == node for e in told_apart.edges[own])


@given(pairs)
def test_entries_between_two_nodes_are_found_by_bisection(edges: list[tuple[int, int]]) -> None:
    origins, targets = (axis.ravel() for axis in np.meshgrid(np.arange(NODES), np.arange(NODES)))
    between = zip(origins.tolist(), targets.tolist(), strict=True)
    counts = [edges.count(pair) for pair in between]
    told_apart = adjacency(edges, has_edges=True).ranges_between(origins, targets)
    assert told_apart.counts.tolist() == counts
    plain = adjacency(edges).ranges_between(origins, targets)
    assert plain.counts.tolist() == [min(count, 1) for count in counts]


def test_a_search_too_large_for_one_batch_is_done_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = adjacency([(a, b) for a in range(NODES) for b in range(NODES)])
    seen: list[int] = []

    def pairs_found() -> list[tuple[int, int]]:
        counts, nodes = reach(graph, np.arange(NODES), least=1, most=2, admit=seen.append)
        rows = np.repeat(np.arange(NODES), counts)
        return list(zip(rows.tolist(), nodes.tolist(), strict=True))

    at_once, asked = pairs_found(), len(seen)
    assert seen[-1] == NODES * NODES
    monkeypatch.setattr(reaching, "LIMIT_STEP_PAIRS", 10)
    assert pairs_found() == at_once
    assert len(seen) > 2 * asked
    assert seen[-1] == NODES * NODES


texts = st.text(max_size=20)


@given(st.lists(texts, unique=True, max_size=40), st.lists(texts | st.none(), max_size=60))
def test_ids_are_found_one_by_one_and_all_at_once(ids: list[str], asked: list[str | None]) -> None:
    index = IdIndex(pa.array(ids, pa.string()))
    expected = [ids.index(text) if text in ids else -1 for text in [*asked, *ids]]
    every = pa.array([*asked, *ids], pa.string())
    assert index.find(every).tolist() == expected
    assert [int(index.find(every.slice(i, 1))[0]) for i in range(len(every))] == expected


def test_ids_may_begin_in_the_middle_of_an_array() -> None:
    index = IdIndex(pa.array(["x", "", "abcdefghij", "abcdefgh"]).slice(1))
    assert index.find(pa.array(["abcdefgh"])).tolist() == [2]
    assert index.find(pa.array(["x"])).tolist() == [-1]


def test_repeated_ids_are_a_bug_and_not_an_answer() -> None:
    with pytest.raises(AssertionError):
        IdIndex(pa.array(["a"] * 8)).find(pa.array(["a"]))


class Weight:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_the_cache_drops_what_was_used_longest_ago() -> None:
    cache = RuntimeCache(limit_bytes=10)
    built: list[str] = []

    def get(key: str, nbytes: int) -> None:
        def build() -> Weight:
            built.append(key)
            return Weight(nbytes)

        cache.get(key, build)

    for key in ("a", "b", "a", "c", "a", "b"):
        get(key, 4)
    assert built == ["a", "b", "c", "b"]
    assert cache.nbytes == 8
    get("too large to keep", 11)
    get("too large to keep", 11)
    assert built[4:] == ["too large to keep"] * 2
    assert cache.nbytes == 8
