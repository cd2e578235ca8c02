"""What an expression is worth on every row of a frame, and which rows satisfy a predicate.

Literals, parameters and the time give a scalar; everything else gives an array as long as the
frame. This is where properties are read at last, for the rows that have come this far.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import Unsupported
from omnigraph.base.types import ListOf, Value, ValueType
from omnigraph.lang.plan.ir import (
    AggregateOf,
    Bm25,
    ColumnOf,
    Compare,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
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
)
from omnigraph.read.compare import Mask, Values, compare, is_member
from omnigraph.read.context import Context
from omnigraph.read.demand import variables_in
from omnigraph.read.entities import entities, identities, properties
from omnigraph.read.frame import Frame
from omnigraph.store.arrow import arrow_type

__all__ = ["column", "constant_value", "evaluate", "satisfied"]


def evaluate(expression: Expression, frame: Frame, context: Context) -> Values:
    match expression:
        case Literal(value=value, type=type_):
            return _constant(value, type_)
        case Parameter(type=type_):
            return _constant(constant_value(expression, context), type_)
        case Now():
            return pa.scalar(context.now_ms, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
        case PropertyOf(variable=variable, name=name, type=type_):
            return properties(frame.bindings[variable], name, arrow_type(type_), context.tables)
        case IdentityOf(variable=variable):
            return identities(frame.bindings[variable], context.tables)
        case EntityOf(variable=variable):
            return entities(frame.bindings[variable], context.tables)
        case ColumnOf(name=name):
            made = frame.made[name]
            return made if isinstance(made, pa.Array) else evaluate(made, frame, context)
        case Nearest() | Bm25() | Rrf() | ScoreOf():
            raise Unsupported("ranking by nearest, bm25 or rrf")
        case AggregateOf():
            raise AssertionError("an aggregate is worth something only to Aggregate")


def column(expression: Expression, frame: Frame, context: Context) -> pa.Array:
    """As `evaluate`, with a scalar written out on every row."""
    values = evaluate(expression, frame, context)
    return pa.repeat(values, frame.count) if isinstance(values, pa.Scalar) else values


def constant_value(given: Literal | Parameter, context: Context) -> Value:
    return given.value if isinstance(given, Literal) else context.parameters[given.name]


def _constant(value: Value, type_: ValueType | None) -> pa.Scalar:
    return pa.scalar(value, None if type_ is None else arrow_type(type_))


def satisfied(predicate: Predicate, frame: Frame, context: Context) -> Mask:
    """Which rows hold. A predicate on one variable with few rows of its own is decided there."""
    variables = tuple(variables_in(predicate))
    if len(variables) == 1 and variables[0] in frame.bindings:
        binding = frame.bindings[variables[0]]
        if frame.count > binding.space.size and not binding.is_optional:
            whole = replace(binding, ordinals=None)
            alone = Frame(count=binding.space.size, bindings={variables[0]: whole})
            return _satisfied(predicate, alone, context)[binding.rows]
    return _satisfied(predicate, frame, context)


def _satisfied(predicate: Predicate, frame: Frame, context: Context) -> Mask:
    match predicate:
        case Compare(op=op, left=left, right=right):
            return compare(
                op,
                evaluate(left, frame, context),
                evaluate(right, frame, context),
                frame.count,
            )
        case Membership(left=left, options=options):
            item = options.type
            assert item is None or isinstance(item, ListOf), "membership is asked of a list"
            given = evaluate(options, frame, context).as_py() or ()
            kind = pa.null() if item is None else arrow_type(item.item)
            return is_member(column(left, frame, context), given, kind)
        case NullTest(operand=operand, is_negated=is_negated):
            is_null = _is_null(operand, frame, context)
            return ~is_null if is_negated else is_null
        case TextMatch():
            raise Unsupported("full-text search")


def _is_null(operand: Expression, frame: Frame, context: Context) -> Mask:
    if isinstance(operand, EntityOf):
        bound = frame.bindings[operand.variable].bound()
        return np.zeros(frame.count, dtype=np.bool_) if bound is None else ~bound
    mask: Mask = pc.is_null(column(operand, frame, context)).to_numpy(zero_copy_only=False)
    return mask
