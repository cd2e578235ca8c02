"""Comparing columns of values, by the rules of the language.

A null on either side matches nothing, `!=` included: every function here gives plain booleans, with
false where a null was met. Numbers compare by value whatever their types: an integer is never
rounded to a float first, so 2^53 + 1 differs from 2^53. Texts compare by code point, which is the
byte order of UTF-8.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.looks import Look
from omnigraph.lang.plan.ir import MIRRORED, OPERATORS, CompareOp
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.topology.sorting import stable_order, stable_order_within
from omnigraph.read.values.ordering import ranks

__all__ = [
    "Keys",
    "Mask",
    "Values",
    "compare",
    "is_member",
    "mask_of",
    "matching_keys",
    "rank_keys",
]

Mask = NDArray[np.bool_]
Values: TypeAlias = pa.Array | pa.Scalar
"""A scalar stands for a column that holds one value throughout."""

Numbers = NDArray[Any]

MS_PER_DAY = 86_400_000

ON_TEXT: dict[CompareOp, Callable[[Any, Any], Any]] = {
    CompareOp.EQ: pc.equal,
    CompareOp.NE: pc.not_equal,
    CompareOp.LT: pc.less,
    CompareOp.LE: pc.less_equal,
    CompareOp.GT: pc.greater,
    CompareOp.GE: pc.greater_equal,
}


def compare(op: CompareOp, left: Values, right: Values, count: int) -> Mask:
    """Which of `count` rows hold. Either side may be a scalar."""
    if any(isinstance(side, pa.Scalar) and not side.is_valid for side in (left, right)):
        return np.zeros(count, dtype=np.bool_)
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return np.repeat(compare(op, pa.repeat(left, 1), right, 1), count)
    if isinstance(left, pa.Scalar):
        if op in MIRRORED:
            return compare(MIRRORED[op], right, left, count)
        left = pa.repeat(left, count)
    if pa.types.is_list(left.type):
        assert op is CompareOp.CONTAINS, f"lists can't be compared by {op.value}"
        return _list_contains(left, right)
    if _is_text(left.type):
        return mask_of(_compare_text(op, left, right))
    return _compare_numbers(op, left, right)


def is_member(left: pa.Array, options: Sequence[Any], item: pa.DataType) -> Mask:
    """Which values are among the options, given as the values of Arrow type `item`."""
    given = pa.array([option for option in options if option is not None], item)
    if not len(given):
        return np.zeros(len(left), dtype=np.bool_)
    if _is_text(left.type):
        among = pc.is_in(left, value_set=given.cast(left.type), skip_nulls=True)
        return mask_of(among)
    values, valid = _numbers(left, like=given.type)
    wanted, _ = _numbers(given, like=left.type)
    found = np.isin(values, _exactly(wanted, values.dtype))
    return found if valid is None else found & valid


class Keys(NamedTuple):
    """Numbers that stand for values."""

    numbers: Numbers
    valid: Mask
    """Where not, the value equals nothing on the other side, whatever its number."""


def matching_keys(left: pa.Array, right: pa.Array) -> tuple[Keys, Keys]:
    """Numbers of one type for two columns, equal where the values are equal by `compare`."""
    if _is_text(left.type):
        if left.type != right.type:
            left, right = left.cast(pa.large_string()), right.cast(pa.large_string())
        encoded = right.dictionary_encode()
        among = pc.index_in(left, value_set=encoded.dictionary, skip_nulls=True)
        return _keys(among), _keys(encoded.indices)
    values, valid = _numbers(left, like=right.type)
    others, others_valid = _numbers(right, like=left.type)
    kind = values.dtype if values.dtype.kind != "f" else others.dtype
    if kind.kind == "f":
        kind = np.result_type(values.dtype, others.dtype)
    return _keys_as(values, valid, kind), _keys_as(others, others_valid, kind)


def rank_keys(left: pa.Array, right: pa.Array, pace: Pace = UNHURRIED) -> tuple[Keys, Keys]:
    """Whole numbers from 0 on for two columns, which compare as the values do by `compare`."""
    if _is_text(left.type):
        both = pa.chunked_array([left.cast(pa.large_string()), right.cast(pa.large_string())])
        ranked = ranks(both.combine_chunks(), pace)
        here, there = ranked[: len(left)], ranked[len(left) :]
        # Null has the rank 0.
        return Keys(here, here > 0), Keys(there, there > 0)
    values, valid = _numbers(left, like=right.type)
    others, others_valid = _numbers(right, like=left.type)
    ranked = _ranked(values, others, pace.check)
    here, there = ranked[: len(values)], ranked[len(values) :]
    return (
        Keys(here, _comparable(values, valid)),
        Keys(there, _comparable(others, others_valid)),
    )


def _ranked(left: Numbers, right: Numbers, look: Look) -> Numbers:
    """The ranks of both, one behind the other: equal for equal numbers, whatever their types.

    NaN has the rank of 0. No caller compares it.
    """
    near, rest = (np.concatenate(each) for each in zip(_split(left), _split(right), strict=True))
    look()
    near[np.isnan(near)] = 0
    order = stable_order_within(near, rest, look) if rest.any() else stable_order(near, look)
    look()
    near, rest = near[order], rest[order]
    is_new = np.zeros(len(order), dtype=np.bool_)
    is_new[1:] = (near[1:] != near[:-1]) | (rest[1:] != rest[:-1])
    ranked = np.empty(len(order), dtype=np.int64)
    ranked[order] = np.cumsum(is_new)
    return ranked


def _split(values: Numbers) -> tuple[Numbers, Numbers]:
    """Each number as the nearest float and what is left of it, which is a small whole number."""
    near = values.astype(np.float64)
    if values.dtype.kind == "f" or values.dtype.itemsize < near.dtype.itemsize:
        return near, np.zeros(len(values), dtype=np.int64)
    most = np.iinfo(values.dtype).max
    # The greatest integers round up to a float that no integer of the type equals: 1 beyond `most`.
    is_beyond = near >= float(most)
    whole = np.where(is_beyond, 0.0, near).astype(values.dtype)
    whole[is_beyond] = most
    rest = (values.view(np.uint64) - whole.view(np.uint64)).view(np.int64)
    return near, rest - is_beyond


def _comparable(values: Numbers, valid: Mask | None) -> Mask:
    """Where a value is a number: null and NaN compare with nothing."""
    numbers: Mask = values == values
    return numbers if valid is None else numbers & valid


def _keys(codes: pa.Array) -> Keys:
    valid = pc.is_valid(codes).to_numpy(zero_copy_only=False)
    return Keys(codes.fill_null(0).to_numpy(), valid)


def _keys_as(values: Numbers, valid: Mask | None, kind: np.dtype[Any]) -> Keys:
    fits = _is_exact(values, kind) & (values == values)  # NaN equals nothing
    if valid is not None:
        fits &= valid
    return Keys(np.where(fits, values, 0).astype(kind), fits)


def mask_of(booleans: pa.Array) -> Mask:
    """Arrow's three values as two: null is false."""
    array: Mask = booleans.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
    return array


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


# Texts -------------------------------------------------------------------------------------------


def _compare_text(op: CompareOp, left: pa.Array, right: Values) -> pa.Array:
    if op in ON_TEXT:
        return ON_TEXT[op](left, right)
    if isinstance(right, pa.Array):
        return _compare_text_pairs(op, left, right)
    if op is CompareOp.CONTAINS:
        return pc.match_substring(left, pattern=right.as_py())
    return pc.starts_with(left, pattern=right.as_py())


def _compare_text_pairs(op: CompareOp, left: pa.Array, right: pa.Array) -> pa.Array:
    """Arrow has these only for one fixed pattern; DuckDB has them row by row."""
    import duckdb

    with duckdb.connect() as connection:
        pairs = connection.from_arrow(pa.table({"l": left, "r": right}))
        answer = pairs.select(f"{op.value}(l, r) AS m").to_arrow_table()
    return answer["m"].combine_chunks()


def _list_contains(lists: pa.Array, wanted: Values) -> Mask:
    items, rows = pc.list_flatten(lists), pc.list_parent_indices(lists)
    against = wanted if isinstance(wanted, pa.Scalar) else wanted.take(rows)
    holds = compare(CompareOp.EQ, items, against, len(items))
    found = np.zeros(len(lists), dtype=np.bool_)
    found[rows.to_numpy()[holds]] = True
    return found


# Numbers, booleans and times ---------------------------------------------------------------------


def _compare_numbers(op: CompareOp, left: pa.Array, right: Values) -> Mask:
    values, valid = _numbers(left, like=right.type)
    if isinstance(right, pa.Scalar):
        others, _ = _numbers(pa.repeat(right, 1), like=left.type)
        others_valid = None
    else:
        others, others_valid = _numbers(right, like=left.type)
    holds = _compare_exactly(op, values, others)
    for mask in (valid, others_valid):
        if mask is not None:
            holds &= mask
    return holds


def _numbers(array: pa.Array, *, like: pa.DataType) -> tuple[Numbers, Mask | None]:
    """The values as numbers, and where they are valid; None: everywhere."""
    valid = None
    if array.null_count:
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
    kind = array.type
    if valid is None and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return array.to_numpy(), None
    if pa.types.is_boolean(kind):
        return array.fill_null(fill_value=False).to_numpy(zero_copy_only=False).view(
            np.uint8
        ), valid
    if pa.types.is_date32(kind):
        days = array.view(pa.int32()).fill_null(0).to_numpy()
        # A date meets a time as the midnight it begins with.
        return (days.astype(np.int64) * MS_PER_DAY if pa.types.is_timestamp(like) else days), valid
    if pa.types.is_timestamp(kind):
        return array.view(pa.int64()).fill_null(0).to_numpy(), valid
    assert pa.types.is_integer(kind) or pa.types.is_floating(kind), f"{kind} can't be compared"
    return array.fill_null(0).to_numpy(), valid


def _compare_exactly(op: CompareOp, left: Numbers, right: Numbers) -> Mask:
    is_left_float, is_right_float = left.dtype.kind == "f", right.dtype.kind == "f"
    if is_left_float == is_right_float:
        holds: Mask = OPERATORS[op](left, right)
        return holds
    if is_left_float:
        return _compare_exactly(MIRRORED[op], right, left)
    return _compare_integers_with_floats(op, left, right)


def _compare_integers_with_floats(op: CompareOp, left: Numbers, right: Numbers) -> Mask:
    # Rounding keeps order, so where the rounded integer differs from the float the answer stands.
    # Where it equals the float, the float is whole and the integers decide.
    left, right = np.broadcast_arrays(left, right)
    near = left.astype(np.float64)
    holds: Mask = OPERATORS[op](near, right)
    (tied,) = np.nonzero(near == right)
    limit = float(np.iinfo(left.dtype).max) if left.dtype.itemsize == 8 else np.inf
    # The greatest integer rounds up to a float that no integer of the type equals.
    is_beyond = right[tied] >= limit
    holds[tied[is_beyond]] = OPERATORS[op](0, 1)
    tied = tied[~is_beyond]
    holds[tied] = OPERATORS[op](left[tied], right[tied].astype(left.dtype))
    return holds


def _exactly(values: Numbers, kind: np.dtype[Any]) -> Numbers:
    """Those of the values that a number of this kind can equal, as that kind."""
    if values.dtype.kind == kind.kind == "f":
        return values
    return values[_is_exact(values, kind)].astype(kind)


def _is_exact(values: Numbers, kind: np.dtype[Any]) -> Mask:
    """Which of the values a number of this kind can equal; floats are only ever widened."""
    if values.dtype == kind or values.dtype.kind == kind.kind == "f":
        return np.ones(len(values), dtype=np.bool_)
    if kind.kind == "f":
        near = values.astype(kind)
        return _compare_integers_with_floats(CompareOp.EQ, values, near.astype(np.float64))
    limits = np.iinfo(kind)
    low = _compare_exactly(CompareOp.GE, values, np.array([limits.min]))
    high = _compare_exactly(CompareOp.LE, values, np.array([limits.max], dtype=kind))
    fits = low & high
    return fits & (values == np.floor(values)) if values.dtype.kind == "f" else fits
