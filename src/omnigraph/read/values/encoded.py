"""A column as numbers, equal where its values are, that later versions of the table go on from.

To tell the values of a column apart takes longer than to group by them. A commit brings a few
values and takes a few away: only those are looked up among the values that are known.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.topology.csr import Ordinals, Room
from omnigraph.read.values.ordering import Codes, comparable, encode, numbered

__all__ = ["Encoded"]

# Space for one more in this many rows, before all are copied again.
ROWS_PER_SPACE = 8


@frozen
class Encoded:
    codes: Codes
    values: pa.Array | None
    """The value of each number; None: values of the type can't be looked up."""
    room: Room | None = None
    """The memory of the numbers, with space behind for those of later versions."""

    @classmethod
    def of(cls, column: pa.Array, pace: Pace = UNHURRIED) -> "Encoded":
        if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
            return cls(encode(column, pace), None)
        numbers, values = numbered(comparable(column), pace)
        return cls(Codes(numbers, len(values)), values)

    @property
    def nbytes(self) -> int:
        """Without the room, which other versions may share."""
        own = self.codes.nbytes if self.room is None else 0
        return own + (0 if self.values is None else int(self.values.nbytes))

    def followed(
        self, kept: Ordinals | None, fresh: pa.Array | None, *, rows_per_space: int = ROWS_PER_SPACE
    ) -> "Encoded":
        """Of a later version: the rows of this one that are left, then fresh ones.

        Values that can't be looked up are told apart anew: then `values` is None.
        """
        assert self.values is not None, "values of the type can't be looked up"
        left = self
        if kept is not None:
            left = Encoded(Codes(self.codes.numbers[kept], self.codes.size), self.values)
        return (
            left
            if fresh is None
            else left._followed_by(self.values, comparable(fresh), rows_per_space)
        )

    def _followed_by(self, values: pa.Array, fresh: pa.Array, rows_per_space: int) -> "Encoded":
        fresh = fresh.cast(values.type)
        at = pc.index_in(fresh, value_set=values)
        if at.null_count:
            unknown = fresh.filter(pc.is_null(at)).unique()
            values = pa.concat_arrays([values, unknown])
            at = pc.index_in(fresh, value_set=values)
        more = at.to_numpy().astype(np.int64)
        count = len(self.codes.numbers)
        room = self.room
        if room is None or room.append([more], at=count) is None:
            space = len(more) + count // rows_per_space
            room = Room.with_space([self.codes.numbers], space=space)
            room.append([more])
        numbers = room.columns[0][: count + len(more)]
        return Encoded(Codes(numbers, len(values)), values, room)  # type: ignore[arg-type]  # a room keeps its types
