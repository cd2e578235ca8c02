"""Written types to the types of the graph, and written values to values of them."""

import datetime
import re
import sys

from omnigraph.base.types import (
    INTEGER_RANGES,
    EnumOf,
    ListOf,
    Scalar,
    Value,
    ValueType,
    VectorOf,
)
from omnigraph.base.words import clipped
from omnigraph.lang.schema.check.findings import Findings
from omnigraph.lang.schema.codes import TYPE_WORDS
from omnigraph.lang.schema.text.ast import (
    EnumExpression,
    ListExpression,
    Literal,
    LiteralValue,
    Name,
    TypeExpression,
    TypeName,
)
from omnigraph.lang.type_words import BUILT_IN_TYPES, SCALARS, VECTOR, type_hint

__all__ = [
    "LARGEST_FLOATS",
    "MAX_VECTOR_WIDTH",
    "default_value",
    "value_type",
]

WRITTEN_TYPES = (*BUILT_IN_TYPES, "enum")

# Sixteen times the widest embedding in use; a slip of the keyboard is larger.
MAX_VECTOR_WIDTH = 65_536
LARGEST_FLOATS = {Scalar.F32: 3.4028234663852886e38, Scalar.F64: sys.float_info.max}

DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
DATETIME = re.compile(
    r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d([.,]\d{1,3}0*)?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)


def value_type(written: TypeExpression, findings: Findings) -> ValueType | None:
    """None where the type is wrong; what is wrong is in the findings."""
    match written:
        case TypeName(name=name, size=size, at=at) if name.text == VECTOR:
            if size is None or not 1 <= size <= MAX_VECTOR_WIDTH:
                message = f"a Vector has between 1 and {MAX_VECTOR_WIDTH:,} dimensions"
                findings.add("S011", at, message, "write them in parentheses: Vector(384)")
                return None
            return VectorOf(size)
        case TypeName(name=name, size=size, at=at):
            if size is not None and name.text in SCALARS:
                findings.add("S011", at, f"{name.text} has no size", f"write {name.text}")
            return _scalar(name, findings)
        case ListExpression(item=item):
            scalar = _scalar(item, findings) if item.text != VECTOR else Scalar.BLOB
            if scalar is Scalar.BLOB:
                findings.add("S012", item.at, f"a list can't hold {item.text}", "use a scalar type")
            return None if scalar is None else ListOf(scalar)
        case EnumExpression(words=words):
            for word in words:
                if word.text.startswith("-"):
                    findings.add("S013", word.at, f"{clipped(word.text)} can't be an enum word")
            return EnumOf(tuple(sorted({word.text for word in words})))


def default_value(written: Literal | Name, type_: ValueType) -> Value:
    """The value of that type. Raises ValueError with what was expected."""
    match type_:
        case EnumOf(values=words):
            word = written.text if isinstance(written, Name) else written.value
            if not isinstance(word, str) or word not in words:
                raise ValueError(f"one of {', '.join(clipped(w) for w in words[:8])}")
            return word
        case _ if isinstance(written, Name):
            raise ValueError(_expected(type_))
        case Scalar():
            return _scalar_value(written.value, type_)
        case VectorOf(width=width):
            items = written.value
            # A vector of zeros has no direction: no row may hold one.
            if not isinstance(items, tuple) or len(items) != width or not any(items):
                raise ValueError(f"a list of {width} numbers, not all of them 0")
            return tuple(_scalar_value(item, Scalar.F32) for item in items)
        case ListOf(item=item_type):
            if not isinstance(written.value, tuple):
                raise ValueError(_expected(type_))
            return tuple(_scalar_value(item, item_type) for item in written.value)


def _scalar(name: Name, findings: Findings) -> Scalar | None:
    scalar = SCALARS.get(name.text)
    if scalar is None:
        hint = type_hint(name.text, WRITTEN_TYPES) or f"types are {TYPE_WORDS}"
        findings.add("S010", name.at, f"unknown type {clipped(name.text)}", hint)
    return scalar


def _scalar_value(value: LiteralValue, scalar: Scalar) -> Value:
    match scalar, value:
        case Scalar.STRING, str():
            return value
        case Scalar.BOOL, bool():
            return value
        case Scalar.DATE, str() if DATE.fullmatch(value):
            moment = _moment(value)
            if moment:
                return moment.date()
        case Scalar.DATETIME, str() if DATETIME.fullmatch(value):
            moment = _moment(value)
            if moment:
                return moment
        case _, int() if scalar.is_integer and not isinstance(value, bool):
            low, high = INTEGER_RANGES[scalar]
            if low <= value <= high:
                return value
        case _, int() | float() if scalar.is_float and not isinstance(value, bool):
            if abs(value) <= LARGEST_FLOATS[scalar]:
                return float(value)
    raise ValueError(_expected(scalar))


def _moment(text: str) -> datetime.datetime | None:
    """In UTC, which is also what a time without an offset is in; None for a 30th of February."""
    try:
        moment = datetime.datetime.fromisoformat(text.upper().replace(",", "."))
        is_local = moment.tzinfo is None
        return moment.replace(tzinfo=datetime.UTC) if is_local else moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _expected(type_: ValueType) -> str:
    match type_:
        case Scalar.STRING:
            return "a text in double quotes"
        case Scalar.BOOL:
            return "true or false"
        case Scalar.DATE:
            return 'a day such as "2024-12-31"'
        case Scalar.DATETIME:
            return 'a time such as "2024-12-31T12:00:00Z", at most to the millisecond'
        case Scalar.BLOB:
            return "left out: a Blob has none"
        case Scalar() if type_ in INTEGER_RANGES:
            low, high = INTEGER_RANGES[type_]
            return f"a whole number from {low} to {high}"
        case Scalar():
            return f"a number that fits {type_}"
        case ListOf(item=item):
            return f"a list of {item} in [ ]"
        case VectorOf() | EnumOf():
            return f"a value of {type_}"
