"""The arrays under a traversal: adjacency, reach, ids to rows, and the cache that keeps them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import LimitExceeded
from omnigraph.read.limits import ReadLimits, WalkLimits
from omnigraph.read.tables.cache import MAX_VERSIONS, RuntimeCache
from omnigraph.read.topology.csr import Adjacency
from omnigraph.read.topology.ids import IdIndex
from omnigraph.read.topology.patch import renumbered, with_runs
from omnigraph.read.topology.reach import reach
from tests.graph.read.countdown import Countdown

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

    def pairs_found(limits: WalkLimits) -> list[tuple[int, int]]:
        every = np.arange(NODES)
        counts, nodes = reach(graph, every, least=1, most=2, admit=seen.append, limits=limits)
        rows = np.repeat(np.arange(NODES), counts)
        return list(zip(rows.tolist(), nodes.tolist(), strict=True))

    at_once, asked = pairs_found(WalkLimits()), len(seen)
    assert seen[-1] == NODES * NODES
    assert pairs_found(WalkLimits(max_step_pairs=10)) == at_once
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
    cache = RuntimeCache(ReadLimits(max_cache_bytes=10))
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


def test_versions_of_a_table_make_room_for_each_other() -> None:
    cache = RuntimeCache()
    for version in range(3 * MAX_VERSIONS):
        cache.get(("a", version), lambda: Weight(4), family="a")
        cache.get(("b", version), lambda: Weight(1), family="b")
        cache.get(("b", 0), lambda: Weight(1), family="b")  # one that is asked for again stays
    assert (len(cache), cache.nbytes) == (2 * MAX_VERSIONS, 5 * MAX_VERSIONS)
    assert cache.peek(("a", 0)) is None and cache.peek(("b", 0)) is not None


def test_a_version_is_made_from_the_one_that_was_used_last() -> None:
    cache, found = RuntimeCache(), list[object]()

    def ask(version: int) -> None:
        def build(earlier: tuple[object, Weight] | None) -> Weight:
            found.append(None if earlier is None else earlier[0])
            return Weight(1)

        cache.follow(version, "family", build)

    for version in (1, 2, 1, 3):
        ask(version)
    assert found == [None, 1, 1]


@given(pairs, st.lists(st.sampled_from(["moved node", "other run"]), max_size=6))
def test_the_memory_of_versions_that_share_it_counts_once(
    edges: list[tuple[int, int]], steps: list[str]
) -> None:
    graph = adjacency(edges)
    cache, versions = RuntimeCache(), [graph]
    cache.get(0, lambda: graph, family="graph")
    for number, step in enumerate(steps, start=1):
        if step == "moved node":
            places = np.roll(np.arange(NODES), 1)
            graph = renumbered(
                graph, origins=places, targets=places, edges=None, height=NODES, width=NODES
            )
        else:
            runs = Adjacency.of_pairs(np.array([0]), np.array([1]), height=1, width=NODES)
            graph = with_runs(graph, np.array([2]), runs, height=NODES, width=NODES)
        versions.append(graph)
        cache.get(number, lambda made=graph: made, family="graph")  # type: ignore[misc]
        kept = versions[-MAX_VERSIONS:]
        arrays = {id(array): array for v in kept for array in (v.lows, v.counts, *v.entries)}
        # Beside them, a few pairs and what may be worked out later: a word for each node.
        held, least = cache.nbytes, sum(array.nbytes for array in arrays.values())
        assert least <= held <= least + len(kept) * 8 * (NODES + 4 * len(edges) + 8)
    while len(cache):
        cache._drop(next(iter(cache._entries)))
    assert cache.nbytes == 0


def test_ids_of_more_than_offsets_reach_are_found() -> None:
    index = IdIndex(pa.array(["ann", "bob"]))
    index.find(pa.array(["ann"]))
    small, large = (
        index.followed(None, pa.array(names), max_short_bytes=40)
        for names in ([], ["c" * 30, "dan"])
    )
    assert (small.ids.type, large.ids.type) == (pa.string(), pa.large_string())
    assert large.find(pa.array(["dan", "bob", "x"])).tolist() == [3, 1, -1]
    later = large.followed(np.array([1, 3]), pa.array(["eve"]), max_short_bytes=40)
    assert later.find(pa.array(["eve", "bob", "ann", "dan"])).tolist() == [2, 0, -1, 1]


@pytest.mark.parametrize("is_shuffled", [False, True])
@pytest.mark.parametrize("has_edges", [False, True])
def test_a_large_adjacency_is_built_with_looks_and_ends_at_any_of_them(
    has_edges: bool, is_shuffled: bool
) -> None:
    random = np.random.default_rng(7)
    origins, targets = random.integers(0, 50, (2, 3_000))
    edges = random.permutation(3_000) if is_shuffled else np.arange(3_000)
    expected = np.lexsort((edges, targets, origins))
    pairs = np.unique(np.stack([origins, targets]), axis=1)

    def built(looks: Countdown) -> Adjacency:
        numbers = edges if has_edges else None
        return Adjacency.of_pairs(origins, targets, height=50, width=50, edges=numbers, look=looks)

    patient = Countdown()
    graph = built(patient)
    if has_edges:
        assert graph.edges is not None
        assert graph.edges.tolist() == edges[expected].tolist()
    assert graph.neighbours.tolist() == (targets[expected] if has_edges else pairs[1]).tolist()
    assert patient.count >= 4
    for until in range(1, patient.count + 1):
        with pytest.raises(LimitExceeded):
            built(Countdown(until))
