"""Values of other systems as cells of CSV, and the type of ours that holds all values of a column.

A cell is text whatever the type, so a person who gives a property another type in the proposed
schema needs no other conversion. Types of one column that differ are widened: to the wider number,
else to text. The order of the rows makes no difference.
"""

import datetime
import decimal
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.types import INTEGER_RANGES, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.schema.check.resolve import LARGEST_FLOATS
from omnigraph.lang.schema.text.written import value_text

__all__ = [
    "ANY_LIST",
    "FoundType",
    "cell_of",
    "cells_of",
    "has_exact",
    "literal_of",
    "mapped_cells",
    "recoded",
    "settled",
    "text_array",
    "type_of",
    "widest",
]


@frozen
class AnyList:
    """The type of a list without items: it fits every list."""


ANY_LIST = AnyList()
FoundType = ValueType | AnyList

WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,20}", re.ASCII)
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?", re.ASCII)
# Of a cell, or of the items of a list. Fewer digits fit into a float whatever they are, and more of
# them into none.
MANY_DIGITS = re.compile(r"(?<![0-9.eE+])[0-9]{16,308}(?![0-9.eE])", re.ASCII)
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# As a load reads it: a zone by name is none of these.
MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[-+][0-9]{2}:[0-9]{2})?"
)


def widest(left: FoundType, right: FoundType) -> FoundType:
    """The type that holds the values of both: the wider number, else text."""
    if left == right:
        return left
    match left, right:
        case (AnyList(), ListOf() | VectorOf()):
            return right
        case (ListOf() | VectorOf(), AnyList()):
            return left
        case (ListOf() | VectorOf(), ListOf() | VectorOf()):
            item = _widest_scalar(_item(left), _item(right))
            return ListOf(item)
        case (Scalar(), Scalar()):
            return _widest_scalar(left, right)
        case _:
            return Scalar.STRING


def settled(found: FoundType) -> ValueType:
    """The type that a property gets: lists that were all empty are lists of text."""
    return ListOf(Scalar.STRING) if isinstance(found, AnyList) else found


def type_of(value: object) -> FoundType | None:
    """The type of a value as JSON has it; None of null. Text may turn out to be a day or a time."""
    match value:
        case None:
            return None
        case bool():
            return Scalar.BOOL
        case int():
            low, high = INTEGER_RANGES[Scalar.I64]
            return Scalar.I64 if low <= value <= high else Scalar.STRING
        case float():
            return Scalar.F64
        case str():
            return _type_of_text(value)
        case list():
            return _type_of_list(value)
        case _:
            return Scalar.STRING


def cell_of(value: object, found: FoundType) -> str | None:
    """The value as a cell of a column of this type."""
    match value:
        case None:
            return None
        case str():
            return value
        case list() if found == ListOf(Scalar.STRING):
            return _json([None if item is None else cell_of(item, Scalar.STRING) for item in value])
        case _:
            return _json(value)


def literal_of(cell: str, type_: ValueType) -> str | None:
    """The cell as the schema language writes a default; None where the type has no such value."""
    match type_:
        case Scalar.STRING:
            return value_text(cell)
        case Scalar.BOOL if cell.lower() in ("true", "false"):
            return cell.lower()
        case Scalar() if type_.is_integer and WHOLE_NUMBER.fullmatch(cell):
            low, high = INTEGER_RANGES[type_]
            return value_text(int(cell)) if low <= int(cell) <= high else None
        case Scalar() if type_.is_float and NUMBER.fullmatch(cell):
            number = float(cell)
            return value_text(number) if abs(number) <= LARGEST_FLOATS[type_] else None
        case _:
            return None


def has_exact(cells: pa.Array) -> bool:
    """True if one of the whole numbers in the cells would be rounded as a float."""
    many = cells.filter(pc.match_substring_regex(cells, "[0-9]{16}"))
    numbers = (int(match[0]) for cell in many.to_pylist() for match in MANY_DIGITS.finditer(cell))
    return any(_is_rounded(number) for number in numbers)


def text_array(cells: Iterable[str | None]) -> pa.Array:
    return pa.array(cells, pa.string())


def mapped_cells(array: pa.Array, change: Callable[[str], str | None]) -> pa.Array:
    """Every cell changed; a null stays null."""
    return text_array(None if cell is None else change(cell) for cell in array.to_pylist())


def recoded(array: pa.Array, have: FoundType, want: ValueType) -> pa.Array:
    """Cells of one type as those of the type that its column came to have."""
    if want == ListOf(Scalar.STRING) and have not in (want, ANY_LIST) and not _is_scalar(have):
        return mapped_cells(array, lambda cell: cell_of(json.loads(cell), want))
    return array


def cells_of(array: pa.Array) -> pa.Array:
    """A column of a typed table as cells: lists and what has no type of ours become JSON."""
    type_ = array.type
    if isinstance(array, pa.ExtensionArray):  # a UUID, as its sixteen bytes
        return text_array(None if v is None else str(v) for v in array.to_pylist())
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return array.cast(pa.string())
    if pa.types.is_boolean(type_) or pa.types.is_integer(type_) or pa.types.is_date(type_):
        return array.cast(pa.string())
    if pa.types.is_decimal(type_):
        return array.cast(pa.string())
    if pa.types.is_timestamp(type_):
        # Finer than any time of ours: what is below a microsecond goes.
        whole = array.cast(pa.timestamp("us", type_.tz), safe=False)
        shown = pc.strftime(whole, format="%Y-%m-%dT%H:%M:%S")
        return pc.binary_join_element_wise(shown, "Z", "")
    if pa.types.is_list(type_) and pa.types.is_timestamp(type_.value_type):
        array = array.cast(pa.list_(pa.timestamp("us", type_.value_type.tz)), safe=False)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        from omnigraph.base.blob_text import text_from_blob

        return text_array(None if v is None else text_from_blob(v) for v in array.to_pylist())
    if pa.types.is_fixed_size_binary(type_):  # an INTERVAL: months, days and milliseconds
        return text_array(None if v is None else _interval(v) for v in array.to_pylist())
    if pa.types.is_map(type_):
        return text_array(None if v is None else _json(_object(v)) for v in array.to_pylist())
    return text_array(None if v is None else _json(v) for v in array.to_pylist())


def _widest_scalar(left: Scalar, right: Scalar) -> Scalar:
    if left == right:
        return left
    if left.is_integer and right.is_integer:
        both = (left, right)
        for wider in (Scalar.I32, Scalar.U32, Scalar.I64, Scalar.U64):
            low, high = INTEGER_RANGES[wider]
            if all(low <= INTEGER_RANGES[t][0] and INTEGER_RANGES[t][1] <= high for t in both):
                return wider
        return Scalar.F64
    if left.is_numeric and right.is_numeric:
        return Scalar.F64
    return Scalar.STRING


def _item(type_: ListOf | VectorOf) -> Scalar:
    return type_.item if isinstance(type_, ListOf) else Scalar.F32


def _is_scalar(found: FoundType) -> bool:
    return not isinstance(found, ListOf | VectorOf | AnyList)


def _type_of_text(text: str) -> Scalar:
    try:
        if DATE.fullmatch(text):
            datetime.date.fromisoformat(text)
            return Scalar.DATE
        if MOMENT.fullmatch(text):
            # Its offset may lead out of the years that there are.
            datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
            return Scalar.DATETIME
    except (ValueError, OverflowError):
        pass
    return Scalar.STRING


def _type_of_list(items: list[Any]) -> FoundType:
    found: FoundType = ANY_LIST
    for item in items:
        type_ = type_of(item)
        if type_ is None:
            continue  # a load says what it thinks of a null in a list
        if not isinstance(type_, Scalar) or isinstance(item, dict | list):
            return Scalar.STRING  # lists of lists and of objects are kept as JSON
        found = widest(found, ListOf(type_))
    if found == ListOf(Scalar.F64) and any(isinstance(i, int) and _is_rounded(i) for i in items):
        return ListOf(Scalar.STRING)
    return found


def _is_rounded(number: int) -> bool:
    return int(float(number)) != number


def _interval(data: bytes) -> str:
    months, days, milliseconds = (int.from_bytes(data[n : n + 4], "little") for n in (0, 4, 8))
    # Every digit: a float as `:g` has it would round to six of them.
    seconds = decimal.Decimal(milliseconds) / 1000
    return f"P{months}M{days}DT{seconds:f}S"


def _object(pairs: Iterable[tuple[object, object]]) -> dict[str, object]:
    """A map, whose keys may be days, bytes or lists: a member of JSON has text for a name."""
    return {_member_name(key): value for key, value in pairs}


def _member_name(key: object) -> str:
    if isinstance(key, str):
        return key
    shown = _json(key)
    # What JSON writes as text has its quotes already.
    return str(json.loads(shown)) if shown.startswith('"') else shown


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    match value:
        case datetime.datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
            return moment.isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case decimal.Decimal():
            return float(value)
        case _:
            return str(value)
