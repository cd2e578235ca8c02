"""What a plan looks at: the properties that it asks for, and the tables that need not be read."""

from collections.abc import Container

from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.chain import operators
from omnigraph.lang.plan.ir import (
    Aggregate,
    AggregateOf,
    Compare,
    Distinct,
    Expand,
    Expression,
    Filter,
    NodeScan,
    Op,
    Project,
    PropertyOf,
    Sort,
    Unit,
    ValueJoin,
)
from omnigraph.read.demand import variables_in

__all__ = ["is_whole", "needed_by", "unread"]


def is_whole(scan: NodeScan, needed: Container[VariableName]) -> bool:
    """True if nothing but the ids of all entities is asked of a scan, and nothing stands below."""
    return isinstance(scan.source, Unit) and scan.variable not in needed


def unread(plan: Project) -> list[NodeScan]:
    """Scans whose entities the edges that begin there name as well; walks of several hops begin in
    what was read."""
    needed = needed_by(plan)
    return [
        op.source
        for op in operators(plan)
        if isinstance(op, Expand) and not op.is_target_bound and op.most_hops == 1
        if isinstance(op.source, NodeScan) and op.origin == op.source.variable
        if is_whole(op.source, needed)
    ]


def needed_by(plan: Project) -> dict[VariableName, tuple[PropertyOf, ...]]:
    """The properties of each variable that some column, order or comparison of two looks at."""
    found: dict[VariableName, dict[str, PropertyOf]] = {}
    for op in operators(plan):
        for expression in _values_of(op):
            if isinstance(expression, AggregateOf):
                expression = expression.argument
            if isinstance(expression, PropertyOf):
                found.setdefault(expression.variable, {})[expression.name] = expression
    return {variable: tuple(each.values()) for variable, each in found.items()}


def _values_of(op: Op) -> tuple[Expression, ...]:
    match op:
        case Project(columns=columns) | Distinct(columns=columns):
            return tuple(column.expression for column in columns)
        case Aggregate(keys=keys, aggregates=aggregates):
            return tuple(column.expression for column in (*keys, *aggregates))
        case Sort(keys=keys):
            return tuple(key.expression for key in keys)
        case ValueJoin(tests=tests):
            return tuple(side for test in tests for side in (test.left, test.right))
        case Filter(predicate=Compare(left=left, right=right) as predicate) if (
            len(variables_in(predicate)) > 1
        ):
            return left, right
        case _:
            return ()
