"""Values as whole numbers that are equal where the values are, or that also sort as they do.

Grouping, distinct values and sorting all work on such numbers, whatever the type was. Null is a
value here: a group of its own, and the smallest. So is NaN, which is equal to itself and the
greatest of floats, for a sort has to put it somewhere.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.sorting import stable_order

__all__ = [
    "Codes",
    "combined",
    "comparable",
    "distinct",
    "encode",
    "encode_numbers",
    "first_rows",
    "first_rows_of",
    "loosely_combined",
    "numbered",
    "ranks",
    "sort_values",
    "sorted_places",
]

# Numbers that reach no further than this, for each of them, are renumbered through a table; beyond
# it hashing them is cheaper.
TABLE_PER_NUMBER = 4


# Values that are told apart, or texts that are sorted, between two looks at the clock.
ENCODED_AT_ONCE = 1 << 18
# Each part takes a pass over all texts. More than four million are sorted in larger parts.
MAX_PARTS_SORTED = 16

# Rows are looked at so many at a time for the first one of each number.
FIRST_LOOK = 1 << 16


class Codes(NamedTuple):
    """`numbers` are in `range(size)`; not all need occur."""

    numbers: Ordinals
    size: int

    @property
    def nbytes(self) -> int:
        return self.numbers.nbytes


def encode(values: pa.Array, pace: Pace = UNHURRIED) -> Codes:
    """Equal numbers for equal values, in no order."""
    if pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
        numbers = ranks(values, pace)
        return Codes(numbers, int(numbers.max(initial=-1)) + 1)
    if pa.types.is_null(values.type):
        return Codes(np.zeros(len(values), dtype=np.int64), 1)
    numbers, found = numbered(comparable(values), pace)
    return Codes(numbers, len(found))


def numbered(values: pa.Array, pace: Pace = UNHURRIED) -> tuple[Ordinals, pa.Array]:
    """The number of each value, and the value of each number; null is a value too."""
    at_once = min(ENCODED_AT_ONCE, pace.max_chunk_rows)
    if len(values) <= at_once:
        encoded = values.dictionary_encode(null_encoding="encode")
        return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary
    parts = []
    for start in range(0, len(values), at_once):
        pace.check()
        parts.append(values.slice(start, at_once).dictionary_encode())
    pace.check()
    if _is_plain(values.type) and sum(len(part.dictionary) for part in parts) > len(values) // 2:
        # To tell so many different values apart by hashing takes longer than to sort them.
        del parts
        return _numbered_by_order(values, pace)
    whole = pa.chunked_array(parts).unify_dictionaries()
    pace.check()
    found = whole.chunk(0).dictionary
    numbers = np.empty(len(values), dtype=np.int64)
    for start, part in zip(range(0, len(values), at_once), whole.chunks, strict=True):
        indices = part.indices
        indices = indices.fill_null(len(found)) if indices.null_count else indices
        numbers[start : start + len(part)] = indices.to_numpy()
    return numbers, _with_null(found) if values.null_count else found


def _numbered_by_order(values: pa.Array, pace: Pace) -> tuple[Ordinals, pa.Array]:
    plain = _plain(values)
    if plain is None:
        encoded = values.dictionary_encode(null_encoding="encode")
        return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary
    pace.check()
    order = stable_order(plain, pace.check)
    pace.check()
    ascending = plain[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    # Numbers go by first appearance, so what is laid out by them is read in the rows' order.
    first = order[is_new]
    by_appearance = stable_order(first, pace.check)
    renumbered = np.empty(len(first), dtype=np.int64)
    renumbered[by_appearance] = np.arange(len(first))
    pace.check()
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = renumbered[np.cumsum(is_new) - 1]
    pace.check()
    return numbers, values.take(pa.array(first[by_appearance]))


def _with_null(values: pa.Array) -> pa.Array:
    return pa.concat_arrays([values, pa.nulls(1, values.type)])


def encode_numbers(numbers: NDArray[Any], pace: Pace = UNHURRIED) -> Codes:
    """Equal codes for equal numbers, none of which is NaN."""
    if numbers.dtype.kind in "iu" and not (numbers < 0).any():
        greatest = int(numbers.max(initial=0))
        if greatest < TABLE_PER_NUMBER * len(numbers):
            return Codes(numbers.astype(np.int64), greatest + 1)
    return encode(pa.array(numbers), pace)


def comparable(values: pa.Array) -> pa.Array:
    """The values where equal ones are the same: -0 is 0."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.add(values, pa.scalar(0, values.type))


def combined(columns: list[Codes], count: int, pace: Pace = UNHURRIED) -> Codes:
    """One number for each distinct row of the columns, dense: every number occurs."""
    return _dense(*_multiplied(columns, count, pace), pace)


def loosely_combined(columns: list[Codes], count: int, pace: Pace = UNHURRIED) -> Codes:
    """As `combined`, but numbers that do not occur may be left in: no more of them than rows.

    A table that long is filled in less time than it takes to close the gaps.
    """
    codes = _multiplied(columns, count, pace)
    return codes if codes.size <= count else _dense(*codes, pace)


def _multiplied(columns: list[Codes], count: int, pace: Pace) -> Codes:
    if not columns:
        return Codes(np.zeros(count, dtype=np.int64), 1)
    if len(columns) == 1:
        return columns[0]
    numbers, size = columns[0]
    for column in columns[1:]:
        if size * column.size > np.iinfo(np.int64).max:
            numbers, size = _dense(numbers, size, pace)
        product = np.empty(len(numbers), dtype=np.int64)
        for rows in pace.chunks(len(numbers)):
            np.multiply(numbers[rows], column.size, out=product[rows])
            product[rows] += column.numbers[rows]
        numbers, size = product, size * column.size
    return Codes(numbers, size)


def first_rows(codes: Codes, pace: Pace = UNHURRIED) -> Ordinals:
    """For each number that occurs, all of them in a dense code, the first row that has it."""
    first = np.empty(codes.size, dtype=np.int64)
    count = len(codes.numbers)
    # From the last row to the first: the earliest is written last.
    for rows in pace.chunks(count):
        start, stop = count - rows.stop, count - rows.start
        first[codes.numbers[start:stop][::-1]] = np.arange(start, stop)[::-1]
    return first


def first_rows_of(codes: Codes, present: Ordinals, pace: Pace = UNHURRIED) -> Ordinals:
    """For each of these numbers, which are all that occur, the first row that has it."""
    rows = np.full(codes.size, -1, dtype=np.int64)
    left = len(present)
    for start in range(0, len(codes.numbers), FIRST_LOOK):
        pace.check()
        here = codes.numbers[start : start + FIRST_LOOK]
        fresh = np.flatnonzero(rows[here] < 0)[::-1]
        rows[here[fresh]] = fresh + start
        # Few numbers are soon met, all of them: there is no need to look at every row.
        left = left if not len(fresh) else int(np.count_nonzero(rows[present] < 0))
        if not left:
            break
    return rows[present]


def distinct(numbers: Ordinals, size: int) -> tuple[Ordinals, Ordinals]:
    """The distinct numbers below `size`, and which of them each one is."""
    codes = _dense(numbers, size)
    return numbers[first_rows(codes)], codes.numbers


def ranks(values: pa.Array, pace: Pace = UNHURRIED) -> Ordinals:
    """Numbers that compare as the values do: equal for equal ones, null below all others."""
    if pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
        return _list_ranks(values, pace)
    if pa.types.is_null(values.type):
        return np.zeros(len(values), dtype=np.int64)
    codes, found = numbered(comparable(values), pace)
    pace.check()
    order = sorted_places(found, pace)
    rank_of_code = np.empty(len(order), dtype=np.int64)
    rank_of_code[order] = np.arange(1, len(order) + 1)
    if values.null_count:
        # Null is sorted behind all others.
        rank_of_code[order[-1]] = 0
    return rank_of_code[codes]


def sorted_places(values: pa.Array, pace: Pace = UNHURRIED) -> Ordinals:
    """As `pc.sort_indices`, of values that are all different."""
    at_once = min(ENCODED_AT_ONCE, pace.max_chunk_rows)
    if len(values) <= at_once:
        return np.asarray(pc.sort_indices(values).to_numpy(), dtype=np.int64)
    count = min(-(-len(values) // at_once), MAX_PARTS_SORTED)
    sample = values.take(
        pa.array(np.arange(0, len(values), max(1, len(values) // 1024)))
    ).drop_null()
    sample = sample.take(pc.sort_indices(sample))
    # How many of the cuts a value is not below; a null is behind all of them.
    part_of = np.zeros(len(values), dtype=np.int8)
    for part in range(1, count):
        pace.check()
        cut = sample[len(sample) * part // count]
        # NaN is below nothing, and so behind all cuts.
        is_behind = pc.invert(pc.less(values, cut)).fill_null(fill_value=True)
        part_of += is_behind.to_numpy(zero_copy_only=False)
    found = []
    for part in range(count):
        pace.check()
        places = np.flatnonzero(part_of == part)
        found.append(places[pc.sort_indices(values.take(pa.array(places))).to_numpy()])
    return np.concatenate(found)


def sort_values(values: pa.Array, *, is_descending: bool, pace: Pace = UNHURRIED) -> NDArray[Any]:
    """Numbers whose ascending order is the order wanted."""
    numbers = _plain(values)
    if numbers is None:
        numbers = ranks(values, pace)
    if not is_descending:
        return numbers
    return -numbers if numbers.dtype.kind == "f" else ~numbers


def _plain(values: pa.Array) -> NDArray[Any] | None:
    """Numbers that sort as numbers or times do, null below all others; None for other types.

    No value is looked up, so it takes one pass over the column, with nulls or without.
    """
    kind = values.type
    if pa.types.is_floating(kind):
        return _plain_floats(values)
    if pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    elif pa.types.is_date32(kind):
        values = values.view(pa.int32())
    elif not pa.types.is_integer(kind):
        return None
    if not values.null_count:
        return np.asarray(values.to_numpy())
    wide = np.dtype(np.uint64 if pa.types.is_unsigned_integer(values.type) else np.int64)
    limits = np.iinfo(wide)
    extremes = pc.min_max(values)
    if wide.kind == "u":
        if extremes["max"].as_py() == limits.max:
            return None
        # Every number moves up by one, which leaves 0 to null.
        numbers: NDArray[Any] = values.fill_null(0).to_numpy().astype(wide) + np.uint64(1)
        numbers[_nulls(values)] = 0
        return numbers
    if extremes["min"].as_py() == limits.min:
        return None
    return np.asarray(values.cast(pa.int64()).fill_null(int(limits.min)).to_numpy())


def _is_plain(kind: pa.DataType) -> bool:
    """Whether `_plain` gives numbers for nearly all columns of the type."""
    is_time = pa.types.is_timestamp(kind) or pa.types.is_date32(kind)
    return bool(is_time or pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _plain_floats(values: pa.Array) -> NDArray[Any]:
    """The floats themselves, or whole numbers in their order where some are null or NaN."""
    lowest = float("-inf")
    numbers: NDArray[Any] = values.fill_null(lowest).to_numpy()
    # Infinity stands for null, unless it is a value as well.
    is_null_alone = (
        not values.null_count or np.count_nonzero(numbers == lowest) == values.null_count
    )
    if is_null_alone and not np.isnan(numbers).any():
        return numbers
    # The bits of a float, read as a whole number, sort as the float does; those of negative ones
    # sort backwards. -0 becomes 0, and every NaN the same NaN, which sorts behind infinity.
    numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.int64)
    ordered: NDArray[Any] = bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
    if values.null_count:
        ordered[_nulls(values)] = np.iinfo(np.int64).min
    return ordered


def _nulls(values: pa.Array) -> NDArray[Any]:
    nulls: NDArray[Any] = pc.is_null(values).to_numpy(zero_copy_only=False)
    return nulls


def _dense(numbers: Ordinals, size: int, pace: Pace = UNHURRIED) -> Codes:
    if 0 < size <= TABLE_PER_NUMBER * len(numbers):
        return _dense_by_table(numbers, size, pace)
    some = _dense_by_hash(numbers[: pace.max_chunk_rows])
    if len(numbers) <= pace.max_chunk_rows:
        return some
    pace.check()
    if 2 * some.size < pace.max_chunk_rows:
        codes, found = numbered(pa.array(numbers), pace)
        return Codes(codes, len(found))
    # Of numbers that seldom repeat, no part tells much about the others, and a table of all is
    # slow: equal numbers leave the same remainder, so each remainder is hashed by itself.
    parts = -(-len(numbers) // pace.max_chunk_rows)
    part_of = np.empty(len(numbers), dtype=np.int32)
    for rows in pace.chunks(len(numbers)):
        part_of[rows] = numbers[rows] % parts
    dense, count = np.empty(len(numbers), dtype=np.int64), 0
    for part in range(parts):
        pace.check()
        own = np.flatnonzero(part_of == part)
        codes_of_part = _dense_by_hash(numbers[own])
        dense[own] = codes_of_part.numbers + count
        count += codes_of_part.size
    return Codes(dense, count)


def _dense_by_table(numbers: Ordinals, size: int, pace: Pace) -> Codes:
    occurs = np.zeros(size, dtype=np.bool_)
    for rows in pace.chunks(len(numbers)):
        occurs[numbers[rows]] = True
    renumbered, found = np.empty(size, dtype=np.int64), 0
    for part in pace.chunks(size):
        np.cumsum(occurs[part], out=renumbered[part])
        renumbered[part] += found - 1
        found = int(renumbered[part.stop - 1]) + 1
    dense = np.empty(len(numbers), dtype=np.int64)
    for rows in pace.chunks(len(numbers)):
        dense[rows] = renumbered[numbers[rows]]
    return Codes(dense, found)


def _dense_by_hash(numbers: Ordinals) -> Codes:
    encoded = pa.array(numbers).dictionary_encode()
    return Codes(encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary))


def _list_ranks(lists: pa.Array, pace: Pace = UNHURRIED) -> Ordinals:
    """Lists compare item by item from the left; a list that ends sooner is smaller."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    items = ranks(pc.list_flatten(lists), pace)
    starts = np.cumsum(lengths) - lengths
    result = np.zeros(len(lists), dtype=np.int64)
    for position in reversed(range(int(lengths.max(initial=0)))):
        pace.check()
        has_item = lengths > position
        here = np.zeros(len(lists), dtype=np.int64)
        here[has_item] = items[starts[has_item] + position] + 1
        pairs = here * (int(result.max()) + 1) + result
        result = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    valid = pc.is_valid(lists).to_numpy(zero_copy_only=False)
    return np.where(valid, result + 1, 0)
