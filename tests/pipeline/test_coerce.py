import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.types import INTEGER_RANGES, EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.store.arrow import arrow_type
from omnigraph.write.arriving import arriving_type, expectation
from omnigraph.write.coerce import coerce

EVERY_TYPE: list[ValueType] = [*Scalar, EnumOf(("a", "b")), VectorOf(3), *map(ListOf, Scalar)]

MILLISECONDS = st.datetimes(
    datetime.datetime(1800, 1, 1), datetime.datetime(2500, 1, 1), timezones=st.just(datetime.UTC)
).map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))


@pytest.mark.parametrize("type_", EVERY_TYPE, ids=str)
def test_what_is_already_stored_that_way_fits_as_it_is(type_: ValueType) -> None:
    stored = pa.nulls(3, arrow_type(type_))
    for arrived in (stored, pa.nulls(3), pa.nulls(3, arriving_type(type_)), stored[:0]):
        coerced = coerce(arrived, type_)
        assert coerced.values.equals(stored[: len(arrived)])
        assert not len(coerced.misfits)
    assert expectation(type_)


@given(
    type_=st.sampled_from(sorted(INTEGER_RANGES, key=str)),
    arrives=st.sampled_from([pa.int64(), pa.uint64(), pa.int32()]),
    data=st.data(),
)
def test_integers_fit_exactly_where_their_type_can_hold_them(
    type_: Scalar, arrives: pa.DataType, data: st.DataObject
) -> None:
    holds = {"int64": Scalar.I64, "uint64": Scalar.U64, "int32": Scalar.I32}[str(arrives)]
    edges = [
        bound + step for pair in INTEGER_RANGES.values() for bound in pair for step in (-1, 0, 1)
    ]
    low, high = INTEGER_RANGES[holds]
    values = data.draw(
        st.lists(st.none() | st.sampled_from([e for e in [*edges, 0, 7] if low <= e <= high]))
    )
    least, most = INTEGER_RANGES[type_]
    fits = [v is None or least <= v <= most for v in values]
    coerced = coerce(pa.array(values, arrives), type_)
    assert coerced.misfits.tolist() == [i for i, fit in enumerate(fits) if not fit]
    assert coerced.values.to_pylist() == [
        v if fit else None for v, fit in zip(values, fits, strict=True)
    ]


@given(days=st.lists(st.none() | st.dates() | st.sampled_from(["", "x", "2023-02-29", "2023-1-1"])))
def test_dates_fit_exactly_where_there_is_such_a_day(days: list[Any]) -> None:
    texts = [None if day is None else str(day) for day in days]
    fits = [day is None or isinstance(day, datetime.date) for day in days]
    coerced = coerce(pa.array(texts, pa.string()), Scalar.DATE)
    assert coerced.misfits.tolist() == np.flatnonzero(~np.array(fits, dtype=bool)).tolist()
    assert coerced.values.to_pylist() == [
        day if fit else None for day, fit in zip(days, fits, strict=True)
    ]


@given(moment=MILLISECONDS, hours=st.integers(-12, 14))
def test_a_moment_is_the_same_in_every_offset(moment: datetime.datetime, hours: int) -> None:
    there = moment.astimezone(datetime.timezone(datetime.timedelta(hours=hours)))
    texts = [
        there.isoformat(),
        there.isoformat(sep=" ", timespec="microseconds"),
        moment.replace(tzinfo=None).isoformat(),
        moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z",
        moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "999999",
    ]
    coerced = coerce(pa.array(texts), Scalar.DATETIME)
    assert not len(coerced.misfits)
    assert coerced.values.to_pylist() == [moment] * len(texts)


@pytest.mark.parametrize("text", ["", "now", "2024-13-01", "2024-01-01T24:30", "12:00", "2024"])
def test_what_is_no_moment_does_not_fit(text: str) -> None:
    assert coerce(pa.array(["2024-01-01", text]), Scalar.DATETIME).misfits.tolist() == [1]


@pytest.mark.parametrize("scalar", [Scalar.F32, Scalar.F64])
def test_only_finite_numbers_fit(scalar: Scalar) -> None:
    values = [0.5, None, float("nan"), float("inf"), 1e300, -1.0]
    misfits = [2, 3, 4] if scalar is Scalar.F32 else [2, 3]
    coerced = coerce(pa.array(values, pa.float64()), scalar)
    assert coerced.misfits.tolist() == misfits
    assert coerced.values.null_count == len(misfits) + 1


NUMBERS = st.sampled_from([0.0, 1.5, -2.0])
VECTORS = st.one_of(
    st.none(),
    st.lists(NUMBERS, min_size=2, max_size=2),
    st.lists(st.one_of(st.none(), NUMBERS, st.just(float("nan"))), max_size=3),
)


@given(vectors=st.lists(VECTORS))
def test_vectors_fit_with_their_width_of_finite_numbers(vectors: list[Any]) -> None:
    fits = [v is None or (len(v) == 2 and None not in v and not np.isnan(v).any()) for v in vectors]
    coerced = coerce(pa.array(vectors, pa.list_(pa.float32())), VectorOf(2))
    coerced.values.validate(full=True)
    assert coerced.misfits.tolist() == [i for i, fit in enumerate(fits) if not fit]
    assert coerced.values.to_pylist() == [
        v if fit else None for v, fit in zip(vectors, fits, strict=True)
    ]


@given(lists=st.lists(st.none() | st.lists(st.sampled_from([None, 0, 7, 2**40]), max_size=3)))
def test_lists_fit_where_every_item_does(lists: list[Any]) -> None:
    fits = [v is None or all(item in (0, 7) for item in v) for v in lists]
    coerced = coerce(pa.array(lists, pa.list_(pa.int64())), ListOf(Scalar.I32))
    coerced.values.validate(full=True)
    assert coerced.misfits.tolist() == [i for i, fit in enumerate(fits) if not fit]
    assert coerced.values.to_pylist() == [
        v if fit else None for v, fit in zip(lists, fits, strict=True)
    ]
