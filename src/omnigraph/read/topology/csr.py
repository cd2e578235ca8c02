"""Adjacency as plain arrays, and the kernels that walk it.

A row of the adjacency is an origin, its neighbours lie side by side and in ascending order. Two
forms: without `edges` parallel edges are one neighbour, as the set semantics of a traversal want;
with `edges` every edge has an entry of its own. Nothing here knows tables, types or ids: origins
and neighbours are dense numbers. An adjacency never changes; `patch.py` makes the next version of a
graph's from it.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.base.looks import Look, never
from omnigraph.read.topology.sorting import (
    distinct_ascending,
    is_ascending,
    stable_order,
    stable_order_within,
)

__all__ = [
    "Adjacency",
    "Ordinals",
    "Ranges",
    "Room",
    "Stored",
    "ascending_runs",
    "narrow",
    "sums_of_runs",
]

Ordinals = NDArray[np.int64]
Stored = NDArray[np.int32] | NDArray[np.int64]

WORD_BYTES = 8


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


class Room:
    """Columns with space behind what is used, which versions of one adjacency share.

    Each version reads only what was there when it was made, so writing behind it disturbs nobody.
    """

    def __init__(self, columns: Sequence[Stored], *, used: int) -> None:
        self.columns = tuple(columns)
        self._used = used
        self._lock = threading.Lock()

    @classmethod
    def with_space(cls, columns: Sequence[Stored], *, space: int) -> "Room":
        """The columns, and as much behind them."""
        roomy = []
        for column in columns:
            wide = np.empty(len(column) + space, dtype=column.dtype)
            wide[: len(column)] = column
            roomy.append(wide)
        return cls(roomy, used=len(columns[0]))

    @property
    def size(self) -> int:
        return len(self.columns[0])

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)

    def append(
        self, columns: Sequence[NDArray[np.integer]], *, at: int | None = None
    ) -> int | None:
        """Where the entries now begin, or None if there is no space left.

        With `at`, they must begin there: None too if another version went on from there first.
        """
        count = len(columns[0])
        with self._lock:
            start = self._used
            if start + count > self.size or (at is not None and start != at):
                return None
            self._used += count
        for column, values in zip(self.columns, columns, strict=True):
            column[start : start + count] = values
        return start


@frozen(slots=False)
class Adjacency:
    lows: Ordinals
    counts: Ordinals
    """The neighbours of origin `i` are `counts[i]` entries from `lows[i]` on."""
    neighbours: Stored
    width: int
    """Neighbours are numbers below this."""
    edges: Stored | None = None
    room: Room | None = None
    """Where the runs of changed origins lie. None: all runs lie side by side, in order."""
    changed: int = 0
    """How many entries were moved behind since all lay side by side."""
    repeated: NDArray[np.int64] | None = None
    """Of a set, the pairs that more than one edge may stand for: a row of origins, one of targets.

    Any other pair goes with its edge.
    """

    @classmethod
    def of_pairs(
        cls,
        origins: NDArray[np.integer],
        targets: NDArray[np.integer],
        *,
        height: int,
        width: int,
        edges: NDArray[np.integer] | None = None,
        look: Look = never,
    ) -> "Adjacency":
        """From the ends of edges; with `edges`, their numbers, parallel ones are kept apart."""
        keys = origins.astype(np.int64) * max(width, 1) + targets
        repeated = None
        if edges is None:
            keys.sort()  # plain numbers are sorted many times as fast as places of numbers
            look()
            first = _first_of_each(keys)
            look()
            twice = distinct_ascending(keys[~first])
            repeated = np.stack(np.divmod(twice, max(width, 1)))
            look()
            keys = keys[first]
        else:
            # Edges between the same two nodes lie by their numbers, however they were found.
            if is_ascending(edges):
                order = stable_order(keys, look)
            else:
                order = stable_order_within(keys, edges, look)
            look()
            keys, edges = keys[order], edges[order]
        look()
        bounds = np.arange(height + 1, dtype=np.int64) * max(width, 1)
        starts = np.searchsorted(keys, bounds)
        counts = np.diff(starts)
        look()
        keys -= np.repeat(bounds[:-1], counts)
        look()
        return cls(
            lows=starts[:-1],
            counts=counts,
            neighbours=narrow(keys, width),
            width=width,
            edges=None if edges is None else narrow(edges, int(edges.max(initial=0)) + 1),
            repeated=repeated,
        )

    @classmethod
    def of_runs(cls, counts: Ordinals, neighbours: Ordinals, *, width: int) -> "Adjacency":
        """From runs that lie side by side, each ascending and without repeats."""
        lows = np.cumsum(counts) - counts
        return cls(lows=lows, counts=counts, neighbours=neighbours, width=width)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        extra = {"edges": self.edges, "repeated": self.repeated}
        assert self.room is None, "kept as it was built"
        return {
            "lows": self.lows,
            "counts": self.counts,
            "neighbours": self.neighbours,
            "width": np.array([self.width]),
            **{name: array for name, array in extra.items() if array is not None},
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Adjacency":
        return cls(
            arrays["lows"],
            arrays["counts"],
            arrays["neighbours"],
            int(arrays["width"][0]),
            arrays.get("edges"),
            repeated=arrays.get("repeated"),
        )

    @property
    def nbytes(self) -> int:
        """Without the room, which other versions may share; with what may be worked out later."""
        own = 0 if self.room is not None else sum(column.nbytes for column in self.entries)
        pairs = 0 if self.repeated is None else self.repeated.nbytes
        return self.lows.nbytes + self.counts.nbytes + own + pairs + self.width * WORD_BYTES

    @property
    def entries(self) -> tuple[Stored, ...]:
        """The columns that hold a value for each entry."""
        return (self.neighbours,) if self.edges is None else (self.neighbours, self.edges)

    @cached_property
    def in_degrees(self) -> Ordinals:
        """How many entries lead to each neighbour. Counted in `nbytes` from the start."""
        return np.bincount(self.all_neighbours, minlength=self.width)

    @property
    def all_neighbours(self) -> Stored:
        """Those of every origin, in the order of the origins."""
        if self.room is None:
            return self.neighbours
        return self.neighbours[Ranges(self.lows, self.counts).positions()]

    @property
    def height(self) -> int:
        return len(self.lows)

    def degrees(self, origins: Ordinals | None) -> Ordinals:
        """How many neighbours each origin has; None asks for every origin in order."""
        return self.counts if origins is None else self.counts[origins]

    def ranges(self, origins: Ordinals | None) -> Ranges:
        """Where the neighbours of each origin are."""
        if origins is None:
            return Ranges(self.lows, self.counts)
        return Ranges(self.lows[origins], self.counts[origins])

    def ranges_between(self, origins: Ordinals, targets: Ordinals) -> Ranges:
        """Where the entries from each origin to its own target are: empty if it has none."""
        first = self.lows[origins]
        last = first + self.counts[origins]
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


def sums_of_runs(values: NDArray[np.bool_] | Ordinals, counts: Ordinals) -> Ordinals:
    """The sum of each run of values, which lie side by side and are `counts` long."""
    until = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
    ends = np.cumsum(counts)
    sums: Ordinals = until[ends] - until[ends - counts]
    return sums


def ascending_runs(values: Ordinals) -> list[Ordinals]:
    """The values cut where one is not greater than the one before it."""
    return np.split(values, np.flatnonzero(values[1:] <= values[:-1]) + 1)


def narrow(values: NDArray[np.integer], limit: int) -> Stored:
    """Half the memory where the numbers fit, which is nearly always."""
    if limit <= np.iinfo(np.int32).max:
        return values.astype(np.int32)
    return values.astype(np.int64)
