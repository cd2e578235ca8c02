"""Which rows of one type satisfy the `where` of an update or delete.

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
from omnigraph.read.compare import Mask, Values
from omnigraph.read.predicates import constant_of, holds

__all__ = ["columns_in", "matching"]


def columns_in(predicates: Sequence[Predicate], entity: EntityType) -> list[str]:
    """The physical columns that the predicates look at, `id` first."""
    columns = {ID: None}
    for predicate in predicates:
        for side in _sides(predicate):
            if isinstance(side, PropertyOf):
                columns[_column(entity, side.name)] = None
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
    kept = np.ones(rows.num_rows, dtype=np.bool_)
    for predicate in predicates:
        kept &= _holds(predicate, rows, entity, parameters, now_ms)
    return rows.filter(pa.array(kept))


def _holds(
    predicate: Predicate,
    rows: pa.Table,
    entity: EntityType,
    parameters: Mapping[str, Value],
    now_ms: int,
) -> Mask:
    def value(expression: Expression) -> Values:
        match expression:
            case PropertyOf(name=name):
                return rows[_column(entity, name)].combine_chunks()
            case IdentityOf():
                return rows[ID].combine_chunks()
            case Literal() | Parameter() | Now():
                return constant_of(expression, parameters, now_ms)
            case _:
                raise AssertionError(f"{type(expression).__name__} has no place in a where")

    return holds(predicate, value, rows.num_rows)


def _column(entity: EntityType, name: str) -> str:
    """A property's physical column; the ends of an edge are columns by their own names."""
    return name if name in (SRC, DST) else entity.by_name[name].column


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
