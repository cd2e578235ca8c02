"""Providers over HTTP, against a real server: what is asked, what is made of answers and faults."""

import base64
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from omnigraph.embed.gemini import Gemini
from omnigraph.embed.mock import Mock
from omnigraph.embed.openai import OpenAiCompatible
from omnigraph.embed.provider import EmbedConfig, Provider, Vectors
from omnigraph.embed.providers import open_provider
from omnigraph.embed.service import MAX_TRIES, Timing
from omnigraph.embed.texts import embed_texts
from omnigraph.errors import (
    ArgumentInvalid,
    EmbedAnswerInvalid,
    EmbedProviderMissing,
    EmbedQuotaSpent,
    EmbedRateLimited,
    EmbedRefused,
    EmbedTimeout,
    EmbedUnreachable,
    EmbedWidthWrong,
    OmnigraphError,
)
from tests.embed.server import KEY, WIDTH, Document, EmbedServer, Reply, embed_server, texts

TEXTS = ["a red fox", "a blue whale", "the stock market"]


@dataclass
class Waits:
    """Time that passes only by sleeping."""

    slept: list[float] = field(default_factory=list)

    def timing(self) -> Timing:
        return Timing(now_s=lambda: sum(self.slept), sleep=self.slept.append, chance=lambda: 0.0)


@dataclass
class World:
    server: EmbedServer
    provider: Provider
    waits: Waits

    def embed(self, texts: Sequence[str] = TEXTS, width: int = WIDTH) -> Vectors:
        embedded = embed_texts(self.provider, texts, purpose="row", width=width)
        assert not embedded.refused
        return embedded.vectors

    def fail(self, kind: type[OmnigraphError], *replies: Reply) -> OmnigraphError:
        self.server.replies.extend(replies)
        with pytest.raises(kind) as caught:
            self.embed()
        told = caught.value.render() + str(caught.value.to_json()) + repr(caught.value)
        assert KEY not in told
        return caught.value


def _openai(server: EmbedServer, timing: Timing) -> Provider:
    url = f"{server.url}/v1"
    config = EmbedConfig("openai-compatible", model="any", base_url=url, api_key=KEY)
    return OpenAiCompatible(config, timing)


def _gemini(server: EmbedServer, timing: Timing) -> Provider:
    config = EmbedConfig("gemini", base_url=f"{server.url}/v1beta", api_key=KEY)
    return Gemini(config, timing)


MAKERS = {"openai": _openai, "gemini": _gemini}


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with embed_server() as server:
        yield server


@pytest.fixture(params=MAKERS)
def world(request: pytest.FixtureRequest, server: EmbedServer) -> World:
    waits = Waits()
    return World(server, MAKERS[request.param](server, waits.timing()), waits)


@pytest.fixture
def openai(server: EmbedServer) -> World:
    waits = Waits()
    return World(server, _openai(server, waits.timing()), waits)


@pytest.fixture
def gemini(server: EmbedServer) -> World:
    waits = Waits()
    return World(server, _gemini(server, waits.timing()), waits)


def expected(texts: Sequence[str] = TEXTS, width: int = WIDTH) -> Vectors:
    return Mock().embed(texts, purpose="row", width=width)


def an_error(status: int, message: str, **more: Any) -> Reply:
    return Reply(status, {"error": {"code": status, "message": message, **more}})


# Answers ------------------------------------------------------------------------------------------


def test_each_text_gets_its_vector_of_length_one(world: World) -> None:
    vectors = world.embed()
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_text_needs_no_request(world: World) -> None:
    assert world.embed([]).shape == (0, WIDTH)
    assert world.server.requests == []


def test_many_texts_go_in_batches_and_come_back_in_order(world: World) -> None:
    texts = [f"text {number}" for number in range(257)]
    np.testing.assert_allclose(world.embed(texts), expected(texts), atol=1e-6)
    assert len(world.server.requests) > 1


def test_long_texts_go_in_batches_of_fewer(world: World) -> None:
    world.embed(["long " * 40_000, "long " * 40_000, "short"])
    assert len(world.server.requests) >= 2


def test_vectors_are_taken_by_their_number(openai: World) -> None:
    def shuffle(document: Document) -> None:
        random.Random(1).shuffle(document["data"])

    openai.server.replies.append(Reply(change=shuffle))
    np.testing.assert_allclose(openai.embed(), expected(), atol=1e-6)


def test_vectors_without_numbers_are_taken_as_they_come(openai: World) -> None:
    def strip(document: Document) -> None:
        for item in document["data"]:
            del item["index"]

    openai.server.replies.append(Reply(change=strip))
    np.testing.assert_allclose(openai.embed(), expected(), atol=1e-6)


def test_vectors_may_come_packed(openai: World) -> None:
    def pack(document: Document) -> None:
        for item in document["data"]:
            item["embedding"] = base64.b64encode(
                np.array(item["embedding"], "<f4").tobytes()
            ).decode()

    openai.server.replies.append(Reply(change=pack))
    np.testing.assert_allclose(openai.embed(), expected(), atol=1e-6)


def test_a_model_that_can_shorten_its_vectors_is_asked_for_the_width(server: EmbedServer) -> None:
    config = EmbedConfig("openai-compatible", base_url=server.url, api_key=KEY)
    assert OpenAiCompatible(config).embed(TEXTS, purpose="row", width=5).shape == (3, 5)


def test_the_key_stands_in_a_header(openai: World, gemini: World) -> None:
    openai.embed()
    gemini.embed()
    (_, first, _), (path, second, _) = openai.server.requests
    assert first["authorization"] == f"Bearer {KEY}"
    assert second["x-goog-api-key"] == KEY and KEY not in path


def test_a_server_of_ones_own_needs_no_key(server: EmbedServer) -> None:
    provider = OpenAiCompatible(EmbedConfig("openai-compatible", "any", base_url=server.url))
    provider.embed(TEXTS, purpose="query", width=WIDTH)
    assert "authorization" not in server.requests[0][1]


def test_gemini_is_told_what_a_text_is_for(gemini: World) -> None:
    gemini.provider.embed(TEXTS[:1], purpose="row", width=WIDTH)
    gemini.provider.embed(TEXTS[:1], purpose="query", width=WIDTH)
    tasks = [document["requests"][0]["taskType"] for _, _, document in gemini.server.requests]
    assert tasks == ["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"]


# Faults that pass ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        an_error(500, "internal"),
        an_error(503, "overloaded"),
        Reply(502, raw=b"<html>bad gateway</html>"),
        an_error(429, "slow down"),
        Reply(drops=True),
    ],
    ids=["500", "503", "502", "429", "dropped"],
)
def test_a_fault_that_passes_is_tried_again(world: World, fault: Reply) -> None:
    world.server.replies.extend([fault, fault])
    np.testing.assert_allclose(world.embed(), expected(), atol=1e-6)
    assert world.waits.slept == [0.5, 1.0]


def test_the_service_says_how_long_to_wait(world: World) -> None:
    world.server.replies.append(Reply(429, {"error": {}}, headers={"Retry-After": "7"}))
    world.embed()
    assert world.waits.slept == [7.0]


def test_gemini_says_it_in_its_document(gemini: World) -> None:
    details = [{"@type": "…/google.rpc.RetryInfo", "retryDelay": "46s"}]
    gemini.server.replies.append(an_error(429, "later", details=details))
    gemini.server.replies.append(an_error(429, "Please retry in 12.5s."))
    gemini.embed()
    assert gemini.waits.slept == [46.0, 12.5]


# Faults that don't --------------------------------------------------------------------------------


def test_a_server_that_always_fails_is_given_up(world: World) -> None:
    error = world.fail(EmbedUnreachable, *[an_error(500, "internal")] * MAX_TRIES)
    assert len(world.server.requests) == MAX_TRIES
    assert f"{MAX_TRIES} tries" in error.message and "internal" in error.message


def test_a_limit_that_does_not_pass_says_when_it_will(world: World) -> None:
    error = world.fail(EmbedRateLimited, Reply(429, {"error": {}}, headers={"Retry-After": "500"}))
    assert error.details["retry_after_s"] == 500
    assert len(world.server.requests) == 1


def test_a_spent_quota_is_not_tried_again(openai: World) -> None:
    openai.fail(EmbedQuotaSpent, an_error(429, "pay first", type="insufficient_quota"))
    openai.fail(
        EmbedQuotaSpent,
        Reply(429, {"error": {"message": "pay", "code": "insufficient_quota", "type": "x"}}),
    )
    assert openai.waits.slept == []


def test_a_delay_of_hours_is_a_spent_quota(gemini: World) -> None:
    details = [{"retryDelay": "36000s"}]
    gemini.fail(EmbedQuotaSpent, an_error(429, "daily limit", details=details))


@pytest.mark.parametrize("status", [401, 403, 404, 302])
def test_a_refusal_is_final_and_shows_no_key(world: World, status: int) -> None:
    error = world.fail(EmbedRefused, an_error(status, f"Incorrect API key provided: {KEY}"))
    assert error.details["status"] == status and "Incorrect API key" in error.message
    assert len(world.server.requests) == 1


# Texts that are refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 413, 422, 500])
@pytest.mark.parametrize("long", [[], [0], [1, 2], [6], [*range(7)]], ids=str)
def test_a_text_that_is_refused_spoils_no_other(world: World, long: list[int], status: int) -> None:
    texts = [f"text {at} " * (40 if at in long else 1) for at in range(7)]
    world.server.max_characters, world.server.refused_with = 100, status
    made = embed_texts(world.provider, texts, purpose="row", width=WIDTH)
    assert list(made.refused) == long
    assert all("maximum" in why.error.reason for why in made.refused.values())
    assert all(why.characters == 280 for why in made.refused.values())
    good = [at for at in range(7) if at not in long]
    np.testing.assert_allclose(made.vectors[good], expected([texts[at] for at in good]), atol=1e-6)
    assert world.waits.slept == []


def test_a_request_that_no_text_can_mend_is_made_twice(world: World) -> None:
    refusal = an_error(400, "this model takes no dimensions")
    error = world.fail(EmbedRefused, refusal, refusal, an_error(400, "never asked"))
    assert "dimensions" in error.message
    assert [len(texts(document)) for _, _, document in world.server.requests] == [3, 1]


def test_a_batch_that_is_too_large_for_a_server_goes_in_smaller_ones(world: World) -> None:
    too_many = an_error(422, "batch size 3 > maximum allowed batch size 2")
    world.server.replies.append(too_many)
    np.testing.assert_allclose(world.embed(), expected(), atol=1e-6)


def test_of_a_longer_text_the_beginning_is_embedded_if_the_setting_says_so(
    server: EmbedServer,
) -> None:
    server.max_characters = 10
    config = EmbedConfig(
        "openai-compatible", "any", base_url=server.url, api_key=KEY, max_characters=10
    )
    made = embed_texts(
        open_provider(config), ["   red fox and more", "red fox"], purpose="row", width=WIDTH
    )
    assert not made.refused
    assert texts(server.requests[0][2]) == ["red fox an", "red fox"]


def test_a_batch_that_is_too_large_is_refused_with_the_reason(server: EmbedServer) -> None:
    document = {
        "requests": [{"content": {"parts": [{"text": "x"}]}, "outputDimensionality": 8}] * 101
    }
    provider = _gemini(server, Timing())
    with pytest.raises(EmbedRefused, match="at most 100"):
        provider._service.post(  # type: ignore[attr-defined]
            "/models/m:batchEmbedContents", document, "row"
        )


def _wide(document: Document) -> None:
    for item in document.get("data", []):
        item["embedding"].append(1.0)
    for item in document.get("embeddings", []):
        item["values"].append(1.0)


def _short(document: Document) -> None:
    (document["data"] if "data" in document else document["embeddings"]).pop()


def _zero(document: Document) -> None:
    _first(document)[:] = [0.0] * WIDTH


def _huge(document: Document) -> None:
    _first(document)[:] = [1e308] * WIDTH


def _null(document: Document) -> None:
    _first(document)[0] = None


def _nan(document: Document) -> None:
    _first(document)[0] = float("nan")


def _first(document: Document) -> list[Any]:
    values: list[Any] = (
        document["data"][0]["embedding"]
        if "data" in document
        else document["embeddings"][0]["values"]
    )
    return values


@pytest.mark.parametrize("change", [_short, _zero, _huge, _null, _nan])
def test_an_answer_that_is_not_a_vector_for_each_text_is_no_answer(
    world: World, change: Callable[[Document], None]
) -> None:
    world.fail(EmbedAnswerInvalid, Reply(change=change))


@pytest.mark.parametrize("raw", [b"", b"<html>", b"{}", b"[]", b'{"data": 3}', b"\xff\xfe"])
def test_rubbish_is_no_answer(world: World, raw: bytes) -> None:
    world.fail(EmbedAnswerInvalid, Reply(raw=raw))


def test_numbers_that_leave_gaps_are_no_answer(openai: World) -> None:
    def gap(document: Document) -> None:
        document["data"][0]["index"] = 9

    openai.fail(EmbedAnswerInvalid, Reply(change=gap))


def test_vectors_of_another_width_are_refused_with_both_widths(world: World) -> None:
    error = world.fail(EmbedWidthWrong, Reply(change=_wide))
    assert (error.details["expected"], error.details["found"]) == (WIDTH, WIDTH + 1)


LONG_HEAD = {f"X-Padding-{number}": "x" * 60 for number in range(50)}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(trickles="head", headers=LONG_HEAD),
        Reply(500, {"error": {}}, trickles="head", headers=LONG_HEAD),
        Reply(trickles="body"),
        Reply(stalls_after=0),
        Reply(stalls_after=7),
    ],
    ids=["headers", "headers of an error", "body", "silence after the headers", "silence later"],
)
def test_an_answer_that_comes_too_slowly_ends_at_the_deadline(
    server: EmbedServer, reply: Reply
) -> None:
    config = EmbedConfig(
        "openai-compatible", "any", base_url=server.url, api_key=KEY, timeout_s=0.3
    )
    server.replies.append(reply)
    with pytest.raises(EmbedTimeout, match=r"0\.3 s"):
        OpenAiCompatible(config).embed(TEXTS, purpose="row", width=WIDTH)
    if reply.trickles:
        assert server.bytes_sent < 500, "the client waited for the whole answer"


DEEP = b"[" * 200_000


@pytest.mark.parametrize("raw", [DEEP, b'{"data": ' + DEEP, b'{"embeddings": ' + DEEP])
def test_an_answer_that_is_nested_too_deeply_is_refused(world: World, raw: bytes) -> None:
    world.fail(EmbedAnswerInvalid, Reply(raw=raw))


def test_an_error_that_is_nested_too_deeply_keeps_its_status(world: World) -> None:
    error = world.fail(EmbedRefused, Reply(401, raw=b'{"error": ' + DEEP))
    assert error.details["status"] == 401


@pytest.mark.parametrize(
    "retry_after",
    [
        "Thu, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Thu, 99 Foo 2026 00:00:00 GMT",
        "9" * 400,
        "inf",
        "-inf",
        "nan",
        "soon",
        "",
    ],
)
def test_a_wait_that_cannot_be_read_is_not_waited_for(world: World, retry_after: str) -> None:
    limited = Reply(429, {"error": {}}, headers={"Retry-After": retry_after})
    world.server.replies.append(limited)
    np.testing.assert_allclose(world.embed(), expected(), atol=1e-6)
    assert world.waits.slept == [0.5]


def test_a_wait_of_gemini_that_is_too_long_for_a_number_is_passed_over(gemini: World) -> None:
    details = [{"retryDelay": "9" * 400 + "s"}]
    gemini.server.replies.append(an_error(429, "later", details=details))
    gemini.embed()
    assert gemini.waits.slept == [0.5]


def test_a_place_where_nobody_listens_is_unreachable(server: EmbedServer) -> None:
    waits = Waits()
    config = EmbedConfig("openai-compatible", "any", base_url="http://127.0.0.1:1", api_key=KEY)
    with pytest.raises(EmbedUnreachable, match=r"127\.0\.0\.1:1 did not answer in 6 tries"):
        OpenAiCompatible(config, waits.timing()).embed(TEXTS, purpose="row", width=WIDTH)


# Configuration ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "localhost",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://h/?k=a b",
        "http://h/\t",
        "http://a..b/v1",
        f"http://{'a' * 64}.test/v1",
        "http://./v1",
        "http://h/schlüssel",
        "http://h/v1?k=schlüssel",
    ],
)
def test_what_is_no_url_is_refused_unseen(url: str) -> None:
    with pytest.raises(ArgumentInvalid, match="OMNIGRAPH_EMBED_BASE_URL") as caught:
        OpenAiCompatible(EmbedConfig("openai-compatible", base_url=url))
    assert "schlüssel" not in caught.value.render()


@pytest.mark.parametrize(
    ("url", "shown"), [("http://bücher.test/v1", "bücher.test/v1"), ("http://[::1]:80", "[::1]:80")]
)
def test_a_host_that_a_resolver_can_be_asked_for_is_taken(url: str, shown: str) -> None:
    provider = OpenAiCompatible(EmbedConfig("openai-compatible", base_url=url))
    assert provider._service.title == f"openai-compatible at http://{shown}"


@pytest.mark.parametrize("key", ["sk-\nSECRET", "schlüssel-SECRET"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(ArgumentInvalid, match="OMNIGRAPH_EMBED_API_KEY") as caught:
        OpenAiCompatible(EmbedConfig("openai-compatible", api_key=key))
    assert "SECRET" not in caught.value.render()


def test_a_provider_without_its_key_says_what_to_set() -> None:
    for make in (OpenAiCompatible, Gemini):
        with pytest.raises(EmbedProviderMissing, match="OMNIGRAPH_EMBED_API_KEY"):
            make(EmbedConfig())


def test_secrets_are_not_shown(server: EmbedServer) -> None:
    config = EmbedConfig("gemini", base_url=f"http://u:{KEY}@127.0.0.1:1/?k={KEY}", api_key=KEY)
    provider = Gemini(config, Waits().timing())
    with pytest.raises(EmbedUnreachable) as caught:
        provider.embed(TEXTS, purpose="row", width=WIDTH)
    assert KEY not in caught.value.render() + repr(config) + repr(provider._service)


@pytest.mark.parametrize("echo", [f"no access for {KEY}", "no access for sk%2DSECRET", "user ada"])
def test_a_secret_of_the_base_url_is_not_shown_even_if_the_service_repeats_it(
    server: EmbedServer, echo: str
) -> None:
    host = server.url.removeprefix("http://")
    config = EmbedConfig("gemini", base_url=f"http://ada1:pw12@{host}/v1beta?v=1&k=sk%2DSECRET")
    server.replies.append(an_error(403, echo.replace("ada", "ada1:pw12")))
    with pytest.raises(EmbedRefused) as caught:
        Gemini(replace(config, api_key="other"), Waits().timing()).embed(
            TEXTS, purpose="row", width=WIDTH
        )
    told = caught.value.render() + str(caught.value.to_json())
    assert not [secret for secret in (KEY, "sk%2DSECRET", "ada1", "pw12") if secret in told]
