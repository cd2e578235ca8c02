"""BM25: how much a term says about a text that has it.

The numbers are pinned, and so is the order of the operations: two paths to a score agree to the
last bit.
"""

import math

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.search.ranked import Scores

__all__ = ["Corpus"]

K1 = 1.2
B = 0.75


@frozen
class Corpus:
    """The texts that a view shows: those with at least one term."""

    texts: int
    terms: int
    """How many terms they have together."""

    @classmethod
    def of(cls, lengths: NDArray[np.int32]) -> "Corpus":
        """Texts of so many terms each."""
        return cls(int(np.count_nonzero(lengths)), int(lengths.sum(dtype=np.int64)))

    def __add__(self, other: "Corpus") -> "Corpus":
        return Corpus(self.texts + other.texts, self.terms + other.terms)

    @property
    def mean_length(self) -> float:
        return self.terms / self.texts if self.texts else 1.0

    def rarity(self, texts: int) -> float:
        """The weight of a term that so many texts have: idf times k1 + 1."""
        return math.log(1.0 + (self.texts - texts + 0.5) / (texts + 0.5)) * (K1 + 1.0)

    def saturation(self, counts: NDArray[np.unsignedinteger], lengths: NDArray[np.int32]) -> Scores:
        """How far texts of these lengths are filled by a term that they have so often: below 1."""
        often: Scores = counts.astype(np.float64)
        room: Scores = lengths.astype(np.float64)
        room *= K1 * B / self.mean_length
        room += K1 * (1.0 - B)
        room += often
        often /= room
        return often
