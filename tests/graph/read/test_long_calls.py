"""Work on long columns is cut into calls that take milliseconds, with a look at the clock between.

The parts give what one call gives, whatever their size, and the work ends at any of the looks.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import LimitExceeded
from omnigraph.read.pace import Pace
from omnigraph.read.topology.ids import MAX_JOINED_IDS, IdIndex
from omnigraph.read.topology.sorting import stable_order, stable_order_within
from omnigraph.read.values.encoded import Encoded
from omnigraph.read.values.ordering import encode, ranks, sort_values
from tests.graph.read.countdown import Countdown

NUMBERS = {
    "int64": st.sampled_from([-(2**63), -1, 0, 1, 2, 2**63 - 1]),
    "uint64": st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    "int32": st.integers(-3, 3),
    "float64": st.sampled_from([float("-inf"), -1.5, -0.0, 0.0, 1e300, float("inf")]),
}
NAN = float("nan")
VALUES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [None, False, True],
    pa.string(): [None, "", "a", "a\0", "b", "ba", "\u00e9", "\U0001f600", "c", "d"],
    pa.int64(): [None, -(2**63), -1, 0, 1, 2, 3, 2**63 - 1],
    pa.uint64(): [None, 0, 1, 2, 3, 2**64 - 1],
    pa.int32(): [None, -5, 0, 1, 2, 3],
    pa.float64(): [None, float("-inf"), -1.5, -0.0, 0.0, 2.5, float("inf"), NAN],
    pa.float32(): [None, -1.5, 0.0, 2.5, NAN],
    pa.timestamp("ms", "UTC"): [None, -1, 0, 1, 10**12],
    pa.date32(): [None, -1, 0, 1, 20_000],
    pa.list_(pa.float64()): [None, [], [1.0], [1.0, NAN], [NAN], [0.0, 2.0], [-0.0, 2.0]],
}


@pytest.mark.parametrize("kind", NUMBERS)
@given(data=st.data(), at_once=st.integers(1, 12))
def test_parts_of_any_size_are_sorted_as_the_whole(
    kind: str, data: st.DataObject, at_once: int
) -> None:
    numbers = np.array(data.draw(st.lists(NUMBERS[kind], max_size=40)), dtype=kind)
    groups = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(numbers), max_size=len(numbers))),
        dtype=np.int64,
    )
    alone = stable_order(numbers, at_once=at_once)
    assert alone.tolist() == np.argsort(numbers, kind="stable").tolist()
    within = stable_order_within(groups, numbers, at_once=at_once)
    assert within.tolist() == np.lexsort((numbers, groups)).tolist()


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data(), size=st.integers(1, 9), copies=st.integers(1, 3))
def test_chunks_of_any_size_are_told_apart_and_ranked_as_the_whole(
    kind: pa.DataType, data: st.DataObject, size: int, copies: int
) -> None:
    drawn = data.draw(st.lists(st.sampled_from(VALUES[kind]), max_size=20))
    values, pace = pa.array(drawn * copies, kind), Pace(lambda: None, size)
    whole, parted = encode(values), encode(values, pace)
    both = set(zip(whole.numbers.tolist(), parted.numbers.tolist(), strict=True))
    assert len(both) == len(set(whole.numbers.tolist())) == len(set(parted.numbers.tolist()))
    assert ranks(values, pace).tolist() == ranks(values).tolist()
    for is_descending in (False, True):
        plain, paced = (
            sort_values(values, is_descending=is_descending, pace=each)
            for each in (Pace(lambda: None), pace)
        )
        assert plain.tolist() == paced.tolist()
    encoded = Encoded.of(values, pace)
    if encoded.values is not None:
        assert len(encoded.values) == encoded.codes.size == len(both)
        shown = encoded.values.take(pa.array(encoded.codes.numbers))
        # -0 and 0 are one value.
        expected = [0.0 if v == 0 and pa.types.is_floating(kind) else v for v in drawn]
        assert str(shown.to_pylist()) == str(pa.array(expected, kind).to_pylist() * copies)


random = np.random.default_rng(3)
FLOATS = random.random(3_000)
TEXTS = pa.array([f"t{number}" for number in random.permutation(3_000)])
FEW = pa.array([f"t{number}" for number in random.integers(0, 9, 3_000)])

LONG: dict[str, Callable[[Countdown], object]] = {
    "sorting": lambda look: stable_order(FLOATS, look, at_once=100),
    "sorting in groups": lambda look: stable_order_within(
        (FLOATS * 4).astype(np.int64), FLOATS, look, at_once=100
    ),
    "distinct numbers": lambda look: encode(pa.array(FLOATS), Pace(look, 100)),
    "distinct texts": lambda look: encode(TEXTS, Pace(look, 100)),
    "few texts": lambda look: encode(FEW, Pace(look, 100)),
    "order of texts": lambda look: ranks(TEXTS, Pace(look, 100)),
}


@pytest.mark.parametrize("name", LONG)
def test_long_work_looks_at_the_clock_between_its_parts_and_ends_at_any_look(name: str) -> None:
    looks = Countdown()
    LONG[name](looks)
    assert looks.count >= 3_000 // 200
    for until in range(1, looks.count + 1):
        stopped = Countdown(until)
        with pytest.raises(LimitExceeded):
            LONG[name](stopped)
        assert stopped.count == until


@pytest.mark.parametrize("is_large", [False, True])
def test_very_many_ids_are_looked_up_in_parts(is_large: bool) -> None:
    """Of a short table by joining, of a long one by hashes: one join of it could not be stopped."""
    count = MAX_JOINED_IDS + 1 if is_large else 1_000
    ids = pa.array([f"n{number}" for number in range(count)])
    expected = np.random.default_rng(1).integers(-1, count, 1_200_000)
    wanted = ids.take(pa.array(expected, mask=expected < 0))
    looks = Countdown()
    found = IdIndex(ids).find(wanted, looks)
    assert (found == expected).all()
    assert looks.count >= 3
    for until in range(1, looks.count + 1):
        index = IdIndex(ids)
        with pytest.raises(LimitExceeded):
            index.find(wanted, Countdown(until))
        # What was made before the look is right for the next.
        assert index.find(wanted[:5]).tolist() == expected[:5].tolist()
