"""What shapes an answer on Spark: groups, distinct rows, a total order, the first rows, columns.

Sums of integers are added up as decimals, which hold every one of them, and are refused where they
do not fit: Spark's own would fail on the way to a sum that fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.base.types import Scalar, ValueType
from omnigraph.lang.plan.ir import (
    Aggregate,
    AggregateFunction,
    AggregateOf,
    Column,
    ColumnOf,
    Distinct,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
    Now,
    Parameter,
    PropertyOf,
    Sort,
)
from omnigraph.lang.schema.catalog import ID
from omnigraph.pipeline.query.counts import added, refused
from omnigraph.pipeline.query.filters import typed
from omnigraph.pipeline.query.rows import Rows, Types, id_of, key_of, type_of
from omnigraph.pipeline.query.tables import Tables
from omnigraph.pipeline.query.values import spark_type
from omnigraph.read.values.predicates import constant_of
from omnigraph.read.values.sums import LARGEST_FLOAT, TOO_MANY
from omnigraph.store.arrow import arrow_type

__all__ = ["Shaped", "ShownColumn", "grouped", "in_order", "shaped", "shown"]

FLOATS = (Scalar.F32, Scalar.F64)
UNSIGNED = (Scalar.U32, Scalar.U64)
COUNT = pa.int64()


@frozen(slots=False)
class Made:
    """A column that a grouping made."""

    column: str
    kind: pa.DataType
    entity: VariableName | None = None
    """The variable in whose place it stands, where it is a whole entity."""
    is_name: bool = True
    """True if it tells groups apart; False if it was worked out for each."""


@frozen(slots=False)
class Shaped:
    """Rows of a pattern, or of groups: then `made` has their columns."""

    rows: Rows
    made: Mapping[str, Made] | None = None


@frozen(slots=False)
class ShownColumn:
    """A column of the answer: what it is called, its value, and its type as an answer has it."""

    name: str
    column: Any
    kind: pa.DataType


def shaped(rows: Rows, expressions: Sequence[Expression], tables: Tables) -> Shaped:
    """The rows of a pattern with all that the answer will look at: an order is not joined again."""
    return Shaped(tables.attach(rows, _looked_at(expressions, rows, tables)))


def _looked_at(expressions: Sequence[Expression], rows: Rows, tables: Tables) -> list[PropertyOf]:
    found: list[PropertyOf] = []
    for expression in expressions:
        match expression:
            case PropertyOf():
                found.append(expression)
            case EntityOf(variable=variable):
                found += tables.shown(variable, rows.types[variable])
            case AggregateOf(argument=PropertyOf() as argument):
                found.append(argument)
            case _:
                pass
    return found


# Groups -------------------------------------------------------------------------------------------


def grouped(rows: Rows, op: Aggregate | Distinct, tables: Tables) -> Shaped:
    keys = op.keys if isinstance(op, Aggregate) else op.columns
    aggregates = op.aggregates if isinstance(op, Aggregate) else ()
    of_keys = [c.expression for c in keys if not isinstance(c.expression, EntityOf)]
    looked_at = [*of_keys, *(c.expression for c in aggregates)]
    rows = tables.attach(rows, _looked_at(looked_at, rows, tables))
    made: dict[str, Made] = {}
    types: dict[VariableName, Types] = {}
    columns = []
    for column in keys:
        made[column.name], value = _key(column, rows, types, tables)
        columns.append(value.alias(made[column.name].column))
    work = []
    for column in aggregates:
        assert isinstance(column.expression, AggregateOf), "only aggregates are aggregated"
        name, kind = tables.fresh("c"), _kind_of_aggregate(column.expression)
        made[column.name] = Made(name, kind, is_name=False)
        work.append(_aggregate(column.expression, column.name, rows, tables).alias(name))
    if work:
        frame = rows.frame.groupBy(*columns).agg(*work)
    else:
        frame = rows.frame.select(*columns).distinct()
    result = Rows(frame, rows.most, types, optional=frozenset(types))
    entities = [each for v in types for each in tables.shown(v, types[v])]
    return Shaped(tables.attach(result, entities), made)


def _key(
    column: Column, rows: Rows, types: dict[VariableName, Types], tables: Tables
) -> tuple[Made, Any]:
    """What a group is named by, and its value."""
    expression = column.expression
    if isinstance(expression, EntityOf):
        # Grouped by which it is; its properties are looked up for each group.
        variable = VariableName(tables.fresh("g"))
        types[variable] = rows.types[expression.variable]
        kind = _entity_kind(types[variable], tables)
        made = Made(key_of(variable), kind, entity=variable)
        return made, sql.col(key_of(expression.variable))
    value = typed(expression, rows, tables)
    return Made(tables.fresh("c"), _kind_of(expression, rows, tables)), value.column


def _aggregate(aggregate: AggregateOf, name: str, rows: Rows, tables: Tables) -> Any:
    argument = aggregate.argument
    is_distinct = aggregate.is_distinct
    if isinstance(argument, EntityOf):
        if argument.variable not in rows.types:
            # Nobody needed to know which it is: all rows bind it.
            bound = sql.lit(1)
        else:
            bound = sql.col(key_of(argument.variable))
        if is_distinct:
            return sql.count_distinct(bound)
        return _count(bound, rows)
    value = typed(argument, rows, tables)
    match aggregate.function:
        case AggregateFunction.COUNT:
            return sql.count_distinct(value.column) if is_distinct else _count(value.column, rows)
        case AggregateFunction.SUM:
            return _sum(value.column, value.type, name, is_distinct=is_distinct)
        case AggregateFunction.AVG:
            return _average(value.column, value.type, is_distinct=is_distinct)
        case AggregateFunction.MIN:
            return sql.min(value.column)
        case AggregateFunction.MAX:
            return sql.max(value.column)
        case AggregateFunction.COLLECT:
            collect = sql.collect_set if is_distinct else sql.collect_list
            return sql.array_sort(collect(value.column))


def _count(values: Any, rows: Rows) -> Any:
    if rows.weight is None:
        return sql.count(values)
    weights = added(sql.when(values.isNotNull(), sql.col(rows.weight)).otherwise(0))
    return sql.when(sql.count(sql.lit(1)) > 0, weights).otherwise(sql.lit(0).cast("bigint"))


def _sum(values: Any, type_: ValueType, name: str, *, is_distinct: bool) -> Any:
    add = sql.sum_distinct if is_distinct else sql.sum
    if type_ in FLOATS:
        total = add(values.cast("double"))
        # A partial sum may exceed what the whole one does not.
        scaled = add(values.cast("double") / sql.lit(TOO_MANY)) * sql.lit(TOO_MANY)
        total = sql.when(_is_finite(total), total).otherwise(scaled)
        return _unless_too_large(total, _is_finite(total), "double", name, LARGEST_FLOAT)
    is_unsigned = type_ in UNSIGNED
    low, high = (0, 2**64 - 1) if is_unsigned else (-(2**63), 2**63 - 1)
    total = add(values.cast("decimal(28,0)"))
    wide = spark_type(pa.uint64() if is_unsigned else pa.int64())
    fits = (total >= sql.lit(low)) & (total <= _exact(high))
    return _unless_too_large(total, fits, wide, name, high)


def _unless_too_large(total: Any, fits: Any, type_: Any, name: str, limit: float) -> Any:
    too_large = refused(f"the sum `{name}`", limit, type_)
    return sql.when(total.isNull() | fits, total.try_cast(type_)).otherwise(too_large)


def _is_finite(number: Any) -> Any:
    """Spark takes what is no number for greater than infinity."""
    return sql.abs(number) <= sql.lit(LARGEST_FLOAT)


def _exact(number: int) -> Any:
    from decimal import Decimal

    return sql.lit(Decimal(number))


def _average(values: Any, type_: ValueType, *, is_distinct: bool) -> Any:
    add = sql.sum_distinct if is_distinct else sql.sum
    count = sql.count_distinct(values) if is_distinct else sql.count(values)
    if type_ not in FLOATS:
        return sql.when(count > 0, add(values.cast("decimal(28,0)")).cast("double") / count)
    mean = add(values.cast("double")) / count
    # A sum may exceed what a mean never does.
    small = add(values.cast("double") / sql.lit(TOO_MANY)) / count * sql.lit(TOO_MANY)
    return sql.when(count > 0, sql.when(_is_finite(mean), mean).otherwise(small))


# Order --------------------------------------------------------------------------------------------


def in_order(whole: Shaped, op: Sort | None, tables: Tables) -> Shaped:
    """The rows in a total order: by the keys, then by ids, or by what groups are named by.

    Without keys it is an order all the same, so that the first rows are always the same ones.
    """
    keys: list[Any] = []
    for key in op.keys if op is not None else ():
        keys += _sort_keys(key.expression, whole, tables, is_descending=key.is_descending)
    if whole.made is not None:
        for name, made in whole.made.items():
            if made.is_name:
                keys += _sort_keys(ColumnOf(name), whole, tables, is_descending=False)
    else:
        ties = op.ties if op is not None else sorted(whole.rows.types)
        for variable in ties:
            keys += _sort_keys(EntityOf(variable), whole, tables, is_descending=False)
    if not keys:
        return whole
    return replace(whole, rows=whole.rows.over(whole.rows.frame.orderBy(*keys)))


def _sort_keys(
    expression: Expression, whole: Shaped, tables: Tables, *, is_descending: bool
) -> list[Any]:
    """Null is smallest. Entities go by id, then by type."""
    variable: VariableName | None = None
    match expression:
        case EntityOf(variable=own):
            variable = own
        case ColumnOf(name=name):
            assert whole.made is not None, "columns are made by groups"
            variable = whole.made[name].entity
            columns = [sql.col(whole.made[name].column)]
        case _:
            columns = [typed(expression, whole.rows, tables).column]
    if variable is not None:
        key, types = key_of(variable), whole.rows.types[variable]
        columns = [id_of(key, types), *([type_of(key)] if len(types) > 1 else [])]
    if is_descending:
        return [column.desc_nulls_last() for column in columns]
    return [column.asc_nulls_first() for column in columns]


# Columns of the answer ----------------------------------------------------------------------------


def shown(column: Column, whole: Shaped, tables: Tables) -> ShownColumn:
    expression = column.expression
    match expression:
        case ColumnOf(name=name):
            assert whole.made is not None, "columns are made by groups"
            made = whole.made[name]
            if made.entity is None:
                return ShownColumn(column.name, sql.col(made.column), made.kind)
            variable = made.entity
        case EntityOf(variable=own):
            variable = own
        case _:
            value = typed(expression, whole.rows, tables)
            kind = _kind_of(expression, whole.rows, tables)
            return ShownColumn(column.name, value.column.cast(spark_type(kind)), kind)
    types = whole.rows.types[variable]
    return ShownColumn(
        column.name, _entity(variable, whole.rows, tables), _entity_kind(types, tables)
    )


def _entity(variable: VariableName, rows: Rows, tables: Tables) -> Any:
    key, types = key_of(variable), rows.types[variable]
    properties = {
        p.name: sql.col(rows.attached[variable, p.name]) for p in tables.shown(variable, types)
    }
    own_id = properties.pop(ID, None)
    fields = {ID: id_of(key, types) if own_id is None else own_id, **properties}
    whole = sql.struct(*(value.alias(name) for name, value in fields.items()))
    return sql.when(sql.col(key).isNotNull(), whole)


def _entity_kind(types: Types, tables: Tables) -> pa.DataType:
    kinds = {p.name: arrow_type(p.type) for p in tables.shown(VariableName(""), types)}
    fields = {ID: kinds.pop(ID, pa.string()), **kinds}
    return pa.struct(list(fields.items()))


def _kind_of(expression: Expression, rows: Rows, tables: Tables) -> pa.DataType:
    match expression:
        case PropertyOf(type=type_):
            return arrow_type(type_)
        case IdentityOf():
            return pa.string()
        case Literal() | Parameter() | Now():
            kind = constant_of(expression, tables.parameters, tables.now_ms).type
            return pa.string() if pa.types.is_null(kind) else kind
        case EntityOf(variable=variable):
            return _entity_kind(rows.types[variable], tables)
        case _:
            raise AssertionError(f"{type(expression).__name__} has no type of its own")


def _kind_of_aggregate(aggregate: AggregateOf) -> pa.DataType:
    if aggregate.function is AggregateFunction.COUNT or isinstance(aggregate.argument, EntityOf):
        return COUNT
    argument = aggregate.argument
    type_: ValueType = argument.type if isinstance(argument, PropertyOf) else Scalar.STRING
    match aggregate.function:
        case AggregateFunction.SUM if type_ in FLOATS:
            return pa.float64()
        case AggregateFunction.SUM:
            return pa.uint64() if type_ in UNSIGNED else pa.int64()
        case AggregateFunction.AVG:
            return pa.float64()
        case AggregateFunction.COLLECT:
            return pa.list_(arrow_type(type_))
        case _:
            return arrow_type(type_)
