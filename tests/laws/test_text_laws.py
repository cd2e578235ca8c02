"""Text search finds and ranks what the definition says, to the last bit of a score."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.read.search.analysis import analyse, terms_of
from omnigraph.read.search.text import WordIndex
from omnigraph.read.search.text_part import one_part
from omnigraph.read.search.vocabulary import Vocabulary
from tests.reference.naive_text import NaiveTexts, edits_between

# Few words, near each other, so that texts share them and edits lead from one to another.
WORDS = ["the", "cat", "cats", "cut", "catalogue", "catalog", "é", "naïve", "naive", "日本", "of"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
COLUMNS = st.lists(st.none() | TEXTS, max_size=20)

# Letters of many scripts, letters that fold to several, marks, and characters between words.
NASTY = st.text(
    st.sampled_from("aB1 _-.'\t\n\0\x1c\u0301éß日本हिन्दीไทยع\u200b\u00a0½①⑴İΣς😀ǆﬀ")
    | st.characters(exclude_categories=["Cs"])
)


def index_of(texts: Sequence[str | None]) -> WordIndex:
    return WordIndex.of(pa.array(texts, pa.string()))


@given(st.lists(st.none() | NASTY, max_size=8))
def test_a_column_is_analysed_as_its_texts_are_one_by_one(texts: list[str | None]) -> None:
    found = analyse(pa.array(texts, pa.string()))
    names = found.vocabulary.terms.to_pylist()
    terms = [names[term] for term in found.terms]
    ends = np.cumsum(found.lengths)
    own = [terms[end - n : end] for end, n in zip(ends, found.lengths, strict=True)]
    assert own == [[] if text is None else terms_of(text) for text in texts]
    assert names == sorted(set(terms), key=str.encode)


@given(COLUMNS, TEXTS)
def test_the_rows_that_match_are_those_of_the_definition(
    texts: list[str | None], query: str
) -> None:
    index, naive = index_of(texts), NaiveTexts(texts)
    assert np.flatnonzero(index.search(query)).tolist() == naive.search(query)
    assert np.flatnonzero(index.phrase(query)).tolist() == naive.phrase(query)
    for edits in (None, 0, 1, 2):
        found = np.flatnonzero(index.fuzzy(query, edits)).tolist()
        assert found == naive.fuzzy(query, edits), edits


@given(
    st.sets(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=40),
    st.text("ab", min_size=1, max_size=9),
    st.integers(0, 2),
)
def test_near_words_are_the_same_among_few_and_among_many(
    words: set[str], wanted: str, edits: int
) -> None:
    """Few are compared one by one, many letter by letter."""
    near = {word for word in words if edits_between(word, wanted) <= edits}
    assert near_words(words, wanted, edits) == near
    for word in words:
        assert near_words({word}, wanted, edits) == near & {word}


def test_a_word_of_a_million_letters_is_compared_with_others_like_it() -> None:
    """Letter by letter it would take for ever."""
    word = "ab" * 500_000
    texts = [word, f"x{word[1:]}", f"{word[:-2]}xy", f"xyz{word}", word[3:]]
    index = index_of(texts)
    found = [np.flatnonzero(index.fuzzy(word, edits)).tolist() for edits in (0, 1, 2)]
    assert found == [[0], [0, 1], [0, 1, 2]]


def near_words(words: set[str], wanted: str, edits: int) -> set[str]:
    ascending = sorted(words)
    vocabulary = Vocabulary.of(pa.array(ascending, pa.large_string()))
    return {ascending[place] for place in vocabulary.near(wanted, edits)}


@given(COLUMNS, TEXTS, st.integers(0, 6), st.data())
def test_the_best_rows_are_those_of_the_definition(
    texts: list[str | None], query: str, k: int, data: st.DataObject
) -> None:
    index, scores = index_of(texts), NaiveTexts(texts).scores(query)
    size = len(texts)
    among = data.draw(st.none() | st.lists(st.booleans(), min_size=size, max_size=size))
    allowed = {row: s for row, s in scores.items() if among is None or among[row]}
    least = sorted(allowed.values(), reverse=True)[:k][-1:]
    wanted = {row: s for row, s in allowed.items() if least and s >= least[0]}

    best = index.best(query, k, None if among is None else np.array(among, dtype=np.bool_))
    assert dict(zip(best.rows.tolist(), best.scores.tolist(), strict=True)) == wanted
    assert (np.diff(best.scores) <= 0).all()

    asked = data.draw(st.lists(st.integers(-1, size - 1)))
    whole = [scores.get(row) for row in range(size)]
    assert _or_none(index.scores(query, None)) == whole
    some = index.scores(query, np.array(asked, dtype=np.int64))
    assert _or_none(some) == [scores.get(row) for row in asked]


@given(COLUMNS, TEXTS, st.data())
def test_without_some_rows_an_index_is_as_if_they_had_never_been(
    texts: list[str | None], query: str, data: st.DataObject
) -> None:
    kept = [row for row in range(len(texts)) if data.draw(st.booleans())]
    index = index_of(texts).only(np.array(kept, dtype=np.int64))
    fresh = index_of([texts[row] for row in kept])
    assert _or_none(index.scores(query, None)) == _or_none(fresh.scores(query, None))
    assert index.search(query).tolist() == fresh.search(query).tolist()
    assert index.phrase(query).tolist() == fresh.phrase(query).tolist()
    assert index.fuzzy(query, None).tolist() == fresh.fuzzy(query, None).tolist()


@given(COLUMNS, st.lists(st.tuples(st.none() | COLUMNS, st.booleans()), max_size=6), st.data())
def test_an_index_that_followed_its_column_answers_as_one_built_anew(
    texts: list[str | None],
    commits: list[tuple[list[str | None] | None, bool]],
    data: st.DataObject,
) -> None:
    index = index_of(texts)
    min_part_words = data.draw(st.sampled_from([0, 30, 1_000]))
    for fresh, has_deletes in commits:
        kept = None
        if has_deletes:
            kept = [row for row in range(len(texts)) if data.draw(st.booleans())]
            texts = [texts[row] for row in kept]
        texts = texts + (fresh or [])
        index = index.followed(
            None if kept is None else np.array(kept, dtype=np.int64),
            None if fresh is None else pa.array(fresh, pa.string()),
            min_part_words=min_part_words,
        )
    new, query, k = index_of(texts), data.draw(TEXTS), data.draw(st.integers(1, 5))
    assert index.count == len(texts)
    assert index.search(query).tolist() == new.search(query).tolist()
    assert index.phrase(query).tolist() == new.phrase(query).tolist()
    assert index.fuzzy(query, 1).tolist() == new.fuzzy(query, 1).tolist()
    assert _or_none(index.scores(query, None)) == _or_none(new.scores(query, None))
    best, wanted = index.best(query, k, None), new.best(query, k, None)
    assert sorted(zip(*map(np.ndarray.tolist, best), strict=True)) == sorted(
        zip(*map(np.ndarray.tolist, wanted), strict=True)
    )
    whole = one_part(index.parts).postings.to_arrays()
    for name, array in new.to_arrays().items():
        assert array.dtype == whole[name].dtype, name
        np.testing.assert_array_equal(array, whole[name], strict=True, err_msg=name)


@given(COLUMNS, st.integers(1, 40))
def test_a_column_read_in_blocks_gives_the_same_postings(
    texts: list[str | None], block_bytes: int
) -> None:
    whole = index_of(texts).to_arrays()
    blocks = WordIndex.of(pa.array(texts, pa.string()), max_block_bytes=block_bytes).to_arrays()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, blocks[name], strict=True, err_msg=name)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 10, 200]), st.booleans())
def test_of_many_rows_the_best_are_those_that_scoring_all_gives(
    seed: int, k: int, has_deletes: bool
) -> None:
    """Large enough that rows are dropped before their scores are whole."""
    random = np.random.default_rng(seed)
    words = np.array([f"w{number}" for number in range(60)])
    chances = 1 / np.arange(1, len(words) + 1)
    lengths = random.integers(0, 30, size=600)
    drawn = random.choice(words, size=lengths.sum(), p=chances / chances.sum())
    texts = [" ".join(own) for own in np.split(drawn, np.cumsum(lengths)[:-1])]
    index = index_of(texts[:400]).followed(
        np.flatnonzero(random.random(400) < 0.8) if has_deletes else None,
        pa.array(texts[400:]),
        min_part_words=0,
    )
    for size in (1, 2, 5):
        query = " ".join(random.choice(words, size=size))
        for share in (None, 0.5, 0.02):
            among = None if share is None else random.random(index.count) < share
            scores = index.scores(query, None)
            is_ranked = ~np.isnan(scores) if among is None else ~np.isnan(scores) & among
            least = np.sort(scores[is_ranked])[::-1][:k][-1:]
            wanted = np.flatnonzero(is_ranked & (scores >= (least[0] if len(least) else np.inf)))
            best = index.best(query, k, among)
            assert np.sort(best.rows).tolist() == wanted.tolist()
            assert best.scores.tolist() == np.sort(scores[wanted])[::-1].tolist()
            some = index.scores(query, best.rows[:20])
            assert some.tolist() == best.scores[:20].tolist()


def test_a_row_that_the_last_term_lifts_to_the_top_is_not_dropped_before() -> None:
    """The second row is behind by the rare word, and gains as much as any by the other one."""
    company = ["plain " + "pad " * 60] * 10 + ["pad " * 60] * 20
    for more in range(1, 50):
        index = index_of(["rare pad", "rare plain " + "pad " * more, *company])
        scores = index.scores("rare plain", None)
        best = index.best("rare plain", 1, None)
        assert best.rows.tolist() == [int(np.nanargmax(scores))], more


def _or_none(scores: np.ndarray) -> list[float | None]:
    return [None if np.isnan(score) else score for score in scores.tolist()]
