"""Postings: for each term the texts that have it, how often, and where.

Texts are numbered from 0, in the order of the column that they were made from. Nothing changes in
postings once they are made: later versions of the column add others beside them (`text.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from omnigraph.read.search.analysis import analyse
from omnigraph.read.search.vocabulary import Vocabulary
from omnigraph.read.topology.csr import Ordinals

__all__ = ["Postings"]

Counts = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Postings:
    vocabulary: Vocabulary
    starts: Ordinals
    """The postings of term `t` are those from `starts[t]` to `starts[t + 1]`."""
    texts: NDArray[np.int32]
    """Of each posting its text: ascending within a term."""
    counts: Counts
    """Of each posting how often the text has the term."""
    firsts: Ordinals
    """The occurrences of term `t` are those from `firsts[t]` to `firsts[t + 1]`."""
    positions: Counts
    """Of each occurrence the words before it in its text. In the order of the postings."""
    lengths: NDArray[np.int32]
    """The number of words of each text."""

    @classmethod
    def of(cls, column: pa.Array) -> "Postings":
        lengths, terms, words = analyse(column)
        ends = np.cumsum(lengths)
        positions = np.arange(len(terms)) - np.repeat(ends - lengths, lengths)
        by_text = csr_array(
            (positions.astype(np.int32), terms.astype(np.int32), np.concatenate(([0], ends))),
            shape=(len(lengths), len(words)),
        )
        # To turn the matrix round is a counting sort, which keeps the order of the texts.
        by_term = by_text.tocsc()
        firsts, texts = by_term.indptr.astype(np.int64), by_term.indices
        is_first = np.ones(len(texts), dtype=np.bool_)
        np.not_equal(texts[1:], texts[:-1], out=is_first[1:])
        is_first[firsts[:-1]] = True
        begins = np.flatnonzero(is_first)
        counts = np.diff(np.append(begins, len(texts)))
        return cls(
            vocabulary=Vocabulary.of(words),
            starts=np.concatenate(([0], np.cumsum(is_first)))[firsts],
            texts=texts[begins].astype(np.int32),
            counts=_narrow(counts, lengths),
            firsts=firsts,
            positions=_narrow(by_term.data, lengths),
            lengths=lengths.astype(np.int32),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "letters": self.vocabulary.letters,
            "ends": self.vocabulary.ends,
            "starts": self.starts,
            "texts": self.texts,
            "counts": self.counts,
            "firsts": self.firsts,
            "positions": self.positions,
            "lengths": self.lengths,
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Postings":
        named = {name: array for name, array in arrays.items() if name not in ("letters", "ends")}
        return cls(vocabulary=Vocabulary(arrays["letters"], arrays["ends"]), **named)

    @property
    def nbytes(self) -> int:
        arrays = self.to_arrays().values()
        return sum(array.nbytes for array in arrays) + self.vocabulary.nbytes

    def of_term(self, place: int) -> slice:
        """The postings of a term of the vocabulary."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def of_terms(self, places: Ordinals) -> NDArray[np.int32]:
        """The texts that have any of these terms; a text may come more than once."""
        runs = [self.texts[self.of_term(place)] for place in places.tolist()]
        return np.concatenate(runs) if runs else self.texts[:0]

    def phrase(self, terms: list[str]) -> Ordinals:
        """The texts that have these terms side by side."""
        places = [self.vocabulary.place(term) for term in terms]
        known = [(place, at) for at, place in enumerate(places) if place is not None]
        if not known or len(known) < len(terms):
            return np.empty(0, dtype=np.int64)
        # Rare terms leave few places to look for the others.
        known.sort(key=lambda term: int(self.firsts[term[0] + 1] - self.firsts[term[0]]))
        stride = int(self.lengths.max(initial=0)) + len(terms)
        starts: Ordinals | None = None
        for place, at in known:
            own = self._occurrences(place, stride) + (len(terms) - at)
            starts = own if starts is None else starts[_is_in(starts, own)]
        assert starts is not None, "a phrase has a term"
        return np.unique(starts // stride)

    def _occurrences(self, place: int, stride: int) -> Ordinals:
        """Where a term stands: one number for a text and a position in it, ascending."""
        run = self.of_term(place)
        texts = np.repeat(self.texts[run].astype(np.int64), self.counts[run])
        texts *= stride
        texts += self.positions[self.firsts[place] : self.firsts[place + 1]]
        return texts


def _is_in(values: Ordinals, ascending: Ordinals) -> NDArray[np.bool_]:
    at = np.searchsorted(ascending, values)
    at[at == len(ascending)] = 0
    found: NDArray[np.bool_] = ascending[at] == values
    return found


def _narrow(values: NDArray[np.integer], lengths: Ordinals) -> Counts:
    """No count and no position is larger than the longest text."""
    fits = int(lengths.max(initial=0)) <= np.iinfo(np.uint16).max
    return values.astype(np.uint16) if fits else values.astype(np.uint32)
