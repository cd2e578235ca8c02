"""The words of a text column at one version of its table, as a view shows it.

The rows come in parts, each with postings of its own: what the table held when it was first read,
then what commits brought. A row that is gone keeps its postings, and has no number. So all of a
version's rows lie in the order of the parts, and parts are shared between versions and views.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.read.search.analysis import terms_of
from omnigraph.read.search.bm25 import Corpus
from omnigraph.read.search.postings import Postings
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.vocabulary import edits_allowed
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask

__all__ = ["WordIndex"]


@dataclass(frozen=True)
class _Part:
    postings: Postings
    texts: Ordinals | None = None
    """The texts that are left, ascending; None: all of them."""

    @property
    def count(self) -> int:
        return len(self.postings.lengths) if self.texts is None else len(self.texts)

    @cached_property
    def numbers(self) -> Ordinals | None:
        """The place of each text among those that are left, -1 if it is gone; None: its own."""
        if self.texts is None:
            return None
        numbers = np.full(len(self.postings.lengths), -1, dtype=np.int64)
        numbers[self.texts] = np.arange(len(self.texts))
        return numbers

    @cached_property
    def corpus(self) -> Corpus:
        lengths = self.postings.lengths
        left = lengths if self.texts is None else lengths[self.texts]
        return Corpus(int(np.count_nonzero(left)), int(left.sum(dtype=np.int64)))

    def only(self, rows: Ordinals) -> "_Part":
        if len(rows) == self.count:
            return self
        return _Part(self.postings, rows if self.texts is None else self.texts[rows])

    def rows(self, texts: NDArray[np.integer]) -> NDArray[np.integer]:
        """The places of those of these texts that are left."""
        if self.numbers is None:
            return texts
        numbers = self.numbers[texts]
        left: Ordinals = numbers[numbers >= 0]
        return left


class _Weighed(NamedTuple):
    """A term of a query, and how much it counts."""

    term: str
    weight: float


class WordIndex:
    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = tuple(parts)
        self._count = sum(part.count for part in self._parts)
        self._corpus = Corpus(
            sum(part.corpus.texts for part in self._parts),
            sum(part.corpus.terms for part in self._parts),
        )

    @classmethod
    def of(cls, postings: Postings) -> "WordIndex":
        return cls([_Part(postings)])

    @property
    def nbytes(self) -> int:
        return sum(part.postings.nbytes for part in self._parts)

    def only(self, rows: Ordinals) -> "WordIndex":
        """The rows of these numbers, which ascend, as if there were no others."""
        parts = []
        for start, part in self._placed():
            low, high = np.searchsorted(rows, (start, start + part.count))
            parts.append(part.only(rows[low:high] - start))
        return WordIndex(parts)

    # Which rows match ----------------------------------------------------------------------------

    def search(self, query: str) -> Mask:
        found, terms = self._none(), set(terms_of(query))
        for start, part in self._placed():
            for term in terms:
                if (place := part.postings.vocabulary.place(term)) is not None:
                    run = part.postings.of_term(place)
                    found[start + part.rows(part.postings.texts[run])] = True
        return found

    def phrase(self, query: str) -> Mask:
        found, terms = self._none(), terms_of(query)
        for start, part in self._placed():
            found[start + part.rows(part.postings.phrase(terms))] = True
        return found

    def fuzzy(self, query: str, max_edits: int | None) -> Mask:
        found = self._none()
        for term in set(terms_of(query)):
            edits = edits_allowed(term) if max_edits is None else max_edits
            for start, part in self._placed():
                near = part.postings.vocabulary.near(term, edits)
                found[start + part.rows(part.postings.of_terms(near))] = True
        return found

    # Which rows rank best ------------------------------------------------------------------------

    def best(self, query: str, k: int, among: Mask | None) -> Ranked:
        scores = self.scores(query, None)
        is_ranked = ~np.isnan(scores)
        if among is not None:
            is_ranked &= among
        rows = np.flatnonzero(is_ranked)
        scores = scores[rows]
        if k < len(rows):
            least = np.partition(scores, len(rows) - k)[len(rows) - k] if k > 0 else np.inf
            rows, scores = rows[scores >= least], scores[scores >= least]
        order = np.argsort(-scores)
        return Ranked(rows[order], scores[order])

    def scores(self, query: str, rows: Ordinals | None) -> Scores:
        total, found = np.zeros(self._count), self._none()
        for term, weight in self._weighed(query):
            for start, part in self._placed():
                place = part.postings.vocabulary.place(term)
                if place is None:
                    continue
                run = part.postings.of_term(place)
                texts, counts = part.postings.texts[run], part.postings.counts[run]
                if part.numbers is not None:
                    is_left = part.numbers[texts] >= 0
                    texts, counts = texts[is_left], counts[is_left]
                own = start + part.rows(texts)
                total[own] += weight * self._corpus.saturation(counts, part.postings.lengths[texts])
                found[own] = True
        total[~found] = np.nan
        if rows is None:
            return total
        return (
            np.where(rows >= 0, total[rows], np.nan) if self._count else np.full(len(rows), np.nan)
        )

    def _weighed(self, query: str) -> list[_Weighed]:
        """The terms of a query that some row has, in the order in which they are added up."""
        counts = Counter(terms_of(query))
        weighed = []
        for term in counts:
            texts = sum(self._texts_with(part, term) for part in self._parts)
            if texts:
                weighed.append(_Weighed(term, counts[term] * self._corpus.rarity(texts)))
        return sorted(weighed, key=lambda term: (-term.weight, term.term))

    def _texts_with(self, part: _Part, term: str) -> int:
        place = part.postings.vocabulary.place(term)
        if place is None:
            return 0
        return len(part.rows(part.postings.texts[part.postings.of_term(place)]))

    def _placed(self) -> Iterator[tuple[int, _Part]]:
        """Each part, after the number of its first row."""
        start = 0
        for part in self._parts:
            yield start, part
            start += part.count

    def _none(self) -> Mask:
        return np.zeros(self._count, dtype=np.bool_)
