"""From an edge table's columns to adjacency: ids become row numbers once, then it is arrays only.

Turning texts into numbers is nearly all of the cost, so the numbered ends are a value of their own
that every direction and every combination of edge types is built from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.read.topology.csr import Adjacency
from omnigraph.read.topology.ids import IdIndex

__all__ = ["Ends", "Leg", "adjacency", "follow_ends", "number_ends", "pairs_of"]


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of each edge of a table, as rows of the node tables, in the table's order."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        return self.sources.nbytes + self.targets.nbytes


@dataclass(frozen=True, slots=True)
class Leg:
    """Edges of one table walked one way, and where their ends and numbers begin."""

    ends: Ends
    is_reversed: bool
    origin_start: int
    target_start: int
    edge_start: int = 0
    skips_loops: bool = False
    """The other way of walking the same edges already has the loops: an edge gives one row."""


def number_ends(
    sources: pa.Array, targets: pa.Array, *, source_ids: IdIndex, target_ids: IdIndex
) -> Ends:
    numbered = [source_ids.find(sources), target_ids.find(targets)]
    for rows in numbered:
        assert (rows >= 0).all(), "an edge ends in a node that is not there"
    return Ends(*(rows.astype(np.int32) for rows in numbered))


def follow_ends(
    ends: Ends,
    *,
    kept: NDArray[np.int64] | None,
    source_numbers: NDArray[np.int64] | None,
    target_numbers: NDArray[np.int64] | None,
    fresh: Ends,
) -> Ends:
    """The ends of a later version: of the edges that are left, renumbered, and of new ones."""
    sides = []
    for old, numbers, new in (
        (ends.sources, source_numbers, fresh.sources),
        (ends.targets, target_numbers, fresh.targets),
    ):
        left = old if kept is None else old[kept]
        moved = left if numbers is None else numbers[left].astype(np.int32)
        sides.append(np.concatenate([moved, new]))
        assert (sides[-1] >= 0).all(), "an edge ends in a node that is not there"
    return Ends(*sides)


def pairs_of(
    legs: Sequence[Leg], where: NDArray[np.int64] | NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Origin and target of each edge of the legs; with a mask over origins, of those alone."""
    origins, targets = [], []
    for leg in legs:
        here, there = leg.ends.sources, leg.ends.targets
        if leg.is_reversed:
            here, there = there, here
        if where is not None:
            own = where[leg.origin_start :]
            chosen = np.flatnonzero(own[here])
            here, there = here[chosen], there[chosen]
        origins.append(_shifted(here, leg.origin_start))
        targets.append(_shifted(there, leg.target_start))
    return _joined(origins), _joined(targets)


def adjacency(legs: Sequence[Leg], *, height: int, width: int, has_edges: bool) -> Adjacency:
    """One adjacency for all legs together. With `has_edges` each edge has an entry of its own."""
    origins, targets, edges = [], [], []
    for leg in legs:
        here, there = leg.ends.sources, leg.ends.targets
        number = np.arange(len(here)) + leg.edge_start
        if leg.skips_loops:
            kept = np.flatnonzero(here != there)
            here, there, number = here[kept], there[kept], number[kept]
        if leg.is_reversed:
            here, there = there, here
        origins.append(here.astype(np.int64) + leg.origin_start)
        targets.append(there.astype(np.int64) + leg.target_start)
        edges.append(number)
    return Adjacency.of_pairs(
        _joined(origins),
        _joined(targets),
        height=height,
        width=width,
        edges=_joined(edges) if has_edges else None,
    )


def _shifted(numbers: NDArray[np.int32], start: int) -> NDArray[np.int64]:
    """Into a space where the table begins at `start`; -1, no row, stays what it is."""
    wide = numbers.astype(np.int64)
    return wide + start if start == 0 else np.where(wide < 0, wide, wide + start)


def _joined(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])
