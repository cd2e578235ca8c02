"""A column in parts reads as one column."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.chunked_column import ChunkedColumn

values = st.lists(st.none() | st.sampled_from(["", "a", "b"]), max_size=5)
Change = list[str | None] | set[int]
"""Values that come, or rows that go."""
changes = st.lists(values | st.sets(st.integers(0, 9), max_size=3), max_size=12)


@pytest.mark.parametrize("share", [0, 8])
@given(first=values, history=changes, asked=st.lists(st.integers(-1, 30), max_size=6))
def test_parts_read_as_the_column_they_make_up(
    share: int, first: list[str | None], history: list[Change], asked: list[int]
) -> None:
    limits = ReadLimits(max_rows_per_row_taken=share)
    column, plain = ChunkedColumn.of(pa.array(first, pa.string()), limits), list(first)
    for change in history:
        if isinstance(change, list):
            column = column.followed_by(pa.array(change, pa.string()))
            plain = plain + change
        else:
            kept = np.array([i for i in range(len(plain)) if i not in change], dtype=np.int64)
            column, plain = column.only(kept), [plain[i] for i in kept]
        rows = [row for row in asked if row < len(plain)]
        found = column.take(np.array(rows, dtype=np.int64)).to_pylist()
        assert found == [None if row < 0 else plain[row] for row in rows]
    assert column.count == len(plain)
    assert column.whole.to_pylist() == plain


NUMBERS: dict[str, pa.DataType] = {
    "I64": pa.int64(),
    "U32": pa.uint32(),
    "F32": pa.float32(),
    "Date": pa.date32(),
    "DateTime": pa.timestamp("ms"),
    "too narrow to grow": pa.int8(),
}
plain_numbers = st.lists(st.integers(0, 9), max_size=5)


@pytest.mark.parametrize("kind", NUMBERS)
@given(
    first=st.lists(st.none() | st.integers(0, 9), max_size=5),
    history=st.lists(
        st.tuples(plain_numbers | st.sets(st.integers(0, 9), max_size=3), st.booleans()),
        max_size=12,
    ),
)
def test_numbers_that_are_read_whole_grow_in_place(
    kind: str, first: list[int | None], history: list[tuple[list[int] | set[int], bool]]
) -> None:
    """Every version still holds what it held after others went on from it."""

    def array(numbers: list[int | None]) -> pa.Array:
        short = pa.array(numbers, pa.int32())
        return (
            short.cast(NUMBERS[kind])
            if kind == "Date"
            else short.cast(pa.int64()).cast(NUMBERS[kind])
        )

    plain = list(first)
    versions = [(ChunkedColumn.of(array(plain)), plain)]
    for change, is_read in history:
        column, plain = versions[-1]
        if is_read:
            assert column.whole.equals(array(plain))
        if isinstance(change, list):
            versions.append((column.followed_by(array([*change])), [*plain, *change]))
            # A second one that goes on from the same version does not disturb the first.
            other = column.followed_by(array([7, *change]))
            assert other.whole.equals(array([*plain, 7, *change]))
        else:
            kept = [i for i in range(len(plain)) if i not in change]
            versions.append((column.only(np.array(kept, dtype=np.int64)), [plain[i] for i in kept]))
    for column, plain in versions:
        assert column.whole.equals(array(plain))
        assert column.count == len(plain)


def test_a_column_that_grew_is_not_copied_again() -> None:
    column = ChunkedColumn.of(pa.array(range(1000)))
    first = column.whole.buffers()[1].address
    column = column.followed_by(pa.array([1]))
    grown = column.whole.buffers()[1].address
    assert grown != first
    for number in range(100):
        column = column.followed_by(pa.array([number]))
        assert column.whole.buffers()[1].address == grown
    assert column.whole.to_pylist() == [*range(1000), 1, *range(100)]


def test_memory_that_versions_share_counts_once() -> None:
    cache, column = RuntimeCache(), ChunkedColumn.of(pa.array(range(1000)))
    assert column.whole.nbytes == column.nbytes
    for number in range(3):
        column = column.followed_by(pa.array([number]))
        assert len(column.whole) == column.count
        cache.get(number, lambda column=column: column)  # type: ignore[misc]
    assert column.room is not None
    assert cache.nbytes == column.room.nbytes >= column.whole.nbytes
