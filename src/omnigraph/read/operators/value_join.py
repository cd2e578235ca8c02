"""Rows of two patterns whose values compare: equal ones, a range of values, or both.

The values of both sides are encoded once. The rows that are looked up are sorted by the equal
values and then by the value that the range compares, so the matches of a row are one stretch of
them. The time depends on the rows of both sides and of the answer, never on their product, and
where matches are only counted none is made. A test holds as it does in a filter: null matches
nothing, and numbers of different types compare by value.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from omnigraph.base.looks import Look
from omnigraph.lang.plan.explain import describe
from omnigraph.lang.plan.ir import Compare, CompareOp, ValueJoin
from omnigraph.read.context import Context
from omnigraph.read.demand import Demand
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame
from omnigraph.read.operators.count_paths import weigh
from omnigraph.read.pace import Pace
from omnigraph.read.topology.csr import Ordinals, Ranges
from omnigraph.read.topology.sorting import stable_order
from omnigraph.read.values.compare import Mask, matching_keys, rank_keys
from omnigraph.read.values.ordering import Codes, combined, encode_numbers

__all__ = ["value_join"]


def value_join(
    frame: Frame, others: Frame, op: ValueJoin, demand: Demand, context: Context
) -> Frame:
    assert others.weights is None, "nobody may fold the rows that are looked up"
    equal = [test for test in op.tests if test.op is CompareOp.EQ]
    step = describe(op)
    look = partial(context.budget.check, step)
    sides = _equal_sides(equal, frame, others, context)
    look()
    stretches = _stretches(sides, look)
    for test in op.tests:
        if test.op is not CompareOp.EQ:
            stretches = _within(stretches, sides, test, frame, others, context, look)
    context.budget.check(step)
    ranges = Ranges(stretches.lows, stretches.counts)
    kept, joined = frame.only(demand.live), others.only(demand.live)
    if demand.allows_weights and not joined.bindings:
        return weigh(kept, ranges.counts, step=step)
    columns = kept.columns + joined.columns
    context.budget.admit(rows=ranges.total, columns=columns, step=step, beside=frame)
    made = kept.take(ranges.rows())
    context.budget.check(step)
    positions = stretches.order[ranges.positions()]
    for variable, binding in joined.bindings.items():
        context.budget.check(step)
        made = made.bind(variable, binding.take(positions))
    return made


class _Sides(NamedTuple):
    """A number for each row of both sides; two rows have the same number if all equalities hold."""

    here: Ordinals
    there: Ordinals
    is_here: Mask
    is_there: Mask
    """Where not, a value is null or can equal none of the other side."""
    size: int


class _Stretches(NamedTuple):
    """For each row the stretch of `order` with the rows that match it."""

    lows: Ordinals
    counts: Ordinals
    order: Ordinals


def _equal_sides(tests: Sequence[Compare], frame: Frame, others: Frame, context: Context) -> _Sides:
    codes, pace = list[Codes](), context.pace("a join by value")
    is_here = np.ones(frame.count, dtype=np.bool_)
    is_there = np.ones(others.count, dtype=np.bool_)
    for test in tests:
        pace.check()
        keys, other_keys = matching_keys(
            column(test.left, frame, context), column(test.right, others, context)
        )
        pace.check()
        is_here, is_there = is_here & keys.valid, is_there & other_keys.valid
        codes.append(encode_numbers(np.concatenate([keys.numbers, other_keys.numbers]), pace))
    both = combined(codes, frame.count + others.count, pace)
    here, there = both.numbers[: frame.count], both.numbers[frame.count :]
    return _Sides(here, there, is_here, is_there, both.size)


def _stretches(sides: _Sides, look: Look) -> _Stretches:
    present = np.flatnonzero(sides.is_there)
    codes = sides.there[present]
    sizes = np.bincount(codes, minlength=sides.size)
    order = present[stable_order(codes, look)] if sides.size > 1 else present
    look()
    starts = np.cumsum(sizes) - sizes
    counts = np.where(sides.is_here, sizes[sides.here], 0)
    return _Stretches(starts[sides.here], counts, order)


def _within(
    stretches: _Stretches,
    sides: _Sides,
    test: Compare,
    frame: Frame,
    others: Frame,
    context: Context,
    look: Look,
) -> _Stretches:
    """The part of each stretch in which the values compare with the row's."""
    keys, other_keys = rank_keys(
        column(test.left, frame, context), column(test.right, others, context), Pace(look)
    )
    look()
    order = stretches.order[other_keys.valid[stretches.order]]
    span = int(max(keys.numbers.max(initial=0), other_keys.numbers.max(initial=0))) + 1
    # First by what is equal, then by the value: both in one number, which is sorted and looked up.
    placed = sides.there[order] * span + other_keys.numbers[order]
    sorting = stable_order(placed, look)
    look()
    order, placed = order[sorting], placed[sorting]
    ends = np.cumsum(np.bincount(sides.there[order], minlength=sides.size))
    rows = np.flatnonzero(keys.valid & (stretches.counts > 0))
    codes = sides.here[rows]
    # Where the value of the row stands, or would stand, in its stretch.
    is_behind_equal = test.op in (CompareOp.LT, CompareOp.GE)
    wanted = codes * span + keys.numbers[rows]
    look()
    at = np.searchsorted(placed, wanted, "right" if is_behind_equal else "left")
    look()
    lows = np.zeros(frame.count, dtype=np.int64)
    counts = np.zeros(frame.count, dtype=np.int64)
    if test.op in (CompareOp.LT, CompareOp.LE):
        lows[rows], counts[rows] = at, ends[codes] - at
    else:
        starts = np.where(codes > 0, ends[codes - 1], 0)
        lows[rows], counts[rows] = starts, at - starts
    return _Stretches(lows, counts, order)
