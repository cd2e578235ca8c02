import datetime
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.types import INTEGER_RANGES, EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.check.rows.coerce import coerce
from omnigraph.check.rows.input_types import arriving_type, as_plain, expectation, plain_type
from omnigraph.check.rows.wording import worded
from omnigraph.store.arrow import arrow_type

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


UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
INT64 = (-(2**63), 2**63 - 1)
EPOCH = datetime.datetime(1970, 1, 1)
LEAST_MS, MOST_MS = (
    (end - EPOCH) // datetime.timedelta(milliseconds=1)
    for end in (datetime.datetime.min, datetime.datetime.max)
)
DAY_MS = 86_400_000


@st.composite
def timestamps(draw: st.DrawFn) -> pa.Array:
    """Around the ends of the years and of what each unit can count, and anywhere between."""
    unit, zone = (
        draw(st.sampled_from(sorted(UNITS))),
        draw(st.sampled_from([None, "UTC", "+05:30"])),
    )
    ends = [end * UNITS[unit] // 1000 for end in (LEAST_MS, 0, MOST_MS + 1)]
    near = st.builds(int.__add__, st.sampled_from([*INT64, *ends]), st.integers(-1001, 1001))
    days = st.integers(-(10**6), 4 * 10**6).map(lambda day: day * 86_400 * UNITS[unit])
    counts = st.one_of(st.none(), near, days, st.integers(*INT64))
    fitting = counts.filter(lambda n: n is None or INT64[0] <= n <= INT64[1])
    return pa.array(draw(st.lists(fitting)), pa.timestamp(unit, zone))


@given(times=timestamps())
def test_moments_fit_in_the_years_that_python_has_and_are_cut_off_to_milliseconds(
    times: pa.Array,
) -> None:
    per_second = UNITS[times.type.unit]
    counts = times.cast(pa.int64()).to_pylist()
    wanted = [None if n is None else n * 1000 // per_second for n in counts]
    fits = [n is None or LEAST_MS <= n <= MOST_MS for n in wanted]
    coerced = coerce(times, Scalar.DATETIME)
    assert coerced.misfits.tolist() == [i for i, fit in enumerate(fits) if not fit]
    assert coerced.values.cast(pa.int64()).to_pylist() == [
        n if fit else None for n, fit in zip(wanted, fits, strict=True)
    ]
    coerced.values.to_pylist()


@given(times=timestamps())
def test_a_moment_is_a_date_at_the_midnights_of_its_zone(times: pa.Array) -> None:
    per_second, shift_s = UNITS[times.type.unit], 19_800 if times.type.tz == "+05:30" else 0
    counts = times.cast(pa.int64()).to_pylist()

    def day(count: int) -> datetime.date | None:
        days, rest = divmod(count + shift_s * per_second, 86_400 * per_second)
        is_known = LEAST_MS <= count * 1000 // per_second <= MOST_MS
        try:
            found = EPOCH.date() + datetime.timedelta(days=days)
        except OverflowError:
            return None
        return None if rest or not is_known else found

    wanted = [None if n is None else day(n) for n in counts]
    coerced = coerce(times, Scalar.DATE)
    assert coerced.values.to_pylist() == wanted
    assert coerced.misfits.tolist() == [
        i for i, n in enumerate(counts) if n is not None and wanted[i] is None
    ]


@given(days=st.lists(st.none() | st.integers(-(2**31), 2**31 - 1) | st.integers(-800000, 3000000)))
def test_days_fit_in_the_years_that_python_has(days: list[int | None]) -> None:
    low, high = LEAST_MS // DAY_MS, MOST_MS // DAY_MS
    wrong = [i for i, day in enumerate(days) if day is not None and not low <= day <= high]
    dates = pa.array(days, pa.int32()).view(pa.date32())
    as_date, as_time = coerce(dates, Scalar.DATE), coerce(dates, Scalar.DATETIME)
    assert as_date.misfits.tolist() == as_time.misfits.tolist() == wrong
    assert [None if time is None else time.date() for time in as_time.values.to_pylist()] == (
        as_date.values.to_pylist()
    )


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("0000-12-31", Scalar.DATE),
        ("0000-12-31", Scalar.DATETIME),
        ("0001-01-01T00:00+01:00", Scalar.DATETIME),
        ("9999-12-31T23:30:00.000-01:00", Scalar.DATETIME),
    ],
)
def test_text_of_other_years_does_not_fit(text: str, type_: Scalar) -> None:
    column = pa.array(["0001-01-01", text, "9999-12-31"])
    assert coerce(column, type_).misfits.tolist() == [1]
    lists = pa.array([["0001-01-01"], [text]], pa.list_(pa.string()))
    assert coerce(lists, ListOf(type_)).misfits.tolist() == [1]


@given(values=st.lists(st.none() | st.binary(max_size=3) | st.text().map(str.encode)))
def test_text_fits_where_it_is_utf8(values: list[bytes | None]) -> None:
    texts = pa.array(values, pa.binary()).view(pa.string())
    shown = [None if v is None else v.decode(errors="backslashreplace") for v in values]
    fits = [v is None or v.decode(errors="ignore").encode() == v for v in values]
    coerced = coerce(texts, Scalar.STRING)
    assert coerced.misfits.tolist() == [i for i, fit in enumerate(fits) if not fit]
    assert coerced.values.to_pylist() == [
        s if f else None for s, f in zip(shown, fits, strict=True)
    ]
    assert [worded(text) for text in texts] == shown
    for type_ in EVERY_TYPE:
        assert set(coerced.misfits.tolist()) <= set(coerce(texts, type_).misfits.tolist())


PLAIN_VALUES: list[pa.Array] = [
    pa.array(["a", None, ""]),
    pa.array([b"a", None, b"\xff"]),
    pa.array([True, None, False]),
    *(pa.array([1, None, 0], type_) for type_ in (pa.int8(), pa.uint64(), pa.float16())),
    *(pa.array([1.5, None, float("nan")], type_) for type_ in (pa.float32(), pa.float64())),
    pa.array([2**31 - 1, None, 0], pa.int32()).view(pa.date32()),
    *(
        pa.array([INT64[0], None, 1], pa.int64()).view(type_)
        for type_ in (pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "Asia/Tokyo"))
    ),
    pa.array([0, None, 1], pa.timestamp("ms", "Nowhere/Atall")),
    pa.array([1, None, 2], pa.duration("s")),
    pa.array([1, None, 2], pa.time64("us")),
    pa.array([1, None, 2]).cast(pa.decimal128(25, 2)),
    pa.array([{"a": 1}, None, {}]),
    pa.nulls(3),
]

PACKINGS: dict[str, Any] = {
    "as it is": lambda plain: plain,
    "large text": lambda plain: plain.cast(pa.large_string()),
    "a view": lambda plain: plain.cast(pa.string_view()),
    "large bytes": lambda plain: plain.cast(pa.large_binary()),
    "a view of bytes": lambda plain: plain.cast(pa.binary_view()),
    "a dictionary": lambda plain: plain.dictionary_encode(),
    "run-end encoded": pc.run_end_encode,
    "lists": lambda plain: pa.ListArray.from_arrays([0, 1, 1, 3], plain),
    "large lists": lambda plain: pa.LargeListArray.from_arrays([0, 1, 1, 3], plain),
    "fixed lists": lambda plain: pa.FixedSizeListArray.from_arrays(plain, 3).take([0, None, 0]),
    "views of lists": lambda plain: pa.ListViewArray.from_arrays([2, 0, 0], [1, 0, 2], plain),
    "large views": lambda plain: pa.LargeListViewArray.from_arrays([2, 0, 0], [1, 0, 2], plain),
}


@pytest.mark.parametrize("outer", PACKINGS)
@pytest.mark.parametrize("inner", PACKINGS)
def test_a_column_of_any_make_is_refused_as_a_whole_or_judged_row_by_row(
    inner: str, outer: str
) -> None:
    for plain in PLAIN_VALUES:
        try:
            column = PACKINGS[outer](PACKINGS[inner](plain))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
            # There is no such column.
            continue
        values = [worded(row) for row in column]
        assert json.dumps(values, default=str)
        for type_ in EVERY_TYPE:
            like = plain_type(type_, column.type)
            if like is None:
                continue
            coerced = coerce(as_plain(column, type_), type_)
            if not pa.types.is_temporal(plain.type):
                again = coerce(pa.array(values, like), type_)
                assert coerced.values.equals(again.values)
            coerced.values.validate(full=True)
            assert coerced.values.type == arrow_type(type_)
            assert not coerced.values.take(pa.array(coerced.misfits)).drop_null()
            coerced.values.to_pylist()


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
def test_vectors_fit_with_their_width_of_finite_numbers_not_all_0(vectors: list[Any]) -> None:
    fits = [
        v is None or (len(v) == 2 and None not in v and not np.isnan(v).any() and any(v))
        for v in vectors
    ]
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
