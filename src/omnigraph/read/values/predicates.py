"""Predicates over values, wherever the values come from.

A query reads them from the tables its variables are bound to, an update's `where` from rows that
may be nowhere on disk yet. What the predicate means is the same and is written here once.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.types import ListOf, Scalar, Value
from omnigraph.lang.plan.ir import (
    Compare,
    Expression,
    Literal,
    Membership,
    Now,
    NullTest,
    Parameter,
    Predicate,
    TextMatch,
    TextMatchKind,
)
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.ranked import TextIndex
from omnigraph.read.values.compare import Mask, Values, compare, is_member
from omnigraph.store.arrow import arrow_type

__all__ = ["constant_of", "holds", "words_match", "written_out"]


def holds(predicate: Predicate, value: Callable[[Expression], Values], count: int) -> Mask:
    """Which of `count` rows satisfy the predicate; `value` says what an expression is worth."""
    match predicate:
        case Compare(op=op, left=left, right=right):
            return compare(op, value(left), value(right), count)
        case Membership(left=left, options=options):
            assert isinstance(options.type, ListOf), "membership is asked of a list"
            item = arrow_type(options.type.item)
            return is_member(written_out(value(left), count), value(options).as_py() or (), item)
        case NullTest(operand=operand, is_negated=is_negated):
            is_null: Mask = pc.is_null(written_out(value(operand), count)).to_numpy(
                zero_copy_only=False
            )
            return ~is_null if is_negated else is_null
        case TextMatch(field=field, query=query):
            text = value(query).as_py()
            if text is None:
                return np.zeros(count, dtype=np.bool_)
            return words_match(predicate, text, _words_of(written_out(value(field), count)))


def _words_of(texts: pa.Array) -> TextIndex:
    # Rows that are written are seldom searched.
    from omnigraph.read.search.text import WordIndex

    return WordIndex.of(texts)


def words_match(predicate: TextMatch, query: str, words: TextIndex, pace: Pace = UNHURRIED) -> Mask:
    """Which texts match the query."""
    match predicate.kind:
        case TextMatchKind.SEARCH:
            return words.search(query, pace)
        case TextMatchKind.FUZZY:
            return words.fuzzy(query, predicate.max_edits, pace)
        case TextMatchKind.PHRASE:
            return words.phrase(query, pace)


def constant_of(
    expression: Literal | Parameter | Now, parameters: Mapping[str, Value], now_ms: int
) -> pa.Scalar:
    """The value of a literal, a parameter or the time."""
    match expression:
        case Literal(value=value, type=type_):
            return pa.scalar(value, None if type_ is None else arrow_type(type_))
        case Parameter(name=name, type=type_):
            return pa.scalar(parameters[name], arrow_type(type_))
        case Now(type=type_):
            now = pa.scalar(now_ms, pa.int64()).cast(arrow_type(Scalar.DATETIME))
            return now.cast(arrow_type(type_))


def written_out(values: Values, count: int) -> pa.Array:
    """A scalar as a column of `count` rows; an array as it is."""
    if not isinstance(values, pa.Scalar):
        return values
    # Arrow does not repeat a list no times.
    return pa.repeat(values, count) if count else pa.array([], values.type)
