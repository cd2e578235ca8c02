"""Tests of rows on Spark.

What is asked of one entity is asked where its table is read, by the code that asks it in process;
here the rows keep those entities. Only a comparison of two entities is made by Spark.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql

from omnigraph.base.ids import VariableName
from omnigraph.base.types import Scalar
from omnigraph.lang.plan.ir import (
    Compare,
    CompareOp,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
    Now,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    ValueJoin,
)
from omnigraph.pipeline.query.rows import Rows, id_of, key_of
from omnigraph.pipeline.query.tables import Tables
from omnigraph.pipeline.query.values import Typed, comparison, literal, matching_keys
from omnigraph.read.demand import variables_in
from omnigraph.read.values.predicates import constant_of, holds

__all__ = ["by_variable", "counts_hold", "keep", "typed", "value_join"]


def by_variable(predicates: Sequence[Predicate]) -> dict[VariableName, tuple[Predicate, ...]]:
    """The predicates that a table can answer, by the variable they are about."""
    found: dict[VariableName, tuple[Predicate, ...]] = {}
    for predicate in predicates:
        variables = variables_in(predicate)
        if len(variables) == 1 and not _is_about_binding(predicate):
            (variable,) = variables
            found[variable] = (*found.get(variable, ()), predicate)
    return found


def keep(rows: Rows, predicates: Sequence[Predicate], tables: Tables) -> Rows:
    """The rows for which all predicates hold."""
    for variable, own in by_variable(predicates).items():
        rows = _keep_entities(rows, variable, own, tables)
    for predicate in predicates:
        variables = variables_in(predicate)
        if not variables:
            rows = _keep_if(rows, predicate, tables)
        elif len(variables) > 1 or _is_about_binding(predicate):
            rows = _keep_compared(rows, predicate, tables)
    return rows


def _is_about_binding(predicate: Predicate) -> bool:
    """True if it asks only whether a variable is bound."""
    return isinstance(predicate, NullTest) and isinstance(predicate.operand, EntityOf)


def _keep_entities(
    rows: Rows, variable: VariableName, predicates: tuple[Predicate, ...], tables: Tables
) -> Rows:
    types, key = rows.types[variable], tables.fresh("k")
    held = tables.scan(types, key, predicates)
    pairs, most = [(key_of(variable), key)], tables.row_count(types)
    # Nothing has no properties: it meets tests for null alone.
    meets_null = all(isinstance(p, NullTest) and not p.is_negated for p in predicates)
    if not (meets_null and variable in rows.optional):
        return rows.over(tables.join(rows, held, pairs, "left_semi", most=most))
    frame = tables.join(rows, held, pairs, "left", most=most)
    is_kept = sql.col(key).isNotNull() | sql.col(key_of(variable)).isNull()
    return rows.over(frame.where(is_kept).drop(key))


def _keep_if(rows: Rows, predicate: Predicate, tables: Tables) -> Rows:
    """A test of no variable is decided here and now."""

    def value(expression: Expression) -> pa.Scalar:
        assert isinstance(expression, Literal | Parameter | Now), "nothing else has no variable"
        return constant_of(expression, tables.parameters, tables.now_ms)

    if holds(predicate, value, 1)[0]:
        return rows
    return rows.over(rows.frame.limit(0), most=0)


def _keep_compared(rows: Rows, predicate: Predicate, tables: Tables) -> Rows:
    match predicate:
        case NullTest(operand=EntityOf(variable=variable), is_negated=is_negated):
            bound = sql.col(key_of(variable))
            return rows.over(rows.frame.where(bound.isNotNull() if is_negated else bound.isNull()))
        case Compare(op=op, left=left, right=right):
            rows = tables.attach(rows, _properties((left, right)))
            test = comparison(op, typed(left, rows, tables), typed(right, rows, tables))
            return rows.over(rows.frame.where(test))
        case _:
            raise AssertionError("only a comparison is about two entities")


def typed(expression: Expression, rows: Rows, tables: Tables) -> Typed:
    """The value of an expression on every row; its properties are attached."""
    match expression:
        case PropertyOf(variable=variable, name=name, type=type_):
            return Typed(sql.col(rows.attached[variable, name]), type_)
        case IdentityOf(variable=variable):
            return Typed(id_of(key_of(variable), rows.types[variable]), Scalar.STRING)
        case Literal() | Parameter() | Now():
            value = constant_of(expression, tables.parameters, tables.now_ms)
            return Typed(literal(value), expression.type or Scalar.STRING)
        case _:
            raise AssertionError(f"{type(expression).__name__} has no column of its own")


def value_join(rows: Rows, others: Rows, op: ValueJoin, tables: Tables) -> Rows:
    """Each row with each of the others for which all tests hold."""
    rows = tables.attach(rows, _properties([test.left for test in op.tests]))
    others = tables.attach(others, _properties([test.right for test in op.tests]))
    # Both sides may have begun in the one row that binds nothing.
    left, right = rows.frame, others.frame.drop("unit")
    pairs: list[tuple[str, str]] = []
    for test in op.tests:
        if test.op is CompareOp.EQ:
            keys = matching_keys(typed(test.left, rows, tables), typed(test.right, others, tables))
            here, there = tables.fresh("j"), tables.fresh("j")
            left, right = left.withColumn(here, keys[0]), right.withColumn(there, keys[1])
            pairs.append((here, there))
    frame = tables.join(rows.over(left), right, pairs, "inner", most=others.most)
    joined = rows.bind(
        frame.drop(*(name for pair in pairs for name in pair)),
        others.types,
        most=rows.most * others.most,
        optional=rows.optional | others.optional,
        attached={**rows.attached, **others.attached},
    )
    for test in op.tests:
        if test.op is not CompareOp.EQ:
            joined = _keep_compared(joined, test, tables)
    return joined


def _properties(expressions: Sequence[Expression]) -> list[PropertyOf]:
    return [each for each in expressions if isinstance(each, PropertyOf)]


def counts_hold(count: Any, op: CompareOp, bound: Literal | Parameter, tables: Tables) -> Any:
    """Whether a count compares with a bound, which may be null."""
    value = constant_of(bound, tables.parameters, tables.now_ms)
    assert bound.type is not None or not value.is_valid
    return comparison(op, Typed(count, Scalar.I64), Typed(literal(value), bound.type or Scalar.I64))
