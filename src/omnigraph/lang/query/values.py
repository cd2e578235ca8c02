"""Values from outside (literals in a query, JSON, Python) as values of the graph's types.

A value is converted only where nothing is lost: 3.0 is an integer, 3.5 is not; `true` is no number.
"""

import datetime
import math
import numbers
import struct
from collections.abc import Iterable

from omnigraph.base.blob_text import BLOB_PREFIX, blob_from_text
from omnigraph.base.types import (
    INTEGER_RANGES,
    EnumOf,
    ListOf,
    Scalar,
    Value,
    ValueType,
    VectorOf,
)

__all__ = ["Unfit", "convert", "is_without_direction"]


class Unfit(Exception):
    """The value is none of the type; the text says why, to be put after "…: "."""


def convert(value: object, type_: ValueType) -> Value:
    """The value of the type that `value` stands for; raises Unfit."""
    match type_:
        case Scalar():
            return _scalar(value, type_)
        case EnumOf(values=words):
            text = _string(value)
            if text not in words:
                raise Unfit(f"{_shown(text)} is not one of {', '.join(words)}")
            return text
        case ListOf(item=item):
            return tuple(_item(v, item, i) for i, v in enumerate(_elements(value, type_)))
        case VectorOf(width=width):
            elements = _elements(value, type_)
            if len(elements) != width:
                raise Unfit(f"it has {len(elements)} elements, not {width}")
            return tuple(_item(v, Scalar.F32, i) for i, v in enumerate(elements))


def is_without_direction(vector: Value) -> bool:
    """True of a vector of zeros: it makes an angle with none."""
    return isinstance(vector, tuple) and not any(vector)


def _scalar(value: object, type_: Scalar) -> Value:
    match type_:
        case Scalar.STRING:
            return _string(value)
        case Scalar.BOOL:
            if isinstance(value, bool):
                return value
            raise Unfit(f"{_shown(value)} is not true or false")
        case Scalar.I32 | Scalar.I64 | Scalar.U32 | Scalar.U64:
            return _integer(value, type_)
        case Scalar.F32 | Scalar.F64:
            return _float(value, type_)
        case Scalar.DATE:
            return _date(value)
        case Scalar.DATETIME:
            return _datetime(value)
        case Scalar.BLOB:
            return _blob(value)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit(f"{_shown(value)} is not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unfit("the text is not valid Unicode") from None
    return str(value)


def _integer(value: object, type_: Scalar) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise Unfit(f"{_shown(value)} is not a whole number")
    if isinstance(value, numbers.Integral):
        whole = int(value)
    elif float(value).is_integer():
        whole = int(float(value))
    else:
        raise Unfit(f"{_shown(value)} is not a whole number")
    low, high = INTEGER_RANGES[type_]
    if not low <= whole <= high:
        raise Unfit(f"{_shown(value)} is outside {low}..{high}")
    return whole


def _float(value: object, type_: Scalar) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise Unfit(f"{_shown(value)} is not a number")
    try:
        # A 32-bit property holds the nearest 32-bit number, and must be found by it.
        number = _nearest_f32(float(value)) if type_ is Scalar.F32 else float(value)
    except OverflowError:
        raise Unfit(f"{_shown(value)} is too large") from None
    if not math.isfinite(number):
        raise Unfit(f"{_shown(value)} is not finite")
    return number


def _nearest_f32(number: float) -> float:
    (nearest,) = struct.unpack("<f", struct.pack("<f", number))
    assert isinstance(nearest, float)
    return nearest


def _date(value: object) -> datetime.date:
    if isinstance(value, datetime.datetime):
        raise Unfit("a time of day does not belong in a Date")
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(_string(value))
    except ValueError:
        raise Unfit(f"{_shown(value)} is not a date such as 2024-05-31") from None


def _datetime(value: object) -> datetime.datetime:
    """In UTC, whole milliseconds; a time without an offset is taken as UTC."""
    if isinstance(value, datetime.datetime):
        moment = value
    elif isinstance(value, datetime.date):
        moment = datetime.datetime(value.year, value.month, value.day)
    else:
        try:
            moment = datetime.datetime.fromisoformat(_string(value))
        except ValueError:
            example = "2024-05-31T12:00:00Z"
            raise Unfit(f"{_shown(value)} is not a time such as {example}") from None
    try:
        aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        utc = aware.astimezone(datetime.UTC)
    except OverflowError:
        raise Unfit(f"{_shown(value)} is outside the years 1 to 9999") from None
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


def _blob(value: object) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    text = _string(value)
    try:
        return blob_from_text(text)
    except ValueError:
        raise Unfit(f'it is neither bytes nor text such as "{BLOB_PREFIX}aGk="') from None


def _elements(value: object, type_: ValueType) -> list[object]:
    # NumPy arrays and Arrow scalars know how to become a list; text is iterable and no list.
    values = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise Unfit(f"{_shown(value)} is not a list, as {type_} is")
    return list(values)


def _item(value: object, type_: Scalar, position: int) -> Value:
    try:
        return _scalar(value, type_)
    except Unfit as error:
        raise Unfit(f"element {position + 1}: {error}") from None


def _shown(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value[:39]}…"' if len(value) > 40 else f'"{value}"'
        case int() | float():
            return str(value) if abs(value) < 10**40 else "the number"
        case _:
            return f"a {type(value).__name__}"
