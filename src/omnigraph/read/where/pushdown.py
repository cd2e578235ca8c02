"""What Lance can test of a `where`: typed expressions, so that indexes serve them.

The expression lets through every row that the predicates hold for, and perhaps others: what Lance
would judge by other rules than ours is left out, and the reader asks `rows.matching` about the
rows that come. No text of a user ever becomes part of an expression's text.
"""

import operator
from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.types import ListOf, Value
from omnigraph.lang.plan.ir import (
    MIRRORED,
    OPERATORS,
    Compare,
    CompareOp,
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
from omnigraph.read.values.predicates import constant_of
from omnigraph.read.values.rows import column_of
from omnigraph.store.arrow import arrow_type, table_schema
from omnigraph.store.datasets import MAX_PREDICATE_VALUES

__all__ = ["pushed"]

# No row lacks an id. (Lance takes no expression without a column.)
NOTHING = pc.field(ID).is_null()


def pushed(
    predicates: Sequence[Predicate],
    entity: EntityType,
    *,
    parameters: Mapping[str, Value],
    now_ms: int,
) -> pc.Expression | None:
    """The part of the predicates that Lance tests as we do; None: none of them."""
    parts = [_pushed(p, entity, parameters, now_ms) for p in predicates]
    known = [part for part in parts if part is not None]
    return reduce(operator.and_, known) if known else None


def _pushed(
    predicate: Predicate, entity: EntityType, parameters: Mapping[str, Value], now_ms: int
) -> pc.Expression | None:
    match predicate:
        case Compare(
            op=op,
            left=PropertyOf() | IdentityOf() as field,
            right=Literal() | Parameter() | Now() as other,
        ):
            return _comparison(op, field, constant_of(other, parameters, now_ms), entity)
        case Compare(
            op=op,
            left=Literal() | Parameter() | Now() as other,
            right=PropertyOf() | IdentityOf() as field,
        ) if op in MIRRORED:
            return _comparison(MIRRORED[op], field, constant_of(other, parameters, now_ms), entity)
        case Membership(left=PropertyOf() | IdentityOf() as field, options=options):
            return _membership(field, constant_of(options, parameters, now_ms), entity, options)
        case NullTest(operand=PropertyOf() | IdentityOf() as field, is_negated=is_negated):
            return _null_test(field, entity, is_negated=is_negated)
        case Compare() | Membership() | NullTest() | TextMatch():
            return None


def _comparison(
    op: CompareOp, field: PropertyOf | IdentityOf, value: pa.Scalar, entity: EntityType
) -> pc.Expression | None:
    if not value.is_valid:
        return NOTHING
    if op not in OPERATORS:
        return None
    column = column_of(field, entity)
    fitted = _fitted(value, table_schema(entity).field(column).type)
    return None if fitted is None else OPERATORS[op](pc.field(column), fitted)


def _membership(
    field: PropertyOf | IdentityOf,
    options: pa.Scalar,
    entity: EntityType,
    given: Literal | Parameter,
) -> pc.Expression | None:
    assert isinstance(given.type, ListOf), "membership is asked of a list"
    column, item = column_of(field, entity), arrow_type(given.type.item)
    type_ = table_schema(entity).field(column).type
    values = [pa.scalar(v, item) for v in options.as_py() or () if v is not None]
    fitted = [_fitted(value, type_) for value in values]
    if not values:
        return NOTHING
    if len(values) > MAX_PREDICATE_VALUES or any(value is None for value in fitted):
        return None
    return pc.field(column).isin(pa.array([v.as_py() for v in fitted if v is not None], type_))


def _null_test(
    field: PropertyOf | IdentityOf, entity: EntityType, *, is_negated: bool
) -> pc.Expression | None:
    column = column_of(field, entity)
    if _is_beyond_lance(table_schema(entity).field(column).type):
        return None
    return pc.field(column).is_valid() if is_negated else pc.field(column).is_null()


def _fitted(value: pa.Scalar, type_: pa.DataType) -> pa.Scalar | None:
    """The value as one of the column's type, if Lance then compares it as we would."""
    if _is_beyond_lance(type_):
        return None
    if value.type == type_ and not pa.types.is_floating(type_):
        return value
    if pa.types.is_integer(value.type) and pa.types.is_integer(type_):
        try:
            return value.cast(type_)
        except pa.ArrowInvalid:
            return None
    if pa.types.is_floating(value.type) and pa.types.is_floating(type_):
        near = value.cast(type_, safe=False)
        # Lance tells 0 from -0, and a number that the column rounds would be another number.
        return near if near.as_py() == value.as_py() and value.as_py() != 0 else None
    return None


def _is_beyond_lance(type_: pa.DataType) -> bool:
    """Expressions over such columns are refused, even a test for null."""
    return bool(pa.types.is_unsigned_integer(type_) or pa.types.is_nested(type_))
