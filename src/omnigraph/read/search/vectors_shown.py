"""Vectors of the rows that a view shows, out of those of all rows."""

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.ivf import ListedVectors
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.vectors import Vectors
from omnigraph.read.search.vectors_streamed import StreamedVectors
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask

__all__ = ["ShownVectors"]


@frozen(slots=False)
class ShownVectors:
    """Always exact: which rows are near enough to look at must not depend on hidden ones."""

    whole: Vectors | ListedVectors | StreamedVectors
    stored: Ordinals
    """The stored row of each row that is shown, ascending."""

    def best(
        self,
        query: NDArray[np.float32],
        k: int,
        among: Mask | None,
        pace: Pace = UNHURRIED,
        *,
        exact: bool,
    ) -> Ranked:
        is_wanted = np.zeros(self.whole.row_count, dtype=np.bool_)
        is_wanted[self.stored if among is None else self.stored[among]] = True
        found = self.whole.best(query, k, is_wanted, pace, exact=True)
        return Ranked(np.searchsorted(self.stored, found.rows), found.scores)

    def looks_at_all(self, k: int, among: Mask | None, *, exact: bool) -> bool:
        return True

    def scores(
        self, query: NDArray[np.float32], rows: Ordinals | None, pace: Pace = UNHURRIED
    ) -> Scores:
        stored = self.stored if rows is None else np.append(self.stored, -1)[rows]
        return self.whole.scores(query, stored, pace)
