"""Reach as products of sparse matrices, for many origins that each reach little.

The nodes within k steps of an origin, itself among them, are a row of the k-th power of the
adjacency with a loop on every node; only which entries there are counts, so the numbers are
booleans. Those first reached at a depth from `least` to `most` are the row of the one power without
that of the other. A block of rows is multiplied at a time, so that memory stays bounded and a
query can be stopped between two.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from omnigraph.read.topology.csr import Adjacency, Ordinals, Ranges, narrow, sums_of_runs

__all__ = ["Walks"]


class Walks:
    """Walks of up to so many steps from each origin, over the edges of a square adjacency."""

    def __init__(
        self, graph: Adjacency, origins: Ordinals, most: int, max_block_walks: int
    ) -> None:
        self._origins = origins
        self._max_block_walks = max_block_walks
        self._most = most
        self._loops = _has_loop(graph)
        self._looped = _with_loops(graph)
        targets, steps = graph.all_neighbours, np.ones(graph.height, dtype=np.int64)
        for _ in range(most):
            steps = steps + sums_of_runs(steps[targets], graph.counts)
            steps = np.minimum(steps, self._looped.nnz)
        self._walks = steps[origins]
        """How many walks each origin has at most: no fewer than nodes it reaches."""

    @property
    def mean_reached(self) -> float:
        """A guess that is too high rather than too low."""
        return float(self._walks.mean()) if len(self._walks) else 0.0

    def reached(
        self, *, least: int, admit: Callable[[int], None]
    ) -> Iterator[tuple[Ordinals, Ordinals]]:
        """For each block of origins how many nodes each reaches, and the nodes, ascending."""
        for origins, within, before in self._powers(least, admit):
            yield self._first_reached(origins, within, before, is_loop_counted=least == 1)

    def counts(
        self, *, least: int, admit: Callable[[int], None], is_wanted: NDArray[np.bool_] | None
    ) -> Iterator[Ordinals]:
        """For each block of origins how many nodes each reaches, of those wanted."""
        for origins, within, before in self._powers(least, admit):
            found = _entries(within, is_wanted) - _entries(before, is_wanted)
            if least == 1:
                loops = self._loops[origins]
                found += loops if is_wanted is None else loops & is_wanted[origins]
            yield found

    def _powers(
        self, least: int, admit: Callable[[int], None]
    ) -> Iterator[tuple[Ordinals, csr_array, csr_array]]:
        """Blocks of origins, what is within `most` steps of them, and within fewer than `least`."""
        for low, high in self._blocks():
            origins = self._origins[low:high]
            within = before = self._start(origins)
            for depth in range(1, self._most + 1):
                within = within @ self._looped
                if depth == least - 1:
                    before = within
                admit(within.nnz)
            yield origins, within, before

    def _blocks(self) -> Iterator[tuple[int, int]]:
        until = np.cumsum(self._walks)
        low = 0
        while low < len(until):
            limit = (until[low - 1] if low else 0) + self._max_block_walks
            high = max(low + 1, int(np.searchsorted(until, limit, side="right")))
            yield low, high
            low = high

    def _start(self, origins: Ordinals) -> csr_array:
        """Each origin has reached itself."""
        count = len(origins)
        entries = (np.ones(count, dtype=np.bool_), origins, np.arange(count + 1))
        return csr_array(entries, shape=(count, self._looped.shape[1]))

    def _first_reached(
        self, origins: Ordinals, within: csr_array, before: csr_array, *, is_loop_counted: bool
    ) -> tuple[Ordinals, Ordinals]:
        """The entries of one matrix without those of the other."""
        width = within.shape[1]
        inside, outside = _keys(within, width), _keys(before, width)
        if is_loop_counted:
            # A loop reaches its node at depth one: it is not taken away as a beginning.
            outside = outside[~self._loops[origins]]
        both = np.concatenate([inside, outside])
        both.sort(kind="stable")
        # What was there before stands twice.
        is_twice = both[1:] == both[:-1]
        is_fresh = np.ones(len(both), dtype=np.bool_)
        is_fresh[1:] &= ~is_twice
        is_fresh[:-1] &= ~is_twice
        keys = both[is_fresh]
        rows = keys // width
        return np.bincount(rows, minlength=len(origins)), keys - rows * width


def _entries(matrix: csr_array, is_wanted: NDArray[np.bool_] | None) -> Ordinals:
    """How many entries each row has, in columns that are wanted."""
    counts = np.diff(matrix.indptr).astype(np.int64)
    return counts if is_wanted is None else sums_of_runs(is_wanted[matrix.indices], counts)


def _keys(matrix: csr_array, width: int) -> Ordinals:
    """Row × width + column of each entry, ascending."""
    matrix.sort_indices()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keys: Ordinals = rows * width + matrix.indices
    return keys


def _has_loop(graph: Adjacency) -> NDArray[np.bool_]:
    here = np.repeat(np.arange(graph.height), graph.counts)
    loops = np.zeros(graph.height, dtype=np.bool_)
    loops[here[here == graph.all_neighbours]] = True
    return loops


def _with_loops(graph: Adjacency) -> csr_array:
    """The adjacency as a matrix, with a loop on every node."""
    height, total = graph.height, int(graph.counts.sum())
    starts = np.concatenate(([0], np.cumsum(graph.counts + 1)))
    targets = np.empty(total + height, dtype=np.int64)
    targets[starts[:-1]] = np.arange(height)
    own = Ranges(starts[:-1] + 1, graph.counts).positions()
    targets[own] = graph.all_neighbours
    limit = max(height, total + height)
    entries = (np.ones(len(targets), dtype=np.bool_), narrow(targets, limit), narrow(starts, limit))
    return csr_array(entries, shape=(height, height))
