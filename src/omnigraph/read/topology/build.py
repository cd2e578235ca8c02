"""From an edge table's columns to adjacency: ids become row numbers once, then it is arrays only.

Turning texts into numbers is nearly all of the cost, so the numbered ends are a value of their own
that every direction and every combination of edge types is built from.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.base.looks import Look, never
from omnigraph.read.topology.csr import Adjacency, Room
from omnigraph.read.topology.ids import IdIndex

__all__ = ["Ends", "Entries", "Leg", "adjacency", "entries_of", "follow_ends", "number_ends"]

# Space for this share of the edges to come before all are copied again.
SPACE_SHARE = 8


@frozen
class Ends:
    """The two ends of each edge of a table, as rows of the node tables, in the table's order."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    room: Room | None = None
    """The memory of both, with space behind for the edges of later versions."""

    @property
    def nbytes(self) -> int:
        """Without the room, which other versions may share."""
        return 0 if self.room is not None else self.sources.nbytes + self.targets.nbytes

    def followed_by(self, more: "Ends") -> "Ends":
        """With more edges behind; the ends that are there are not copied where there is room."""
        count = len(self.sources)
        room, columns = self.room, (more.sources, more.targets)
        if room is None or room.append(columns, at=count) is None:
            space = len(more.sources) + count // SPACE_SHARE
            room = Room.with_space((self.sources, self.targets), space=space)
            room.append(columns)
        until = count + len(more.sources)
        sources, targets = (column[:until] for column in room.columns)
        return Ends(sources, targets, room)  # type: ignore[arg-type]  # a room keeps its types


@frozen
class Leg:
    """Edges of one table walked one way, and where their ends and numbers begin."""

    ends: Ends
    is_reversed: bool
    origin_start: int
    target_start: int
    edge_start: int = 0
    skips_loops: bool = False
    """The other way of walking the same edges already has the loops: an edge gives one row."""


def number_ends(ids: pa.Array, index: IdIndex, look: Look = never) -> NDArray[np.int32]:
    """The rows of the nodes that edges end in."""
    rows = index.find(ids, look)
    assert (rows >= 0).all(), "an edge ends in a node that is not there"
    return rows.astype(np.int32)


def follow_ends(
    ends: Ends,
    *,
    kept: NDArray[np.int64] | None,
    source_numbers: NDArray[np.int64] | None,
    target_numbers: NDArray[np.int64] | None,
    fresh: Ends,
) -> Ends:
    """The ends of a later version: of the edges that are left, renumbered, and of new ones."""
    if kept is None and source_numbers is None and target_numbers is None:
        return ends.followed_by(fresh)
    sides = []
    for old, numbers, new in (
        (ends.sources, source_numbers, fresh.sources),
        (ends.targets, target_numbers, fresh.targets),
    ):
        left = old if kept is None else old[kept]
        moved = left if numbers is None else numbers.astype(np.int32)[left]
        sides.append(np.concatenate([moved, new]))
        assert (sides[-1] >= 0).all(), "an edge ends in a node that is not there"
    return Ends(sides[0], sides[1])


class Entries(NamedTuple):
    """Edges as an adjacency sees them: origin, target and number of each."""

    origins: NDArray[np.int64]
    targets: NDArray[np.int64]
    edges: NDArray[np.int64]


def entries_of(
    legs: Sequence[Leg], where: NDArray[np.bool_] | None = None, look: Look = never
) -> Entries:
    """The edges of the legs; with a mask over origins, of those alone."""
    found: list[list[NDArray[np.int64]]] = [[] for _ in Entries._fields]
    for leg in legs:
        look()
        here, there = leg.ends.sources, leg.ends.targets
        number = np.arange(len(here)) + leg.edge_start
        is_wanted = here != there if leg.skips_loops else None
        if leg.is_reversed:
            here, there = there, here
        if where is not None:
            own = where[leg.origin_start :][here]
            is_wanted = own if is_wanted is None else own & is_wanted
        if is_wanted is not None:
            here, there, number = here[is_wanted], there[is_wanted], number[is_wanted]
        look()
        shifted = (_shifted(here, leg.origin_start), _shifted(there, leg.target_start), number)
        for column, values in zip(found, shifted, strict=True):
            column.append(values)
    joined = []
    for column in found:
        look()
        joined.append(_joined(column))
    return Entries(*joined)


def adjacency(
    legs: Sequence[Leg], *, height: int, width: int, has_edges: bool, look: Look = never
) -> Adjacency:
    """One adjacency for all legs together. With `has_edges` each edge has an entry of its own."""
    entries = entries_of(legs, look=look)
    look()
    return Adjacency.of_pairs(
        entries.origins,
        entries.targets,
        height=height,
        width=width,
        edges=entries.edges if has_edges else None,
        look=look,
    )


def _shifted(numbers: NDArray[np.int32], start: int) -> NDArray[np.int64]:
    """Into a space where the table begins at `start`; -1, no row, stays what it is."""
    wide = numbers.astype(np.int64)
    return wide + start if start == 0 else np.where(wide < 0, wide, wide + start)


def _joined(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])
