"""Whatever a search is given: a typed error, or an answer that is laid down here."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.settings import Settings
from omnigraph.errors import (
    EmbedAnswerInvalid,
    EmbedQuotaSpent,
    EmbedRateLimited,
    EmbedRefused,
    EmbedTimeout,
    EmbedUnreachable,
    EmbedWidthWrong,
    LanguageError,
    LimitExceeded,
    OmnigraphError,
    ParameterInvalid,
    ParseFailed,
    TypeCheckFailed,
)
from tests.embed.server import EmbedServer, Reply, embed_server

SCHEMA = """
node Doc { slug: String @key  body: String?  v: Vector(3)? @embed("body") }
node Word { script: String @key  text: String }
"""
LONG = "x" * 10_000
BODIES = {
    "fox": "the quick brown fox",
    "stop": "the of and",
    "long": LONG,
    "empty": "",
    "marks": "?! … —",
    "zero": "a\x00b",
    "null": None,
}
# A sample of each script: most have letters outside the first plane, marks that combine, no
# spaces between words, or no upper case.
SCRIPTS = {
    "Latin": "naïve façade", "Greek": "Ἀχιλλεύς Θεά",
    "Cyrillic": "Привет мир", "Armenian": "Բարեւ աշխարհ",
    "Georgian": "გამარჯობა", "Hebrew": "שלום עולם",
    "Arabic": "مرحبا بالعالم", "Syriac": "ܫܠܡܐ",
    "Thaana": "ދިވެހި", "Devanagari": "नमस्ते दुनिया",
    "Bengali": "ওহে বিশ্ব", "Gurmukhi": "ਸਤਿ ਸ੍ਰੀ",
    "Gujarati": "નમસ્તે", "Oriya": "ନମସ୍କାର",
    "Tamil": "வணக்கம்", "Telugu": "నమస్కారం",
    "Kannada": "ನಮಸ್ಕಾರ", "Malayalam": "നമസ്കാരം",
    "Sinhala": "ආයුබෝවන්", "Thai": "สวัสดีชาวโลก",
    "Lao": "ສະບາຍດີ", "Tibetan": "བཀྲ་ཤིས",
    "Myanmar": "မင်္ဂလာပါ", "Khmer": "ជំរាបសួរ",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ", "Han": "你好世界",
    "Hiragana": "こんにちは", "Katakana": "カタカナ",
    "Hangul": "안녕하세요 세계", "Bopomofo": "ㄅㄆㄇ",
    "Yi": "ꆈꌠꁱꂷ", "Ethiopic": "ሰላም ልዑል",
    "Cherokee": "ᎣᏏᏲ", "Canadian": "ᐊᐃᓐᖓᐃ",
    "Ogham": "ᚑᚌᚆᚐᚋ", "Runic": "ᚠᚢᚦᚨᚱᚲ",
    "Tifinagh": "ⵜⵉⴼⵉⵏⴰⵖ", "Coptic": "ⲙⲛⲧⲣⲙ",
    "Gothic": "𐌲𐌿𐍄𐌹𐍃𐌺", "Deseret": "𐐔𐐯𐑅𐐨𐑉𐐯𐐻",
    "Cuneiform": "𒀀𒀁𒀂", "Hieroglyphs": "𓀀𓀁𓀂",
    "Adlam": "𞤀𞤣𞤤𞤢𞤥", "N'Ko": "ߒߞߏ",
    "Vai": "ꕙꔤ", "Braille": "⠃⠗⠁⠊⠇",
    "emoji": "👩‍👩‍👧 🎉",
}  # fmt: skip
WORDLESS = {"Braille", "emoji"}
"""Signs that are no letters: texts of nothing else have no word."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    place = tmp_path_factory.mktemp("bad") / "g"
    settings = Settings(embed=EmbedConfig("mock"))
    graph = Graph.init(place, SCHEMA, durability="relaxed", settings=settings)
    rows = [{"type": "Doc", "data": {"slug": s, "body": b}} for s, b in BODIES.items()]
    words = [{"type": "Word", "data": {"script": s, "text": t}} for s, t in SCRIPTS.items()]
    graph.load([*rows, *words], mode="append", embed=True, engine="local")
    return graph


def ask(graph: Graph, text: str, **params: Any) -> list[Any]:
    answer = graph.query(text, params=params or None).to_pylist()
    return [next(iter(row.values())) for row in answer]


# Texts --------------------------------------------------------------------------------------------

ASKED = {
    "search": "match { $d: Doc  search($d.body, $q) } return { $d.slug }",
    "phrase": "match { $d: Doc  match_text($d.body, $q) } return { $d.slug }",
    "fuzzy": "match { $d: Doc  fuzzy($d.body, $q) } return { $d.slug }",
    "bm25": "match { $d: Doc } return { $d.slug } order { bm25($d.body, $q) }",
    "top": "match { $d: Doc  top 2 $d by bm25($d.body, $q) } return { $d.slug }",
    "nearest": "match { $d: Doc } return { $d.slug } order { nearest($d.v, $q) } limit 1",
    "rrf": "match { $d: Doc } return { $d.slug }"
    " order { rrf(nearest($d.v, $q), bm25($d.body, $q)) } limit 1",
}
IN_ORDER = ("bm25", "nearest", "rrf")
NONE: tuple[str, ...] = ()
ANSWERS: dict[str, dict[str, tuple[str, ...]]] = {
    "": dict.fromkeys(ASKED, NONE),
    " \n\t": dict.fromkeys(ASKED, NONE),
    # No word, and yet a text that a model makes a vector of.
    "?! … —": {**dict.fromkeys(ASKED, NONE), "nearest": ("marks",), "rrf": ("marks",)},
    "the of and": {
        **dict.fromkeys(("search", "fuzzy", "bm25", "top"), ("stop", "fox")),
        **dict.fromkeys(("phrase", "nearest", "rrf"), ("stop",)),
    },
    LONG: dict.fromkeys(ASKED, ("long",)),
    # One letter less is another word, and near to it by letters only.
    LONG[1:]: {**dict.fromkeys(set(ASKED) - {"nearest", "rrf"}, NONE), "fuzzy": ("long",)},
}


@pytest.mark.parametrize(
    ("query", "how"),
    [(query, how) for query, answers in ANSWERS.items() for how in answers],
    ids=lambda text: repr(text[:10]),
)
def test_a_text_without_words_or_of_one_endless_word(graph: Graph, query: str, how: str) -> None:
    found = ask(graph, f"query q($q: String) {{ {ASKED[how]} }}", q=query)
    expected = [*ANSWERS[query][how]]
    assert found == expected if how in IN_ORDER else sorted(found) == sorted(expected)


@pytest.mark.parametrize("how", ASKED)
def test_a_text_that_is_no_unicode_is_refused(graph: Graph, how: str) -> None:
    with pytest.raises(ParameterInvalid, match="not valid Unicode"):
        ask(graph, f"query q($q: String) {{ {ASKED[how]} }}", q="\ud800")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_word_of_every_script_is_found(graph: Graph, script: str) -> None:
    text = SCRIPTS[script]
    found = {
        how: ask(graph, f"query q($q: String) {{ match {{ $w: Word  {test} }} {rest} }}", q=text)
        for how, (test, rest) in {
            "search": ("search($w.text, $q)", "return { $w.script }"),
            "phrase": ("match_text($w.text, $q)", "return { $w.script }"),
            "fuzzy": ("fuzzy($w.text, $q, 0)", "return { $w.script }"),
            "best": ("", "return { $w.script } order { bm25($w.text, $q) } limit 1"),
        }.items()
    }
    if script in WORDLESS:
        assert not any(found.values())
        return
    assert found["phrase"] == found["best"] == [script]
    assert script in found["search"] and found["search"] == found["fuzzy"]


# Numbers ------------------------------------------------------------------------------------------

BY = {
    "nearest": "nearest($d.v, [1, 2, 3])",
    "bm25": 'bm25($d.body, "fox")',
    "rrf": 'rrf(nearest($d.v, [1, 2, 3]), bm25($d.body, "fox"))',
}
COUNTS: dict[str, tuple[type[LanguageError], str] | int] = {
    "limit 0": 0,
    "limit 9223372036854775807": 99,
    "limit 1 offset 9223372036854775807": 0,
    "limit -1": (ParseFailed, "Q000"),
    "limit 1.5": (ParseFailed, "Q000"),
    'limit "a"': (ParseFailed, "Q000"),
    "limit null": (ParseFailed, "Q000"),
    "limit 9223372036854775808": (ParseFailed, "Q000"),
    "limit 1 offset -1": (ParseFailed, "Q000"),
}


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("count", COUNTS)
def test_how_many_rows_are_wanted(graph: Graph, by: str, count: str) -> None:
    text = f"query q() {{ match {{ $d: Doc }} return {{ $d.slug }} order {{ {BY[by]} }} {count} }}"
    expected = COUNTS[count]
    if isinstance(expected, int):
        ranked = 1 if by == "bm25" else sum(1 for body in BODIES.values() if (body or "").strip())
        assert len(ask(graph, text)) == min(expected, ranked)
        return
    with pytest.raises(expected[0]) as caught:
        ask(graph, text)
    assert caught.value.diagnostics[0].code == expected[1]


WRONG = {
    f"match {{ $d: Doc }} return {{ $d.slug }} order {{ {BY['nearest']} }}": "T17",
    f"match {{ $d: Doc }} return {{ $d.slug }} order {{ {BY['rrf']} }}": "T21",
    f"match {{ $d: Doc  top 0 $d by {BY['bm25']} }} return {{ $d.slug }}": "T30",
    f"match {{ $d: Doc  top -1 $d by {BY['bm25']} }} return {{ $d.slug }}": "T30",
    f"match {{ $d: Doc }} return {{ $d.slug }} order {{ {BY['rrf'][:-1]}, 0) }} limit 1": "T21",
    'match { $d: Doc  fuzzy($d.body, "a", 3) } return { $d.slug }': "T19",
    'match { $d: Doc  fuzzy($d.body, "a", -1) } return { $d.slug }': "T19",
    'match { $d: Doc  search($d.v, "a") } return { $d.slug }': "T19",
    "match { $d: Doc  search($d.body, 3) } return { $d.slug }": "T19",
    "match { $d: Doc  search($d.body, null) } return { $d.slug }": "T19",
    'match { $d: Doc  bm25($d.body, "a") } return { $d.slug }': "T29",
    **{
        f"match {{ $d: Doc }} return {{ $d.slug }} order {{ nearest($d.v, {given}) }} limit 1": code
        for given, code in {
            "[0, 0, 0]": "T15", "[1, 2]": "T15", "[]": "T15", "[1e39, 0, 0]": "T15",
            "[1, null, 2]": "T3", "null": "T15", "3": "T15",
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_a_query_can_not_mean_is_told_before_it_runs(graph: Graph, text: str) -> None:
    with pytest.raises(TypeCheckFailed) as caught:
        ask(graph, f"query q() {{ {text} }}")
    assert [each.code for each in caught.value.diagnostics] == [WRONG[text]]


# Vectors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vector",
    [
        [0, 0, 0], [1e-46, 0, 0], [math.nan, 1, 1], [math.inf, 1, 1], [1, -math.inf, 1],
        [1e39, 0, 0], [], [1, 2], [1, 2, 3, 4], [None, 1, 2], ["a", 1, 2], [True, 1, 2], "abc",
        7, {"a": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_vector_without_a_direction_or_of_another_width_is_refused(
    graph: Graph, vector: Any
) -> None:
    text = "($v: Vector(3)?) { match { $d: Doc } return { $d.slug } order { nearest($d.v, $v) }"
    with pytest.raises(ParameterInvalid):
        ask(graph, f"query q{text} limit 1 }}", v=vector)


@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1.0, 1e20, 1e38])
def test_how_long_a_vector_is_does_not_matter(graph: Graph, scale: float) -> None:
    text = "query q($v: Vector(3)) { match { $d: Doc } return { $d.slug }"
    text += " order { nearest($d.v, $v) } limit 9 }"
    expected = ask(graph, text, v=[1.0, -2.0, 3.0])
    assert ask(graph, text, v=[scale, -2 * scale, 3 * scale]) == expected


# Providers ----------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with embed_server() as server:
        yield server


def _error(status: int, message: str, **more: Any) -> Reply:
    return Reply(status, {"error": {"message": message, **more}})


def _widened(document: dict[str, Any]) -> None:
    document["data"][0]["embedding"].append(1.0)


FAULTS: dict[str, tuple[Reply, type[OmnigraphError]]] = {
    "down": (Reply(drops=True), EmbedUnreachable),
    "broken": (_error(503, "overloaded"), EmbedUnreachable),
    "slow": (Reply(trickles="body"), EmbedTimeout),
    "limited": (_error(429, "slow down"), EmbedRateLimited),
    "limited for long": (Reply(429, {"error": {}}, {"Retry-After": "500"}), EmbedRateLimited),
    "spent": (_error(429, "pay", code="insufficient_quota"), EmbedQuotaSpent),
    "locked": (_error(401, "no key"), EmbedRefused),
    "without the model": (_error(404, "no model"), EmbedRefused),
    "html": (Reply(raw=b"<html>hello</html>"), EmbedAnswerInvalid),
    "empty": (Reply(raw=b""), EmbedAnswerInvalid),
    "nothing": (Reply(document={"data": []}), EmbedAnswerInvalid),
    "zeros": (Reply(document={"data": [{"embedding": [0, 0, 0]}]}), EmbedAnswerInvalid),
    "NaN": (Reply(raw=b'{"data": [{"embedding": [NaN, 1, 2]}]}'), EmbedAnswerInvalid),
    "wide": (Reply(change=_widened), EmbedWidthWrong),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_provider_that_fails_fails_the_query(
    graph: Graph, server: EmbedServer, fault: str
) -> None:
    reply, expected = FAULTS[fault]
    server.replies.extend([reply] * 6)
    config = EmbedConfig("openai-compatible", "text-embedding-3", server.url, timeout_s=0.4)
    asking = Graph.open(graph.uri, read_only=True, settings=Settings(embed=config))
    question = "query q($q: String) { match { $d: Doc } return { $d.slug }"
    with pytest.raises(expected) as caught:
        ask(asking, question + " order { nearest($d.v, $q) } limit 1 }", q="a whale")
    assert (caught.value.code.startswith("embed_") and server.url in caught.value.message) or (
        isinstance(caught.value, EmbedWidthWrong)
    )
    # What needs no vector is answered all the same, and the next text too.
    assert ask(asking, question + ' order { bm25($d.body, "fox") } }', q="") == ["fox"]
    server.replies.clear()
    assert ask(asking, question + " order { nearest($d.v, $q) } limit 1 }", q=BODIES["fox"])


def test_a_query_waits_for_a_provider_no_longer_than_for_its_deadline(
    graph: Graph, server: EmbedServer, tmp_path: Path
) -> None:
    server.replies.append(Reply(trickles="body"))
    config = EmbedConfig("openai-compatible", "text-embedding-3", server.url)
    asking = Graph.open(graph.uri, read_only=True, settings=Settings(embed=config))
    text = 'query q() { match { $d: Doc } return { $d.slug } order { nearest($d.v, "a") } limit 1 }'
    with pytest.raises(LimitExceeded, match="embedding the text to search for"):
        asking.query(text, timeout_s=0.2)
