"""How the entities that a variable is bound to rank: each is scored once, in however many rows.

A ranking sees the candidates, the entities that the rows bind after every test, and nothing else:
the best of them, never what a test leaves of the best of all. Of a variable that ranges over
several types each type is a table of its own: it is asked by itself, and the answers are merged.
"""

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.lang.plan.ir import Bm25, Nearest, Ranking, Rrf, ScoreOf
from omnigraph.lang.schema.catalog import Property
from omnigraph.read.context import Context
from omnigraph.read.demand import variables_in
from omnigraph.read.entities import id_ranks
from omnigraph.read.frame import Binding, Frame
from omnigraph.read.scored import Scored
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.space import Part
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.compare import Mask
from omnigraph.read.values.predicates import constant_of

__all__ = ["best", "is_smaller_better", "rank", "ranked_binding", "scores"]

# What a query was at if it ends there.
RANKING = "ranking"

MIN_DEPTH = 100
"""How many of each ranking a fusion looks at, at least."""
DEPTH_PER_ROW = 5
"""And how many for each that is asked for."""

NOTHING = Ranked(np.empty(0, dtype=np.int64), np.empty(0))


def scores(expression: Ranking | ScoreOf, frame: Frame, context: Context) -> pa.Array:
    """The score on every row, null where the entity is not ranked."""
    binding = ranked_binding(expression, frame)
    scored = context.ranked.get(expression)
    if scored is None:
        assert isinstance(expression, Nearest | Bm25), "a fusion is ranked before rows are left out"
        scored = rank(expression, binding, None, context)
    values = scored.at(binding)
    return pa.array(values, mask=np.isnan(values))


def ranked_binding(expression: Ranking | ScoreOf, frame: Frame) -> Binding:
    (variable,) = variables_in(expression)
    return frame.bindings[variable]


def is_smaller_better(ranking: Ranking) -> bool:
    """True of a distance; any other score is better the larger it is."""
    return isinstance(ranking, Nearest)


def rank(ranking: Ranking, binding: Binding, k: int | None, context: Context) -> Scored:
    """The k best candidates and all that tie with the last of them; None: every candidate."""
    if k == 0:
        return Scored.of(binding.space, NOTHING)
    if isinstance(ranking, Rrf):
        found = _fused(ranking, binding, k, context)
    else:
        found = _by_property(ranking, binding, k, context)
    return Scored.of(binding.space, _foremost(found, k, ranking))


def best(ranking: Ranking, binding: Binding, k: int, context: Context) -> Scored:
    """Exactly the k best candidates, or all if there are fewer; of equal ones the lower ids."""
    scored = rank(ranking, binding, k, context)
    if len(scored.rows) <= k:
        return scored
    kept = np.sort(_in_order(scored, ranking, context)[:k])
    return Scored(scored.space, scored.rows[kept], scored.scores[kept])


# One property -------------------------------------------------------------------------------------


class _Candidates(NamedTuple):
    """Those of one table; `rows` is None where all of its rows are, else one may come twice."""

    part: Part
    property: Property
    rows: Ordinals | None

    def mask(self) -> Mask | None:
        if self.rows is None:
            return None
        mask = np.zeros(self.part.size, dtype=np.bool_)
        mask[self.rows] = True
        return mask

    def distinct(self) -> Ordinals:
        mask = self.mask()
        return np.arange(self.part.size) if mask is None else np.flatnonzero(mask)


def _candidates(binding: Binding, name: str) -> Iterator[_Candidates]:
    tables: list[tuple[Part, Ordinals | None]] = [(part, None) for part in binding.space.parts]
    if binding.ordinals is not None:
        tables = [(part, rows) for part, _, rows in binding.space.split(binding.ordinals)]
    for part, rows in tables:
        found = part.entity.by_name.get(name)
        if found is not None and (rows is None or len(rows)):
            yield _Candidates(part, found, rows)


def _by_property(
    ranking: Nearest | Bm25, binding: Binding, k: int | None, context: Context
) -> Ranked:
    rows, values = [NOTHING.rows], [NOTHING.scores]
    for candidates in _candidates(binding, ranking.field.name):
        context.budget.admit(rows=candidates.part.size, columns=1, step=RANKING)
        found = _of_table(ranking, candidates, k, context)
        rows.append(found.rows + candidates.part.start)
        values.append(found.scores)
    return Ranked(np.concatenate(rows), np.concatenate(values))


def _of_table(
    ranking: Nearest | Bm25, candidates: _Candidates, k: int | None, context: Context
) -> Ranked:
    match ranking:
        case Bm25(query=query):
            text = constant_of(query, context.parameters, context.now_ms).as_py()
            return NOTHING if text is None else _by_words(text, candidates, k, context)
        case Nearest(is_exact=is_exact):
            vector = context.query_vectors.of(ranking, candidates.property)
            if vector is None:
                return NOTHING
            return _by_nearness(vector, candidates, k, context, is_exact=is_exact)


def _by_words(text: str, candidates: _Candidates, k: int | None, context: Context) -> Ranked:
    words = context.searches.text(candidates.part.entity, candidates.property.column)
    among = candidates.mask()
    _note(candidates, among, "by the words of the query", context)
    pace = context.pace(RANKING)
    if k is not None:
        return words.best(text, k, among, pace)
    rows = candidates.distinct()
    return _without_unranked(rows, words.scores(text, rows, pace))


def _by_nearness(
    vector: NDArray[np.float32],
    candidates: _Candidates,
    k: int | None,
    context: Context,
    *,
    is_exact: bool,
) -> Ranked:
    vectors = context.searches.vectors(candidates.part.entity, candidates.property.column)
    among = candidates.mask()
    sees_all = k is None or vectors.looks_at_all(k, among, exact=is_exact)
    _note(candidates, among, "every vector" if sees_all else "the nearest lists", context)
    pace = context.pace(RANKING)
    if k is not None:
        return vectors.best(vector, k, among, pace, exact=is_exact)
    rows = candidates.distinct()
    return _without_unranked(rows, vectors.scores(vector, rows, pace))


def _note(candidates: _Candidates, among: Mask | None, how: str, context: Context) -> None:
    """What is looked at, for those who ask how a query went."""
    if context.profile is not None:
        part, name = candidates.part, candidates.property.name
        count = part.size if among is None else int(np.count_nonzero(among))
        context.profile.note(f"{part.entity.name}.{name}: {count:,} candidates, {how}")


def _without_unranked(rows: Ordinals, values: Scores) -> Ranked:
    is_ranked = ~np.isnan(values)
    return Ranked(rows[is_ranked], values[is_ranked])


# Order and fusion ---------------------------------------------------------------------------------


def _losses(values: Scores, ranking: Ranking) -> Scores:
    """Numbers whose ascending order is best first."""
    return values if is_smaller_better(ranking) else -values


def _foremost(ranked: Ranked, k: int | None, ranking: Ranking) -> Ranked:
    """Without rows that k others precede."""
    if k is None or len(ranked.rows) <= k:
        return ranked
    losses = _losses(ranked.scores, ranking)
    kept = losses <= np.partition(losses, k - 1)[k - 1]
    return Ranked(ranked.rows[kept], ranked.scores[kept])


def _in_order(scored: Scored, ranking: Ranking, context: Context) -> Ordinals:
    """Positions in `scored`, best first, and the lower id of equal ones: ids are read of those."""
    losses = _losses(scored.scores, ranking)
    order = np.argsort(losses, kind="stable")
    is_tied = np.zeros(len(order), dtype=np.bool_)
    is_tied[1:] = losses[order][1:] == losses[order][:-1]
    in_a_tie = is_tied.copy()
    in_a_tie[:-1] |= is_tied[1:]
    tied = np.flatnonzero(in_a_tie)
    if len(tied):
        binding = Binding(scored.space, scored.rows[order[tied]])
        by_id = np.lexsort((id_ranks(binding, context.columns), np.cumsum(~is_tied[tied])))
        order[tied] = order[tied[by_id]]
    return order


def _fused(ranking: Rrf, binding: Binding, k: int | None, context: Context) -> Ranked:
    """1 / (constant + rank) from each ranking that has the entity among its first, added up."""
    depth = None if k is None else max(MIN_DEPTH, DEPTH_PER_ROW * k)
    sides = []
    for side in (ranking.left, ranking.right):
        scored = rank(side, binding, depth, context)
        first = scored.rows[_in_order(scored, side, context)[:depth]]
        sides.append(Ranked(first, 1.0 / (ranking.k + np.arange(1, len(first) + 1))))
    rows = reduce(np.union1d, (shares.rows for shares in sides))
    values = np.zeros(len(rows))
    for shares in sides:
        values[np.searchsorted(rows, shares.rows)] += shares.scores
    return Ranked(rows, values)
