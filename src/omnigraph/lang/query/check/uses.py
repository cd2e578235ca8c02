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
    Pattern,
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

__all__ = ["scores_used_by", "used_by", "used_in", "used_in_predicate"]


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


def scores_used_by(clause: Clause) -> Iterator[VariableName]:
    """The variables whose score is spoken of, also by the clauses of a block."""
    match clause:
        case Where(predicate=Compare(left=left, right=right)):
            yield from _scores_in(left, right)
        case Where(predicate=Membership(left=operand) | NullTest(operand=operand)):
            yield from _scores_in(operand)
        case (
            Without(pattern=pattern)
            | With(pattern=pattern)
            | Counted(pattern=pattern)
            | Maybe(pattern=pattern)
        ):
            yield from _scores_in_block(pattern)
        case Either(patterns=patterns):
            for pattern in patterns:
                yield from _scores_in_block(pattern)
        case _:
            pass


def _scores_in_block(block: Pattern) -> Iterator[VariableName]:
    for clause in block.clauses:
        yield from scores_used_by(clause)


def _scores_in(*expressions: Expression) -> Iterator[VariableName]:
    yield from (e.variable for e in expressions if isinstance(e, ScoreOf))


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
