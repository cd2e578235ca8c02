"""A total order of rows, and the first few of it.

Keys are looked at one after the other, and each only for rows that are still in question: with a
limit, rows that the first key puts beyond it are gone before a second key is read, and the ids that
break ties are read only where there are ties.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.looks import Look
from omnigraph.lang.plan.ir import (
    Bm25,
    ColumnOf,
    EntityOf,
    Expression,
    Nearest,
    Rrf,
    Sort,
    SortKey,
    Unit,
)
from omnigraph.read.context import Context
from omnigraph.read.entities import id_ranks
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame
from omnigraph.read.ranking import is_smaller_better
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.sorting import stable_order, stable_order_within
from omnigraph.read.values.compare import Mask
from omnigraph.read.values.ordering import sort_values

__all__ = ["foremost", "sort"]


def sort(frame: Frame, op: Sort, context: Context, *, first: int | None = None) -> Frame:
    """The rows in order; with `first`, only that many of them."""
    if first is not None:
        frame = _foremost(frame, op.keys[0], context, first)
    rows = np.arange(frame.count)
    # Whether a row equals the one before it in all keys so far: at the start all rows are equal.
    is_tied = rows > 0
    for number, key in enumerate(_keys(frame, op)):
        tied = np.flatnonzero(_in_a_tie(is_tied))
        if not len(tied):
            break
        context.budget.check("order")
        in_question = frame.take(rows[tied]) if number else frame
        context.budget.check("order")
        values = _values(key, in_question, context)
        context.budget.check("order")
        order = _order_in_ties(values, is_tied[tied], partial(context.budget.check, "order"))
        rows[tied] = rows[tied[order]]
        # Neighbours among the tied rows are neighbours in the whole, or begin a tie of their own.
        values = values[order]
        is_tied[tied[1:]] &= values[1:] == values[:-1]
        context.budget.check("order")
    return frame.take(rows[:first])


def _order_in_ties(values: NDArray[Any], is_tied: Mask, look: Look) -> Ordinals:
    """By value among the rows that equal each other so far, which lie side by side."""
    if is_tied[1:].all():
        return stable_order(values, look)
    return stable_order_within(np.cumsum(~is_tied), values, look)


def foremost(frame: Frame, first: int, context: Context) -> Frame:
    """So many rows where no order is asked for: always the same ones of one commit.

    Rows go by where their entities lie in the tables, groups by what they are named by. Neither
    depends on the plan, on indexes or on what was read before.
    """
    if frame.made:
        return sort(frame, Sort(Unit(), (), ()), context).take(np.arange(first))
    columns = [frame.bindings[variable].rows for variable in sorted(frame.bindings)]
    if not columns or not first:
        return frame.take(np.arange(first))
    (near,) = np.nonzero(columns[0] <= np.partition(columns[0], first - 1)[first - 1])
    order = np.lexsort([column_[near] for column_ in reversed(columns)])
    return frame.take(near[order[:first]])


def _foremost(frame: Frame, key: SortKey, context: Context, first: int) -> Frame:
    """Without rows that `first` others precede by the first key alone."""
    if not 0 < first < frame.count:
        return frame
    values = _values(key, frame, context)
    return frame.filter(values <= np.partition(values, first - 1)[first - 1])


def _keys(frame: Frame, op: Sort) -> Iterator[SortKey]:
    yield from op.keys
    for variable in op.ties:
        yield SortKey(EntityOf(variable))
    # What a group is named by differs from group to group; what was computed for it may not.
    for name, made in frame.made.items():
        if isinstance(made, Expression):
            yield SortKey(ColumnOf(name))


def _in_a_tie(is_tied: Mask) -> Mask:
    in_a_tie = is_tied.copy()
    in_a_tie[:-1] |= is_tied[1:]
    return in_a_tie


def _values(key: SortKey, frame: Frame, context: Context) -> NDArray[Any]:
    """Numbers whose ascending order is that of the key."""
    expression, pace = key.expression, context.pace("order")
    made = frame.made.get(expression.name) if isinstance(expression, ColumnOf) else expression
    if isinstance(made, EntityOf):
        values = id_ranks(frame.bindings[made.variable], context.columns, pace)
        return ~values if key.is_descending else values
    if isinstance(expression, Nearest | Bm25 | Rrf):
        is_descending = key.is_descending == is_smaller_better(expression)
    else:
        is_descending = key.is_descending
    values = column(expression, frame, context)
    pace.check()
    return sort_values(values, is_descending=is_descending, pace=pace)
