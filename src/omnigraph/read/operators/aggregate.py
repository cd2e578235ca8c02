"""One row per group: counts, sums, means, extremes and lists of what the rows of a group hold.

Nulls are skipped by every function. Without keys there is one group, also of no rows at all: its
count is 0 and everything else is null. A row's weight is how many rows it stands for; functions
that look at distinct values only, or at extremes, need not know it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.lang.plan.ir import Aggregate, AggregateFunction, AggregateOf, EntityOf
from omnigraph.read.compare import Mask
from omnigraph.read.context import Budget, Context
from omnigraph.read.demand import counts_rows
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame
from omnigraph.read.operators.group import codes_of, group_rows, grouped
from omnigraph.read.ordering import Codes, combined, first_rows, ranks, sort_values
from omnigraph.read.sums import count_by_group, exact_sums, fitting
from omnigraph.read.topology.csr import Ordinals

__all__ = ["aggregate"]


def aggregate(frame: Frame, op: Aggregate, context: Context) -> Frame:
    if op.keys:
        groups = group_rows(op.keys, frame, context)
    else:
        groups = Codes(np.zeros(frame.count, dtype=np.int64), 1)
    made: dict[str, pa.Array] = {}
    for column_ in op.aggregates:
        assert isinstance(column_.expression, AggregateOf)
        made[column_.name] = _aggregated(column_.expression, column_.name, frame, groups, context)
    if not op.keys:
        return Frame(1, made=made)
    keyed = grouped(frame, first_rows(groups), op.keys)
    return Frame(keyed.count, keyed.bindings, made={**keyed.made, **made})


def _aggregated(
    aggregate: AggregateOf, name: str, frame: Frame, groups: Codes, context: Context
) -> pa.Array:
    rows = Grouped(frame, groups.numbers, groups.size, what=f"`{name}`")
    argument = aggregate.argument
    if counts_rows(aggregate) and argument.variable not in frame.bindings:
        return rows.count()
    if aggregate.is_distinct:
        rows = rows.distinct(codes_of(argument, frame, context))
    if isinstance(argument, EntityOf):
        bound = rows.frame.bindings[argument.variable].bound()
        rows = rows if bound is None else rows.where(bound)
        assert aggregate.function is AggregateFunction.COUNT, "entities can only be counted"
        return rows.count()
    values = column(argument, rows.frame, context)
    if values.null_count:
        rows = rows.where(pc.is_valid(values).to_numpy(zero_copy_only=False))
        values = values.drop_null()
    match aggregate.function:
        case AggregateFunction.COUNT:
            return rows.count()
        case AggregateFunction.SUM:
            return rows.sum(values)
        case AggregateFunction.AVG:
            return rows.average(values)
        case AggregateFunction.MIN:
            return rows.extreme(values, is_greatest=False)
        case AggregateFunction.MAX:
            return rows.extreme(values, is_greatest=True)
        case AggregateFunction.COLLECT:
            return rows.collect(values, context.budget)


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows and the group of each. The values passed to the functions lie beside the rows."""

    frame: Frame
    groups: Ordinals
    size: int
    what: str

    def where(self, mask: Mask) -> "Grouped":
        return replace(self, frame=self.frame.filter(mask), groups=self.groups[mask])

    def distinct(self, codes: Codes) -> "Grouped":
        """One row per value and group."""
        both = combined([Codes(self.groups, self.size), codes], self.frame.count)
        first = first_rows(both)
        frame = replace(self.frame.take(first), weights=None)
        return replace(self, frame=frame, groups=self.groups[first])

    def count(self) -> pa.Array:
        return pa.array(self._counts())

    def sum(self, values: pa.Array) -> pa.Array:
        """Signed and unsigned integers add up to 64 bits of their own, everything else to F64."""
        numbers = values.to_numpy()
        sums = self._sums(numbers)
        if numbers.dtype.kind != "f":
            wide = np.dtype(np.uint64 if numbers.dtype.kind == "u" else np.int64)
            sums = fitting(sums, wide, what=f"the sum {self.what}")
        return pa.array(sums, mask=self._counts() == 0)

    def average(self, values: pa.Array) -> pa.Array:
        counts = self._counts()
        means = self._sums(values.to_numpy()) / np.maximum(counts, 1)
        return pa.array(means.astype(np.float64), mask=counts == 0)

    def extreme(self, values: pa.Array, *, is_greatest: bool) -> pa.Array:
        keys = sort_values(values, is_descending=is_greatest)
        last = np.inf if keys.dtype.kind == "f" else np.iinfo(keys.dtype).max
        best = np.full(self.size, last, dtype=keys.dtype)
        np.minimum.at(best, self.groups, keys)
        (holders,) = np.nonzero(keys == best[self.groups])
        holder = np.full(self.size, -1, dtype=np.int64)
        holder[self.groups[holders]] = holders
        return values.take(pa.array(holder, mask=holder < 0))

    def collect(self, values: pa.Array, budget: Budget) -> pa.Array:
        """A list per group, sorted: what it holds does not depend on the plan."""
        counts = self._counts()
        budget.admit(rows=int(counts.sum()), columns=1, step=self.what)
        order = np.lexsort((ranks(values), self.groups))
        if self.frame.weights is not None:
            order = np.repeat(order, self.frame.weights[order])
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(order)))

    def _counts(self) -> Ordinals:
        what = f"the count {self.what}"
        return count_by_group(self.frame.weights, self.groups, self.size, what=what)

    def _sums(self, numbers: NDArray[Any]) -> NDArray[Any]:
        if numbers.dtype.kind != "f":
            return exact_sums(numbers, self.frame.weights, self.groups, self.size)
        weights = self.frame.weights
        weighted = numbers if weights is None else numbers * weights.astype(np.float64)
        return np.bincount(self.groups, weights=weighted, minlength=self.size)
