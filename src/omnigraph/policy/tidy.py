"""Conditions in the fewest words: for people who read them, and for readers that test each word.

What Cedar leaves of a rule is full of `!` and of questions whether a value is there. Both go where
a plain test says the same: `not (age <= 3) and age is not null` is `age > 3`.
"""

from collections.abc import Iterable

from omnigraph.lang.plan.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Field,
    Not,
    fields_in,
    simplify,
)
from omnigraph.lang.plan.ir import Compare, CompareOp, IdentityOf, NullTest

__all__ = ["tidied"]

OPPOSITES = {
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
    CompareOp.LT: CompareOp.GE,
    CompareOp.GE: CompareOp.LT,
    CompareOp.LE: CompareOp.GT,
    CompareOp.GT: CompareOp.LE,
}


def tidied(condition: Condition) -> Condition:
    """An equal condition."""
    return simplify(_merged(simplify(_pushed(condition, is_negated=False))))


def _pushed(condition: Condition, *, is_negated: bool) -> Condition:
    """With `Not` before single tests only."""
    match condition:
        case Not(part=part):
            return _pushed(part, is_negated=not is_negated)
        case AllOf(parts=parts):
            inner = tuple(_pushed(part, is_negated=is_negated) for part in parts)
            return AnyOf(inner) if is_negated else AllOf(inner)
        case AnyOf(parts=parts):
            inner = tuple(_pushed(part, is_negated=is_negated) for part in parts)
            return AllOf(inner) if is_negated else AnyOf(inner)
        case _:
            return Not(condition) if is_negated else condition


def _merged(condition: Condition) -> Condition:
    """Without questions for a null that a test beside them answers."""
    match condition:
        case AllOf(parts=parts):
            merged = _all_merged([simplify(_merged(part)) for part in parts])
            return AllOf(tuple(_absorbed(merged, AnyOf)))
        case AnyOf(parts=parts):
            merged = _any_merged([simplify(_merged(part)) for part in parts])
            return AnyOf(tuple(_absorbed(merged, AllOf)))
        case Not(part=Compare()):
            return _opposite(condition, present=frozenset())
        case _:
            return condition


def _all_merged(parts: list[Condition]) -> Iterable[Condition]:
    present = frozenset(
        test.operand
        for test in parts
        if isinstance(test, NullTest) and test.is_negated and isinstance(test.operand, Field)
    )
    parts = [_opposite(part, present=present) for part in parts]
    # A test is false where it meets a null, so it asks for the value itself.
    tested = {
        field
        for part in parts
        if not isinstance(part, NullTest | Not | AllOf | AnyOf)
        for field in fields_in(part)
    }
    return (
        part
        for part in parts
        if not (isinstance(part, NullTest) and part.is_negated and part.operand in tested)
    )


def _any_merged(parts: list[Condition]) -> Iterable[Condition]:
    # The opposite of a test is true where it meets a null.
    tested = {field for part in parts if isinstance(part, Not) for field in fields_in(part)}
    return (
        part
        for part in parts
        if not (isinstance(part, NullTest) and not part.is_negated and part.operand in tested)
    )


def _absorbed(parts: Iterable[Condition], inner: type[AllOf] | type[AnyOf]) -> Iterable[Condition]:
    """`x or (x and y)` is `x`, and so is `x and (x or y)`."""
    given = list(parts)
    alone = {part for part in given if not isinstance(part, inner)}
    return (p for p in given if not (isinstance(p, inner) and not alone.isdisjoint(p.parts)))


def _opposite(part: Condition, *, present: frozenset[Field]) -> Condition:
    """A comparison for `not` of one, where all that it looks at is there."""
    match part:
        case Not(part=Compare(op=op, left=left, right=right) as test) if op in OPPOSITES:
            is_there = all(
                isinstance(field, IdentityOf) or not field.is_nullable or field in present
                for field in fields_in(test)
            )
            return Compare(OPPOSITES[op], left, right) if is_there else part
        case _:
            return part
