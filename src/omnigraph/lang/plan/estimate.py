"""How many rows to expect after each operator of a finished plan, for `explain` to show.

The rows are those that the pattern means. An operator that counts paths without making them holds
fewer.
"""

import math
from collections.abc import Mapping

from omnigraph.base.ids import TypeName, VariableName
from omnigraph.lang.plan.chain import chain, types_bound
from omnigraph.lang.plan.ir import (
    Aggregate,
    AntiJoin,
    CountJoin,
    Distinct,
    Expand,
    Filter,
    LeftJoin,
    Limit,
    NodeScan,
    Nothing,
    Op,
    Outer,
    Project,
    SemiJoin,
    Sort,
    TopK,
    Union,
    Unit,
    ValueJoin,
)
from omnigraph.lang.plan.stats import SHARE_OF_BLOCK, Estimator

__all__ = ["expected_rows"]

Known = Mapping[VariableName, tuple[TypeName, ...]]


def expected_rows(plan: Op, estimator: Estimator) -> dict[int, float]:
    """By the identity of the operator."""
    return _Expecting(estimator).of(plan, 1.0, {})


class _Expecting:
    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._found: dict[int, float] = {}

    def of(self, plan: Op, rows: float, types: Known) -> dict[int, float]:
        self._walk(plan, rows, types)
        return self._found

    def _walk(self, plan: Op, rows: float, types: Known) -> float:
        links = chain(plan)
        types = {**types, **types_bound(links)}
        for op in links:
            rows = self._after(op, rows, types)
            self._found[id(op)] = rows
        return rows

    def _after(self, op: Op, rows: float, types: Known) -> float:
        match op:
            case Unit() | Outer() | Sort() | Project():
                return rows
            case Nothing():
                return 0.0
            case NodeScan():
                return rows * self._estimator.size(op.types)
            case ValueJoin(pattern=pattern, tests=tests):
                share = self._estimator.share_of_all(tests, types)
                return rows * self._walk(pattern, 1.0, types) * share
            case Expand():
                return rows * self._reached(op, types)
            case Filter(predicate=predicate):
                return rows * self._estimator.share(predicate, types)
            case AntiJoin(pattern=pattern) | SemiJoin(pattern=pattern) | CountJoin(pattern=pattern):
                self._walk(pattern, rows, types)
                return rows * SHARE_OF_BLOCK
            case LeftJoin(pattern=pattern):
                return max(rows, self._walk(pattern, rows, types))
            case Union(blocks=blocks):
                return sum(self._walk(block, rows, types) for block in blocks)
            case TopK(k=k):
                return self._estimator.kept(rows, k)
            case Aggregate(keys=keys):
                return math.sqrt(rows) if keys else 1.0
            case Distinct():
                return math.sqrt(rows)
            case Limit(count=count, offset=offset):
                rest = max(rows - offset, 0.0) if isinstance(offset, int) else rows
                return min(rest, float(count)) if isinstance(count, int) else rest

    def _reached(self, op: Expand, types: Known) -> float:
        reached = self._estimator.reached(
            op.steps,
            types.get(op.origin, ()),
            op.target_types,
            least_hops=op.least_hops,
            most_hops=op.most_hops,
        )
        if op.is_target_bound:
            return min(1.0, reached / self._estimator.size(op.target_types))
        return reached
