"""The vectors of a column that memory can't hold: found by an index of the files, or read block by
block for each question.

Scores are exact, and no more than a block lies in memory at once. Without an index every row is
looked at.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.ivf_codebook import directions
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.vectors import Vectors
from omnigraph.read.search.vectors_near import Matrix, Sought, sought
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask

__all__ = ["StreamedVectors", "VectorSource", "lists_of_nearest"]


# More are asked for in order to see all.
MAX_LISTED_BEST = 1_000

SPARE_SHARE = 2
SPARE_ROWS = 10


class VectorSource(Protocol):
    def blocks(self) -> Iterator[pa.Array]:
        """All vectors in the order of the rows, some at a time."""

    def take(self, rows: Ordinals) -> pa.Array:
        """The vectors of these rows."""

    @property
    def has_index(self) -> bool: ...

    def near(self, query: NDArray[np.float32], count: int, among: Mask | None) -> Ordinals:
        """About the nearest rows, by the index. The query is of length 1."""


@frozen(slots=False)
class StreamedVectors:
    source: VectorSource
    width: int
    row_count: int
    max_taken_rows: int
    """Up to so many rows are read by themselves."""

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
        if not self.looks_at_all(k, among, exact=exact):
            listed = self._in_lists(wanted, query, k, among)
            if listed is not None:
                return listed
        best = Ranked(np.empty(0, dtype=np.int64), np.empty(0))
        for rows, vectors in self._wanted(among, pace):
            is_wanted = None if among is None else among[rows]
            found = vectors.best(query, k, is_wanted, exact=True)
            best = _best_of(best, Ranked(rows[found.rows], found.scores), k)
        return best

    def _in_lists(
        self, wanted: Sought, query: NDArray[np.float32], k: int, among: Mask | None
    ) -> Ranked | None:
        """The nearest rows that the index finds; None: they may be too few, or others."""
        # Some more than are asked for: rows that tie with the last one come too.
        rows = self.source.near(wanted.unit, SPARE_SHARE * k + SPARE_ROWS, among)
        vectors = Vectors.of_column(self.source.take(rows))
        found = vectors.best(query, k, None, exact=True)
        # The index computes in 32 bits. Vectors of extreme length come in the place of near ones.
        if len(found.rows) < k or vectors.has_extreme:
            return None
        return Ranked(rows[found.rows], found.scores)

    def looks_at_all(self, k: int, among: Mask | None, *, exact: bool) -> bool:
        if exact or not 0 < k <= MAX_LISTED_BEST or not self.source.has_index:
            return True
        return among is not None and int(np.count_nonzero(among)) <= self.max_taken_rows

    def scores(
        self, query: NDArray[np.float32], rows: Ordinals | None, pace: Pace = UNHURRIED
    ) -> Scores:
        """How near these rows or all are; NaN for a row with no vector, or for no row."""
        sought(query, self.width)
        if rows is None:
            parts = [v.scores(query, None) for _, v in self._wanted(None, pace)]
            return np.concatenate([np.empty(0), *parts])
        asked = np.zeros(self.row_count, dtype=np.bool_)
        asked[rows[rows >= 0]] = True
        # The last is what no row finds: NULL as an index.
        found = np.full(self.row_count + 1, np.nan)
        for numbers, vectors in self._wanted(asked, pace):
            found[numbers] = vectors.scores(query, None)
        return found[rows]

    def _wanted(self, among: Mask | None, pace: Pace) -> Iterator[tuple[Ordinals, Vectors]]:
        """Blocks of rows in which all that are asked for lie, and their vectors."""
        if among is not None and np.count_nonzero(among) <= self.max_taken_rows:
            rows = np.flatnonzero(among)
            if len(rows):
                yield rows, Vectors.of_column(self.source.take(rows))
            return
        start = 0
        for block in self.source.blocks():
            pace.check()
            yield np.arange(start, start + len(block)), Vectors.of_column(block)
            start += len(block)


def _best_of(one: Ranked, other: Ranked, k: int) -> Ranked:
    rows, scores = (
        np.concatenate([one.rows, other.rows]),
        np.concatenate([one.scores, other.scores]),
    )
    order = np.argsort(scores, kind="stable")
    if 0 < k < len(order):
        order = order[scores[order] <= scores[order[k - 1]]]
    return Ranked(rows[order], scores[order])


def lists_of_nearest(
    count: int, vectors: Matrix, centres: Matrix, query: NDArray[np.float32]
) -> int:
    """How many lists, nearest first, hold all of so many vectors that are nearest to the query.

    A vector lies in the list of the centre that its direction is nearest to.
    """
    _, units = directions(vectors)
    if not len(units):
        return len(centres)
    nearest = np.argsort(_farness(query[None, :], units)[0], kind="stable")[:count]
    places = np.empty(len(centres), dtype=np.int64)
    places[np.argsort(_farness(query[None, :], centres)[0], kind="stable")] = np.arange(
        len(centres)
    )
    return int(places[_farness(units[nearest], centres).argmin(axis=1)].max()) + 1


def _farness(units: Matrix, others: Matrix) -> Scores:
    """Numbers that grow with the distance of each direction from each of the others.

    In 64 bits: no two paths may look at other lists.
    """
    exact = others.astype(np.float64)
    found: Scores = np.einsum("ij,ij->i", exact, exact) - 2 * units.astype(np.float64) @ exact.T
    return found
