"""A column in the parts it came in: what a table held, then what each commit brought.

A commit adds a few values to a column of millions, or takes a few away. Few questions read all of
it, so the parts are laid end to end only for one that does, and once.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.read.limits import ReadLimits
from omnigraph.read.topology.csr import Ordinals, Room, Stored, ascending_runs

__all__ = ["ChunkedColumn"]

# Each part costs a look at all rows that are asked for.
MAX_PARTS = 8

# Space for this share of the rows to come before all are copied again.
SPACE_SHARE = 8


@frozen
class _Part:
    values: pa.Array
    rows: Ordinals | None
    """Which of the values are left; None: all of them."""
    room: Room | None = None
    """The memory of the values, with space behind for those of later versions."""

    @property
    def count(self) -> int:
        return len(self.values) if self.rows is None else len(self.rows)

    @property
    def nbytes(self) -> int:
        """Without the room, which other versions may share."""
        own = 0 if self.room is not None else int(self.values.nbytes)
        return own + (0 if self.rows is None else self.rows.nbytes)

    def take(self, rows: Ordinals) -> pa.Array:
        return self.values.take(pa.array(rows if self.rows is None else self.rows[rows]))

    def grown(self, fresh: pa.Array) -> "_Part | None":
        """With more values behind, in one array; None where values can't lie side by side.

        The values that are there are not copied where there is room.
        """
        width = _width(self.values.type)
        if width is None or self.values.null_count or fresh.null_count:
            return None
        count, more = len(self.values), _plain(fresh, width)
        room = self.room
        if room is None or room.append([more], at=count) is None:
            space = len(more) + count // SPACE_SHARE
            room = Room.with_space([_plain(self.values, width)], space=space)
            room.append([more])
        buffer = pa.py_buffer(room.columns[0])
        total = count + len(more)
        return _Part(pa.Array.from_buffers(fresh.type, total, [None, buffer]), None, room)

    def only(self, rows: Ordinals) -> "_Part":
        if len(rows) == self.count:
            return self
        return _Part(self.values, rows if self.rows is None else self.rows[rows])


class ChunkedColumn:
    """The rows of all parts, numbered through."""

    def __init__(self, parts: Sequence[_Part], limits: ReadLimits) -> None:
        self._parts = tuple(parts)
        self._limits = limits
        self._whole: pa.Array | None = None
        """All values in one array; None until they are first asked for."""

    @classmethod
    def of(cls, values: pa.Array, limits: ReadLimits | None = None) -> "ChunkedColumn":
        return cls([_Part(values, None)], limits or ReadLimits())

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    @property
    def room(self) -> Room | None:
        """The memory of the first part, if other versions share it; no other part grows."""
        return self._parts[0].room

    @property
    def count(self) -> int:
        return sum(part.count for part in self._parts)

    @property
    def whole(self) -> pa.Array:
        if self._whole is None:
            parts = self._parts
            found = [p.values if p.rows is None else p.take(np.arange(p.count)) for p in parts]
            self._whole = found[0] if len(found) == 1 else pa.concat_arrays(found)
        return self._whole

    def followed_by(self, fresh: pa.Array) -> "ChunkedColumn":
        """With more values behind."""
        parts = self._lean()
        fresh = fresh.cast(parts[0].values.type)
        if self._whole is not None and (grown := parts[0].grown(fresh)) is not None:
            return ChunkedColumn([grown], self._limits)
        return ChunkedColumn([*parts, _Part(fresh, None)], self._limits)

    def only(self, kept: Ordinals) -> "ChunkedColumn":
        """The rows of these numbers, which ascend but for a few places."""
        lean, parts = self._lean(), []
        for run in ascending_runs(kept):
            start = 0
            for part in lean:
                low, high = np.searchsorted(run, (start, start + part.count))
                if low < high:
                    parts.append(part.only(run[low:high] - start))
                start += part.count
        return ChunkedColumn(parts or [lean[0].only(kept)], self._limits)

    def take(self, rows: Ordinals) -> pa.Array:
        """The values of these rows; a negative row gives null."""
        is_one = len(self._parts) == 1 and self._parts[0].rows is None
        if len(rows) == 1 and rows[0] >= 0:
            return self._one(int(rows[0]))
        if is_one or self._whole is not None or self._is_much(rows):
            return self.whole.take(_index(rows))
        found, start, filled = [], 0, 0
        position = np.full(len(rows), -1, dtype=np.int64)
        for part in self._parts:
            own = np.flatnonzero((rows >= start) & (rows < start + part.count))
            found.append(part.take(rows[own] - start))
            position[own] = np.arange(filled, filled + len(own))
            filled, start = filled + len(own), start + part.count
        return pa.concat_arrays(found).take(_index(position))

    def _is_much(self, rows: Ordinals) -> bool:
        return len(rows) * self._limits.max_rows_per_row_taken > self.count

    def _one(self, row: int) -> pa.Array:
        """A slice is had for a tenth of what a `take` costs, and a copy of it holds no more."""
        for part in self._parts:
            if row < part.count:
                at = row if part.rows is None else int(part.rows[row])
                return pa.concat_arrays([part.values.slice(at, 1)])
            row -= part.count
        raise IndexError("there is no such row")

    def _lean(self) -> tuple[_Part, ...]:
        """Parts to go on from: one, if the whole is there or there would be too many."""
        if self._whole is not None or len(self._parts) >= MAX_PARTS:
            room = self._parts[0].room if len(self._parts) == 1 else None
            return (_Part(self.whole, None, room),)
        return self._parts


def _width(kind: pa.DataType) -> int | None:
    """The bytes of each value, if all have as many and nothing but them."""
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    return kind.bit_width // 8 if is_plain and kind.bit_width in (32, 64) else None


def _plain(values: pa.Array, width: int) -> Stored:
    """The values as numbers of so many bytes, whatever they mean."""
    kind = np.dtype(np.int32 if width == 4 else np.int64)
    if not len(values):
        return np.empty(0, dtype=kind)
    numbers = np.frombuffer(values.buffers()[1], dtype=kind)
    return numbers[values.offset : values.offset + len(values)]


def _index(rows: Ordinals) -> pa.Array:
    missing = rows < 0
    return pa.array(rows, mask=missing) if missing.any() else pa.array(rows)
