"""Values from outside: converted where nothing is lost, refused otherwise, never anything else."""

import datetime
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.types import INTEGER_RANGES, EnumOf, ListOf, Scalar, Value, ValueType, VectorOf
from omnigraph.lang.query.values import Unfit, convert
from tests.lang.query.trees import TYPES

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)
UTC = datetime.UTC


@given(TYPES, JSON)
def test_anything_is_converted_to_a_value_of_the_type_or_refused(
    type_: ValueType, value: object
) -> None:
    try:
        converted = convert(value, type_)
    except Unfit as reason:
        assert str(reason)
        return
    assert convert(converted, type_) == converted


@pytest.mark.parametrize("type_", INTEGER_RANGES)
def test_integers_reach_to_the_ends_of_their_range_and_no_further(type_: Scalar) -> None:
    low, high = INTEGER_RANGES[type_]
    assert (convert(low, type_), convert(high, type_)) == (low, high)
    for outside in (low - 1, high + 1):
        with pytest.raises(Unfit):
            convert(outside, type_)


@given(st.datetimes(timezones=st.timezones()))
def test_a_time_is_the_same_moment_in_utc_to_the_millisecond(moment: datetime.datetime) -> None:
    try:
        converted = convert(moment.isoformat(), Scalar.DATETIME)
    except Unfit:
        assert moment.year in (1, 9999)
        return
    assert isinstance(converted, datetime.datetime)
    assert converted.tzinfo is UTC
    assert datetime.timedelta(0) <= moment - converted < datetime.timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (3.0, Scalar.I32, 3),
        (2**63, Scalar.F64, float(2**63)),
        (0.1, Scalar.F32, float(np.float32(0.1))),
        (np.int64(3), Scalar.I32, 3),
        (np.float32(1.5), Scalar.F64, 1.5),
        (np.array([1, 2], dtype=np.float32), VectorOf(2), (1.0, 2.0)),
        ((1, 2.0), ListOf(Scalar.I64), (1, 2)),
        ("2024-02-29", Scalar.DATE, datetime.date(2024, 2, 29)),
        (datetime.date(2024, 2, 29), Scalar.DATETIME, datetime.datetime(2024, 2, 29, tzinfo=UTC)),
        ("2024-02-29 12:00", Scalar.DATETIME, datetime.datetime(2024, 2, 29, 12, tzinfo=UTC)),
        ("a", EnumOf(("a", "b")), "a"),
        (b"\x00\xff", Scalar.BLOB, b"\x00\xff"),
        ("base64:", Scalar.BLOB, b""),
        ("base64:AP8=", Scalar.BLOB, b"\x00\xff"),
    ],
)
def test_a_value_becomes_one_of_the_type(value: object, type_: ValueType, expected: Value) -> None:
    converted = convert(value, type_)
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (3.5, Scalar.I64),
        (True, Scalar.I64),
        (True, Scalar.F64),
        ("3", Scalar.I64),
        (math.nan, Scalar.F64),
        (math.inf, Scalar.I64),
        (10**400, Scalar.F64),
        (1e39, Scalar.F32),
        (1, Scalar.BOOL),
        (1, Scalar.STRING),
        ("\ud800", Scalar.STRING),
        (datetime.datetime(2024, 1, 1), Scalar.DATE),
        ("2024-02-30", Scalar.DATE),
        ("0001-01-01T00:00:00+14:00", Scalar.DATETIME),
        ("c", EnumOf(("a", "b"))),
        ([1, 2, 3], VectorOf(2)),
        ([1, math.nan], VectorOf(2)),
        ([1, None], ListOf(Scalar.I64)),
        ("ab", ListOf(Scalar.STRING)),
        ({"a": 1}, ListOf(Scalar.I64)),
        ("base64:not base64!", Scalar.BLOB),
        ("AP8=", Scalar.BLOB),
        (None, Scalar.STRING),
    ],
)
def test_what_would_lose_something_is_refused(value: object, type_: ValueType) -> None:
    with pytest.raises(Unfit):
        convert(value, type_)
