"""The values that may arrive for a property: as JSON, and as a column of a typed table.

Nothing is converted here (see `coerce`). A kind of value that can't be right is refused for the
whole column before a row is read; whether each value fits is then a question for the rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.blob_text import BLOB_PREFIX
from omnigraph.base.types import INTEGER_RANGES, EnumOf, ListOf, Scalar, ValueType, VectorOf

__all__ = [
    "arriving_array",
    "arriving_type",
    "as_plain",
    "counted_array",
    "counting_type",
    "expectation",
    "fits_json",
    "is_count",
    "plain_type",
]


def arriving_type(type_: ValueType) -> pa.DataType:
    """The Arrow type that holds what JSON can say about a property of this type."""
    match type_:
        case Scalar.STRING | Scalar.BLOB | Scalar.DATE | Scalar.DATETIME | EnumOf():
            return pa.string()
        case Scalar.BOOL:
            return pa.bool_()
        case Scalar.U64:
            return pa.uint64()
        case Scalar.I32 | Scalar.I64 | Scalar.U32:
            return pa.int64()
        case Scalar.F32 | Scalar.F64:
            return pa.float64()
        case VectorOf():
            return pa.list_(pa.float32())
        case ListOf(item=item):
            return pa.list_(arriving_type(item))


def expectation(type_: ValueType) -> str:
    """The form that a value must have, for a message."""
    match type_:
        case Scalar.STRING | EnumOf():
            return "text"
        case Scalar.BLOB:
            return f'text such as "{BLOB_PREFIX}aGk="'
        case Scalar.BOOL:
            return "true or false"
        case Scalar.DATE:
            return "a date of the years 1 to 9999, such as 2024-05-31"
        case Scalar.DATETIME:
            return "a time of the years 1 to 9999, such as 2024-05-31T12:00:00Z"
        case Scalar.F32 | Scalar.F64:
            return f"a finite number ({type_})"
        case Scalar():
            low, high = INTEGER_RANGES[type_]
            return f"a whole number from {low} to {high}"
        case VectorOf(width=width):
            return f"a list of {width} finite numbers, not all of them 0"
        case ListOf(item=item):
            return f"a list, each item {expectation(item)}"


def fits_json(value: object, type_: ValueType) -> bool:
    """Whether the value is the kind of JSON that `arriving_type` can hold."""
    match type_:
        case Scalar.STRING | Scalar.BLOB | Scalar.DATE | Scalar.DATETIME | EnumOf():
            return isinstance(value, str)
        case Scalar.BOOL:
            return isinstance(value, bool)
        case Scalar.F32 | Scalar.F64:
            return _is_number(value)
        case Scalar():
            # Whether it fits the property's own width is a rule for rows.
            low, high = INTEGER_RANGES[Scalar.U64 if type_ is Scalar.U64 else Scalar.I64]
            return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        case VectorOf():
            return isinstance(value, list) and all(_is_number(item) for item in value)
        case ListOf(item=item_type):
            return isinstance(value, list) and all(fits_json(item, item_type) for item in value)


def arriving_array(values: Sequence[Any], type_: ValueType) -> pa.Array:
    """Values that `fits_json` accepts, and nulls, as items of lists too, as a column.

    A number is the float nearest to it, as everywhere in JSON; Arrow would refuse an integer that a
    float can't hold exactly.
    """
    match type_:
        case Scalar.F32 | Scalar.F64:
            values = [*map(_float, values)]
        case VectorOf() | ListOf(item=Scalar.F32 | Scalar.F64):
            values = [None if v is None else [*map(_float, v)] for v in values]
        case _:
            pass
    return pa.array(values, arriving_type(type_))


def counting_type(type_: ValueType) -> pa.DataType | None:
    """The Arrow type of numbers that count days (`Date`) or milliseconds (`DateTime`) since 1970.

    None for other types. Only lines of JSON may hold such numbers: in a cell of CSV or a column of
    a table, a number could as well be a year, or count seconds.
    """
    match type_:
        case Scalar.DATE | Scalar.DATETIME:
            return pa.int64()
        case ListOf(item=Scalar.DATE | Scalar.DATETIME):
            return pa.list_(pa.int64())
        case _:
            return None


def is_count(value: object, type_: ValueType) -> bool:
    """Whether the value is a whole number, or a list of them, that `counting_type` can hold."""
    match type_:
        case Scalar.DATE | Scalar.DATETIME:
            return fits_json(value, Scalar.I64)
        case ListOf(item=Scalar.DATE | Scalar.DATETIME as item) if isinstance(value, list):
            return bool(value) and all(is_count(each, item) for each in value)
        case _:
            return False


def counted_array(values: Sequence[Any], type_: ValueType) -> pa.Array:
    """Values that `is_count` accepts, and nulls, as items of lists too, as a column."""
    return pa.array(values, counting_type(type_))


def plain_type(type_: ValueType, arrives: pa.DataType) -> pa.DataType | None:
    """The type to cast a column to before it is coerced; None if the property can't hold it."""
    plain = _plain(arrives)
    return plain if pa.types.is_null(plain) or _holds(type_, plain) else None


def as_plain(column: pa.Array, type_: ValueType) -> pa.Array:
    """The column as one of those that `coerce` takes; its type is one that `plain_type` accepts."""
    if pa.types.is_string(column.type):
        return column
    plain = plain_type(type_, column.type)
    assert plain is not None, "types were looked at when the splits were planned"
    return _cast(_unpacked(column), plain)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _plain(type_: pa.DataType) -> pa.DataType:
    """The type without the ways of packing that make no difference to the values."""
    types = pa.types
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _plain(type_.value_type)
    if types.is_large_string(type_) or types.is_string_view(type_):
        return pa.string()
    if types.is_binary(type_) or types.is_fixed_size_binary(type_) or types.is_binary_view(type_):
        return pa.large_binary()
    if types.is_date64(type_):
        # It counts milliseconds, and may hold a time of day that it should not.
        return pa.timestamp("ms")
    if types.is_float16(type_):
        return pa.float32()
    if types.is_fixed_size_list(type_) and types.is_float32(type_.value_type):
        return pa.list_(pa.float32(), type_.list_size)
    if _is_list(type_):
        return pa.list_(_plain(type_.value_type))
    return type_


def _unpacked(column: pa.Array) -> pa.Array:
    """Undoes what Arrow's cast does not: run ends, views in a dictionary, and views of lists, which
    it would make empty without a word."""
    types, type_ = pa.types, column.type
    if types.is_run_end_encoded(type_):
        return _unpacked(pc.run_end_decode(column))
    if types.is_dictionary(type_):
        values = column.dictionary
        return _cast(values, _plain(values.type)).take(column.indices)
    if _is_list(type_) and not _is_cast_well(type_):
        lengths = pc.if_else(column.is_valid(), pc.list_value_length(column), 0).to_numpy()
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        items = _unpacked(pc.list_flatten(column))
        return pa.ListArray.from_arrays(offsets, items, mask=column.is_null())
    return column


def _is_cast_well(type_: pa.DataType) -> bool:
    types = pa.types
    if types.is_run_end_encoded(type_) or types.is_dictionary(type_):
        return False
    if types.is_list_view(type_) or types.is_large_list_view(type_):
        return False
    return not _is_list(type_) or _is_cast_well(type_.value_type)


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    return column if column.type == type_ else column.cast(type_)


def _is_list(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_list(type_)
        or types.is_large_list(type_)
        or types.is_fixed_size_list(type_)
        or types.is_list_view(type_)
        or types.is_large_list_view(type_)
    )


def _holds(type_: ValueType, plain: pa.DataType) -> bool:
    is_number = pa.types.is_integer(plain) or pa.types.is_floating(plain)
    is_moment = pa.types.is_date32(plain) or pa.types.is_timestamp(plain)
    match type_:
        case Scalar.STRING | EnumOf():
            fits = pa.types.is_string(plain)
        case Scalar.BOOL:
            fits = pa.types.is_boolean(plain)
        case Scalar.I32 | Scalar.I64 | Scalar.U32 | Scalar.U64 | Scalar.F32 | Scalar.F64:
            fits = is_number
        case Scalar.DATE if pa.types.is_timestamp(plain):
            fits = _has_known_zone(plain)
        case Scalar.DATE | Scalar.DATETIME:
            fits = is_moment or pa.types.is_string(plain)
        case Scalar.BLOB:
            fits = pa.types.is_large_binary(plain) or pa.types.is_string(plain)
        case VectorOf():
            fits = _is_list(plain) and plain_type(Scalar.F32, plain.value_type) is not None
        case ListOf(item=item):
            fits = _is_list(plain) and plain_type(item, plain.value_type) is not None
    return bool(fits)


def _has_known_zone(type_: pa.DataType) -> bool:
    """Whether the clock is known by which a timestamp is of one day and not of another."""
    try:
        pc.local_timestamp(pa.array([0], type_))
    except pa.ArrowInvalid:
        return type_.tz is None
    return True
