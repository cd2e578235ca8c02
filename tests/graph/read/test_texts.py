"""Text search in words: which texts a query finds, and what its index costs to keep."""

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.ids import MAIN, TypeName
from omnigraph.read.limits import ReadLimits
from omnigraph.read.search.analysis import terms_of
from omnigraph.read.search.text import MIN_PART_WORDS, WordIndex
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk import DiskCache
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.view import View
from tests.graph.read.test_views import but

LONG = "x" * 10_000

SCRIPTS = {
    "Arabic": "مرحبا بالعالم",
    "Armenian": "Բարեւ աշխարհ",
    "Bengali": "ওহে বিশ্ব",
    "Chinese": "你好世界, 这是一个没有空格的很长的句子而且超过四十个字节",
    "Cyrillic": "Привет Мир",
    "Emoji and letters": "x😀y z",
    "Ethiopic": "ሰላም ዓለም",
    "Georgian": "გამარჯობა მსოფლიო",
    "Greek": "Γειά σου Κόσμε",  # noqa: RUF001  # as it is written
    "Hebrew": "שלום עולם",
    "Hindi": "नमस्ते दुनिया",
    "Japanese": "こんにちは 世界 カタカナ",
    "Korean": "안녕하세요 세계",
    "Mathematical": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚",  # noqa: RUF001  # as it is written
    "Tamil": "வணக்கம் உலகம்",
    "Thai": "สวัสดีชาวโลก",
    "Turkish": "İstanbul ılık",  # noqa: RUF001  # as it is written
    "Vietnamese": "xin chào thế giới",
}


def index_of(*texts: str | None) -> WordIndex:
    return WordIndex.of(pa.array(texts, pa.string()))


def found(index: WordIndex, query: str) -> list[int]:
    return [int(row) for row in np.flatnonzero(index.search(query))]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Cats, running!", ["cat", "run"]),
        ("don't e-mail", ["don", "t", "e", "mail"]),
        ("the NAÏVE Straße", ["the", "naiv", "strasse"]),
        ("3.14 x2", ["3", "14", "x2"]),
        (LONG, [LONG]),
        ("", []),
        (" .,!? — 😀 \n", []),
    ],
)
def test_the_terms_of_a_text(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms
    tokens = lance.tokenize(
        text,
        base_tokenizer="simple",
        language="English",
        lower_case=True,
        ascii_folding=True,
        stem=True,
        remove_stop_words=False,
        max_token_length=None,
    )
    assert [token.text for token in tokens] == terms


def test_a_letter_and_its_mark_are_the_letter_with_the_mark() -> None:
    assert terms_of("cafe\u0301s") == terms_of("caf\u00e9s") == ["cafe"]
    assert found(index_of("cafe\u0301"), "caf\u00e9") == [0]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_text_of_any_script_is_found_by_its_words(script: str) -> None:
    text = SCRIPTS[script]
    index = index_of(*SCRIPTS.values())
    own = list(SCRIPTS).index(script)
    assert index.phrase(text)[own]
    assert index.fuzzy(text, 0)[own]
    assert own in index.best(text, 1, None).rows
    for word in text.split():
        assert own in found(index, word)


@pytest.mark.parametrize("query", ["", "  ", "?! — .", "😀"])
def test_a_query_without_a_word_finds_nothing(query: str) -> None:
    index = index_of("the cat", "", None, "?!")
    assert not index.search(query).any()
    assert not index.phrase(query).any()
    assert not index.fuzzy(query, 2).any()
    assert not len(index.best(query, 10, None).rows)
    assert np.isnan(index.scores(query, None)).all()


def test_frequent_words_count_as_any_other() -> None:
    index = index_of("to be or not to be", "the cat", None)
    assert found(index, "the") == [1]
    assert found(index, "not the") == [0, 1]
    assert index.phrase("to be").tolist() == [True, False, False]
    assert index.phrase("be to").tolist() == [False, False, False]


def test_a_word_of_ten_thousand_letters_is_a_word() -> None:
    index = index_of("short", f"a {LONG} b", f"{LONG}y")
    assert found(index, LONG) == [1]
    assert index.phrase(f"{LONG} b").tolist() == [False, True, False]
    assert index.fuzzy(LONG, 0).tolist() == [False, True, False]
    assert index.fuzzy(LONG, 1).tolist() == [False, True, True]
    assert index.best(LONG, 1, None).rows.tolist() == [1]


def test_how_many_letters_may_differ_goes_by_the_length_of_the_word() -> None:
    index = index_of("ab", "axb", "house", "mouses", "transport")
    assert np.flatnonzero(index.fuzzy("ab", None)).tolist() == [0]
    assert np.flatnonzero(index.fuzzy("axc", None)).tolist() == [1]
    assert np.flatnonzero(index.fuzzy("mouse", None)).tolist() == [2, 3]
    assert np.flatnonzero(index.fuzzy("trxnspxrt", None)).tolist() == [4]
    assert not index.fuzzy("txxnspxrt", None).any()


def test_a_text_of_more_words_than_sixteen_bits_count() -> None:
    index = index_of("a " * 70_000 + "b", "b a")
    assert index.phrase("a b").tolist() == [True, False]
    assert index.phrase("b a").tolist() == [False, True]
    assert (index.scores("a", None) > 0).all()


def test_an_empty_column_has_no_best_row() -> None:
    index = index_of()
    assert index.search("a").tolist() == index.phrase("a").tolist() == []
    assert not len(index.best("a", 3, np.empty(0, dtype=np.bool_)).rows)
    assert index.scores("a", np.array([-1, -1])).tolist() == pytest.approx(
        [np.nan, np.nan], nan_ok=True
    )


# In a graph -------------------------------------------------------------------------------------

SCHEMA = "node Doc { key: String @key  body: String? }"
DOC = TypeName("Doc")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "graph"), SCHEMA, durability="relaxed")
    put(graph, *(f"text {number}" for number in range(20)))
    return graph


def put(graph: Graph, *texts: str) -> None:
    rows = "\n".join(f'insert Doc {{ key: "{text}", body: "{text}" }}' for text in texts)
    graph.mutate(f"query put() {{ {rows} }}")


def text_index(graph: Graph, cache: RuntimeCache, hidden: str | None = None) -> WordIndex:
    visible = {} if hidden is None else {DOC: but(hidden)}
    view = View.where(graph.engine.store.snapshot(MAIN), visible)
    entity = view.catalog.node_by_name[DOC]
    index = tables_of(view, cache).searches.text(entity, entity.by_name["body"].column)
    assert isinstance(index, WordIndex)
    return index


def test_a_commit_brings_postings_of_its_rows_and_no_others(tmp_path: Path) -> None:
    graph, cache = Graph.init(str(tmp_path / "graph"), SCHEMA, durability="relaxed"), RuntimeCache()
    put(graph, "one " * MIN_PART_WORDS, "two")
    (first,) = text_index(graph, cache).shared
    put(graph, "three", "four")
    before, fresh = text_index(graph, cache).shared
    assert before is first
    assert fresh.vocabulary.terms.to_pylist() == ["four", "three"]
    graph.mutate('query q() { delete Doc where key = "two" }')
    after = text_index(graph, cache)
    assert after.shared == (first, fresh)
    assert (found(after, "two"), found(after, "four")) == ([], [2])


def test_versions_and_views_share_what_they_can_and_it_counts_once(graph: Graph) -> None:
    cache = RuntimeCache()
    (postings,) = text_index(graph, cache).shared
    held = cache.nbytes
    graph.mutate('query q() { delete Doc where key = "text 3" }')
    assert text_index(graph, cache).shared == (postings,)
    seen = text_index(graph, cache, hidden="text 4")
    assert seen.shared == (postings,)
    assert found(seen, "text") == list(range(18))
    assert cache.nbytes - held < postings.nbytes


def test_another_process_maps_what_this_one_kept(graph: Graph, tmp_path: Path) -> None:
    def a_process() -> RuntimeCache:
        limits = ReadLimits(min_disk_entry_bytes=0)
        return RuntimeCache(disk=DiskCache(tmp_path / "cache", limits))

    first = text_index(graph, a_process())
    (mapped,) = text_index(graph, a_process()).shared
    assert not mapped.texts.flags.owndata
    assert not mapped.texts.flags.writeable
    for name, array in first.to_arrays().items():
        np.testing.assert_array_equal(array, mapped.to_arrays()[name])

    put(graph, "late")
    assert found(text_index(graph, a_process()), "late") == [20]
    assert found(text_index(graph, a_process(), hidden="text 0"), "late") == [19]
