"""What a column that can be searched is asked, and what it answers.

Rows are numbers: positions among the rows that a view shows. Scores are 64-bit and depend on the
rows of the view alone: not on a mask, not on the number of threads, and not on whether an index was
built from the whole column or followed it from commit to commit. By its pace, a question ends soon
after its time is over.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask

__all__ = ["Ranked", "Scores", "TextIndex", "VectorIndex"]

Scores = NDArray[np.float64]


class Ranked(NamedTuple):
    rows: Ordinals
    """Best first; rows with equal scores come in any order."""
    scores: Scores


class TextIndex(Protocol):
    """The words of a text column."""

    def search(self, query: str, pace: Pace = UNHURRIED) -> Mask:
        """The rows with any word of the query."""

    def phrase(self, query: str, pace: Pace = UNHURRIED) -> Mask:
        """The rows with the words of the query side by side, in its order."""

    def fuzzy(self, query: str, max_edits: int | None, pace: Pace = UNHURRIED) -> Mask:
        """The rows with any word that is at most so many letters away from one of the query.

        None: 0 for a word of up to two letters, 1 up to five, 2 for a longer one.
        """

    def best(self, query: str, k: int, among: Mask | None, pace: Pace = UNHURRIED) -> Ranked:
        """The k best rows by BM25, and every row that ties with the last of them."""

    def scores(self, query: str, rows: Ordinals | None, pace: Pace = UNHURRIED) -> Scores:
        """The BM25 score of these rows or all; NaN for a row with no word of the query."""


class VectorIndex(Protocol):
    """The vectors of a column."""

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

    def looks_at_all(self, k: int, among: Mask | None, *, exact: bool) -> bool:
        """Whether `best` sees every row among these, and so can't miss one."""

    def scores(
        self, query: NDArray[np.float32], rows: Ordinals | None, pace: Pace = UNHURRIED
    ) -> Scores:
        """How near these rows or all are; NaN for a row with no vector."""
