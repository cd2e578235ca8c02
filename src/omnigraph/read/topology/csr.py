"""Adjacency as plain arrays, and the kernels that walk it.

A row of the adjacency is an origin, its neighbours lie side by side and in ascending order. Two
forms: without `edges` parallel edges are one neighbour, as the set semantics of a traversal want;
with `edges` every edge has an entry of its own. Nothing here knows tables, types or ids: origins
and neighbours are dense numbers.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adjacency", "Ordinals", "Ranges"]

Ordinals = NDArray[np.int64]
Stored = NDArray[np.int32] | NDArray[np.int64]


class Ranges(NamedTuple):
    """For each row, a run of positions: `lows[i]` up to, not including, `lows[i] + counts[i]`."""

    lows: Ordinals
    counts: Ordinals

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def rows(self) -> Ordinals:
        """The row that each position of `positions` belongs to."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def positions(self) -> Ordinals:
        """All positions of all rows, one after the other."""
        ends = np.cumsum(self.counts)
        total = int(ends[-1]) if len(ends) else 0
        shifts: Ordinals = np.repeat(self.lows - (ends - self.counts), self.counts)
        shifts += np.arange(total)
        return shifts


@dataclass(frozen=True)
class Adjacency:
    starts: NDArray[np.int64]
    """The neighbours of origin `i` are at `starts[i]` up to `starts[i + 1]`."""
    neighbours: Stored
    width: int
    """Neighbours are numbers below this."""
    edges: Stored | None = None

    @classmethod
    def of_pairs(
        cls,
        origins: NDArray[np.integer],
        targets: NDArray[np.integer],
        *,
        height: int,
        width: int,
        edges: NDArray[np.integer] | None = None,
    ) -> "Adjacency":
        """From the ends of edges; with `edges`, their numbers, parallel ones are kept apart."""
        keys = origins.astype(np.int64) * max(width, 1) + targets
        if edges is None:
            keys.sort()
            keys = keys[_first_of_each(keys)]
        else:
            order = np.argsort(keys, kind="stable")
            keys, edges = keys[order], edges[order]
        bounds = np.arange(height + 1, dtype=np.int64) * max(width, 1)
        starts = np.searchsorted(keys, bounds)
        keys -= np.repeat(bounds[:-1], np.diff(starts))
        return cls(
            starts=starts,
            neighbours=_narrow(keys, width),
            width=width,
            edges=None if edges is None else _narrow(edges, int(edges.max(initial=0)) + 1),
        )

    @property
    def nbytes(self) -> int:
        arrays = [self.starts, self.neighbours, *([] if self.edges is None else [self.edges])]
        return sum(a.nbytes for a in arrays) + self.width * self.starts.itemsize

    @cached_property
    def in_degrees(self) -> Ordinals:
        """How many entries lead to each neighbour. Counted in `nbytes` from the start."""
        return np.bincount(self.neighbours, minlength=self.width)

    @property
    def height(self) -> int:
        return len(self.starts) - 1

    def degrees(self, origins: Ordinals | None) -> Ordinals:
        """How many neighbours each origin has; None asks for every origin in order."""
        if origins is None:
            return np.diff(self.starts)
        return self.starts[origins + 1] - self.starts[origins]

    def ranges(self, origins: Ordinals) -> Ranges:
        """Where the neighbours of each origin are."""
        lows = self.starts[origins]
        return Ranges(lows, self.starts[origins + 1] - lows)

    def ranges_between(self, origins: Ordinals, targets: Ordinals) -> Ranges:
        """Where the entries from each origin to its own target are: empty if it has none."""
        first, last = self.starts[origins], self.starts[origins + 1]
        lows = _bisect(self.neighbours, first, last, targets)
        if self.edges is None:
            at = np.minimum(lows, max(len(self.neighbours) - 1, 0))
            found = lows < last
            found[found] = self.neighbours[at[found]] == targets[found]
            return Ranges(lows, found.astype(np.int64))
        return Ranges(lows, _bisect(self.neighbours, lows, last, targets + 1) - lows)


def _bisect(values: Stored, lows: Ordinals, highs: Ordinals, wanted: Ordinals) -> Ordinals:
    """For each row the first position in its ascending run whose value is not below `wanted`."""
    lows, highs = lows.copy(), highs.copy()
    active = np.flatnonzero(lows < highs)
    while len(active):
        middle = (lows[active] + highs[active]) // 2
        below = values[middle] < wanted[active]
        lows[active[below]] = middle[below] + 1
        highs[active[~below]] = middle[~below]
        active = active[lows[active] < highs[active]]
    return lows


def _first_of_each(ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    first = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def _narrow(values: NDArray[np.integer], limit: int) -> Stored:
    """Half the memory where the numbers fit, which is nearly always."""
    if limit <= np.iinfo(np.int32).max:
        return values.astype(np.int32)
    return values.astype(np.int64)
