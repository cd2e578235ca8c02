"""Postings of several runs of texts, or of those of them that are left, laid into one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.postings import Postings, Texts, narrow_counts
from omnigraph.read.search.vocabulary import Vocabulary
from omnigraph.read.topology.csr import Ordinals, Ranges, sums_of_runs
from omnigraph.read.topology.reach import Mask

__all__ = ["Left", "merged"]


class Left(NamedTuple):
    """Postings, and which of their texts are left."""

    postings: Postings
    numbers: Texts | None
    """The number of each text among those that are left, -1 if it is gone; None: its own."""


@frozen
class _Own:
    """What one of the merged has to bring."""

    texts: Texts
    counts: NDArray[np.unsignedinteger]
    positions: NDArray[np.unsignedinteger]
    lengths: NDArray[np.int32]
    per_term: Ordinals
    """How many postings each of its terms has."""
    uses: Ordinals
    """How many occurrences."""

    @classmethod
    def of(cls, left: Left) -> "_Own":
        own, numbers = left
        per_term, uses = np.diff(own.starts), np.diff(own.firsts)
        if numbers is None:
            return cls(own.texts, own.counts, own.positions, own.lengths, per_term, uses)
        texts = numbers[own.texts]
        is_left: Mask = texts >= 0
        is_used = np.repeat(is_left, own.counts)
        return cls(
            texts[is_left],
            own.counts[is_left],
            own.positions[is_used],
            own.lengths[numbers >= 0],
            sums_of_runs(is_left, per_term),
            sums_of_runs(is_used, uses),
        )


def merged(lefts: Sequence[Left], pace: Pace = UNHURRIED) -> Postings:
    """The texts that are left, in the order given and numbered through.

    Every array is as if the texts had been analysed together.
    """
    owns = []
    for left in lefts:
        pace.check()
        owns.append(_Own.of(left))
    # Terms of no text that is left are left out.
    used = [
        left.postings.vocabulary.terms.filter(pa.array(own.per_term > 0))
        for left, own in zip(lefts, owns, strict=True)
    ]
    vocabulary, found = Vocabulary.of_all(pa.concat_arrays(used))
    places = np.split(found, np.cumsum([len(terms) for terms in used])[:-1])
    per_terms = [own.per_term[own.per_term > 0] for own in owns]
    uses = [own.uses[own.per_term > 0] for own in owns]
    lengths = np.concatenate([own.lengths for own in owns])
    starts, entries = _laid_out(len(vocabulary), places, per_terms)
    firsts, occurrences = _laid_out(len(vocabulary), places, uses)
    texts = np.empty(starts[-1], dtype=np.int32)
    counts = narrow_counts(np.empty(starts[-1], dtype=np.uint16), lengths)
    positions = narrow_counts(np.empty(firsts[-1], dtype=np.uint16), lengths)
    before = 0
    for own, entry, occurrence, per_term, use in zip(
        owns, entries, occurrences, per_terms, uses, strict=True
    ):
        pace.check()
        to = Ranges(entry, per_term).positions()
        texts[to] = own.texts + before
        counts[to] = own.counts
        positions[Ranges(occurrence, use).positions()] = own.positions
        before += len(own.lengths)
    return Postings.of_counted(
        vocabulary=vocabulary,
        starts=starts,
        texts=texts,
        counts=counts,
        firsts=firsts,
        positions=positions,
        lengths=lengths,
        pace=pace,
    )


def _laid_out(
    size: int, places: Sequence[Ordinals], counts: Sequence[Ordinals]
) -> tuple[Ordinals, list[Ordinals]]:
    """Where the run of each term begins, and in it the share of each of the merged."""
    total = np.zeros(size, dtype=np.int64)
    for place, own in zip(places, counts, strict=True):
        total[place] += own
    starts = np.concatenate(([0], np.cumsum(total)))
    free, shares = starts[:-1].copy(), []
    for place, own in zip(places, counts, strict=True):
        shares.append(free[place])
        free[place] += own
    return starts, shares
