"""Columns as they arrive become columns as they are stored, and rows that can't are pointed out.

A column arrives in one of three forms:

- As JSON has it: dates are ISO 8601 text or whole numbers that count from 1970, blobs are
  `base64:…`, integers are 64 bits wide.
- As text throughout, the way CSV has it: lists and vectors are JSON in a cell.
- As another Arrow type that `input_types.plain_type` accepts.

Anything else is a bug of the caller, who knows the property's type. A value that does not fit is
the user's mistake and never an exception here. What fits can be shown by every surface: text is
UTF-8, and days and moments are of the years that Python and ISO 8601 have.
"""

import datetime
import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.blob_text import blob_from_text
from omnigraph.base.frozen import frozen
from omnigraph.base.types import INTEGER_RANGES, EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.check.rows.input_types import arriving_array, arriving_type, fits_json
from omnigraph.store.arrow import arrow_type

__all__ = ["Coerced", "coerce"]

# A timestamp keeps milliseconds; finer digits are cut off, as a clock reading is.
FINER_THAN_MS = r"(\.\d{3})\d+"
DATE_ALONE = r"^(\d{4}-\d{2}-\d{2})$"
HAS_OFFSET = r"[T ].*(Z|[+-]\d{2}(:?\d{2})?)$"

# Numbers as text. Arrow would also take 0x10, inf and blanks around a number. 3.0 is how programs
# write an integer that they keep as a float.
INTEGER_TEXT, NO_FRACTION = r"^-?[0-9]+(\.0+)?$", r"\.0+$"
NUMBER_TEXT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
JSON_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
JSON_NUMBERS = rf"^\s*\[\s*{JSON_NUMBER}(\s*,\s*{JSON_NUMBER})*\s*\]\s*$"


TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = datetime.datetime(1970, 1, 1)
# The years 1 to 9999, in seconds from 1970: the first within them and the first after.
FIRST_SECOND = (datetime.datetime.min - EPOCH) // datetime.timedelta(seconds=1)
END_SECOND = (datetime.datetime.max - EPOCH) // datetime.timedelta(seconds=1) + 1
MS_PER_DAY = 86_400_000


@frozen
class Coerced:
    values: pa.Array
    """As stored; null where the value did not fit."""
    misfits: np.ndarray
    """Which rows did not fit, ascending."""


def coerce(column: pa.Array, type_: ValueType) -> Coerced:
    """The column as stored. A null stays null and is no misfit."""
    if pa.types.is_null(column.type):
        return _fits(pa.nulls(len(column), arrow_type(type_)))
    if pa.types.is_string(column.type):
        text = _each(column, _utf8)
        is_text_anyway = arriving_type(type_) == pa.string()
        return _after(text, (_typed if is_text_anyway else _from_text)(text.values, type_))
    return _typed(column, type_)


def _typed(column: pa.Array, type_: ValueType) -> Coerced:
    match type_:
        case Scalar.STRING | Scalar.BOOL | EnumOf():
            return _fits(column.cast(arrow_type(type_)))
        case Scalar.I32 | Scalar.I64 | Scalar.U32 | Scalar.U64:
            return _integers(column, type_)
        case Scalar.F32 | Scalar.F64:
            return _only(column.cast(arrow_type(type_), safe=False), pc.is_finite)
        case Scalar.DATE if pa.types.is_timestamp(column.type):
            return _midnights(column)
        case Scalar.DATE if pa.types.is_integer(column.type):
            return _days(column)
        case Scalar.DATETIME if pa.types.is_integer(column.type):
            return _moments(column.view(pa.timestamp("ms")))
        case Scalar.DATE:
            return _dates(column)
        case Scalar.DATETIME:
            return _datetimes(column)
        case Scalar.BLOB:
            return _blobs(column)
        case VectorOf(width=width):
            return _vectors(column, width)
        case ListOf(item=item):
            return _lists(column, item)


def _fits(values: pa.Array) -> Coerced:
    return Coerced(values, np.empty(0, dtype=np.int64))


def _only(values: pa.Array, holds: Callable[[pa.Array], pa.Array]) -> Coerced:
    """Values for which the claim holds; the others are misfits."""
    fine = pc.fill_null(holds(values), fill_value=True)
    if pc.all(fine).as_py() in (True, None):
        return _fits(values)
    kept = pc.if_else(fine, values, pa.scalar(None, values.type))
    return Coerced(kept, np.flatnonzero(~fine.to_numpy(zero_copy_only=False)))


def _integers(column: pa.Array, type_: Scalar) -> Coerced:
    target = arrow_type(type_)
    if column.type == target:
        return _fits(column)
    if pa.types.is_floating(column.type):
        return _whole_floats(column, type_)
    assert pa.types.is_integer(column.type), f"{column.type} can't be {type_}"
    low, high = INTEGER_RANGES[type_]
    arrives_low, arrives_high = _bounds(column.type)
    # A bound that the arriving type can't exceed may not even fit in it, and needs no look.
    least = pa.scalar(max(low, arrives_low), column.type)
    most = pa.scalar(min(high, arrives_high), column.type)
    checked = _only(
        column,
        lambda values: pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most)),
    )
    return Coerced(checked.values.cast(target), checked.misfits)


def _whole_floats(column: pa.Array, type_: Scalar) -> Coerced:
    """Floats for an integer: frames hold integers with nulls as floats."""
    low, high = INTEGER_RANGES[type_]
    values = column.cast(pa.float64())

    def fine(values: pa.Array) -> pa.Array:
        # The range's end is one past a power of two, and as a float exactly that power.
        within = pc.and_(pc.greater_equal(values, float(low)), pc.less(values, float(high + 1)))
        return pc.and_(within, pc.equal(pc.floor(values), values))

    checked = _only(values, fine)
    return Coerced(checked.values.cast(arrow_type(type_)), checked.misfits)


def _bounds(type_: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(type_):
        return 0, 2**type_.bit_width - 1
    return -(2 ** (type_.bit_width - 1)), 2 ** (type_.bit_width - 1) - 1


def _each(column: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> Coerced:
    """Convert, finding the values that refuse by halving: Arrow fails a column as a whole."""
    misfits: list[int] = []

    def halve(part: pa.Array, start: int) -> list[pa.Array]:
        try:
            return [convert(part)]
        except pa.ArrowInvalid:
            if len(part) == 1:
                misfits.append(start)
                return [convert(pa.nulls(1, part.type))]
        middle = len(part) // 2
        return [*halve(part[:middle], start), *halve(part[middle:], start + middle)]

    try:
        return _fits(convert(column))
    except pa.ArrowInvalid:
        # A wrong date seldom comes alone: "n/a" and the like are tried once.
        distinct = column.dictionary_encode()
    values = pa.concat_arrays(halve(distinct.dictionary, 0)).take(distinct.indices)
    numbers = distinct.indices.fill_null(-1).to_numpy()
    return Coerced(values, np.flatnonzero(np.isin(numbers, misfits)))


def _utf8(column: pa.Array) -> pa.Array:
    column.validate(full=True)
    return column


def _dates(column: pa.Array) -> Coerced:
    dates = _each(column, lambda part: part.cast(arrow_type(Scalar.DATE)))
    least, most = pa.scalar(datetime.date.min), pa.scalar(datetime.date.max)
    return _after(
        dates,
        _only(
            dates.values,
            lambda days: pc.and_(pc.greater_equal(days, least), pc.less_equal(days, most)),
        ),
    )


def _days(column: pa.Array) -> Coerced:
    """Numbers of days since 1970."""
    first, last = ((day - EPOCH.date()).days for day in (datetime.date.min, datetime.date.max))
    checked = _only(
        column,
        lambda days: pc.and_(pc.greater_equal(days, first), pc.less_equal(days, last)),
    )
    return Coerced(checked.values.cast(pa.int32()).cast(arrow_type(Scalar.DATE)), checked.misfits)


def _midnights(column: pa.Array) -> Coerced:
    """A timestamp is a date at midnight only, by the clock of its own zone."""
    moments = _moments(column)
    local = moments.values
    if column.type.tz is not None:
        local = pc.local_timestamp(local.cast(pa.timestamp("ms", column.type.tz)))
    # Arrow's own cast would drop the time of day in silence.
    is_midnight = (_counts(local) % MS_PER_DAY == 0) & _is_whole_ms(column)
    checked = _after(moments, _only(local, lambda _: pa.array(is_midnight)))
    return _after(checked, _dates(checked.values))


def _datetimes(column: pa.Array) -> Coerced:
    if pa.types.is_timestamp(column.type):
        return _moments(column)
    read = _read_times if pa.types.is_string(column.type) else _midnights_of
    times = _each(column, read)
    return _after(times, _moments(times.values))


def _midnights_of(dates: pa.Array) -> pa.Array:
    return dates.cast(arrow_type(Scalar.DATETIME))


def _read_times(column: pa.Array) -> pa.Array:
    text = pc.replace_substring_regex(column, FINER_THAN_MS, r"\1")
    text = pc.replace_substring_regex(text, DATE_ALONE, r"\1T00:00")
    has_offset = pc.match_substring_regex(text, HAS_OFFSET)
    # Without an offset a time is UTC; Arrow reads one kind or the other, never both at once.
    text = pc.if_else(has_offset, text, pc.binary_join_element_wise(text, "Z", ""))
    return text.cast(arrow_type(Scalar.DATETIME))


def _moments(column: pa.Array) -> Coerced:
    """Timestamps of any unit and zone as stored: cut off to the millisecond, downwards."""
    # By hand: Arrow cuts towards 1970, or wraps around at the ends of what a unit can count.
    counts, ticks = _counts(column), TICKS_PER_SECOND[column.type.unit]
    fits = (counts >= FIRST_SECOND * ticks) & (counts < END_SECOND * ticks)
    counts = np.where(fits, counts, 0)
    ms = counts * 1000 if ticks == 1 else counts // (ticks // 1000)
    absent = ~fits | column.is_null().to_numpy(zero_copy_only=False)
    values = pa.array(ms, pa.int64(), mask=absent).view(arrow_type(Scalar.DATETIME))
    return Coerced(values, np.flatnonzero(~fits))


def _is_whole_ms(column: pa.Array) -> np.ndarray:
    whole: np.ndarray = _counts(column) % max(1, TICKS_PER_SECOND[column.type.unit] // 1000) == 0
    return whole


def _counts(times: pa.Array) -> np.ndarray:
    """The ticks of the timestamps since 1970; 0 for null."""
    counts: np.ndarray = pc.fill_null(times.view(pa.int64()), 0).to_numpy()
    return counts


def _blobs(column: pa.Array) -> Coerced:
    if not pa.types.is_string(column.type):
        return _fits(column.cast(arrow_type(Scalar.BLOB)))
    misfits: list[int] = []
    values: list[bytes | None] = []
    # Row by row: nothing columnar decodes base64, and a blob's bytes outweigh the loop.
    for row, text in enumerate(column.to_pylist()):
        try:
            values.append(None if text is None else blob_from_text(text))
        except ValueError:
            values.append(None)
            misfits.append(row)
    return Coerced(pa.array(values, arrow_type(Scalar.BLOB)), np.array(misfits, dtype=np.int64))


def _vectors(column: pa.Array, width: int) -> Coerced:
    if not pa.types.is_fixed_size_list(column.type) or column.null_count:
        column = _tidy(column.cast(pa.list_(pa.float32()), safe=False))

    def fine(values: pa.Array) -> pa.Array:
        wide = pc.equal(pc.list_value_length(values), width)
        numbers = pc.list_flatten(values)
        broken = pc.or_kleene(pc.is_null(numbers), pc.invert(pc.is_finite(numbers)))
        rows = pc.list_parent_indices(values)
        is_broken = _mark(rows.filter(pc.fill_null(broken, fill_value=True)), len(values))
        # Nothing could be near a vector of zeros: a row that has none says so with a null.
        has_direction = _mark(rows.filter(pc.not_equal(numbers, 0)), len(values))
        return pc.and_(wide, pa.array(has_direction & ~is_broken))

    checked = _only(column, fine)
    numbers = pc.list_flatten(checked.values)
    assert len(numbers) == width * (len(column) - checked.values.null_count), "only whole vectors"
    return Coerced(_fixed_size(checked.values, numbers, width), checked.misfits)


def _tidy(lists: pa.Array) -> pa.Array:
    """The same lists, where a null hides no items: some of Arrow's functions would count them."""
    return lists.take(pa.array(np.arange(len(lists)))) if lists.null_count else lists


def _fixed_size(lists: pa.Array, numbers: pa.Array, width: int) -> pa.Array:
    """The lists as fixed-size ones. A null vector still takes its width of numbers."""
    if lists.null_count:
        place = np.cumsum(lists.is_valid().to_numpy(zero_copy_only=False)) - 1
        place = np.repeat(place * width, width) + np.tile(np.arange(width), len(lists))
        absent = np.repeat(lists.is_null().to_numpy(zero_copy_only=False), width)
        numbers = numbers.take(pa.array(place, pa.int64(), mask=absent))
    mask = lists.is_null() if lists.null_count else None
    return pa.FixedSizeListArray.from_arrays(numbers, type=pa.list_(pa.float32(), width), mask=mask)


def _lists(column: pa.Array, item: Scalar) -> Coerced:
    """A list fits when each item does; a null item never does."""
    column = _tidy(column)
    parents = pc.list_parent_indices(column).to_numpy()
    items = pc.list_flatten(column)
    coerced = coerce(items, item)
    bad = np.union1d(
        coerced.misfits, np.flatnonzero(items.is_null().to_numpy(zero_copy_only=False))
    )
    broken = _mark(parents[bad], len(column))
    lengths = np.where(
        broken, 0, pc.fill_null(pc.list_value_length(column), fill_value=0).to_numpy()
    )
    kept = coerced.values.filter(pa.array(~broken[parents]))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    absent = broken | column.is_null().to_numpy(zero_copy_only=False)
    values = pa.ListArray.from_arrays(
        pa.array(offsets), kept, type=arrow_type(ListOf(item)), mask=pa.array(absent)
    )
    return Coerced(values, np.flatnonzero(broken))


# Text ---------------------------------------------------------------------------------------------


def _from_text(column: pa.Array, type_: ValueType) -> Coerced:
    match type_:
        case Scalar.BOOL:
            return _then(_matching(column, "(?i)^(true|false)$"), pc.utf8_lower, type_)
        case Scalar.I32 | Scalar.I64 | Scalar.U32 | Scalar.U64:
            return _then(_matching(column, INTEGER_TEXT), _without_fraction, type_)
        case Scalar.F32 | Scalar.F64:
            numbers = _then(_matching(column, NUMBER_TEXT), lambda text: text, Scalar.F64)
            return _after(numbers, coerce(numbers.values, type_))
        case VectorOf():
            lists = _number_lists(column) or _json_lists(column, type_)
        case ListOf():
            lists = _json_lists(column, type_)
        case _:
            raise AssertionError(f"{type_} arrives as text anyway")
    return _after(lists, coerce(lists.values, type_))


def _matching(column: pa.Array, pattern: str) -> Coerced:
    return _only(column, lambda values: pc.match_substring_regex(values, pattern))


def _then(text: Coerced, ready: Callable[[pa.Array], pa.Array], type_: Scalar) -> Coerced:
    target = arrow_type(type_)
    return _after(text, _each(text.values, lambda part: ready(part).cast(target)))


def _without_fraction(text: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(text, NO_FRACTION, "")


def _after(first: Coerced, second: Coerced) -> Coerced:
    """Two steps as one: a misfit of the first is a null, and so none, for the second."""
    if not len(first.misfits):
        return second
    return Coerced(second.values, np.union1d(first.misfits, second.misfits))


def _number_lists(column: pa.Array) -> Coerced | None:
    """Cells that are lists of numbers, without a look at each; None if one is something else."""
    if pc.all(pc.match_substring_regex(column, JSON_NUMBERS)).as_py() is False:
        return None
    items = pc.split_pattern(pc.replace_substring_regex(column, r"[\[\]\s]", ""), ",")
    return _fits(items.cast(pa.list_(pa.float32())))


def _json_lists(column: pa.Array, type_: VectorOf | ListOf) -> Coerced:
    values: list[object] = []
    misfits: list[int] = []
    # Row by row, as nothing columnar reads JSON in a cell by JSON's rules.
    for row, text in enumerate(column.to_pylist()):
        value = None if text is None else _json_value(text)
        is_fine = text is None or fits_json(value, type_)
        values.append(value if is_fine else None)
        if not is_fine:
            misfits.append(row)
    return Coerced(arriving_array(values, type_), np.array(misfits, dtype=np.int64))


def _json_value(text: str) -> object:
    try:
        value: object = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def _mark(rows: pa.Array | np.ndarray, count: int) -> np.ndarray:
    marks = np.zeros(count, dtype=bool)
    marks[np.asarray(rows, dtype=np.int64)] = True
    return marks
