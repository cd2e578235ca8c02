"""Long work asks between its chunks whether anybody waits, and changes no answer by it."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import LimitExceeded, QueryCancelled
from omnigraph.read.context import Budget
from omnigraph.read.limits import ReadLimits
from omnigraph.read.pace import Pace
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.values.ordering import Codes, combined, first_rows, loosely_combined
from tests.graph.read.town import Town

IN_SMALL_CHUNKS = ReadLimits(max_chunk_rows=10)

# 125 rows, told apart by group and value: none of its operators makes a chunk of ten.
DISTINCT = (
    "match { $a: Person  $b: Person  $c: Person }"
    " return { $a.name as a, count(distinct $c.name) as n, count(distinct $b) as m } order { a }"
)


class Fuse(threading.Event):
    """Counts how often it is asked, and is set from some question on."""

    def __init__(self, until: int | None = None) -> None:
        super().__init__()
        self.asked = 0
        self._until = until

    def is_set(self) -> bool:
        self.asked += 1
        return self._until is not None and self.asked > self._until


def asked(town: Town, limits: ReadLimits) -> int:
    fuse = Fuse()
    Town(town.snapshot, RuntimeCache(limits)).ask(DISTINCT, budget=Budget(cancel=fuse))
    return fuse.asked


def test_the_clock_is_asked_once_for_each_chunk(town: Town) -> None:
    few, many = asked(town, ReadLimits()), asked(town, IN_SMALL_CHUNKS)
    assert many >= few + 4 * (125 // 10)


def test_a_query_ends_at_whatever_question_it_is_cancelled(town: Town) -> None:
    for until in range(asked(town, IN_SMALL_CHUNKS)):
        fuse = Fuse(until)
        with pytest.raises(QueryCancelled):
            small = Town(town.snapshot, RuntimeCache(IN_SMALL_CHUNKS))
            small.ask(DISTINCT, budget=Budget(cancel=fuse))
        # Asked once to know that it is spent, and once for the error.
        assert fuse.asked <= until + 2


def test_small_chunks_give_the_same_answer(town: Town) -> None:
    assert Town(town.snapshot, RuntimeCache(IN_SMALL_CHUNKS)).ask(DISTINCT) == town.ask(DISTINCT)


class Clock:
    """Each look at it is a second later."""

    def __init__(self, until: int) -> None:
        self.now, self.until = 0, until

    def check(self) -> None:
        self.now += 1
        if self.now > self.until:
            raise LimitExceeded(what="the time", limit=self.until)


@pytest.mark.parametrize("spread", [1, 1_000_003])
def test_numbers_are_made_dense_no_longer_than_there_is_time(spread: int) -> None:
    """Through a table where numbers lie close together, by hashing where they do not."""
    numbers = np.arange(100) * spread
    codes = [Codes(numbers, 100 * spread), Codes(np.arange(100) % 7, 7)]
    clock = Clock(until=14)
    with pytest.raises(LimitExceeded):
        combined(codes, 100, Pace(clock.check, 10))
    assert clock.now == 15
    patient = Clock(until=100)
    combined(codes, 100, Pace(patient.check, 10))
    assert patient.now > 15


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=40),
    st.sampled_from([1, 10**6]),
    st.integers(1, 9),
)
def test_chunks_of_any_size_tell_rows_apart_alike(
    pairs: list[tuple[int, int]], spread: int, size: int
) -> None:
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    columns = [Codes(left * spread, 5 * spread), Codes(right, 7)]
    pace = Pace(lambda: None, size)
    for combine in (combined, loosely_combined):
        codes = combine(columns, len(pairs), pace)
        assert len(set(codes.numbers.tolist())) == len(set(pairs))
        assert len(set(zip(codes.numbers.tolist(), pairs, strict=True))) == len(set(pairs))
    dense = combined(columns, len(pairs), pace)
    assert dense.size == len(set(pairs))
    assert sorted(first_rows(dense, pace).tolist()) == sorted(
        pairs.index(pair) for pair in set(pairs)
    )
