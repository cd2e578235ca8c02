"""Rows of two patterns that agree in a value.

The values of one side are sorted once and those of the other looked up in them, so it takes time by
the rows of both and of the answer, never by their product. What is equal is what a filter with `=`
finds equal: null equals nothing, and numbers of different types are equal by value.
"""

import numpy as np

from omnigraph.lang.plan.explain import describe
from omnigraph.lang.plan.ir import ValueJoin
from omnigraph.read.context import Context
from omnigraph.read.demand import Demand
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame
from omnigraph.read.operators.count_paths import weigh
from omnigraph.read.topology.csr import Ranges
from omnigraph.read.values.compare import matching_keys

__all__ = ["value_join"]


def value_join(
    frame: Frame, others: Frame, op: ValueJoin, demand: Demand, context: Context
) -> Frame:
    assert others.weights is None, "nobody may fold the rows that are looked up"
    keys, other_keys = matching_keys(
        column(op.left, frame, context), column(op.right, others, context)
    )
    order = np.argsort(other_keys.numbers, kind="stable")
    order = order[other_keys.valid[order]]
    ascending = other_keys.numbers[order]
    lows = np.searchsorted(ascending, keys.numbers, side="left")
    counts = np.searchsorted(ascending, keys.numbers, side="right") - lows
    ranges = Ranges(lows, np.where(keys.valid, counts, 0))
    kept, joined = frame.only(demand.live), others.only(demand.live)
    step = describe(op)
    if demand.allows_weights and not joined.bindings:
        return weigh(kept, ranges.counts, step=step)
    columns = kept.columns + joined.columns
    context.budget.admit(rows=ranges.total, columns=columns, step=step, beside=frame)
    made = kept.take(ranges.rows())
    context.budget.check(step)
    positions = order[ranges.positions()]
    for variable, binding in joined.bindings.items():
        context.budget.check(step)
        made = made.bind(variable, binding.take(positions))
    return made
