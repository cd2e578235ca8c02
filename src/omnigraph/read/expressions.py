"""What an expression is worth on every row of a frame, and which rows satisfy a predicate.

Literals, parameters and the time give a scalar; everything else gives an array as long as the
frame. This is where properties are read at last, for the rows that have come this far.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import Unsupported
from omnigraph.lang.plan.ir import (
    AggregateOf,
    Bm25,
    ColumnOf,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
    Nearest,
    Now,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    Rrf,
    ScoreOf,
)
from omnigraph.read.compare import Mask, Values
from omnigraph.read.context import Context
from omnigraph.read.demand import variables_in
from omnigraph.read.entities import entities, identities, properties
from omnigraph.read.frame import Frame
from omnigraph.read.predicates import constant_of, holds, written_out
from omnigraph.store.arrow import arrow_type

__all__ = ["column", "evaluate", "satisfied"]


def evaluate(expression: Expression, frame: Frame, context: Context) -> Values:
    match expression:
        case Literal() | Parameter() | Now():
            return constant_of(expression, context.parameters, context.now_ms)
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
        case _:
            return holds(predicate, lambda e: evaluate(e, frame, context), frame.count)
