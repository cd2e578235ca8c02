"""Lists of vectors: what they leave out is rare, and depends on nothing but the rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from omnigraph.read.search.ivf import ListedVectors
from omnigraph.read.search.ivf_codebook import (
    MAX_SHARE,
    STATED_RECALL,
    Codebook,
    directions,
    lists_of,
    trained,
)
from omnigraph.read.search.vectors import Vectors
from omnigraph.read.topology.reach import Mask

WIDTH = 16
Numbers = NDArray[np.float32]


def clustered(count: int, seed: int, clusters: int = 64) -> Numbers:
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((clusters, WIDTH))
    near = 0.6 * random.standard_normal((count, WIDTH))
    return (centres[random.integers(0, clusters, count)] + near).astype(np.float32)


def column(numbers: Numbers) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(numbers.reshape(-1), WIDTH)


def listed(numbers: Numbers, codebook: Codebook, *, max_exact_floats: int = 0) -> ListedVectors:
    return ListedVectors.of(Vectors.of_column(column(numbers)), codebook, max_exact_floats)


SAMPLE = clustered(6_000, seed=1)
CODEBOOK = trained(SAMPLE, lists=80, stands_for_rows=20_000, origin="a sample")
ROWS = clustered(20_000, seed=2)
QUERIES = clustered(50, seed=3)
LISTED, EXACT = listed(ROWS, CODEBOOK), Vectors.of_column(column(ROWS))


def recall(k: int, among: Mask | None) -> float:
    found = 0
    for query in QUERIES:
        truth = EXACT.best(query, k, among, exact=True)
        best = LISTED.best(query, k, among, exact=False)
        found += len(np.intersect1d(best.rows, truth.rows))
        assert best.scores.tolist() == EXACT.scores(query, best.rows).tolist(), "true distances"
    return found / (k * len(QUERIES))


@pytest.mark.parametrize("k", [1, 10])
def test_a_search_finds_what_it_states(k: int) -> None:
    share = CODEBOOK.share(k)
    assert share is not None and share < MAX_SHARE, "or it would be exact"
    assert recall(k, None) >= STATED_RECALL


def test_a_filter_leaves_the_recall_as_it_is() -> None:
    for part in (2, 5):
        assert recall(10, np.arange(len(ROWS)) % part == 0) >= STATED_RECALL
    # Rows of another part of space than the query's are found too.
    far = EXACT.scores(QUERIES[0], None) > 1.0
    assert recall(10, far) >= STATED_RECALL


def test_what_is_asked_for_exactly_or_among_few_rows_is_exact() -> None:
    few = np.arange(len(ROWS)) % 50 == 0
    quick = listed(ROWS, CODEBOOK, max_exact_floats=int(few.sum()) * WIDTH)
    for query in QUERIES:
        for index, k, among, exact in (
            (LISTED, 10, None, True),
            (quick, 10, few, False),
            (LISTED, 5_000, None, False),
        ):
            best = index.best(query, k, among, exact=exact)
            truth = EXACT.best(query, k, among, exact=True)
            assert best.rows.tolist() == truth.rows.tolist()


def test_a_search_looks_at_a_part_of_the_rows() -> None:
    """Else nothing above could fail."""
    some = [LISTED.best(query, 10, None, exact=False).rows for query in QUERIES]
    misses = [
        len(np.setdiff1d(EXACT.best(q, 10, None, exact=True).rows, rows))
        for q, rows in zip(QUERIES, some, strict=True)
    ]
    assert sum(misses) > 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(["append", "delete", "both"]), max_size=6))
def test_lists_that_followed_the_rows_are_those_made_anew(seed: int, history: list[str]) -> None:
    random = np.random.default_rng(seed)
    rows = ROWS[:2_000].copy()
    rows[::97] = 0
    index = listed(rows, CODEBOOK)
    for step in history:
        kept = None if step == "append" else np.flatnonzero(random.random(len(rows)) < 0.97)
        fresh = None if step == "delete" else clustered(60, seed=int(random.integers(100)))
        left = rows if kept is None else rows[kept]
        rows = left if fresh is None else np.concatenate([left, fresh])
        index = index.followed(kept, None if fresh is None else column(fresh))
    anew = listed(rows, CODEBOOK)
    among = random.random(len(rows)) < 0.5
    for query in QUERIES[:5]:
        for mask in (None, among):
            one, other = (i.best(query, 10, mask, exact=False) for i in (index, anew))
            assert one.rows.tolist() == other.rows.tolist()
            assert one.scores.tolist() == other.scores.tolist()
    if not len(index.tail_lists):
        again = ListedVectors.of_arrays(index.to_arrays(), 0)
        best = [i.best(QUERIES[0], 10, None, exact=False).rows.tolist() for i in (again, index)]
        assert best[0] == best[1]


def test_a_codebook_depends_on_its_sample_alone() -> None:
    again = trained(SAMPLE.copy(), lists=80, stands_for_rows=20_000, origin="a sample")
    assert np.array_equal(again.centroids, CODEBOOK.centroids)
    assert np.array_equal(again.shares, CODEBOOK.shares)
    _, units = directions(ROWS)
    whole = lists_of(units, CODEBOOK.centroids)
    one_by_one = [lists_of(units[n : n + 1], CODEBOOK.centroids)[0] for n in range(0, 20_000, 40)]
    assert whole[::40].tolist() == one_by_one


def test_a_doubt_is_settled_the_same_way_everywhere() -> None:
    """Vectors in the middle between two directions: 32 bits can't tell which is nearer."""
    random = np.random.default_rng(5)
    _, centroids = directions(random.standard_normal((40, WIDTH)).astype(np.float32))
    pairs = random.integers(0, 40, (300, 2))
    _, units = directions(centroids[pairs[:, 0]] + centroids[pairs[:, 1]])
    whole = lists_of(units, centroids)
    for step in (1, 7):
        parts = [lists_of(units[n : n + step], centroids) for n in range(0, len(units), step)]
        assert np.concatenate(parts).tolist() == whole.tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_few_vectors_or_none_make_a_codebook(count: int) -> None:
    sample = np.zeros((count + 3, WIDTH), dtype=np.float32)
    sample[:count] = clustered(count, seed=4)
    codebook = trained(sample, lists=4, stands_for_rows=count + 3, origin="")
    index = listed(sample, codebook)
    found = index.best(QUERIES[0], 5, None, exact=False)
    assert len(found.rows) == min(count, 5) if count <= 5 else len(found.rows) >= 1
    same = trained(np.ones((200, WIDTH), np.float32), lists=20, stands_for_rows=200, origin="")
    assert len(same.centroids) == 1, "vectors that are all the same have one direction"
