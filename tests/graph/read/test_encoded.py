"""A column as numbers: equal where the values are, at every version that the first leads to."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.read.values.encoded import Encoded

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "texts": (pa.string(), st.none() | st.sampled_from(["", "a", "b", "c"])),
    "whole numbers": (pa.int32(), st.none() | st.integers(-2, 2)),
    "floats": (pa.float64(), st.none() | st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf])),
    "flags": (pa.bool_(), st.none() | st.booleans()),
}
Change = list[Any] | set[int]
"""Values that come, or rows that go."""


def said(value: Any) -> Any:
    """Equal for values of one group: -0 is 0, and NaN is itself."""
    return repr(value + 0) if isinstance(value, float) else value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [1, 8])
@given(data=st.data())
def test_values_that_come_and_go_keep_their_numbers(
    kind: str, share: int, data: st.DataObject
) -> None:
    type_, value = KINDS[kind]
    values = st.lists(value, max_size=6)
    changes: list[Change] = data.draw(
        st.lists(values | st.sets(st.integers(0, 9), max_size=3), max_size=8)
    )
    plain = data.draw(values)
    versions = [(Encoded.of(pa.array(plain, type_)), list(plain))]
    for change in changes:
        if isinstance(change, list):
            fresh = pa.array(change, type_)
            later = versions[-1][0].followed(None, fresh, rows_per_space=share)
            plain = plain + change
        else:
            kept = [i for i in range(len(plain)) if i not in change]
            later = versions[-1][0].followed(
                np.array(kept, dtype=np.int64), None, rows_per_space=share
            )
            plain = [plain[i] for i in kept]
        versions.append((later, list(plain)))
    # Later versions share memory with earlier ones, and have not changed what those hold.
    for version, expected in versions:
        numbers, size = version.codes
        assert len(numbers) == len(expected)
        assert all(0 <= number < size for number in numbers)
        by_number = {(int(n), said(v)) for n, v in zip(numbers, expected, strict=True)}
        assert len({n for n, _ in by_number}) == len(by_number)
        assert len({v for _, v in by_number}) == len(by_number)


def test_lists_are_told_apart_anew_each_time() -> None:
    lists = Encoded.of(pa.array([[1], [1, 2], [1]]))
    assert lists.codes.numbers.tolist()[0] == lists.codes.numbers.tolist()[2]
    assert lists.values is None


def test_a_version_that_another_went_on_from_still_leads_to_others() -> None:
    first = Encoded.of(pa.array(["a", "b"]))
    left = first.followed(None, pa.array(["c", "a"]))
    right = first.followed(None, pa.array(["d", "b"]))
    again = left.followed(None, pa.array(["c"]))
    other = left.followed(None, pa.array(["b"]))
    for version, expected in ((left, "abca"), (right, "abdb"), (again, "abcac"), (other, "abcab")):
        found = version.values
        assert found is not None
        texts = found.take(pa.array(version.codes.numbers)).to_pylist()
        assert "".join(texts) == expected
