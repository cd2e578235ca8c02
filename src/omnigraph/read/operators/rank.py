"""The best rows by a ranking: `top`, and an order that a ranking is part of.

A row whose entity is not ranked, for want of a vector or of any word that is looked for, has no
place in such an order and is left out.
"""

from collections.abc import Iterable, Sequence

from omnigraph.lang.plan.ir import Bm25, Nearest, Rrf, ScoreOf, SortKey, TopK
from omnigraph.read.context import Context
from omnigraph.read.demand import Demand
from omnigraph.read.expressions import evaluate
from omnigraph.read.frame import Frame
from omnigraph.read.ranking import best, rank, ranked_binding

__all__ = ["fuse", "only_ranked", "top"]


def top(frame: Frame, op: TopK, demand: Demand, context: Context) -> Frame:
    """The rows that bind one of the k best entities."""
    binding = frame.bindings[op.variable]
    k = int(evaluate(op.k, frame, context).as_py())
    scored = context.ranked[ScoreOf(op.variable)] = best(op.ranking, binding, k, context)
    return scored.keep(frame, binding).only(demand.live)


def only_ranked(
    frame: Frame, keys: Sequence[SortKey], first: int | None, context: Context
) -> Frame:
    """The rows that every ranking among the keys ranks.

    Where a ranking comes first and `first` rows are asked for, those that can be among them.
    """
    # From the last key to the first: rows that a later ranking leaves out are no candidates.
    for position, key in reversed(list(enumerate(keys))):
        ranking = key.expression
        if isinstance(ranking, Nearest | Bm25 | Rrf):
            k = first if position == 0 and not key.is_descending else None
            binding = ranked_binding(ranking, frame)
            scored = context.ranked[ranking] = rank(ranking, binding, k, context)
            frame = scored.keep(frame, binding)
    return frame


def fuse(frame: Frame, fusions: Iterable[Rrf], context: Context) -> None:
    """Rank by these while all rows are there: what a fusion is worth depends on all candidates."""
    for fusion in fusions:
        binding = ranked_binding(fusion, frame)
        context.ranked[fusion] = rank(fusion, binding, None, context)
