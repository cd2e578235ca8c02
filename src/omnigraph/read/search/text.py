"""The words of a text column at one version of its table, as a view shows it.

The rows come in parts, each with postings of its own: what the table held when it was first read,
then what commits brought. A row that is gone keeps its postings, and has no number. So all of a
version's rows lie in the order of the parts, and parts are shared between versions and views.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.read.limits import ReadLimits
from omnigraph.read.pace import UNHURRIED, Pace, Pieces
from omnigraph.read.search.analysis import terms_of
from omnigraph.read.search.bm25 import Corpus
from omnigraph.read.search.postings import Postings
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.text_best import (
    Run,
    WeighedTerm,
    best_rows,
    scores_at,
)
from omnigraph.read.search.text_part import TextPart, Weight, one_part
from omnigraph.read.search.vocabulary import edits_allowed
from omnigraph.read.topology.csr import Ordinals, ascending_runs
from omnigraph.read.topology.reach import Mask

__all__ = ["MIN_PART_WORDS", "WordIndex"]

# Parts this small are laid together at once: it costs as little as a look into another part.
MIN_PART_WORDS = 32_768

# A part is laid together with the one before it once that is only so many times as large.
MIN_PART_RATIO = 4

# From one row in this many, scores of all rows are had as quickly as those of some.
MIN_ROWS_PER_SCORE = 8

DEFAULTS = ReadLimits()


class WordIndex:
    def __init__(self, parts: Sequence[TextPart]) -> None:
        self.parts = tuple(parts)
        self.count = sum(part.count for part in self.parts)
        self._corpus = sum((part.corpus for part in self.parts), Corpus(0, 0))

    @classmethod
    def of(
        cls,
        column: pa.Array,
        pieces: Pieces | None = None,
        *,
        max_block_bytes: int = DEFAULTS.max_text_block_bytes,
    ) -> "WordIndex":
        pieces = pieces or Pieces()
        blocks = [
            pieces.piece(number, partial(_part_of, block))
            for number, block in enumerate(_blocks(column, max_block_bytes))
        ]
        # To lay them together takes a while, too: where time was over once, they lie apart.
        if len(blocks) == 1 or pieces.is_continued:
            return cls(blocks)
        pieces.pace.check()
        return cls([one_part(blocks, pieces.pace)])

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "WordIndex":
        return cls([TextPart(Postings.of_arrays(arrays))])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        assert self.is_whole, "kept as it was built"
        return self.parts[0].postings.to_arrays()

    @property
    def is_whole(self) -> bool:
        """All rows lie in one part, and it has no others."""
        return len(self.parts) == 1 and self.parts[0].texts is None

    @property
    def nbytes(self) -> int:
        """Without postings, which other versions and views share."""
        return sum(part.nbytes for part in self.parts)

    @property
    def shared(self) -> tuple[Postings, ...]:
        return tuple(part.postings for part in self.parts)

    def only(self, rows: Ordinals) -> "WordIndex":
        """The rows of these numbers, which ascend but for a few places, as if no others were."""
        parts = []
        for run in ascending_runs(rows):
            for start, part in self._placed():
                low, high = np.searchsorted(run, (start, start + part.count))
                if low < high:
                    parts.append(part.only(run[low:high] - start))
        return WordIndex(parts)

    def followed(
        self,
        kept: Ordinals | None,
        fresh: pa.Array | None,
        pieces: Pieces | None = None,
        *,
        min_part_words: int = MIN_PART_WORDS,
    ) -> "WordIndex":
        """Of a later version: the rows of this one that are left, then fresh ones."""
        pieces = pieces or Pieces()
        left = self if kept is None else self.only(kept)
        parts = [part for part in left.parts if part.count]
        if fresh is not None:
            parts += WordIndex.of(fresh, pieces).parts
        if pieces.is_continued and parts:
            return WordIndex(parts)
        return WordIndex(_tidied(parts, min_part_words, pieces.pace))

    # Which rows match ----------------------------------------------------------------------------

    def search(self, query: str, pace: Pace = UNHURRIED) -> Mask:
        found, terms = self._none(), set(terms_of(query))
        for start, part in self._placed():
            pace.check()
            places = [part.postings.vocabulary.place(term) for term in terms]
            for place in places:
                if place is not None:
                    found[start + part.rows_with(place)] = True
        return found

    def phrase(self, query: str, pace: Pace = UNHURRIED) -> Mask:
        found, terms = self._none(), terms_of(query)
        for start, part in self._placed():
            pace.check()
            found[start + part.rows_of(part.postings.texts_with_phrase(terms))] = True
        return found

    def fuzzy(self, query: str, max_edits: int | None, pace: Pace = UNHURRIED) -> Mask:
        found = self._none()
        for term in set(terms_of(query)):
            edits = edits_allowed(term) if max_edits is None else max_edits
            for start, part in self._placed():
                near = part.postings.vocabulary.near(term, edits, pace)
                found[start + part.rows_of(part.postings.texts_with_any(near))] = True
        return found

    # Which rows rank best ------------------------------------------------------------------------

    def best(self, query: str, k: int, among: Mask | None, pace: Pace = UNHURRIED) -> Ranked:
        if k <= 0 or not (terms := self._weighed(query, pace)):
            return Ranked(np.empty(0, dtype=np.int64), np.empty(0))
        return best_rows(terms, k, among, count=self.count, pace=pace)

    def scores(self, query: str, rows: Ordinals | None, pace: Pace = UNHURRIED) -> Scores:
        terms = self._weighed(query, pace)
        if rows is not None and len(rows) * MIN_ROWS_PER_SCORE < self.count:
            distinct, at = np.unique(rows, return_inverse=True)
            is_row = distinct >= 0
            scores = np.zeros(len(distinct))
            scores[is_row] = scores_at(terms, distinct[is_row], pace)
            scores = scores[at]
        else:
            # One more, of no row.
            scores = np.zeros(self.count + 1)
            for term in terms:
                pace.check()
                own, gains = term.gains(None)
                scores[own] += gains
            scores = scores[:-1] if rows is None else scores[rows]
        scores[scores == 0.0] = np.nan
        return scores

    def _weighed(self, query: str, pace: Pace) -> list[WeighedTerm]:
        """The terms of a query that some row has, in the order in which they are added up."""
        counts = Counter(terms_of(query))
        weighed = []
        for term, times in counts.items():
            pace.check()
            runs = tuple(
                Run(part, start, place)
                for start, part in self._placed()
                if (place := part.postings.vocabulary.place(term)) is not None
            )
            if rows := sum(run.part.count_with(run.place) for run in runs):
                weight = Weight(times * self._corpus.rarity(rows), self._corpus)
                weighed.append(WeighedTerm(term, weight, runs, rows))
        return sorted(weighed, key=lambda term: (-term.weight.rarity, term.term))

    def _placed(self) -> Iterator[tuple[int, TextPart]]:
        """Each part, after the number of its first row."""
        start = 0
        for part in self.parts:
            yield start, part
            start += part.count

    def _none(self) -> Mask:
        return np.zeros(self.count, dtype=np.bool_)


def _part_of(texts: pa.Array) -> TextPart:
    return TextPart(Postings.of(texts))


def _blocks(column: pa.Array, max_bytes: int) -> list[pa.Array]:
    """A column in stretches that are no larger, if no single text is."""
    rows_per_block = max(1, len(column) * max_bytes // max(1, column.nbytes))
    starts = range(0, max(1, len(column)), rows_per_block)
    return [column.slice(start, rows_per_block) for start in starts]


def _tidied(parts: Sequence[TextPart], min_part_words: int, pace: Pace) -> list[TextPart]:
    """The rows of these parts in few: each is much larger than the next, and mostly of rows."""
    tidy: list[TextPart] = []
    for part in parts:
        own = [part]
        while tidy and _are_near(tidy[-1], own, min_part_words):
            own.insert(0, tidy.pop())
        is_mostly_gone = 2 * part.count < len(part.postings.lengths)
        tidy.append(one_part(own, pace) if len(own) > 1 or is_mostly_gone else part)
    return tidy or [TextPart(Postings.of(pa.array([], pa.string())))]


def _are_near(before: TextPart, after: Sequence[TextPart], min_part_words: int) -> bool:
    """Whether parts are too small, or not different enough in size, to lie apart."""
    words = sum(part.corpus.terms for part in after)
    return (
        before.corpus.terms < MIN_PART_RATIO * words or before.corpus.terms + words < min_part_words
    )
