"""Which rows of one type satisfy the `where` of an update or delete.

Unlike a query's filters these see rows as a table with physical columns: some committed, some
written a statement ago and nowhere on disk yet.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import Unsupported
from omnigraph.base.types import ListOf, Value
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
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.read.compare import Mask, Values, compare, is_member
from omnigraph.store.arrow import arrow_type

__all__ = ["columns_in", "constant_of", "matching"]


def columns_in(predicates: Sequence[Predicate], entity: EntityType) -> list[str]:
    """The physical columns that the predicates look at, `id` first."""
    columns = {ID: None}
    for predicate in predicates:
        for side in _sides(predicate):
            if isinstance(side, PropertyOf):
                columns[entity.by_name[side.name].column] = None
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


def constant_of(
    expression: Literal | Parameter | Now, parameters: Mapping[str, Value], now_ms: int
) -> pa.Scalar:
    """What a literal, a parameter or the time is worth."""
    match expression:
        case Literal(value=value, type=type_):
            return pa.scalar(value, None if type_ is None else arrow_type(type_))
        case Parameter(name=name, type=type_):
            return pa.scalar(parameters[name], arrow_type(type_))
        case Now(type=type_):
            instant = pa.scalar(now_ms, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
            return instant.cast(arrow_type(type_))


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
                return rows[entity.by_name[name].column].combine_chunks()
            case IdentityOf():
                return rows[ID].combine_chunks()
            case Literal() | Parameter() | Now():
                return constant_of(expression, parameters, now_ms)
            case _:
                raise AssertionError(f"{type(expression).__name__} has no place in a where")

    match predicate:
        case Compare(op=op, left=left, right=right):
            return compare(op, value(left), value(right), rows.num_rows)
        case Membership(left=left, options=options):
            assert isinstance(options.type, ListOf), "membership is asked of a list"
            given = value(options).as_py() or ()
            return is_member(value(left), given, arrow_type(options.type.item))
        case NullTest(operand=operand, is_negated=is_negated):
            mask: Mask = pc.is_null(value(operand)).to_numpy(zero_copy_only=False)
            return ~mask if is_negated else mask
        case TextMatch():
            raise Unsupported(what="full-text search in a where")


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
