"""Values as columns of Spark's, compared by the rules of the language.

Where Spark has other rules than ours it is not asked: it rounds an integer before it compares it
with a float, takes a date for midnight wherever the session is, and turns a float into a decimal by
way of its shortest text. A comparison that meets a null is false.
"""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql

from omnigraph.base.frozen import frozen
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType
from omnigraph.lang.plan.ir import MIRRORED, OPERATORS, CompareOp
from omnigraph.pipeline.frames.carried import carried_type

__all__ = ["Typed", "comparison", "literal", "matching_keys", "spark_type"]

MS_PER_DAY = 86_400_000
FLOATS = (Scalar.F32, Scalar.F64)
WHOLE = "decimal(20,0)"
EPOCH = datetime.date(1970, 1, 1)


@frozen(slots=False)
class Typed:
    column: Any
    type: ValueType

    @property
    def is_float(self) -> bool:
        return self.type in FLOATS

    @property
    def is_text(self) -> bool:
        return self.type is Scalar.STRING or isinstance(self.type, EnumOf)

    @property
    def is_time(self) -> bool:
        return self.type in (Scalar.DATE, Scalar.DATETIME)


def spark_type(kind: pa.DataType) -> Any:
    """Spark's type for values that an answer has as this one."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(carried_type(kind))


def literal(value: pa.Scalar) -> Any:
    """A constant. Times go by number: as objects they would pass through calendars and zones."""
    kind, plain = value.type, value.as_py()
    if pa.types.is_null(kind):
        return sql.lit(None).cast("string")
    type_ = spark_type(kind)
    if plain is None:
        return sql.lit(None).cast(type_)
    if pa.types.is_date32(kind):
        return sql.date_from_unix_date(sql.lit((plain - EPOCH).days))
    if pa.types.is_timestamp(kind):
        return sql.timestamp_millis(sql.lit(value.cast(pa.int64()).as_py()))
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        items = [literal(pa.scalar(item, kind.value_type)) for item in plain]
        return sql.array(*items).cast(type_)
    if pa.types.is_uint64(kind):
        return sql.lit(Decimal(plain)).cast(type_)
    return sql.lit(plain).cast(type_)


def comparison(op: CompareOp, left: Typed, right: Typed) -> Any:
    """True where it holds; never null."""
    return sql.coalesce(_compared(op, left, right), sql.expr("false"))


def _compared(op: CompareOp, left: Typed, right: Typed) -> Any:
    if isinstance(left.type, ListOf):
        item = left.type.item
        return sql.exists(
            left.column, lambda each: comparison(CompareOp.EQ, Typed(each, item), right)
        )
    if op is CompareOp.CONTAINS:
        return sql.contains(left.column, right.column)
    if op is CompareOp.STARTS_WITH:
        return sql.startswith(left.column, right.column)
    if left.is_time and left.type != right.type:
        return OPERATORS[op](_time(left), _time(right))
    if left.is_float != right.is_float:
        if left.is_float:
            return _whole_with_float(MIRRORED[op], right, left)
        return _whole_with_float(op, left, right)
    return OPERATORS[op](left.column, right.column)


def _whole_with_float(op: CompareOp, left: Typed, right: Typed) -> Any:
    # Rounding keeps order, so where the rounded integer differs from the float the answer stands.
    # Where it equals the float, the float is whole and the integers decide.
    compare: Callable[[Any, Any], Any] = OPERATORS[op]
    near, other = left.column.cast("double"), right.column.cast("double")
    whole = _whole(right.column)
    decided = sql.coalesce(
        compare(left.column.cast(WHOLE), whole),
        # No integer of ours is as great: it rounds to 2^63 or 2^64 and is less.
        sql.lit(bool(compare(0, 1))),
    )
    return sql.when(left.column.isNull() | other.isNull(), sql.expr("false")).otherwise(
        sql.when(near == other, decided).otherwise(compare(near, other))
    )


def _whole(column: Any) -> Any:
    """A float as the integer that it equals; null where no integer of 64 bits does."""
    number = column.cast("double")
    half, middle = 2.0**63, sql.lit(Decimal(2**63)).cast(WHOLE)
    upper = (number - sql.lit(half)).try_cast("bigint").cast(WHOLE) + middle
    return (
        sql.when(sql.rint(number) != number, None)
        .when((number >= sql.lit(-half)) & (number < sql.lit(half)), number.try_cast("bigint"))
        .when((number >= sql.lit(half)) & (number < sql.lit(2 * half)), upper.try_cast(WHOLE))
        .cast(WHOLE)
    )


def _time(value: Typed) -> Any:
    """A time; a date is the midnight it begins with, in UTC."""
    if value.type is Scalar.DATETIME:
        return value.column
    return sql.timestamp_millis(sql.unix_date(value.column).cast("bigint") * sql.lit(MS_PER_DAY))


def matching_keys(left: Typed, right: Typed) -> tuple[Any, Any]:
    """Columns of one type, equal where the values are equal by `comparison`."""
    if left.is_time and left.type != right.type:
        return _time(left), _time(right)
    if left.is_float and right.is_float:
        return left.column.cast("double"), right.column.cast("double")
    if left.is_float or right.is_float:
        return _as_whole(left), _as_whole(right)
    if left.is_text or left.is_time or Scalar.BOOL in (left.type, right.type):
        return left.column, right.column
    return left.column.cast(WHOLE), right.column.cast(WHOLE)


def _as_whole(value: Typed) -> Any:
    return _whole(value.column) if value.is_float else value.column.cast(WHOLE)
