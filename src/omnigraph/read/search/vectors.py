"""The vectors of a column as one matrix: the nearest rows, and how near rows are.

Vectors lie where they came first: those read at once in the `base`, those of later commits in the
`tail`. A row that goes leaves its place behind, with a square of 0, and no other vector moves. Once
the tail or the gaps are large, all vectors are laid out anew.

A null and a vector of zeros have no direction: such a row is in no ranking.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.vectors_near import (
    NOT_RANKED,
    Matrix,
    Sought,
    cosines,
    distances,
    floor_of_best,
    slack,
    sought,
    squares,
)
from omnigraph.read.topology.csr import Ordinals, Room
from omnigraph.read.topology.reach import Mask

__all__ = ["Vectors", "matrix_of"]

# Vectors of other lengths may overflow in 32 bits: they are computed in 64 from the start.
SHORTEST, LONGEST = 1e-12, 1e12

# What rounding makes of the least cosine lies above.
LEAST_RANKED = -1.5

# Rows that are copied at once, to be computed in 64 bits or to lie side by side.
CHUNK_ROWS = 8_192

# From one row in this many, a look at all rows is quicker than picking some.
ROWS_PER_ROW_PICKED = 4

# A tail or gaps of more than one place in this many are laid out anew.
PLACES_PER_LOOSE_PLACE = 8


@frozen(slots=False)
class Vectors:
    base: Matrix
    room: Room
    """The memory of the base, which versions share."""
    tail: Matrix
    """Its places follow those of the base."""
    squares: Scores
    """Of the vector in each place; 0 for none."""
    places: Ordinals | None = None
    """The place of each row; None: its own number."""

    @classmethod
    def of_column(cls, column: pa.Array) -> "Vectors":
        base = matrix_of(column)
        return cls(base, _room_of(base), base[:0], _squares(base))

    @property
    def width(self) -> int:
        return int(self.base.shape[1])

    @property
    def row_count(self) -> int:
        return len(self.squares) if self.places is None else len(self.places)

    @property
    def nbytes(self) -> int:
        """Without the room, which other versions may share."""
        own = (self.tail, self.squares, self.inverse_lengths)
        places = 0 if self.places is None else 2 * self.places.nbytes
        return sum(array.nbytes for array in own) + places

    # Questions -----------------------------------------------------------------------------------

    def best(
        self,
        query: NDArray[np.float32],
        k: int,
        among: Mask | None,
        pace: Pace = UNHURRIED,
        *,
        exact: bool,
    ) -> Ranked:
        """The k nearest rows, and every row that ties with the last of them."""
        wanted = sought(query, self.width)
        if among is not None and np.count_nonzero(among) * ROWS_PER_ROW_PICKED < len(self.squares):
            places = self.places_of(np.flatnonzero(among))
            return self.ranked(places, self._cosines_at(places, wanted, pace), k, wanted)
        found = self._all_cosines(wanted)
        if among is not None:
            found[self.places_of(np.flatnonzero(~among))] = NOT_RANKED
        return self.ranked(None, found, k, wanted)

    def ranked(self, places: Ordinals | None, near: Matrix, k: int, wanted: Sought) -> Ranked:
        """The k nearest of some places or all, given the cosine of each up to its slack."""
        if k <= 0:
            return Ranked(np.empty(0, dtype=np.int64), np.empty(0))
        floor = floor_of_best(near, k) - 2 * slack(self.width)
        best = np.flatnonzero(near >= max(floor, LEAST_RANKED))
        near_places = best if places is None else places[best]
        return self._best_of(near_places, k, wanted)

    def _best_of(self, near: Ordinals, k: int, wanted: Sought) -> Ranked:
        found = self._distances(near, wanted, UNHURRIED)
        if len(near) > k:
            is_best = found <= np.partition(found, k - 1)[k - 1]
            near, found = near[is_best], found[is_best]
        order = np.argsort(found, kind="stable")
        return Ranked(self.rows_at(near[order]), found[order])

    def looks_at_all(self, k: int, among: Mask | None, *, exact: bool) -> bool:
        return True

    def scores(
        self, query: NDArray[np.float32], rows: Ordinals | None, pace: Pace = UNHURRIED
    ) -> Scores:
        """How near these rows or all are; NaN for a row with no vector, or for no row."""
        wanted = sought(query, self.width)
        if rows is None:
            return self._distances(self.places_of(np.arange(self.row_count)), wanted, pace)
        found = np.full(len(rows), np.nan)
        is_row = rows >= 0
        found[is_row] = self._distances(self.places_of(rows[is_row]), wanted, pace)
        return found

    def _all_cosines(self, wanted: Sought) -> Matrix:
        count, lengths = len(self.base), self.inverse_lengths
        found = cosines(self.base, lengths[:count], wanted)
        if len(self.tail):
            found = np.concatenate([found, cosines(self.tail, lengths[count:], wanted)])
        found[self._extreme] = 1.0 - self._distances(self._extreme, wanted, UNHURRIED)
        found[self.unranked] = NOT_RANKED
        return found

    def _cosines_at(self, places: Ordinals, wanted: Sought, pace: Pace) -> Matrix:
        parts = [np.empty(0, dtype=np.float32)]
        for start in range(0, len(places), CHUNK_ROWS):
            pace.check()
            some = places[start : start + CHUNK_ROWS]
            parts.append(cosines(self.vectors_at(some), self.inverse_lengths[some], wanted))
        return self.settled(np.concatenate(parts), places, wanted)

    def settled(self, found: Matrix, places: Ordinals, wanted: Sought) -> Matrix:
        """The cosines, where 32 bits can't tell them or there is no vector, put right."""
        if len(self._extreme):
            is_extreme = self._is_extreme[places]
            found[is_extreme] = 1.0 - self._distances(places[is_extreme], wanted, UNHURRIED)
        if len(self.unranked):
            found[self.squares[places] == 0] = NOT_RANKED
        return found

    def _distances(self, places: Ordinals, wanted: Sought, pace: Pace) -> Scores:
        parts = [np.empty(0)]
        for start in range(0, len(places), CHUNK_ROWS):
            pace.check()
            some = places[start : start + CHUNK_ROWS]
            parts.append(distances(self.vectors_at(some), self.squares[some], wanted))
        return np.concatenate(parts)

    # Places --------------------------------------------------------------------------------------

    def vectors_at(self, places: Ordinals) -> Matrix:
        count = len(self.base)
        is_tail = places >= count
        if not is_tail.any():
            return self.base[places]
        found = np.empty((len(places), self.width), dtype=np.float32)
        found[is_tail] = self.tail[places[is_tail] - count]
        found[~is_tail] = self.base[places[~is_tail]]
        return found

    def places_of(self, rows: Ordinals) -> Ordinals:
        return rows if self.places is None else self.places[rows]

    def rows_at(self, places: Ordinals) -> Ordinals:
        return places if self.places is None else self._row_at_place[places]

    @cached_property
    def _row_at_place(self) -> Ordinals:
        assert self.places is not None
        rows = np.full(len(self.squares), -1, dtype=np.int64)
        rows[self.places] = np.arange(len(self.places))
        return rows

    @cached_property
    def inverse_lengths(self) -> NDArray[np.float32]:
        lengths = np.sqrt(self.squares)
        found = np.zeros(len(lengths), dtype=np.float32)
        is_usual = (lengths >= SHORTEST) & (lengths <= LONGEST)
        np.divide(1.0, lengths, out=found, where=is_usual, casting="same_kind")
        return found

    @cached_property
    def unranked(self) -> Ordinals:
        return np.flatnonzero(self.squares == 0)

    @property
    def has_extreme(self) -> bool:
        """True if 32 bits can't tell how near some of them are."""
        return bool(len(self._extreme))

    @cached_property
    def _is_extreme(self) -> Mask:
        is_extreme: Mask = (self.inverse_lengths == 0) & (self.squares > 0)
        return is_extreme

    @cached_property
    def _extreme(self) -> Ordinals:
        return np.flatnonzero(self._is_extreme)

    # Versions ------------------------------------------------------------------------------------

    def followed(self, kept: Ordinals | None, fresh: pa.Array | None) -> "Vectors":
        """Those of a later version: the rows of this one that are left, then fresh ones."""
        later = self.grown(kept, fresh)
        return later.laid_out(None) if later.is_loose else later

    def grown(self, kept: Ordinals | None, fresh: pa.Array | None) -> "Vectors":
        """The same, with every vector in the place that it has."""
        row_squares, places = self.squares, self.places_of(np.arange(self.row_count))
        if kept is not None:
            places = places[kept]
            row_squares = np.zeros(len(self.squares))
            row_squares[places] = self.squares[places]
        more = self.base[:0] if fresh is None else matrix_of(fresh)
        new_places = np.arange(len(self.squares), len(self.squares) + len(more))
        return Vectors(
            self.base,
            self.room,
            np.concatenate([self.tail, more]),
            np.concatenate([row_squares, _squares(more)]),
            np.concatenate([places, new_places]),
        )

    @property
    def is_loose(self) -> bool:
        """True if much of it is tail or gaps."""
        loose = len(self.tail) + len(self.squares) - self.row_count
        return loose * PLACES_PER_LOOSE_PLACE > len(self.squares)

    def laid_out(self, order: Ordinals | None) -> "Vectors":
        """The same without tail or gaps, the rows in this order or in that of their numbers."""
        places = self.places_of(np.arange(self.row_count) if order is None else order)
        room = _room_of(base := self.vectors_at(places))
        rows = None if order is None else _inverse(order)
        return Vectors(base, room, base[:0], self.squares[places], rows)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as plain arrays."""
        whole = self.laid_out(None) if len(self.tail) else self
        found: dict[str, NDArray[Any]] = {"vectors": whole.base, "squares": whole.squares}
        return found if whole.places is None else {**found, "places": whole.places}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Vectors":
        base = arrays["vectors"]
        return cls(base, _room_of(base), base[:0], arrays["squares"], arrays.get("places"))


def _room_of(base: Matrix) -> Room:
    return Room([base.reshape(-1).view(np.int32)], used=base.size)


def _inverse(order: Ordinals) -> Ordinals:
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def matrix_of(column: pa.Array) -> Matrix:
    """The vectors of a column, zeros for a null."""
    width = column.type.list_size
    numbers = column.values.slice(column.offset * width, len(column) * width)
    found: Matrix = numbers.to_numpy(zero_copy_only=False).reshape(len(column), width)
    if column.null_count:
        found = found.copy()
        found[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return found


def _squares(vectors: Matrix) -> Scores:
    parts = [np.empty(0)]
    for start in range(0, len(vectors), CHUNK_ROWS):
        parts.append(squares(vectors[start : start + CHUNK_ROWS]))
    found = np.concatenate(parts)
    found[~np.isfinite(found)] = 0
    return found
