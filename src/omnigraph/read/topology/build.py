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

__all__ = ["Ends", "Leg", "adjacency", "number_ends"]


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


def _joined(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])
