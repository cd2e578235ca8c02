"""Which entries of an adjacency lie between two nodes, for very many pairs of nodes.

To look for a target among the neighbours of its origin takes as many steps as there are halvings of
their number, each a look somewhere else in memory. A cycle asks it of every path there is, so the
pairs are hashed once: a look at a bit tells most pairs that are not there, and one into a table
which pair it could be. A pair whose slot another has taken goes into the next, smaller table; the
few that found no slot in any are searched for. The answer is that of `Adjacency.ranges_between`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.topology.csr import Adjacency, Ordinals, Ranges, Stored, narrow

__all__ = ["MAX_ENTRIES_PER_PAIR", "PairIndex"]

# Hashing all entries costs as much as searching for a pair in this many of them.
MAX_ENTRIES_PER_PAIR = 4

# From one changed origin in this many, hashing anew is as quick.
MIN_ORIGINS_PER_CHANGE = 8

# Slots for each pair in its table. More would be read slower, fewer would be taken more often.
SLOTS_PER_PAIR = 2

# Two bits of the filter for each slot: so one pair that is not there in ten gets past it.
BITS_PER_SLOT = 2

# Odd, and unlike each other: pairs that meet in one table part in the next.
MULTIPLIERS = (
    0x9E3779B97F4A7C15,
    0xC2B2AE3D27D4EB4F,
    0xD6E8FEB86659FD93,
    0xFF51AFD7ED558CCD,
)
FILTER_MULTIPLIER = 0xA0761D6478BD642F

# So many are looked up at a time, that what is worked out for them stays close to the processor.
PAIRS_AT_A_TIME = 1 << 14


class Matches(NamedTuple):
    """The rows whose pair there is, and where its entries are."""

    rows: Ordinals
    ranges: Ranges


class _Filter(NamedTuple):
    """A bit for each hash that some pair has. It is small, so a look at it is cheap."""

    bits: NDArray[np.uint8]
    multiplier: np.uint64
    shift: np.uint64

    @classmethod
    def of(cls, keys: Ordinals, multiplier: int) -> "_Filter":
        size = max(4, (SLOTS_PER_PAIR * BITS_PER_SLOT * len(keys)).bit_length())
        shift = np.uint64(64 - size)
        is_set = np.zeros(1 << size, dtype=np.bool_)
        is_set[_hashed(keys, np.uint64(multiplier), shift)] = True
        return cls(np.packbits(is_set, bitorder="little"), np.uint64(multiplier), shift)

    def passed(self, keys: Ordinals) -> Ordinals:
        """The positions of keys that may be there."""
        hashes = _hashed(keys, self.multiplier, self.shift)
        found = self.bits[hashes >> 3]
        found >>= (hashes & 7).astype(np.uint8)
        found &= 1
        return np.flatnonzero(found)


class _Table(NamedTuple):
    slots: NDArray[np.int32] | NDArray[np.int64]
    """The pair at each slot, -1 where there is none."""
    multiplier: np.uint64
    shift: np.uint64

    def at(self, keys: Ordinals) -> Stored:
        """The pair that each key could be, or -1."""
        found: Stored = self.slots[_hashed(keys, self.multiplier, self.shift)]
        return found


@frozen
class PairIndex:
    graph: Adjacency
    """Whose entries are meant."""
    changed: NDArray[np.bool_] | None
    """Origins whose entries are others than were hashed: they are searched for. None: no origin."""
    width: int
    keys: Ordinals
    """Origin × width + target of each distinct pair, ascending."""
    lows: Stored
    """The first entry of each pair, in the adjacency."""
    counts: Stored | None
    """How many entries each pair has; None: one."""
    filter: _Filter
    tables: tuple[_Table, ...]
    rest: Ordinals
    """Pairs that found no slot, ascending."""

    @classmethod
    def of(cls, graph: Adjacency, multipliers: Sequence[int] = MULTIPLIERS) -> "PairIndex":
        origins = np.repeat(np.arange(graph.height), graph.counts)
        positions = graph.ranges(None).positions()
        width = max(graph.width, 1)
        keys = origins * width + graph.neighbours[positions]
        counts = None
        if graph.edges is not None:
            first = np.flatnonzero(np.diff(keys, prepend=-1))
            counts = narrow(np.diff(first, append=len(keys)), len(keys) + 1)
            keys, positions = keys[first], positions[first]
        lows = narrow(positions, len(graph.neighbours) + 1)
        tables, rest = _tables(keys, multipliers)
        filter_ = _Filter.of(keys, FILTER_MULTIPLIER)
        return cls(graph, None, width, keys, lows, counts, filter_, tables, rest)

    def followed(
        self, graph: Adjacency, *, min_origins_per_change: int = MIN_ORIGINS_PER_CHANGE
    ) -> "PairIndex | None":
        """Of a later version, whose changed runs lie behind the others.

        None where it has to be made anew: rows have other numbers, or too much has changed.
        """
        was = self.graph
        if (graph.height, graph.width) != (was.height, was.width) or not _goes_on(was, graph):
            return None
        changed = (graph.lows != was.lows) | (graph.counts != was.counts)
        if self.changed is not None:
            changed |= self.changed
        if np.count_nonzero(changed) * min_origins_per_change > graph.height:
            return None
        return replace(self, graph=graph, changed=changed)

    @property
    def nbytes(self) -> int:
        arrays = [self.keys, self.lows, self.rest, self.filter.bits, self.counts, self.changed]
        arrays += [table.slots for table in self.tables]
        return sum(a.nbytes for a in arrays if a is not None)

    def matches(
        self,
        origins: Ordinals,
        targets: Ordinals,
        *,
        at_a_time: int = PAIRS_AT_A_TIME,
        check: Callable[[], None] | None = None,
    ) -> Matches:
        """Of each origin and its own target, those with an entry between them.

        `check` is called between parts of the work, and may end it by raising.
        """
        nothing = np.empty(0, dtype=np.int64)
        rows, pairs = [nothing], [nothing]
        for start in range(0, len(origins), at_a_time):
            part = slice(start, start + at_a_time)
            if check is not None:
                check()
            self._find(origins[part] * self.width + targets[part], start, rows, pairs)
        found = np.concatenate(pairs)
        counts = np.ones(len(found), np.int64) if self.counts is None else self.counts[found]
        ranges = Ranges(
            *(column.astype(np.int64, copy=False) for column in (self.lows[found], counts))
        )
        hashed = Matches(np.concatenate(rows), ranges)
        return hashed if self.changed is None else self._corrected(hashed, origins, targets)

    def _corrected(self, hashed: Matches, origins: Ordinals, targets: Ordinals) -> Matches:
        """With what the changed origins have now."""
        assert self.changed is not None
        rows, (lows, counts) = hashed
        same = np.flatnonzero(~self.changed[origins[rows]])
        others = np.flatnonzero(self.changed[origins])
        now = self.graph.ranges_between(origins[others], targets[others])
        there = np.flatnonzero(now.counts)
        ranges = Ranges(
            np.concatenate([lows[same], now.lows[there]]),
            np.concatenate([counts[same], now.counts[there]]),
        )
        return Matches(np.concatenate([rows[same], others[there]]), ranges)

    def _find(
        self, wanted: Ordinals, start: int, rows: list[Ordinals], pairs: list[Ordinals]
    ) -> None:
        """Add those of the wanted pairs that there are, and each one's number."""
        left = self.filter.passed(wanted)
        wanted = wanted[left]
        left += start
        for table in self.tables:
            at = table.at(wanted)
            is_it = self.keys[at] == wanted
            rows.append(left[is_it])
            pairs.append(at[is_it].astype(np.int64))
            # At an empty slot there is no pair, here or in a later table.
            more = np.flatnonzero(~is_it & (at >= 0))
            if not len(more):
                return
            wanted, left = wanted[more], left[more]
        if len(self.rest):
            keys = self.keys[self.rest]
            near = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            is_it = keys[near] == wanted
            rows.append(left[is_it])
            pairs.append(self.rest[near[is_it]])


def _goes_on(was: Adjacency, now: Adjacency) -> bool:
    """Whether what lay somewhere lies there still: entries were only written behind."""
    if was.room is not None:
        return now.room is was.room
    return np.array_equal(now.neighbours[: len(was.neighbours)], was.neighbours)


def _hashed(keys: Ordinals, multiplier: np.uint64, shift: np.uint64) -> Ordinals:
    hashes = keys.view(np.uint64) * multiplier
    hashes >>= shift
    return hashes.view(np.int64)


def _tables(keys: Ordinals, multipliers: Sequence[int]) -> tuple[tuple[_Table, ...], Ordinals]:
    tables: list[_Table] = []
    left = np.arange(len(keys))
    for multiplier in multipliers:
        bits = max(4, (SLOTS_PER_PAIR * len(left)).bit_length())
        slots = narrow(np.full(1 << bits, -1, dtype=np.int64), len(keys) + 1)
        at = _hashed(keys[left], np.uint64(multiplier), np.uint64(64 - bits))
        slots[at] = left
        tables.append(_Table(slots, np.uint64(multiplier), np.uint64(64 - bits)))
        left = left[slots[at] != left]
    return tuple(tables), left
