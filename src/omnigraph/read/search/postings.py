"""Postings: for each term the texts that have it, how often, and where.

Texts are numbered from 0, in the order of the column that they were made from. Nothing changes in
postings once they are made: later versions of the column add others beside them (`text.py`).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.analysis import analyse
from omnigraph.read.search.bm25 import Corpus
from omnigraph.read.search.vocabulary import Vocabulary
from omnigraph.read.topology.csr import Ordinals, Ranges
from omnigraph.read.topology.reach import Mask

__all__ = ["MIN_TEXTS_PER_LOOKUP", "Postings", "Texts", "narrow_counts"]

Texts = NDArray[np.int32]
Counts = NDArray[np.uint16] | NDArray[np.uint32]

# From so many texts with a term to one at hand, the texts at hand are looked up one by one.
MIN_TEXTS_PER_LOOKUP = 32

# Scores of so many postings are worked out at once, or of those of one term.
MAX_POSTINGS_AT_ONCE = 1 << 20


@frozen(slots=False, eq=False)
class Postings:
    vocabulary: Vocabulary
    starts: Ordinals
    """The postings of term `t` are those from `starts[t]` to `starts[t + 1]`."""
    texts: Texts
    """Of each posting its text: ascending within a term."""
    counts: Counts
    """Of each posting how often the text has the term."""
    firsts: Ordinals
    """The occurrences of term `t` are those from `firsts[t]` to `firsts[t + 1]`."""
    positions: Counts
    """Of each occurrence the words before it in its text. In the order of the postings."""
    lengths: NDArray[np.int32]
    """The number of words of each text."""
    peaks: NDArray[np.float64]
    """The largest saturation of a text by each term, in the corpus of these texts."""

    @classmethod
    def of(cls, column: pa.Array) -> "Postings":
        lengths, terms, vocabulary = analyse(column)
        # Few processes index texts, and it takes a tenth of a second to import.
        from scipy.sparse import csr_array

        ends = np.cumsum(lengths)
        positions = np.arange(len(terms), dtype=np.int32)
        positions -= np.repeat(ends - lengths, lengths)
        by_text = csr_array(
            (positions, terms.astype(np.int32), np.concatenate(([0], ends))),
            shape=(len(lengths), len(vocabulary)),
        )
        # To turn the matrix round is a counting sort, which keeps the order of the texts.
        by_term = by_text.tocsc()
        firsts, texts = by_term.indptr.astype(np.int64), by_term.indices
        is_first = np.ones(len(texts), dtype=np.bool_)
        np.not_equal(texts[1:], texts[:-1], out=is_first[1:])
        is_first[firsts[:-1]] = True
        begins = np.flatnonzero(is_first)
        return cls.of_counted(
            vocabulary=vocabulary,
            starts=np.concatenate(([0], np.cumsum(is_first)))[firsts],
            texts=texts[begins].astype(np.int32),
            counts=narrow_counts(np.diff(np.append(begins, len(texts))), lengths),
            firsts=firsts,
            positions=narrow_counts(by_term.data, lengths),
            lengths=lengths.astype(np.int32),
        )

    @classmethod
    def of_counted(
        cls,
        *,
        vocabulary: Vocabulary,
        starts: Ordinals,
        texts: Texts,
        counts: Counts,
        firsts: Ordinals,
        positions: Counts,
        lengths: NDArray[np.int32],
        pace: Pace = UNHURRIED,
    ) -> "Postings":
        """From arrays as the fields are, where every term has a text."""
        peaks = np.empty(len(starts) - 1)
        corpus, whole = Corpus.of(lengths), np.arange(0, len(texts), MAX_POSTINGS_AT_ONCE)
        stretches = np.unique(np.append(np.searchsorted(starts[:-1], whole), len(peaks)))
        for low, high in pairwise(stretches.tolist()):
            pace.check()
            run = slice(int(starts[low]), int(starts[high]))
            filled = corpus.saturation(counts[run], lengths[texts[run]])
            peaks[low:high] = np.maximum.reduceat(filled, starts[low:high] - run.start)
        return cls(vocabulary, starts, texts, counts, firsts, positions, lengths, peaks)

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
            "peaks": self.peaks,
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Postings":
        named = {name: array for name, array in arrays.items() if name not in ("letters", "ends")}
        return cls(vocabulary=Vocabulary(arrays["letters"], arrays["ends"]), **named)

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus.of(self.lengths)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.to_arrays().values()) + self.vocabulary.nbytes

    def run(self, place: int) -> slice:
        """The postings of a term of the vocabulary."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def texts_with_any(self, places: Ordinals) -> Texts:
        """The texts that have any of these terms; a text may come more than once."""
        runs = Ranges(self.starts[places], self.starts[places + 1] - self.starts[places])
        return self.texts[runs.positions()]

    def texts_with_phrase(self, terms: Sequence[str]) -> Texts:
        """The texts that have these terms side by side."""
        places = [self.vocabulary.place(term) for term in terms]
        known = [(place, at) for at, place in enumerate(places) if place is not None]
        if not known or len(known) < len(terms):
            return self.texts[:0]
        # Rare terms leave few places to look for the others.
        known.sort(key=lambda term: int(self.firsts[term[0] + 1] - self.firsts[term[0]]))
        stride = int(self.lengths.max(initial=0)) + len(terms)
        found: Ordinals | None = None
        for place, at in known:
            texts = None if found is None else _distinct(found // stride)
            shift = len(terms) - at
            own = self._occurrences(place, texts, stride)
            own += shift
            found = own if found is None else found[_is_in(found, own)]
        assert found is not None, "a phrase has a term"
        return _distinct(found // stride).astype(np.int32)

    def _occurrences(self, place: int, among: Ordinals | None, stride: int) -> Ordinals:
        """Where a term stands, at least in these texts: one number for a text and a position."""
        run, first = self.run(place), int(self.firsts[place])
        texts, counts = self.texts[run], self.counts[run]
        positions = self.positions[first : int(self.firsts[place + 1])]
        if among is not None and len(among) * MIN_TEXTS_PER_LOOKUP < len(texts):
            wanted = among.astype(texts.dtype)
            at = np.searchsorted(texts, wanted)
            at = at[texts[np.minimum(at, len(texts) - 1)] == wanted]
            ends = np.cumsum(counts, dtype=np.int64)
            texts, counts, ends = texts[at], counts[at], ends[at]
            positions = positions[Ranges(ends - counts, counts.astype(np.int64)).positions()]
        occurrences = np.repeat(texts.astype(np.int64) * stride, counts)
        occurrences += positions
        return occurrences


def _distinct(ascending: Ordinals) -> Ordinals:
    is_first = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first]


def _is_in(values: Ordinals, ascending: Ordinals) -> Mask:
    if not len(ascending):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.searchsorted(ascending, values)
    np.minimum(at, len(ascending) - 1, out=at)
    found: Mask = ascending[at] == values
    return found


def narrow_counts(values: NDArray[np.integer], lengths: NDArray[np.integer]) -> Counts:
    """No count and no position is larger than the longest text."""
    fits = int(lengths.max(initial=0)) <= np.iinfo(np.uint16).max
    return values.astype(np.uint16) if fits else values.astype(np.uint32)
