"""Edges between numbered nodes as arrays, in the form that SciPy computes with.

Nothing here or in the kernels beside it knows tables, types or ids. A kernel takes `Links` and
gives an array with a value for each node.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from omnigraph.base.frozen import frozen

__all__ = ["Beat", "Floats", "Found", "Links", "Numbers", "quiet"]

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

Beat = Callable[[int, int], None]
"""Called between two parts of long work, with how many are done (-1: as many as before) of how
many (0: unknown); raises to end it."""


def quiet(done: int, total: int) -> None:
    """Go on."""


class Found(NamedTuple):
    """A value for each node, and how it was come by."""

    values: NDArray[Any]
    iterations: int | None = None
    """None: the algorithm has no rounds."""
    converged: bool = True


@frozen(slots=False)
class Links:
    """For each node a run of others: those it leads to, or those that lead to it."""

    starts: NDArray[Any]
    """The run of node `i` is `ends[starts[i] : starts[i + 1]]`, in ascending order."""
    ends: NDArray[Any]
    weights: Floats | None = None
    """None: each weighs 1."""

    @classmethod
    def of(cls, counts: Numbers, ends: NDArray[Any], weights: Floats | None = None) -> "Links":
        """From runs that lie side by side and are `counts` long."""
        # SciPy copies both arrays where their types differ.
        starts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        if ends.dtype == np.int32 and starts[-1] <= np.iinfo(np.int32).max:
            return cls(starts.astype(np.int32), ends, weights)
        return cls(starts, ends.astype(np.int64), weights)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.starts) - 1

    @property
    def count(self) -> int:
        return len(self.ends)

    @property
    def counts(self) -> Numbers:
        return np.diff(self.starts).astype(np.int64)

    @property
    def origins(self) -> Numbers:
        """The node that each run is of, entry by entry."""
        return np.repeat(np.arange(self.size, dtype=np.int64), self.counts)

    def matrix(self, width: int | None = None) -> csr_array:
        """A row for each node, a column for each, or for so many, that it may lead to."""
        weights = np.ones(self.count) if self.weights is None else self.weights
        shape = (self.size, self.size if width is None else width)
        return csr_array((weights, self.ends, self.starts), shape=shape)

    def strengths(self) -> Floats:
        """The weights that lead out of each node, or in, added up."""
        if self.weights is None:
            return self.counts.astype(np.float64)
        found = np.bincount(self.origins, weights=self.weights, minlength=self.size)
        return found.astype(np.float64)

    def strengths_at_ends(self) -> Floats:
        """The same of the nodes at the other end."""
        found = np.bincount(self.ends, weights=self.weights, minlength=self.size)
        return found.astype(np.float64)

    def without_loops(self) -> "Links":
        """A node is no neighbour of itself."""
        origins = self.origins
        is_loop = self.ends == origins
        if not is_loop.any():
            return self
        counts = self.counts - np.bincount(origins[is_loop], minlength=self.size)
        weights = None if self.weights is None else self.weights[~is_loop]
        return Links.of(counts, self.ends[~is_loop], weights)

    def lightest(self) -> "Links":
        """Of parallel edges the lightest one."""
        assert self.weights is not None, "weights are compared"
        if not self.count:
            return self
        origins = self.origins
        is_first = np.ones(self.count, dtype=np.bool_)
        is_first[1:] = (self.ends[1:] != self.ends[:-1]) | (origins[1:] != origins[:-1])
        first = np.flatnonzero(is_first)
        weights = np.minimum.reduceat(self.weights, first)
        counts = np.bincount(origins[first], minlength=self.size)
        return Links.of(counts, self.ends[first], weights)

    def renumbered(self, numbers: Numbers) -> "Links":
        """The same nodes under other numbers: node `i` becomes `numbers[i]`."""
        origins, ends = numbers[self.origins], numbers[self.ends]
        order = np.lexsort((ends, origins))
        counts = np.bincount(origins, minlength=self.size)
        weights = None if self.weights is None else self.weights[order]
        return Links.of(counts, ends[order].astype(self.ends.dtype), weights)
