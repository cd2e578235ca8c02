"""A column in parts reads as one column."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.read import stacked
from omnigraph.read.stacked import Stacked

values = st.lists(st.none() | st.sampled_from(["", "a", "b"]), max_size=5)
Change = list[str | None] | set[int]
"""Values that come, or rows that go."""
changes = st.lists(values | st.sets(st.integers(0, 9), max_size=3), max_size=12)


@pytest.mark.parametrize("share", [0, 8])
@given(first=values, history=changes, asked=st.lists(st.integers(-1, 30), max_size=6))
def test_parts_read_as_the_column_they_make_up(
    share: int, first: list[str | None], history: list[Change], asked: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacked, "WORTH_THE_WHOLE", share)
        column, plain = Stacked.of(pa.array(first, pa.string())), list(first)
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
