"""Which entries of an adjacency lie between two nodes, for very many pairs of nodes.

To look for a target among the neighbours of its origin takes as many steps as there are halvings of
their number, each a look somewhere else in memory. A cycle asks it of every path there is, so the
pairs are hashed once: then a look into a table says that there is no such pair, or which one it
could be. A pair whose place another has taken goes into the next, smaller table; the few that found
no place in any are searched for. The answer is that of `Adjacency.ranges_between`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.read.topology.csr import Adjacency, Ordinals, Ranges, Stored, narrow

__all__ = ["WORTH_HASHING", "PairIndex"]

# Hashing all entries costs as much as searching for a pair in this many of them.
WORTH_HASHING = 4

# Places for each pair in its table. More would be read slower, fewer would be taken more often.
PLACES_PER_PAIR = 2

# Odd, and unlike each other: pairs that meet in one table part in the next.
MULTIPLIERS = (
    0x9E3779B97F4A7C15,
    0xC2B2AE3D27D4EB4F,
    0xD6E8FEB86659FD93,
    0xFF51AFD7ED558CCD,
)

# So many are looked up at a time, that what is worked out for them stays close to the processor.
PAIRS_AT_A_TIME = 1 << 15


class _Table(NamedTuple):
    places: NDArray[np.int32] | NDArray[np.int64]
    """The pair at each place, -1 where there is none."""
    multiplier: np.uint64
    shift: np.uint64

    def at(self, keys: Ordinals) -> Stored:
        """The pair that each key could be, or -1."""
        hashes = keys.view(np.uint64) * self.multiplier
        hashes >>= self.shift
        found: Stored = self.places[hashes.view(np.int64)]
        return found


@dataclass(frozen=True, slots=True)
class PairIndex:
    width: int
    keys: Ordinals
    """Origin × width + target of each distinct pair, ascending."""
    lows: Stored
    """The first entry of each pair, in the adjacency."""
    counts: Stored | None
    """How many entries each pair has; None: one."""
    tables: tuple[_Table, ...]
    rest: Ordinals
    """Pairs that found no place, ascending."""

    @classmethod
    def of(cls, graph: Adjacency) -> "PairIndex":
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
        tables, rest = _tables(keys)
        return cls(width, keys, lows, counts, tables, rest)

    @property
    def nbytes(self) -> int:
        arrays = [self.keys, self.lows, self.rest, *(table.places for table in self.tables)]
        return sum(a.nbytes for a in arrays) + (0 if self.counts is None else self.counts.nbytes)

    def ranges(self, origins: Ordinals, targets: Ordinals) -> Ranges:
        """Where the entries from each origin to its own target are: empty if it has none."""
        lows = np.zeros(len(origins), dtype=np.int64)
        counts = np.zeros(len(origins), dtype=np.int64)
        for start in range(0, len(origins), PAIRS_AT_A_TIME):
            part = slice(start, start + PAIRS_AT_A_TIME)
            rows, pairs = self._find(origins[part] * self.width + targets[part])
            rows += start
            lows[rows] = self.lows[pairs]
            counts[rows] = 1 if self.counts is None else self.counts[pairs]
        return Ranges(lows, counts)

    def _find(self, wanted: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Which of the wanted pairs there are, and each one's number."""
        rows, pairs = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        left = np.arange(len(wanted))
        for table in self.tables:
            at = table.at(wanted)
            # At an empty place there is no pair, here or in a later table.
            taken = np.flatnonzero(at >= 0)
            at, wanted, left = at[taken], wanted[taken], left[taken]
            is_it = self.keys[at] == wanted
            rows.append(left[is_it])
            pairs.append(at[is_it].astype(np.int64))
            wanted, left = wanted[~is_it], left[~is_it]
        if len(self.rest) and len(left):
            keys = self.keys[self.rest]
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            is_it = keys[at] == wanted
            rows.append(left[is_it])
            pairs.append(self.rest[at[is_it]])
        return np.concatenate(rows), np.concatenate(pairs)


def _tables(keys: Ordinals) -> tuple[tuple[_Table, ...], Ordinals]:
    tables: list[_Table] = []
    left = np.arange(len(keys))
    for multiplier in MULTIPLIERS:
        bits = max(4, (PLACES_PER_PAIR * len(left)).bit_length())
        places = narrow(np.full(1 << bits, -1, dtype=np.int64), len(keys) + 1)
        hashes = keys[left].view(np.uint64) * np.uint64(multiplier)
        hashes >>= np.uint64(64 - bits)
        at = hashes.view(np.int64)
        places[at] = left
        tables.append(_Table(places, np.uint64(multiplier), np.uint64(64 - bits)))
        left = left[places[at] != left]
    return tuple(tables), left
