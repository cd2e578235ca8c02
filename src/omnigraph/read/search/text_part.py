"""A part of a text column: postings, and which of their texts are still rows.

A part's rows are numbered from 0, in the order of the texts that are left.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.bm25 import Corpus
from omnigraph.read.search.postings import MIN_TEXTS_PER_LOOKUP, Postings, Texts
from omnigraph.read.search.postings_merge import Left, merged
from omnigraph.read.search.ranked import Scores
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask

__all__ = ["Gains", "TextPart", "Weight", "one_part"]


class Weight(NamedTuple):
    """What a term of a query counts in a corpus."""

    rarity: float
    corpus: Corpus


class Gains(NamedTuple):
    """What rows gain by having a term."""

    rows: Texts
    scores: Scores


@frozen(slots=False)
class TextPart:
    postings: Postings
    texts: Texts | None = None
    """The texts that are left, ascending; None: all of them."""

    @property
    def count(self) -> int:
        return len(self.postings.lengths) if self.texts is None else len(self.texts)

    @property
    def nbytes(self) -> int:
        """Without the postings, which other versions share."""
        return 0 if self.texts is None else self.texts.nbytes + self.postings.lengths.nbytes

    @cached_property
    def numbers(self) -> Texts | None:
        """The row of each text, -1 if it is gone; None: its own number."""
        if self.texts is None:
            return None
        numbers = np.full(len(self.postings.lengths), -1, dtype=np.int32)
        numbers[self.texts] = np.arange(len(self.texts), dtype=np.int32)
        return numbers

    @cached_property
    def corpus(self) -> Corpus:
        if self.texts is None:
            return self.postings.corpus
        return Corpus.of(self.postings.lengths[self.texts])

    def only(self, rows: Ordinals) -> "TextPart":
        """The rows of these numbers, which ascend."""
        if len(rows) == self.count:
            return self
        narrow = rows.astype(np.int32)
        return TextPart(self.postings, narrow if self.texts is None else self.texts[narrow])

    def rows_of(self, texts: Texts) -> Texts:
        """The rows of those of these texts that are left."""
        if self.numbers is None:
            return texts
        rows = self.numbers[texts]
        left: Texts = rows[rows >= 0]
        return left

    def rows_with(self, place: int) -> Texts:
        """The rows with a term of the vocabulary."""
        return self.rows_of(self.postings.texts[self.postings.run(place)])

    def count_with(self, place: int) -> int:
        if self.texts is None:
            return int(self.postings.starts[place + 1] - self.postings.starts[place])
        return len(self.rows_with(place))

    def peak(self, place: int, corpus: Corpus) -> float:
        """No row is filled more by a term than so far."""
        # In longer company a text looks shorter, and is filled by as much more at the most.
        own = self.postings.corpus.mean_length
        return float(self.postings.peaks[place]) * max(1.0, corpus.mean_length / own)

    def gains(self, place: int, weight: Weight, among: Mask | None) -> Gains:
        """Of all rows with a term, or of those among some."""
        run = self.postings.run(place)
        texts, counts = self.postings.texts[run], self.postings.counts[run]
        rows = texts if self.numbers is None else self.numbers[texts]
        if self.numbers is not None:
            is_left = rows >= 0
            rows, texts, counts = rows[is_left], texts[is_left], counts[is_left]
        if among is not None:
            is_allowed = among[rows]
            rows, texts, counts = rows[is_allowed], texts[is_allowed], counts[is_allowed]
        filled = weight.corpus.saturation(counts, self.postings.lengths[texts])
        filled *= weight.rarity
        return Gains(rows, filled)

    def gains_at(self, place: int, weight: Weight, rows: Texts) -> Gains:
        """Of these rows, which ascend; a row is named by its position among them."""
        run = self.postings.run(place)
        texts, counts = self.postings.texts[run], self.postings.counts[run]
        wanted = rows if self.texts is None else self.texts[rows]
        if len(wanted) * MIN_TEXTS_PER_LOOKUP < len(texts):
            at = np.searchsorted(texts, wanted)
            is_found = texts[np.minimum(at, len(texts) - 1)] == wanted
            found, at = np.flatnonzero(is_found).astype(np.int32), at[is_found]
        else:
            positions = np.full(len(self.postings.lengths), -1, dtype=np.int32)
            positions[wanted] = np.arange(len(wanted), dtype=np.int32)
            found = positions[texts]
            at = np.flatnonzero(found >= 0)
            found = found[at]
        filled = weight.corpus.saturation(counts[at], self.postings.lengths[texts[at]])
        filled *= weight.rarity
        return Gains(found, filled)


def one_part(parts: Sequence[TextPart], pace: Pace = UNHURRIED) -> TextPart:
    """The rows of all parts, in one that has no others."""
    return TextPart(merged([Left(part.postings, part.numbers) for part in parts], pace))
