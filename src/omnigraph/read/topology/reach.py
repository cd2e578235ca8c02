"""Which nodes are first reached at a depth within bounds, from many origins at once.

What decides the answer: a node counts at the depth it is first reached and never again, and the
origin itself counts as reached before the search begins, except that a loop on it reaches it at
depth one. So a cycle never brings an origin back, and a node first met below `least` stays out.

Two ways, the same answer, both in batches of origins. `_Search` goes breadth-first with a mark per
origin and node: for few origins, and where most nodes are reached. `products.Walks` multiplies
sparse matrices: from many origins that reach little each, marks would be nearly all of the work.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from omnigraph.read.limits import WalkLimits
from omnigraph.read.topology.csr import Adjacency, Ordinals, sums_of_runs

if TYPE_CHECKING:
    from omnigraph.read.topology.products import Walks

__all__ = ["Mask", "reach", "reach_counts"]

Mask = NDArray[np.bool_]

DEFAULT = WalkLimits()

Admit = Callable[[int], None]
"""It sees how many pairs there are so far, at every depth of every batch, and may refuse."""


def reach(
    graph: Adjacency,
    origins: Ordinals,
    *,
    least: int,
    most: int,
    admit: Admit,
    limits: WalkLimits = DEFAULT,
) -> tuple[Ordinals, Ordinals]:
    """How many nodes each origin reaches, and the nodes, ascending for each. `graph` is square."""
    counts, found, total = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0

    def admit_more(pairs: int) -> None:
        admit(total + pairs)

    walks = _short_walks(graph, origins, most, limits)
    if walks is None:
        stretches = _Search(graph, least, most, admit_more, limits).all_of(origins)
    else:
        stretches = walks.reached(least=least, admit=admit_more)
    for own, nodes in stretches:
        counts.append(own)
        found.append(nodes)
        total += len(nodes)
    return np.concatenate(counts), np.concatenate(found)


def reach_counts(
    graph: Adjacency,
    origins: Ordinals,
    *,
    least: int,
    most: int,
    admit: Admit,
    is_wanted: Mask | None = None,
    limits: WalkLimits = DEFAULT,
) -> Ordinals:
    """How many nodes each origin reaches, of those wanted; None: of all. No pair is kept."""
    walks = _short_walks(graph, origins, most, limits)
    if walks is not None:
        counts = list(walks.counts(least=least, admit=admit, is_wanted=is_wanted))
    else:
        counts = [
            own if is_wanted is None else sums_of_runs(is_wanted[nodes], own)
            for own, nodes in _Search(graph, least, most, admit, limits).all_of(origins)
        ]
    return np.concatenate([np.empty(0, np.int64), *counts])


def _short_walks(
    graph: Adjacency, origins: Ordinals, most: int, limits: WalkLimits
) -> "Walks | None":
    """Products of matrices, where there are many origins and each reaches little."""
    if len(origins) * limits.max_nodes_per_origin <= graph.height:
        return None
    # Not at the top: few questions need it, and it takes longer to import than they take.
    from omnigraph.read.topology.products import Walks

    walks = Walks(graph, origins, most, limits.max_block_walks)
    return walks if walks.mean_reached * limits.min_nodes_per_reached < graph.height else None


class _Search:
    """Breadth-first for all origins of a batch together, on the pairs (origin, node)."""

    def __init__(
        self, graph: Adjacency, least: int, most: int, admit: Admit, limits: WalkLimits
    ) -> None:
        self._graph = graph
        self._least = least
        self._most = most
        self._admit = admit
        self._limits = limits

    def all_of(self, origins: Ordinals) -> Iterator[tuple[Ordinals, Ordinals]]:
        """In the order of the origins: how many nodes each of a batch reaches, and the nodes."""
        nodes = max(self._graph.height, 1)
        batch = max(1, self._limits.max_batch_marks // nodes)
        # Made once for all batches: to get new pages takes longer than to clear old ones.
        marks = np.empty(min(batch, len(origins)) * nodes, dtype=np.bool_)
        waiting = [(i, min(i + batch, len(origins))) for i in range(0, len(origins), batch)][::-1]
        while waiting:
            low, high = waiting.pop()
            pairs = self._one_batch(origins[low:high], marks[: (high - low) * nodes])
            if pairs is None:
                middle = (low + high) // 2
                waiting += [(middle, high), (low, middle)]
                continue
            index = pairs // nodes
            yield np.bincount(index, minlength=high - low), pairs - index * nodes

    def _one_batch(self, origins: Ordinals, visited: Mask) -> Ordinals | None:
        """Pairs as origin index × nodes + node, or None if there were too many for one batch."""
        graph, nodes = self._graph, self._graph.height
        sources = np.arange(len(origins)) * nodes + origins
        visited[:] = False
        found, frontier = [np.empty(0, np.int64)], sources
        total = 0
        for depth in range(1, self._most + 1):
            base = frontier // nodes * nodes
            ranges = graph.ranges(frontier - base)
            if ranges.total > self._limits.max_step_pairs and len(origins) > 1:
                return None
            pairs = np.repeat(base, ranges.counts) + graph.neighbours[ranges.positions()]
            pairs = pairs[~visited[pairs]]
            pairs.sort()
            frontier = pairs[np.diff(pairs, prepend=-1) != 0]
            visited[frontier] = True
            # Only now: at depth one a node that reaches itself does so by a loop, and that counts.
            visited[sources] = True
            if depth >= self._least:
                found.append(frontier)
                total += len(frontier)
            self._admit(total)
            if not len(frontier):
                break
        # Each depth ascends by itself: a stable sort merges what is in order.
        pairs = np.concatenate(found)
        pairs.sort(kind="stable")
        return pairs
