"""The nearest rows are those of brute force, whatever rows are asked for and however they came."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.read.search.ranked import Ranked, VectorIndex
from omnigraph.read.search.vectors import CHUNK_ROWS, Vectors
from omnigraph.read.search.vectors_shown import ShownVectors
from omnigraph.read.topology.reach import Mask

Vector = list[float] | None
Ranking = dict[int, float]
"""The rows of a ranking and their scores: equal ones may come in any order."""

WIDTH = 3
SMALL = st.integers(-2, 2).map(float)
ANY_LENGTH = st.floats(width=32, allow_nan=False, allow_infinity=False)


def vectors(numbers: st.SearchStrategy[float] = SMALL) -> st.SearchStrategy[Vector]:
    return st.none() | st.lists(numbers, min_size=WIDTH, max_size=WIDTH)


def queries(numbers: st.SearchStrategy[float] = SMALL) -> st.SearchStrategy[list[float]]:
    return st.lists(numbers, min_size=WIDTH, max_size=WIDTH).filter(any)


def column(rows: Sequence[Vector]) -> pa.Array:
    return pa.array(rows, pa.list_(pa.float32(), WIDTH))


def asked(query: Sequence[float]) -> NDArray[np.float32]:
    return np.array(query, dtype=np.float32)


def distance(vector: Vector, query: Sequence[float]) -> float:
    """The definition, for whole numbers without a rounding before the last steps."""
    if vector is None or not any(vector):
        return math.nan
    dot = math.fsum(a * b for a, b in zip(vector, query, strict=True))
    squares = [math.fsum(a * a for a in v) for v in (vector, query)]
    return min(2.0, max(0.0, 1.0 - dot / math.sqrt(squares[0] * squares[1])))


def best_by_force(rows: Sequence[Vector], query: Sequence[float], k: int, among: Mask) -> Ranking:
    scored = [(distance(v, query), n) for n, v in enumerate(rows) if among[n]]
    ranked = sorted((s, n) for s, n in scored if not math.isnan(s))
    return {n: s for s, n in ranked if k > 0 and s <= ranked[min(k, len(ranked)) - 1][0]}


def ranking(found: Ranked) -> Ranking:
    assert (np.diff(found.scores) >= 0).all(), "best first"
    assert len(set(found.rows.tolist())) == len(found.rows)
    return dict(zip(found.rows.tolist(), found.scores.tolist(), strict=True))


def masked(rows: Sequence[Vector], bits: int) -> Mask:
    return np.array([bits >> n & 1 == 1 for n in range(len(rows))], dtype=np.bool_)


@given(st.lists(vectors(), max_size=40), queries(), st.integers(0, 8), st.integers(0, 2**40))
def test_the_best_are_those_of_brute_force(
    rows: list[Vector], query: list[float], k: int, bits: int
) -> None:
    index, among = Vectors.of_column(column(rows)), masked(rows, bits)
    everything = np.ones(len(rows), dtype=np.bool_)
    found = index.best(asked(query), k, among, exact=True)
    assert ranking(found) == best_by_force(rows, query, k, among)
    found = index.best(asked(query), k, None, exact=True)
    assert ranking(found) == best_by_force(rows, query, k, everything)


@given(st.lists(vectors(ANY_LENGTH), max_size=20), queries(ANY_LENGTH), st.integers(1, 4))
def test_no_vector_is_too_long_or_too_short(rows: list[Vector], query: list[float], k: int) -> None:
    index = Vectors.of_column(column(rows))
    found = index.best(asked(query), k, None, exact=True)
    scores = index.scores(asked(query), None)
    expected = [distance(v, query) for v in rows]
    assert np.allclose(scores, expected, rtol=0, atol=1e-14, equal_nan=True)
    best = np.sort(scores[~np.isnan(scores)])
    assert found.scores.tolist() == best[best <= best[:k][-1:].max(initial=0)].tolist()
    assert found.scores.tolist() == scores[found.rows].tolist()


@given(st.lists(vectors(), max_size=12), queries(), st.data())
def test_what_a_commit_leaves_and_brings_is_as_if_read_anew(
    rows: list[Vector], query: list[float], data: st.DataObject
) -> None:
    index = Vectors.of_column(column(rows))
    for _ in range(data.draw(st.integers(1, 4))):
        kept = data.draw(st.none() | st.sets(st.integers(0, max(0, len(rows) - 1))))
        fresh = data.draw(st.none() | st.lists(vectors(), min_size=1, max_size=5))
        left = None if kept is None else np.array(sorted(kept)[: len(rows)], dtype=np.int64)
        rows = [*(rows if left is None else [rows[n] for n in left]), *(fresh or ())]
        index = index.followed(left, None if fresh is None else column(fresh))
        same(index, Vectors.of_column(column(rows)), asked(query), len(rows))
        again = Vectors.of_arrays(index.to_arrays())
        same(again, index, asked(query), len(rows))


def same(one: VectorIndex, other: VectorIndex, query: NDArray[np.float32], count: int) -> None:
    """Equal to the last bit, of all rows and of some."""
    every_second = np.arange(count) % 2 == 0
    some = np.arange(0, count, 3)
    for among in (None, every_second):
        answers = [ranking(i.best(query, 2, among, exact=True)) for i in (one, other)]
        assert answers[0] == answers[1]
    for rows in (None, some):
        scores = [i.scores(query, rows).tolist() for i in (one, other)]
        assert np.array_equal(scores[0], scores[1], equal_nan=True)


@given(st.lists(vectors(), max_size=20), queries(), st.integers(1, 4), st.integers(0, 2**20))
def test_hidden_rows_are_not_there(
    rows: list[Vector], query: list[float], k: int, bits: int
) -> None:
    stored = np.flatnonzero(masked(rows, bits))
    shown = ShownVectors(Vectors.of_column(column(rows)), stored)
    alone = Vectors.of_column(column([rows[n] for n in stored]))
    same(shown, alone, asked(query), len(stored))


@pytest.mark.parametrize("width", [1, 7, 384, 9_000])
def test_a_score_depends_on_no_other_row(width: int) -> None:
    """The quick look at all rows, at some of them and at one alone lead to the same bits."""
    random = np.random.default_rng(width)
    count = 400
    numbers = random.standard_normal((count, width), dtype=np.float32)
    index = Vectors.of_column(pa.FixedSizeListArray.from_arrays(numbers.reshape(-1), width))
    query = random.standard_normal(width, dtype=np.float32)
    scores = index.scores(query, None)
    assert [index.scores(query, np.array([n]))[0] for n in range(count)] == scores.tolist()
    few = np.zeros(count, dtype=np.bool_)
    few[::9] = True
    for among in (few, ~few):
        found = index.best(query, 5, among, exact=True)
        assert found.scores[:5].tolist() == np.sort(scores[among])[:5].tolist()


def test_many_rows_are_looked_at_in_blocks() -> None:
    random = np.random.default_rng(1)
    numbers = random.standard_normal((3 * CHUNK_ROWS, 8), dtype=np.float32)
    index = Vectors.of_column(pa.FixedSizeListArray.from_arrays(numbers.reshape(-1), 8))
    wide = numbers.astype(np.float64)
    for k in (1, 10, 300):
        query = random.standard_normal(8, dtype=np.float32)
        cosines = wide @ query / np.linalg.norm(wide, axis=1) / np.linalg.norm(query)
        found = index.best(query, k, None, exact=True)
        assert found.rows.tolist() == np.argsort(-cosines)[:k].tolist()


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ([0.0, 0.0, 0.0], "all numbers of the query vector are 0"),
        ([1.0, math.nan, 0.0], "not finite"),
        ([1.0, math.inf, 0.0], "not finite"),
        ([1.0, 2.0], "the query has 2 numbers, and the vectors have 3"),
    ],
)
def test_a_query_without_a_direction_is_refused(query: list[float], rule: str) -> None:
    index = Vectors.of_column(column([[1.0, 0.0, 0.0]]))
    with pytest.raises(ArgumentInvalid, match=rule):
        index.best(asked(query), 1, None, exact=False)
    with pytest.raises(ArgumentInvalid, match=rule):
        index.scores(asked(query), None)
