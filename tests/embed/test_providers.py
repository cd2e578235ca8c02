"""The providers that need no network, and the choice of one."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

from omnigraph.embed.batches import NO_LIMITS
from omnigraph.embed.local import Local
from omnigraph.embed.mock import Mock
from omnigraph.embed.provider import EmbedConfig, Purpose, Vectors
from omnigraph.embed.providers import open_provider
from omnigraph.embed.query_texts import QueryTexts
from omnigraph.errors import (
    ArgumentInvalid,
    EmbedModelWrong,
    EmbedProviderMissing,
    EmbedWidthWrong,
)
from tests.embed.minilm_golden import GOLDEN, TEXTS, summary

EVERY_SCRIPT = [
    "Ἀχιλλεύς", "Привет, мир", "שלום", "مرحبا بالعالم", "नमस्ते", "สวัสดี", "你好世界",
    "こんにちは", "안녕하세요", "👩‍👩‍👧", "\u200b", "a\x00b", "\t\n", "x" * 10_000,
]  # fmt: skip


@pytest.fixture(scope="module")
def local() -> Local:
    return Local()


def vectors(provider: Local, *texts: str) -> Vectors:
    return provider.embed(texts, purpose="row", width=384)


def test_the_local_model_makes_what_another_implementation_makes(local: Local) -> None:
    """To six digits, of which the last may differ by the order of sums."""
    golden = json.loads(GOLDEN.read_text())
    assert golden.keys() == TEXTS.keys()
    for name, vector in zip(TEXTS, vectors(local, *TEXTS.values()), strict=True):
        expected, found = golden[name], summary(vector)
        for numbers in ("first", "sums"):
            assert found[numbers] == pytest.approx(expected[numbers], abs=5e-6, rel=0), name


def test_without_a_provider_nothing_is_embedded() -> None:
    with pytest.raises(EmbedProviderMissing, match="OMNIGRAPH_EMBED_PROVIDER") as caught:
        open_provider(EmbedConfig())
    assert "openai-compatible, gemini, local or mock" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("config", "model"),
    [
        (EmbedConfig("openai-compatible", api_key="k"), "text-embedding-3-small"),
        (EmbedConfig("gemini", api_key="k"), "gemini-embedding-001"),
        (EmbedConfig("gemini", model="models/other", api_key="k"), "other"),
        (EmbedConfig("local"), "all-minilm-l6-v2"),
        (EmbedConfig("mock"), "mock"),
        (EmbedConfig("mock", model="any"), "any"),
    ],
)
def test_a_provider_has_a_usual_model_or_the_one_that_is_set(
    config: EmbedConfig, model: str
) -> None:
    assert open_provider(config).model == model


def test_the_mock_gives_the_same_vector_for_the_same_text_and_no_other() -> None:
    mock = open_provider(EmbedConfig("mock"))
    made = mock.embed(["a", "b", "a", "a b", " "], purpose="row", width=16)
    assert made.dtype == np.float32 and made.shape == (5, 16)
    np.testing.assert_array_equal(made[0], made[2])
    assert len(np.unique(made, axis=0)) == 4
    # Shared words, near vectors.
    assert made[0] @ made[3] > 0.5


def test_the_mock_of_another_model_gives_another_vector() -> None:
    one, other = (
        open_provider(EmbedConfig("mock", model)).embed(["a"], purpose="row", width=16)
        for model in ("one", "other")
    )
    assert abs(float((one @ other.T)[0, 0])) < 0.9


def test_a_published_similarity_of_the_model_is_met(local: Local) -> None:
    # From the documentation of sentence-transformers, for this model.
    food, bread = vectors(local, "A man is eating food.", "A man is eating a piece of bread.")
    assert float(food @ bread) == pytest.approx(0.7553, abs=2e-3)


def test_meaning_counts_more_than_words(local: Local) -> None:
    question, same, other = vectors(
        local,
        "How do I reset my password?",
        "I forgot my login credentials and want to change them.",
        "How do I bake my bread?",
    )
    assert question @ same > question @ other


def test_a_vector_does_not_depend_on_its_neighbours(local: Local) -> None:
    texts = ["one", "a text of several words", *EVERY_SCRIPT, "one"]
    together = vectors(local, *texts)
    alone = np.concatenate([vectors(local, text) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_what_is_beyond_the_256th_token_does_not_count(local: Local) -> None:
    start = "word " * 254
    cut, whole = vectors(local, start, start + "and much more")
    np.testing.assert_allclose(cut, whole, atol=1e-5)


def test_words_become_the_tokens_of_the_model(local: Local) -> None:
    # As the tokenizer of the model's authors has them.
    tokens = local._model._words.tokens
    assert tokens("Hello, wörld! unaffable") == [
        101, 7592, 1010, 2088, 999, 14477, 20961, 3468, 102,
    ]  # fmt: skip
    assert tokens("你好 x") == [101, 100, 100, 1060, 102]
    assert tokens("") == [101, 102]


def test_the_local_model_has_one_width_and_one_name() -> None:
    with pytest.raises(EmbedWidthWrong, match="384"):
        Local().embed(["a"], purpose="query", width=128)
    with pytest.raises(EmbedModelWrong, match="other"):
        Local("other")


class Counting:
    """A provider that notes what it is asked."""

    model = "mock"
    limits = NO_LIMITS

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose, width: int, limit_s: float | None = None
    ) -> Vectors:
        assert purpose == "query"
        self.asked.append(tuple(texts))
        return Mock().embed(texts, purpose=purpose, width=width)


def test_the_text_of_a_query_is_embedded_once() -> None:
    provider = Counting()
    queries = QueryTexts(lambda: provider)
    first = queries.embed_query(["a", "b", "a"], model="mock", width=8)
    again = queries.embed_query(["b", "c"], model=None, width=8)
    assert provider.asked == [("a", "b"), ("c",)]
    np.testing.assert_array_equal(first[1], again[0])
    np.testing.assert_array_equal(first[0], first[2])
    assert queries.embed_query(["a"], model=None, width=4).shape == (1, 4)


def test_a_vector_of_the_cache_can_not_be_changed_by_who_asked_for_it() -> None:
    queries = QueryTexts(Counting)
    queries.embed_query(["a"], model=None, width=8)[:] = 0
    assert queries.embed_query(["a"], model=None, width=8).any()


def test_a_query_asks_the_model_that_made_the_rows() -> None:
    queries = QueryTexts(Counting)
    with pytest.raises(EmbedModelWrong, match="other"):
        queries.embed_query(["a"], model="other", width=8)
    assert queries.embed_query(["a"], model="MOCK", width=8).shape == (1, 8)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_has_no_vector(text: str) -> None:
    with pytest.raises(ArgumentInvalid, match="empty"):
        QueryTexts(Counting).embed_query([text], model=None, width=8)


def test_a_provider_is_opened_by_the_first_text() -> None:
    queries = QueryTexts(lambda: open_provider(EmbedConfig()))
    with pytest.raises(EmbedProviderMissing):
        queries.embed_query(["a"], model=None, width=8)
