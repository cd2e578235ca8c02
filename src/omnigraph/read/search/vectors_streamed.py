"""The vectors of a column that memory can't hold: read block by block for each question.

Every answer is exact, and no more than a block lies in memory at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.vectors import Vectors
from omnigraph.read.search.vectors_near import sought
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask

__all__ = ["StreamedVectors", "VectorSource"]


class VectorSource(Protocol):
    def blocks(self) -> Iterator[pa.Array]:
        """All vectors in the order of the rows, some at a time."""

    def take(self, rows: Ordinals) -> pa.Array:
        """The vectors of these rows."""


@dataclass(frozen=True)
class StreamedVectors:
    source: VectorSource
    width: int
    row_count: int
    max_taken_rows: int
    """Up to so many rows are read by themselves."""

    def best(
        self, query: NDArray[np.float32], k: int, among: Mask | None, *, exact: bool
    ) -> Ranked:
        """The k nearest rows, and every row that ties with the last of them."""
        sought(query, self.width)
        best = Ranked(np.empty(0, dtype=np.int64), np.empty(0))
        for rows, vectors in self._wanted(among):
            is_wanted = None if among is None else among[rows]
            found = vectors.best(query, k, is_wanted, exact=True)
            best = _best_of(best, Ranked(rows[found.rows], found.scores), k)
        return best

    def looks_at_all(self, k: int, among: Mask | None, *, exact: bool) -> bool:
        return True

    def scores(self, query: NDArray[np.float32], rows: Ordinals | None) -> Scores:
        """How near these rows or all are; NaN for a row with no vector, or for no row."""
        sought(query, self.width)
        if rows is None:
            parts = [v.scores(query, None) for _, v in self._wanted(None)]
            return np.concatenate([np.empty(0), *parts])
        asked = np.zeros(self.row_count, dtype=np.bool_)
        asked[rows[rows >= 0]] = True
        # The last is what no row finds: NULL as an index.
        found = np.full(self.row_count + 1, np.nan)
        for numbers, vectors in self._wanted(asked):
            found[numbers] = vectors.scores(query, None)
        return found[rows]

    def _wanted(self, among: Mask | None) -> Iterator[tuple[Ordinals, Vectors]]:
        """Blocks of rows in which all that are asked for lie, and their vectors."""
        if among is not None and np.count_nonzero(among) <= self.max_taken_rows:
            rows = np.flatnonzero(among)
            if len(rows):
                yield rows, Vectors.of_column(self.source.take(rows))
            return
        start = 0
        for block in self.source.blocks():
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
