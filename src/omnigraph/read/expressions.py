"""Values of expressions on every row of a frame, and the rows that satisfy a predicate.

Literals, parameters and the time give a scalar; everything else gives an array as long as the
frame. This is where properties are read at last, for the rows that have come this far.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.base.types import EnumOf, Scalar
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
from omnigraph.read.context import Context
from omnigraph.read.demand import variables_in
from omnigraph.read.entities import entities, identities, properties
from omnigraph.read.frame import Frame
from omnigraph.read.ranking import scores
from omnigraph.read.text_match import text_matches
from omnigraph.read.values.compare import Mask, Values
from omnigraph.read.values.predicates import constant_of, holds, written_out
from omnigraph.store.arrow import arrow_type

__all__ = ["column", "evaluate", "satisfied"]


def evaluate(expression: Expression, frame: Frame, context: Context) -> Values:
    match expression:
        case Literal() | Parameter() | Now():
            return constant_of(expression, context.parameters, context.now_ms)
        case PropertyOf(variable=variable, name=name, type=type_):
            return properties(frame.bindings[variable], name, arrow_type(type_), context.columns)
        case IdentityOf(variable=variable):
            return identities(frame.bindings[variable], context.columns)
        case EntityOf(variable=variable):
            return entities(frame.bindings[variable], context.columns)
        case ColumnOf(name=name):
            made = frame.made[name]
            return made if isinstance(made, pa.Array) else evaluate(made, frame, context)
        case Nearest() | Bm25() | Rrf() | ScoreOf():
            return scores(expression, frame, context)
        case AggregateOf():
            raise AssertionError("an aggregate is worth something only to Aggregate")


def column(expression: Expression, frame: Frame, context: Context) -> pa.Array:
    """As `evaluate`, with a scalar written out on every row."""
    return written_out(evaluate(expression, frame, context), frame.count)


def satisfied(predicate: Predicate, frame: Frame, context: Context) -> Mask:
    """Which rows hold. A predicate on one variable with few rows of its own is decided there."""
    variables = tuple(variables_in(predicate))
    if len(variables) == 1:
        binding = frame.bindings[variables[0]]
        if frame.count > binding.space.size and not binding.is_optional:
            whole = replace(binding, ordinals=None)
            alone = Frame(count=binding.space.size, bindings={variables[0]: whole})
            return _satisfied(predicate, alone, context)[binding.rows]
    return _satisfied(predicate, frame, context)


def _satisfied(predicate: Predicate, frame: Frame, context: Context) -> Mask:
    match predicate:
        case NullTest(operand=EntityOf(variable=variable), is_negated=is_negated):
            bound = frame.bindings[variable].bound()
            bound = np.ones(frame.count, dtype=np.bool_) if bound is None else bound
            return bound if is_negated else ~bound
        case TextMatch():
            return text_matches(predicate, frame.bindings[predicate.field.variable], context)
        case _:
            decided = _by_value(predicate, frame, context)
            if decided is not None:
                return decided
            return holds(predicate, lambda e: evaluate(e, frame, context), frame.count)


def _by_value(predicate: Predicate, frame: Frame, context: Context) -> Mask | None:
    """As `holds` for a text that few values repeat in: each value is asked once, not each row."""
    match predicate:
        case (
            Compare(left=PropertyOf() as field, right=Literal() | Parameter())
            | Compare(left=Literal() | Parameter(), right=PropertyOf() as field)
            | Membership(left=PropertyOf() as field)
        ) if field.type is Scalar.STRING or isinstance(field.type, EnumOf):
            binding = frame.bindings[field.variable]
        case _:
            return None
    parts = binding.space.parts
    if len(parts) > 1 or binding.is_optional or field.name not in parts[0].entity.by_name:
        return None
    known = context.columns.known_values(parts[0].entity, field.name)
    if known is None or known.codes.size * context.limits.min_rows_per_value > frame.count:
        return None

    def value(expression: Expression) -> Values:
        return known.values if expression is field else evaluate(expression, frame, context)

    mask = holds(predicate, value, known.codes.size)
    numbers = known.codes.numbers
    return mask[numbers if binding.ordinals is None else numbers[binding.ordinals]]
