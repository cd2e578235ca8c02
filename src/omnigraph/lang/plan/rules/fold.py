"""Tests whose outcome is known before a row is read: those that always hold go, and a pattern with
one that never can, or with two that never can together, has no rows.

A predicate holds or it does not; null makes it not hold, and there is no third outcome. So a test
that fails whatever a property is, null included, fails for good. What a parameter holds is not
known here, and a number that a property may only hold rounded (F32) is not reasoned about.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from omnigraph.base.ids import VariableName
from omnigraph.base.types import ListOf, Scalar, VectorOf
from omnigraph.lang.plan.chain import binds, chain, relinked
from omnigraph.lang.plan.ir import (
    MIRRORED,
    OPERATORS,
    Aggregate,
    AntiJoin,
    Compare,
    CompareOp,
    CountJoin,
    Distinct,
    EntityOf,
    Expand,
    Expression,
    Filter,
    IdentityOf,
    LeftJoin,
    Limit,
    Literal,
    Membership,
    NodeScan,
    Nothing,
    Now,
    NullTest,
    Op,
    Predicate,
    Project,
    PropertyOf,
    SemiJoin,
    Sort,
    TextMatch,
    Union,
)
from omnigraph.lang.plan.stats import Estimator

__all__ = ["fold_constants"]

Because = tuple[Predicate, ...]
Names = frozenset[VariableName]


def fold_constants(plan: Project, estimator: Estimator) -> Project:
    return replace(plan, source=_below(plan.source))


def _below(op: Op) -> Op:
    match op:
        case Limit() | Sort() | Aggregate() | Distinct():
            return replace(op, source=_below(op.source))
        case _:
            return _pattern(op, frozenset())


def _pattern(op: Op, sure: Names) -> Op:
    """`sure` are variables of the enclosing pattern that are bound on every row."""
    leaf, *clauses = chain(op)
    sure = sure.union(v for c in clauses if isinstance(c, NodeScan | Expand) for v in binds(c))
    kept: list[Op] = []
    for clause in clauses:
        match _folded(clause, sure):
            case tuple() as never:
                return _impossible(leaf, clauses, never)
            case None:
                pass
            case folded:
                kept.append(folded)
    tests = tuple(c.predicate for c in kept if isinstance(c, Filter))
    for excluded in _contradictions(tests):
        return _impossible(leaf, kept, excluded)
    return relinked(leaf, kept)


def _impossible(leaf: Op, clauses: Sequence[Op], because: Because) -> Op:
    """Only what binds variables is left: the answer needs to know their types."""
    tests = (Filter, AntiJoin, SemiJoin, CountJoin)
    return relinked(Nothing(leaf, because), [c for c in clauses if not isinstance(c, tests)])


def _folded(clause: Op, sure: Names) -> Op | Because | None:
    """The clause as it is to be; None: it always holds; a reason: it never does."""
    match clause:
        case Filter(predicate=predicate):
            verdict = _verdict(predicate, sure)
            return clause if verdict is None else None if verdict else (predicate,)
        case AntiJoin(pattern=pattern):
            inner = _pattern(pattern, sure)
            return _by_count(replace(clause, pattern=inner), inner, lambda count: count == 0)
        case SemiJoin(pattern=pattern):
            inner = _pattern(pattern, sure)
            return _by_count(replace(clause, pattern=inner), inner, lambda count: count > 0)
        case CountJoin(pattern=pattern, op=op, bound=Literal() as bound):
            inner = _pattern(pattern, sure)
            return _by_count(
                replace(clause, pattern=inner),
                inner,
                lambda count: _compared(op, Literal(count, Scalar.I64), bound),
            )
        case CountJoin(pattern=pattern) | LeftJoin(pattern=pattern):
            return replace(clause, pattern=_pattern(pattern, sure))
        case Union(blocks=blocks, variables=variables):
            # A block without rows stays: it has a say in the types of the variables.
            folded = tuple(_pattern(block, sure) for block in blocks)
            counts = [_known_count(block) for block in folded]
            if all(count == 0 for count in counts):
                return ()
            return None if not variables and 1 in counts else replace(clause, blocks=folded)
        case _:
            return clause


def _by_count(clause: Op, pattern: Op, holds: Callable[[int], bool | None]) -> Op | Because | None:
    """A test on the number of rows of a pattern, decided where that number is known."""
    count = _known_count(pattern)
    verdict = None if count is None else holds(count)
    if verdict is None:
        return clause
    return None if verdict else _because(pattern)


def _because(pattern: Op) -> Because:
    """Why a pattern has no row; nothing if it has."""
    return next((op.because for op in chain(pattern) if isinstance(op, Nothing)), ())


def _known_count(pattern: Op) -> int | None:
    """How many rows a block has for each row outside, if that is known: one of nothing but it."""
    _, *clauses = chain(pattern)
    if not clauses:
        return 1
    return 0 if isinstance(clauses[0], Nothing) else None


# One test ----------------------------------------------------------------------------------------


def _verdict(predicate: Predicate, sure: Names) -> bool | None:
    """Whether it holds on every row, or on none; None: that depends on the row."""
    match predicate:
        case Compare(op=op, left=Literal() as left, right=Literal() as right):
            return _compared(op, left, right)
        case Compare(left=left, right=right):
            return False if _is_null(left) or _is_null(right) else None
        case Membership(left=left, options=Literal() as options):
            if _is_null(left) or not list(_items(options)):
                return False
            return _is_member(left, options) if isinstance(left, Literal) else None
        case Membership(left=left):
            return False if _is_null(left) else None
        case NullTest(operand=Literal(value=value), is_negated=is_negated):
            return (value is None) != is_negated
        case NullTest(operand=operand, is_negated=is_negated):
            return is_negated if _never_null(operand, sure) else None
        case TextMatch():
            return None


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _never_null(expression: Expression, sure: Names) -> bool:
    match expression:
        case EntityOf(variable=variable) | IdentityOf(variable=variable):
            return variable in sure
        case PropertyOf(variable=variable, is_nullable=is_nullable):
            return variable in sure and not is_nullable
        case Now():
            return True
        case _:
            return False


def _compared(op: CompareOp, left: Literal, right: Literal) -> bool | None:
    """None where values of the two types are not compared as Python compares them."""
    one, other = left.value, right.value
    if one is None or other is None:
        return False
    if isinstance(one, tuple):
        equal = [_compared(CompareOp.EQ, item, right) for item in _items(left)]
        return None if None in equal or op is not CompareOp.CONTAINS else any(equal)
    if not _is_plain(left) or not _is_plain(right):
        return None
    if type(one) is not type(other) and not (_is_number(one) and _is_number(other)):
        return None
    if op in OPERATORS:
        return bool(OPERATORS[op](one, other))
    assert isinstance(one, str) and isinstance(other, str), "only texts have parts"
    return other in one if op is CompareOp.CONTAINS else one.startswith(other)


def _is_plain(literal: Literal) -> bool:
    """Whether the value is what is compared: a number may be rounded first."""
    return literal.type is not Scalar.F32 and not isinstance(literal.type, VectorOf)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _items(options: Literal) -> Iterator[Literal]:
    """The members of a list that something may equal."""
    item = options.type.item if isinstance(options.type, ListOf) else None
    values = options.value if isinstance(options.value, tuple) else ()
    return (Literal(value, item) for value in values if value is not None)


def _is_member(left: Literal, options: Literal) -> bool | None:
    equal = [_compared(CompareOp.EQ, left, item) for item in _items(options)]
    return True if True in equal else None if None in equal else False


# Tests that exclude each other -------------------------------------------------------------------


def _contradictions(tests: Iterable[Predicate]) -> Iterator[Because]:
    """Tests of one property of which no value, and not null either, passes all."""
    by_subject: dict[Expression, list[Predicate]] = {}
    for test in map(_turned, tests):
        subject = test.operand if isinstance(test, NullTest) else test.left
        if isinstance(subject, PropertyOf | IdentityOf):
            by_subject.setdefault(subject, []).append(test)
    for own in by_subject.values():
        yield from _exclusive_pairs(own)
        if (because := _without_candidate(own)) is not None:
            yield because


Test = Compare | Membership | NullTest


def _turned(test: Predicate) -> Test:
    """With the constant of a comparison on the right."""
    match test:
        case Compare(op=op, left=Literal() as constant, right=subject) if op in MIRRORED:
            return Compare(MIRRORED[op], subject, constant)
        case TextMatch(field=field):
            # All that is said here: it does not hold of null.
            return NullTest(field, is_negated=True)
        case _:
            return test


def _exclusive_pairs(tests: Sequence[Predicate]) -> Iterator[Because]:
    for first, second in itertools.permutations(tests, 2):
        match first, second:
            case NullTest(is_negated=False), (Compare() | Membership() | NullTest(is_negated=True)):
                yield first, second
            case (
                Compare(op=CompareOp.GT | CompareOp.GE as low, right=Literal() as least),
                Compare(op=CompareOp.LT | CompareOp.LE as high, right=Literal() as most),
            ):
                both_reach = low is CompareOp.GE and high is CompareOp.LE
                meets = CompareOp.LE if both_reach else CompareOp.LT
                if _compared(meets, least, most) is False:
                    yield first, second
            case _:
                pass


def _without_candidate(tests: Sequence[Predicate]) -> Because | None:
    """All tests, if one names the values it allows and the others refuse each of them."""
    for named in tests:
        match named:
            case Compare(op=CompareOp.EQ, right=Literal() as only):
                candidates = [only]
            case Membership(options=Literal() as options):
                candidates = list(_items(options))
            case _:
                continue
        if not any(all(_passes(c, t) is not False for t in tests) for c in candidates):
            return tuple(tests)
    return None


def _passes(candidate: Literal, test: Predicate) -> bool | None:
    match test:
        case Compare(op=op, right=Literal() as right):
            return _compared(op, candidate, right)
        case Membership(options=Literal() as options):
            return _is_member(candidate, options)
        case NullTest(is_negated=is_negated):
            return is_negated
        case _:
            return None
