"""Which rows of one type satisfy predicates: the `where` of a mutation, the condition of a view.

Unlike a query's filters these see rows as a table with physical columns: some committed, some
written a statement ago and nowhere on disk yet.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.base.types import Value
from omnigraph.lang.plan.ir import (
    Compare,
    Expression,
    IdentityOf,
    Literal,
    Membership,
    Now,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    TextMatch,
)
from omnigraph.lang.schema.catalog import DST, ID, SRC, EntityType
from omnigraph.read.values.compare import Mask, Values
from omnigraph.read.values.predicates import constant_of, holds

__all__ = ["column_of", "columns_in", "mask_of", "matching"]


def columns_in(predicates: Sequence[Predicate], entity: EntityType) -> list[str]:
    """The physical columns that the predicates look at, `id` first."""
    columns = {ID: None}
    for predicate in predicates:
        for side in _sides(predicate):
            if isinstance(side, PropertyOf):
                columns[column_of(side, entity)] = None
    return list(columns)


def matching(
    rows: pa.Table,
    predicates: Sequence[Predicate],
    entity: EntityType,
    *,
    parameters: Mapping[str, Value],
    now_ms: int,
) -> pa.Table:
    """The rows for which every predicate holds."""
    kept = mask_of(rows, predicates, entity, parameters=parameters, now_ms=now_ms)
    return rows.filter(pa.array(kept))


def mask_of(
    rows: pa.Table,
    predicates: Sequence[Predicate],
    entity: EntityType,
    *,
    parameters: Mapping[str, Value],
    now_ms: int,
) -> Mask:
    """True for each row for which every predicate holds."""
    kept = np.ones(rows.num_rows, dtype=np.bool_)
    for predicate in predicates:
        kept &= _holds(predicate, rows, entity, parameters, now_ms)
    return kept


def column_of(field: PropertyOf | IdentityOf, entity: EntityType) -> str:
    """The physical column of a field; the ends of an edge are columns by their own names."""
    match field:
        case IdentityOf():
            return ID
        case PropertyOf(name=name) if name in entity.by_name:
            return entity.by_name[name].column
        case PropertyOf(name=name):
            assert name in (SRC, DST), f"{entity.name} has no property {name}"
            return name


def _holds(
    predicate: Predicate,
    rows: pa.Table,
    entity: EntityType,
    parameters: Mapping[str, Value],
    now_ms: int,
) -> Mask:
    def value(expression: Expression) -> Values:
        match expression:
            case PropertyOf() | IdentityOf():
                return rows[column_of(expression, entity)].combine_chunks()
            case Literal() | Parameter() | Now():
                return constant_of(expression, parameters, now_ms)
            case _:
                raise AssertionError(f"{type(expression).__name__} has no place in a where")

    return holds(predicate, value, rows.num_rows)


def _sides(predicate: Predicate) -> tuple[Expression, ...]:
    match predicate:
        case Compare(left=left, right=right):
            return left, right
        case Membership(left=left):
            return (left,)
        case NullTest(operand=operand):
            return (operand,)
        case TextMatch(field=field):
            return (field,)
