"""A provider for tests and first steps: no model, no network, the same vector for the same text.

A text's vector is the sum of its words' vectors, each made of the word's hash. So texts that share
words lie near each other, and meaning plays no part.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from omnigraph.embed.batches import NO_LIMITS
from omnigraph.embed.provider import Purpose, Vectors
from omnigraph.embed.vectors import unit_vectors

__all__ = ["MOCK_MODEL", "Mock"]

MOCK_MODEL = "mock"


class Mock:
    limits = NO_LIMITS

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MOCK_MODEL

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose, width: int, limit_s: float | None = None
    ) -> Vectors:
        rows = [self._vector(text, width) for text in texts]
        return unit_vectors(rows, count=len(rows), width=width, service="mock", model=self.model)

    def _vector(self, text: str, width: int) -> list[float]:
        words = text.casefold().split() or [text]
        vectors: list[float] = np.sum([self._word(word, width) for word in words], axis=0).tolist()
        return vectors

    def _word(self, word: str, width: int) -> NDArray[np.float64]:
        # Four bytes of the hash for each number, between -1 and 1.
        digest = hashlib.shake_128(f"{self.model}\n{word}".encode()).digest(4 * width)
        return np.frombuffer(digest, "<u4") / 2.0**31 - 1.0
