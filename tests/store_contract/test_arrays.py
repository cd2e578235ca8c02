"""What is shown of a value leads back to it."""

import struct
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.store.arrays import with_short_floats

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
KINDS = {
    "one": (pa.float32(), FLOATS),
    "many": (pa.list_(pa.float32()), st.lists(FLOATS | st.none(), max_size=3)),
    "two": (pa.list_(pa.float32(), 2), st.lists(FLOATS, min_size=2, max_size=2)),
    "part": (
        pa.struct([("x", pa.float32()), ("text", pa.string())]),
        st.fixed_dictionaries({"x": FLOATS | st.none(), "text": st.just("a")}),
    ),
}
SCHEMA = pa.schema([*((name, kind) for name, (kind, _) in KINDS.items()), ("other", pa.int64())])
ROWS = st.fixed_dictionaries(
    {name: values | st.none() for name, (_, values) in KINDS.items()} | {"other": st.just(7)}
)


@given(rows=st.lists(ROWS, max_size=4), skipped=st.integers(0, 2))
# The nearest 64-bit number to its fewest digits is not nearest to it.
@example(rows=[{"one": 7.038530691851209e-26}], skipped=0)
def test_every_value_is_the_same_in_32_bits_and_everything_else_is_left_alone(
    rows: list[dict[str, Any]], skipped: int
) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA).slice(skipped)
    assert _in_32_bits(with_short_floats(table).to_pylist()) == _in_32_bits(table.to_pylist())


@given(digits=st.integers(-(10**6), 10**6), places=st.integers(0, 20))
def test_a_number_of_six_digits_is_shown_in_them(digits: int, places: int) -> None:
    number = float(f"{digits}e-{places}")
    (shown,) = with_short_floats(pa.table({"x": pa.array([number], pa.float32())})).to_pylist()
    assert shown == {"x": number}


def _in_32_bits(value: Any) -> Any:
    match value:
        case float():
            return struct.pack("f", value)
        case list():
            return [_in_32_bits(item) for item in value]
        case dict():
            return {name: _in_32_bits(item) for name, item in value.items()}
        case _:
            return value
