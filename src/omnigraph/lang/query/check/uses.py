"""Which variables a checked clause, predicate or expression speaks of.

A variable may come twice; what a block binds for itself is not spoken of outside it.
"""

from collections.abc import Iterator

from omnigraph.base.ids import VariableName
from omnigraph.lang.query.check.typed import (
    AggregateOf,
    Best,
    Bind,
    Bm25,
    Clause,
    ColumnOf,
    Compare,
    Counted,
    Either,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
    Maybe,
    Membership,
    Nearest,
    Now,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    Rrf,
    ScoreOf,
    TextMatch,
    Traverse,
    Where,
    With,
    Without,
)

__all__ = ["used_by", "used_in", "used_in_predicate"]


def used_by(clause: Clause) -> Iterator[VariableName]:
    match clause:
        case Bind(variable=variable):
            yield variable
        case Traverse(left=left, right=right, edge_variable=edge):
            yield from (left, right) if edge is None else (left, edge, right)
        case Where(predicate=predicate):
            yield from used_in_predicate(predicate)
        case Best(variable=variable):
            yield variable
        case Without(pattern=pattern) | With(pattern=pattern) | Counted(pattern=pattern):
            yield from pattern.outer
        case Maybe(pattern=pattern):
            yield from pattern.outer
            yield from (v.name for v in pattern.variables)
        case Either(patterns=patterns, variables=variables):
            yield from variables
            for pattern in patterns:
                yield from pattern.outer


def used_in_predicate(predicate: Predicate) -> Iterator[VariableName]:
    match predicate:
        case Compare(left=left, right=right):
            yield from used_in(left)
            yield from used_in(right)
        case Membership(left=left):
            yield from used_in(left)
        case NullTest(operand=operand):
            yield from used_in(operand)
        case TextMatch(field=field):
            yield field.variable


def used_in(expression: Expression) -> Iterator[VariableName]:
    match expression:
        case (
            PropertyOf(variable=variable)
            | IdentityOf(variable=variable)
            | EntityOf(variable=variable)
            | ScoreOf(variable=variable)
        ):
            yield variable
        case Nearest(field=field) | Bm25(field=field):
            yield field.variable
        case Rrf(left=left):
            yield left.field.variable
        case AggregateOf(argument=argument):
            yield from used_in(argument)
        case Literal() | Parameter() | Now() | ColumnOf():
            pass
