"""The best rows of a text column, without scoring all that have a term.

The terms of a query are taken from the one that weighs most to the one that weighs least, and each
adds to the scores of the rows that have it. Once all terms that are left could not lift a new row
among the best, only rows that are there can be; once they could not lift a row that is there, it is
out. Each row's score is summed in the same order on every path.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.text_part import Gains, TextPart, Weight
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask

__all__ = ["Run", "WeighedTerm", "best_rows", "scores_at"]

# A sum of rounded bounds may be below the sum of what it bounds by this share.
ROUNDING = 1.0 + 1e-9

# Rows are looked up one by one where so many times as many are left to add up.
ROWS_PER_CONTENDER = 3


@frozen
class Run:
    """Where one part of a column has a term."""

    part: TextPart
    start: int
    """The number of the part's first row."""
    place: int


@frozen
class WeighedTerm:
    """A term of a query, where it is, and what it counts."""

    term: str
    weight: Weight
    runs: tuple[Run, ...]
    rows: int
    """How many rows have it."""

    @property
    def bound(self) -> float:
        """No row gains more by it."""
        peaks = [run.part.peak(run.place, self.weight.corpus) for run in self.runs]
        return self.weight.rarity * max(peaks) * ROUNDING

    def gains(self, among: Mask | None) -> Gains:
        found = []
        for run in self.runs:
            stop = run.start + run.part.count
            own = None if among is None else among[run.start : stop]
            rows, scores = run.part.gains(run.place, self.weight, own)
            found.append(Gains(rows + run.start if run.start else rows, scores))
        return _joined(found)

    def gains_at(self, rows: Ordinals) -> Gains:
        """Of these rows, which ascend; a row is named by its position among them."""
        found = []
        for run in self.runs:
            low, high = np.searchsorted(rows, (run.start, run.start + run.part.count))
            own = (rows[low:high] - run.start).astype(np.int32)
            at, scores = run.part.gains_at(run.place, self.weight, own)
            found.append(Gains(at + low if low else at, scores))
        return _joined(found)


def best_rows(
    terms: Sequence[WeighedTerm],
    k: int,
    among: Mask | None,
    *,
    count: int,
    pace: Pace = UNHURRIED,
) -> Ranked:
    """The k best of `count` rows, and every row that ties with the last of them."""
    bounds = [term.bound for term in terms]
    allowed = count if among is None else int(np.count_nonzero(among))
    total, seen = np.zeros(count), np.empty(0, dtype=np.int64)
    for number, term in enumerate(terms):
        pace.check()
        rest, left = sum(bounds[number:]), terms[number:]
        if among is not None and allowed * ROWS_PER_CONTENDER < term.rows:
            few = np.flatnonzero(among)
            return _best_among(left, bounds[number:], k, few, total[few], pace)
        if rest < sum(bounds[:number]) and rest < (least := _least(total[seen], k)):
            few = seen[total[seen] + rest >= least]
            if len(few) * ROWS_PER_CONTENDER < sum(later.rows for later in left):
                few.sort()
                return _best_among(left, bounds[number:], k, few, total[few], pace)
        rows, gains = term.gains(among)
        before = total[rows]
        total[rows] = before + gains
        seen = np.concatenate((seen, rows[before == 0.0]))
    return _best_of(seen, total[seen], k)


def _best_among(
    terms: Sequence[WeighedTerm],
    bounds: Sequence[float],
    k: int,
    rows: Ordinals,
    scores: Scores,
    pace: Pace,
) -> Ranked:
    """The best of some rows, which ascend, once these terms are added to their scores."""
    rests = [0.0, *accumulate(reversed(bounds))][::-1]
    for term, rest in zip(terms, rests[1:], strict=True):
        pace.check()
        at, gains = term.gains_at(rows)
        scores[at] += gains
        is_left = scores + rest >= _least(scores, k)
        rows, scores = rows[is_left], scores[is_left]
    return _best_of(rows, scores, k)


def scores_at(terms: Sequence[WeighedTerm], rows: Ordinals, pace: Pace = UNHURRIED) -> Scores:
    """The scores of rows, which ascend; 0 for a row that has no term."""
    scores = np.zeros(len(rows))
    for term in terms:
        pace.check()
        at, gains = term.gains_at(rows)
        scores[at] += gains
    return scores


def _best_of(rows: Ordinals, scores: Scores, k: int) -> Ranked:
    """The k best of some rows, and every row that ties with the last of them."""
    is_best = (scores > 0.0) & (scores >= _least(scores, k))
    rows, scores = rows[is_best], scores[is_best]
    order = np.argsort(-scores, kind="stable")
    return Ranked(rows[order], scores[order])


def _least(scores: Scores, k: int) -> float:
    """The score of the k-th best; 0 where there are fewer."""
    if len(scores) < k:
        return 0.0
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _joined(found: Sequence[Gains]) -> Gains:
    if len(found) == 1:
        return found[0]
    return Gains(
        np.concatenate([gains.rows for gains in found]),
        np.concatenate([gains.scores for gains in found]),
    )
