"""One row per group: counts, sums, means, extremes and lists of what the rows of a group hold.

Nulls are skipped by every function. Without keys there is one group, also of no rows at all: its
count is 0, what it collects is empty, and everything else is null. A row's weight is how many rows
it stands for; functions that look at distinct values only, or at extremes, need not know it.
"""

from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.lang.plan.ir import Aggregate, AggregateFunction, AggregateOf, EntityOf
from omnigraph.read.context import Budget, Context
from omnigraph.read.demand import counts_rows
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame
from omnigraph.read.operators.group import codes_of, group_rows
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.sorting import stable_order, stable_order_within
from omnigraph.read.values.compare import Mask
from omnigraph.read.values.ordering import Codes, combined, first_rows, ranks, sort_values
from omnigraph.read.values.sums import TOO_MANY, exact_sums, finite, fitting

__all__ = ["Grouped", "aggregate"]


def aggregate(frame: Frame, op: Aggregate, context: Context) -> Frame:
    if not op.keys:
        return Frame(1, made=_made(op, Grouped(frame, None), context))
    groups = group_rows(op.keys, frame, context)
    rows = Grouped(frame, groups.codes)
    made, present = _made(op, rows, context), np.flatnonzero(rows.row_counts)
    if len(present) < groups.codes.size:
        index = pa.array(present)
        made = {name: values.take(index) for name, values in made.items()}
    keyed = groups.representatives(frame, present, op.keys, context.pace("the groups"))
    return Frame(keyed.count, keyed.bindings, made={**keyed.made, **made})


def _made(op: Aggregate, rows: "Grouped", context: Context) -> dict[str, pa.Array]:
    made: dict[str, pa.Array] = {}
    for column_ in op.aggregates:
        assert isinstance(column_.expression, AggregateOf)
        context.budget.check(f"`{column_.name}`")
        made[column_.name] = _aggregated(column_.expression, column_.name, rows, context)
    return made


def _aggregated(aggregate: AggregateOf, name: str, rows: "Grouped", context: Context) -> pa.Array:
    argument, what = aggregate.argument, f"`{name}`"
    if counts_rows(aggregate) and argument.variable not in rows.frame.bindings:
        return rows.count(what)
    if aggregate.is_distinct:
        codes = codes_of(argument, rows.frame, context)
        context.budget.check(what)
        rows = rows.distinct(codes, context.pace(what))
    if isinstance(argument, EntityOf):
        bound = rows.frame.bindings[argument.variable].bound()
        rows = rows if bound is None else rows.where(bound)
        assert aggregate.function is AggregateFunction.COUNT, "entities can only be counted"
        return rows.count(what)
    values = column(argument, rows.frame, context)
    context.budget.check(what)
    if values.null_count:
        rows = rows.where(pc.is_valid(values).to_numpy(zero_copy_only=False))
        values = values.drop_null()
        context.budget.check(what)
    match aggregate.function:
        case AggregateFunction.COUNT:
            return rows.count(what)
        case AggregateFunction.SUM:
            return rows.sum(values, what)
        case AggregateFunction.AVG:
            return rows.average(values, what)
        case AggregateFunction.MIN:
            return rows.extreme(values, context.pace(what), is_greatest=False)
        case AggregateFunction.MAX:
            return rows.extreme(values, context.pace(what), is_greatest=True)
        case AggregateFunction.COLLECT:
            return rows.collect(values, what, context.budget)


@frozen(slots=False)
class Grouped:
    """Rows and the group of each. The values passed to the functions lie beside the rows."""

    frame: Frame
    groups: Codes | None
    """None: one group, which has no rows if there are none."""

    @cached_property
    def row_counts(self) -> Ordinals:
        """How many rows each group has, whatever they stand for."""
        if self.groups is None:
            return np.array([self.frame.count])
        return np.bincount(self.groups.numbers, minlength=self.groups.size)

    def where(self, mask: Mask) -> "Grouped":
        groups = self.groups
        left = None if groups is None else Codes(groups.numbers[mask], groups.size)
        return Grouped(self.frame.filter(mask), left)

    def distinct(self, codes: Codes, pace: Pace) -> "Grouped":
        """One row per value and group."""
        groups = self.groups
        both = [codes] if groups is None else [groups, codes]
        first = first_rows(combined(both, self.frame.count, pace), pace)
        left = None if groups is None else Codes(groups.numbers[first], groups.size)
        return Grouped(replace(self.frame.take(first), weights=None), left)

    def count(self, what: str) -> pa.Array:
        return pa.array(self._counts(what))

    def sum(self, values: pa.Array, what: str) -> pa.Array:
        """Signed and unsigned integers add up to 64 bits of their own, everything else to F64."""
        numbers = values.to_numpy()
        sums = self._sums(numbers)
        if numbers.dtype.kind == "f":
            sums = finite(self._sums_that_fit(sums, numbers), what=f"the sum {what}")
        else:
            wide = np.dtype(np.uint64 if numbers.dtype.kind == "u" else np.int64)
            sums = fitting(sums, wide, what=f"the sum {what}")
        return pa.array(sums, mask=self.row_counts == 0)

    def average(self, values: pa.Array, what: str) -> pa.Array:
        counts = self._counts(what)
        numbers = values.to_numpy()
        means = self._sums(numbers) / np.maximum(counts, 1)
        if numbers.dtype.kind == "f" and not np.isfinite(means).all():
            # A sum may exceed what a mean never does.
            small = self._sums(numbers / TOO_MANY) / np.maximum(counts, 1)
            means = np.where(np.isfinite(means), means, small * TOO_MANY)
        return pa.array(means.astype(np.float64), mask=counts == 0)

    def extreme(self, values: pa.Array, pace: Pace = UNHURRIED, *, is_greatest: bool) -> pa.Array:
        keys = sort_values(values, is_descending=is_greatest, pace=pace)
        pace.check()
        if self.groups is None:
            return values.slice(int(keys.argmin()), 1) if len(keys) else pa.nulls(1, values.type)
        numbers, size = self.groups
        last = np.inf if keys.dtype.kind == "f" else np.iinfo(keys.dtype).max
        best = np.full(size, last, dtype=keys.dtype)
        np.minimum.at(best, numbers, keys)
        pace.check()
        (holders,) = np.nonzero(keys == best[numbers])
        holder = np.full(size, -1, dtype=np.int64)
        holder[numbers[holders]] = holders
        return values.take(pa.array(holder, mask=holder < 0))

    def collect(self, values: pa.Array, what: str, budget: Budget) -> pa.Array:
        """A list per group, sorted: what it holds does not depend on the plan."""
        counts = self._counts(what)
        budget.admit(rows=int(counts.sum()), columns=1, step=what)
        look = partial(budget.check, what)
        numbers = ranks(values, Pace(look))
        if self.groups is None:
            order = stable_order(numbers, look)
        else:
            order = stable_order_within(self.groups.numbers, numbers, look)
        if self.frame.weights is not None:
            order = np.repeat(order, self.frame.weights[order])
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(order)))

    def _sums_that_fit(self, sums: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
        """The sums, where a partial sum may have been infinite and the whole one is not."""
        if np.isfinite(sums).all():
            return sums
        with np.errstate(over="ignore"):
            scaled = self._sums(numbers / TOO_MANY) * TOO_MANY
        return np.where(np.isfinite(sums), sums, scaled)

    def _counts(self, what: str) -> Ordinals:
        if self.frame.weights is None:
            return self.row_counts
        sums = exact_sums(self.frame.weights, None, self.groups)
        return fitting(sums, np.dtype(np.int64), what=f"the count {what}")

    def _sums(self, numbers: NDArray[Any]) -> NDArray[Any]:
        if numbers.dtype.kind != "f":
            return exact_sums(numbers, self.frame.weights, self.groups)
        weights = self.frame.weights
        # A sum that is too large is infinite, which the caller sees.
        with np.errstate(over="ignore", invalid="ignore"):
            weighted = numbers if weights is None else numbers * weights.astype(np.float64)
            if self.groups is None:
                return np.array([weighted.sum(dtype=np.float64)])
            sums = np.bincount(self.groups.numbers, weights=weighted, minlength=self.groups.size)
            return sums.astype(np.float64, copy=False)  # of no rows at all they would be integers
