"""Adjacency as plain arrays, and the kernels that walk it.

A row of the adjacency is an origin, its neighbours lie side by side and in ascending order. Two
forms: without `edges` parallel edges are one neighbour, as the set semantics of a traversal want;
with `edges` every edge has an entry of its own. Nothing here knows tables, types or ids: origins
and neighbours are dense numbers. An adjacency never changes; the next version of a graph is made
from it by replacing the runs of the origins that changed.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adjacency", "Ordinals", "Ranges", "Room"]

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


class Room:
    """An array with space behind what is used, which versions of one adjacency share.

    Each version reads only what was there when it was made, so writing behind it disturbs nobody.
    """

    def __init__(self, array: Stored, used: int) -> None:
        self.array = array
        self._used = used
        self._lock = threading.Lock()

    def append(self, values: NDArray[np.integer]) -> int | None:
        """Where the values now begin, or None if there is no space left."""
        with self._lock:
            start = self._used
            if start + len(values) > len(self.array):
                return None
            self._used += len(values)
        self.array[start : start + len(values)] = values
        return start


@dataclass(frozen=True)
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
        counts = np.diff(starts)
        keys -= np.repeat(bounds[:-1], counts)
        return cls(
            lows=starts[:-1],
            counts=counts,
            neighbours=_narrow(keys, width),
            width=width,
            edges=None if edges is None else _narrow(edges, int(edges.max(initial=0)) + 1),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        edges = {} if self.edges is None else {"edges": self.edges}
        assert self.room is None, "kept as it was built"
        return {
            "lows": self.lows,
            "counts": self.counts,
            "neighbours": self.neighbours,
            "width": np.array([self.width]),
            **edges,
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Adjacency":
        return cls(
            arrays["lows"],
            arrays["counts"],
            arrays["neighbours"],
            int(arrays["width"][0]),
            arrays.get("edges"),
        )

    @property
    def nbytes(self) -> int:
        arrays = [self.lows, self.counts, *([] if self.edges is None else [self.edges])]
        own = self.changed * self.neighbours.itemsize if self.room else self.neighbours.nbytes
        return sum(a.nbytes for a in arrays) + own + self.width * self.lows.itemsize

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

    def renumbered(
        self, origins: Ordinals | None, targets: Ordinals | None, *, height: int, width: int
    ) -> "Adjacency":
        """The same entries where rows have new numbers; -1: the row is gone, and what led there.

        Only of a set. None: rows keep their numbers.
        """
        assert self.edges is None
        here = np.repeat(np.arange(self.height), self.counts)
        there = self.all_neighbours.astype(np.int64)
        if origins is not None:
            here = origins[here]
        if targets is not None:
            there = targets[there]
        left = (here >= 0) & (there >= 0)
        if not left.all():
            here, there = here[left], there[left]
        # Most rows keep their order among themselves, and a stable sort makes use of that.
        keys = here * max(width, 1) + there
        keys.sort(kind="stable")
        bounds = np.arange(height + 1, dtype=np.int64) * max(width, 1)
        starts = np.searchsorted(keys, bounds)
        counts = np.diff(starts)
        keys -= np.repeat(bounds[:-1], counts)
        return Adjacency(starts[:-1], counts, _narrow(keys, width), width)

    def replaced(
        self, origins: Ordinals, runs: "Adjacency", *, height: int, width: int
    ) -> "Adjacency":
        """As this, with other neighbours for some origins: `runs` has a row for each of them.

        Only of a set, without edges. It takes time by the number of origins and of changed entries,
        until a quarter has changed and all is laid side by side again.
        """
        assert self.edges is None and runs.edges is None
        added = runs.all_neighbours
        lows = np.zeros(height, dtype=np.int64)
        counts = np.zeros(height, dtype=np.int64)
        lows[: self.height], counts[: self.height] = self.lows, self.counts
        changed = self.changed + len(added)
        start = None
        if self.room is not None and changed * REPACK_SHARE < self.room.array.size:
            start = self.room.append(added)
        room = self.room
        if start is None:
            # The first change, or one too many: side by side again, with space behind.
            packed, changed = self.all_neighbours, len(added)
            space = max(len(packed) // REPACK_SHARE, LEAST_SPACE) + len(added)
            array = np.empty(len(packed) + space, dtype=_narrow(packed[:0], width).dtype)
            array[: len(packed)] = packed
            room = Room(array, len(packed))
            lows[: self.height] = np.cumsum(self.counts) - self.counts
            start = room.append(added)
        assert room is not None and start is not None
        lows[origins] = runs.lows + start
        counts[origins] = runs.counts
        return Adjacency(lows, counts, room.array, width, room=room, changed=changed)


# Entries that moved behind are read as fast as others; what they left unread is wasted memory.
REPACK_SHARE = 4
LEAST_SPACE = 1 << 16


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
