"""Demand: the variables that operators above want of the rows that an operator makes.

Demand flows down the plan as rows flow up. A variable nobody above looks at need not be carried,
and below an aggregate it need not even be told apart: rows that differ in it alone become one row
with a weight. That is what keeps a count of paths from listing them.
"""

from collections.abc import Iterable

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.chain import chain, outer_of
from omnigraph.lang.plan.ir import (
    Aggregate,
    AggregateFunction,
    AggregateOf,
    Bm25,
    Column,
    ColumnOf,
    Compare,
    EntityOf,
    Expression,
    IdentityOf,
    LeftJoin,
    Literal,
    Membership,
    Nearest,
    Now,
    NullTest,
    Op,
    Parameter,
    Predicate,
    PropertyOf,
    Rrf,
    ScoreOf,
    TextMatch,
    Union,
)

__all__ = [
    "Demand",
    "counts_rows",
    "demand_of_aggregate",
    "outer_variables",
    "variables_in",
    "variables_of_columns",
]


@frozen
class Demand:
    live: frozenset[VariableName]
    """The variables looked at above."""
    allows_weights: bool = False
    """Whether equal rows may come as one row with a weight."""

    def plus(self, variables: Iterable[VariableName]) -> "Demand":
        return Demand(self.live.union(variables), self.allows_weights)

    def minus(self, *variables: VariableName | None) -> "Demand":
        gone = (v for v in variables if v is not None)
        return Demand(self.live.difference(gone), self.allows_weights)


def demand_of_aggregate(op: Aggregate) -> Demand:
    """Aggregates see weights, and counting entities needs no entity, unless it may be null."""
    live = set(variables_of_columns(op.keys))
    optional = _optional_variables(op.source)
    for column in op.aggregates:
        made = column.expression
        assert isinstance(made, AggregateOf), "only aggregates are aggregated"
        if not counts_rows(made) or made.argument.variable in optional:
            live.add(made.argument.variable)
    return Demand(frozenset(live), allows_weights=True)


def counts_rows(aggregate: AggregateOf) -> bool:
    """Whether it asks how many rows bind the variable, whatever to."""
    is_count = aggregate.function is AggregateFunction.COUNT and not aggregate.is_distinct
    return is_count and isinstance(aggregate.argument, EntityOf)


def variables_in(node: Expression | Predicate) -> frozenset[VariableName]:
    match node:
        case PropertyOf() | IdentityOf() | EntityOf() | ScoreOf():
            return frozenset((node.variable,))
        case Nearest(field=field) | Bm25(field=field) | TextMatch(field=field):
            return frozenset((field.variable,))
        case Rrf(left=left, right=right) | Compare(left=left, right=right):
            return variables_in(left) | variables_in(right)
        case Membership(left=inner) | NullTest(operand=inner) | AggregateOf(argument=inner):
            return variables_in(inner)
        case Literal() | Parameter() | Now() | ColumnOf():
            return frozenset()


def variables_of_columns(columns: Iterable[Column]) -> frozenset[VariableName]:
    return frozenset(v for column in columns for v in variables_in(column.expression))


def outer_variables(pattern: Op) -> frozenset[VariableName]:
    """The variables of the enclosing pattern that a sub-pattern begins with."""
    return frozenset(outer_of(pattern))


def _optional_variables(pattern: Op) -> frozenset[VariableName]:
    found = set[VariableName]()
    for op in chain(pattern):
        if isinstance(op, LeftJoin):
            found |= set(op.variables)
        if isinstance(op, Union):
            found |= {v for block in op.blocks for v in _optional_variables(block)}
    return frozenset(found)
