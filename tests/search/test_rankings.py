"""What rankings and text filters mean, wherever a query has them; plain rows say the same."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.errors import (
    EmbedProviderMissing,
    LimitExceeded,
    ParameterInvalid,
    QueryCancelled,
    TypeCheckFailed,
)
from tests.search.library import SCHEMA, Library

QUESTIONS = [
    # Orders: best first, worst first, with other keys before and behind, by alias, without a limit.
    "match { $d: Doc } return { $d.slug, bm25($d.body, $q) as s } order { s desc }",
    "match { $d: Doc } return { $d.slug, bm25($d.body, $q) as s } order { s asc } limit 4",
    "match { $d: Doc } return { $d.slug } order { nearest($d.v, $v) desc } limit 4",
    "match { $d: Doc } return { $d.slug } order { bm25($d.body, $q), $d.title desc } limit 3",
    "match { $d: Doc } return { $d.slug } order { $d.year desc, bm25($d.body, $q) } limit 5",
    "match { $d: Doc } return { $d.slug } order { $d.year, nearest($d.v, $v) } limit 5",
    "match { $d: Doc } return { $d.slug } order { bm25($d.body, $q), nearest($d.v, $v) } limit 9",
    "match { $d: Doc } return { $d.slug } order { nearest($d.v, $v), bm25($d.body, $q) } limit 9",
    "match { $d: Doc } return { $d.slug } order { rrf(bm25($d.title, $q), bm25($d.body, $q)) asc }"
    " limit 3",
    "match { $d: Doc } return { $d.slug } order { nearest($d.v, $v) } limit 99",
    "match { $d: Doc } return { $d.slug } order { nearest($d.v, $v) } limit 0",
    "match { $d: Doc } return { $d.slug } order { bm25($d.body, $q) } limit 3 offset 40",
    # Scores as values: of all rows, of rows that another key orders, of rows that a limit cut.
    "match { $d: Doc } return { $d.slug, nearest($d.v, $v) as n, bm25($d.body, $q) as b }",
    "match { $d: Doc } return { $d.slug, rrf(nearest($d.v, $v), bm25($d.body, $q)) as s }"
    " order { $d.slug } limit 4",
    "match { $d: Doc } return { $d.slug, rrf(nearest($d.v, $v), bm25($d.body, $q), 7) as s }"
    " order { s desc } limit 4",
    "match { $p wrote $d } return distinct { $d.slug, bm25($d.body, $q) as s }",
    "match { $p wrote $d } return distinct { $p.name, rrf(nearest($d.v, $v), bm25($d.body, $q))"
    " as s }",
    # Several types under one variable: each is a corpus of its own.
    "match { $x: Titled } return { $x.title } order { bm25($x.body, $q) } limit 6",
    "match { $x: Titled } return { $x.title } order { nearest($x.v, $v) } limit 6",
    "match { $x: Titled  top 5 $x by rrf(nearest($x.v, $v), bm25($x.body, $q)) }"
    " return { $x.title, score($x) as s } order { s desc, $x.title }",
    'match { $x: Titled  search($x.body, $q)  fuzzy($x.title, "nota") } return { $x.title }',
    # One entity in many rows is ranked once, and every row that binds it is there.
    "match { $d: Doc  $p wrote $d  $d cites $e  top 2 $d by nearest($d.v, $v) }"
    " return { $p.name, $d.slug, $e.slug as e, score($d) as s } order { s, $p.name, e }",
    "match { $d: Doc  top 6 $d by bm25($d.body, $q)  $d cites $e  top 2 $e by nearest($e.v, $v)"
    "  $p wrote $d } return { $p.name, $d.slug, $e.slug as e, score($d) as s, score($e) as t }",
    "match { $d: Doc  top 5 $d by bm25($d.body, $q)  optional { $p wrote $d } }"
    " return { $d.slug, score($d) as s, count($p) as n } order { s desc }",
    "match { $d: Doc  top 5 $d by bm25($d.body, $q)  $p wrote $d } return { count($p) as n }",
    "match { $p wrote $d  top 3 $p by bm25($p.bio, $q) } return { $p.name, $d.slug } order"
    " { score($p) desc, $d.slug }",
    # A score is a value like any other, wherever its test is written, in blocks too.
    "match { $d: Doc  top 6 $d by bm25($d.body, $q)  score($d) >= 1 } return { $d.slug }",
    "match { score($d) < 1  top 6 $d by bm25($d.body, $q)  $d: Doc } return { $d.slug }",
    "match { $d: Doc  not { score($d) > 1 }  top 6 $d by bm25($d.body, $q) } return { $d.slug }",
    "match { $d: Doc  score($e) != score($d)  top 6 $d by nearest($d.v, $v)  $d cites $e"
    "  top 4 $e by nearest($e.v, $v) } return { $d.slug, $e.slug as e }",
    "match { $d: Doc  top 6 $d by bm25($d.body, $q)  $p wrote $d }"
    " return { $p.name, max(score($d)) as best, count(score($d)) as n } order { best desc }",
    # Edges have texts too.
    "match { $d $c:cites $e  search($c.why, $q) } return { $d.slug, $e.slug as e }",
    "match { $d $c:cites $e } return { $d.slug, $e.slug as e } order { bm25($c.why, $q) } limit 3",
    # Blocks: what is not found can't match, and is not ranked.
    "match { $d: Doc  not { search($d.body, $q) } } return { $d.slug }",
    "match { $d: Doc  exists { $d cites $e  match_text($e.body, $q) } } return { $d.slug }",
    "match { $d: Doc  or { search($d.body, $q) } { fuzzy($d.body, $q, 2)  $d.year > 2000 } }"
    " return { $d.slug }",
    "match { $d: Doc  optional { $d cites $e  search($e.body, $q) } } return { $d.slug, $e.slug as"
    " e }",
    "match { $d: Doc  optional { $d cites $e } } return { $d.slug, bm25($e.body, $q) as s }",
    "match { $d: Doc  optional { $d cites $e } } return { $d.slug, $e.slug as e } order"
    " { bm25($e.body, $q) } limit 5",
    "match { $d: Doc  count { $d cites $e  search($e.body, $q) } >= 1 } return { $d.slug }",
    # Text to be embedded.
    'match { $d: Doc } return { $d.slug } order { nearest($d.v, "a tea, or ooze") } limit 4',
    "match { $d: Doc } return { $d.slug } order { rrf(nearest($d.v, $q), bm25($d.body, $q)) }"
    " limit 4",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("query", ["quick brown", "cats of the café"])
def test_a_question_gives_what_plain_rows_give(library: Library, question: str, query: str) -> None:
    library.check(declared(question), **given(question, q=query, v=[1.0, -2.0, 3.0]))


def declared(question: str) -> str:
    """The question with the parameters that it mentions."""
    types = {"$q": "String", "$v": "Vector(3)"}
    used = [f"{name}: {type_}" for name, type_ in types.items() if name in question]
    return f"({', '.join(used)}) {question}"


def given(question: str, **values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if f"${name}" in question}


def test_rows_that_are_not_ranked_are_left_out(library: Library) -> None:
    docs = library.rows["Doc"].values()
    ranked = library.ask(
        "match { $d: Doc } return { $d.slug } order { nearest($d.v, [1, 2, 3]) } limit 99"
    )
    assert {slug for (slug,) in ranked} == {d.id for d in docs if d.values["v"] is not None}
    found = library.ask('match { $d: Doc } return { $d.slug } order { bm25($d.body, "fox") }')
    assert found
    assert set(found) == set(
        library.ask('match { $d: Doc  search($d.body, "fox") } return { $d.slug }')
    )


def test_equal_scores_go_by_id(library: Library) -> None:
    query = 'match { $d: Doc  match_text($d.body, "quick brown fox") } return { $d.slug } order'
    assert library.ask(f'{query} {{ bm25($d.body, "fox") }} limit 1') == [("d97",)]
    best = "match { $d: Doc  top 1 $d by nearest($d.v, [1, 2, 3]) } return { $d.slug }"
    assert library.ask(best) == [("d97",)]


def test_a_fusion_looks_at_a_hundred_of_each_ranking(tmp_path: Path) -> None:
    """And no further: number 101 of both is not there, although it has two places."""
    library = Library.at(tmp_path / "graph")
    with library.one_commit():
        for number in range(130):
            body = " ".join(["fox"] * (130 - number) + ["dog"] * number)
            library.doc(f"d{number:03}", body, [1.0, number / 8, 0.125])
    fused = 'rrf(nearest($d.v, [1, 0, 0]), bm25($d.body, "fox"))'
    asked = f"match {{ $d: Doc }} return {{ $d.slug, {fused} as s }} order {{ s desc }}"
    assert len(library.check(f"{asked} limit 110")) == 110
    first = library.check(f"{asked} limit 20")
    assert first == library.check(f"{asked} limit 110")[:20]
    shown = library.check(f"match {{ $d: Doc }} return {{ $d.slug, {fused} as s }}")
    assert len([row for row in shown if row[1] is not None]) == 130


# Text that says nothing, or very much -------------------------------------------------------------

NOTHING = ["", "   ", "—!?", "zyzzyva", "x" * 10_000]


@pytest.mark.parametrize("query", NOTHING)
def test_a_text_that_nothing_has_finds_nothing(library: Library, query: str) -> None:
    for filter_ in ("search($d.body, $q)", "match_text($d.body, $q)", "fuzzy($d.body, $q, 1)"):
        assert library.check(f"($q: String) match {{ $d: Doc  {filter_} }} return {{ $d.slug }}",
                             q=query) == []  # fmt: skip
    ranked = "($q: String) match { $d: Doc } return { $d.slug } order { bm25($d.body, $q) } limit 5"
    assert library.check(ranked, q=query) == []
    top = "($q: String) match { $d: Doc  top 2 $d by bm25($d.body, $q) } return { score($d) as s }"
    assert library.check(top, q=query) == []


@pytest.mark.parametrize("query", ["the", "of the", "NAÏVE", "東京", "москва", "CAFE\u0301"])
def test_every_word_counts_in_every_script(library: Library, query: str) -> None:
    """Frequent words are words; letters differ neither by case nor by accents."""
    asked = "($q: String) match { $d: Doc } return { $d.slug } order { bm25($d.body, $q) }"
    assert library.check(asked, q=query)


def test_text_without_a_word_is_near_to_nothing(library: Library) -> None:
    asked = "($q: String) match { $d: Doc } return { $d.slug } order { nearest($d.v, $q) } limit 3"
    assert library.check(asked, q=" ") == []


@pytest.mark.parametrize(
    "question",
    [
        "($q: String?) match { $d: Doc  search($d.body, $q) } return { $d.slug }",
        "($q: String?) match { $d: Doc } return { $d.slug } order { bm25($d.body, $q) } limit 3",
        "($q: Vector(3)?) match { $d: Doc } return { $d.slug } order { nearest($d.v, $q) } limit 3",
        "($q: String?) match { $d: Doc } return { $d.slug } order { nearest($d.v, $q) } limit 3",
    ],
)
def test_null_finds_nothing(library: Library, question: str) -> None:
    assert library.check(question, q=None) == []


# Numbers that can't be ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -3, None])
def test_fewer_than_one_best_is_refused(library: Library, k: int | None) -> None:
    asked = '($k: I32?) match { $d: Doc  top $k $d by bm25($d.body, "fox") } return { $d.slug }'
    with pytest.raises(ParameterInvalid, match="says how many of the best are kept") as refused:
        library.ask(asked, k=k)
    assert refused.value.reason == "P002"


def test_a_limit_and_an_offset_may_be_parameters(library: Library) -> None:
    asked = (
        "($n: I32, $o: I64) match { $d: Doc } return { $d.slug }"
        ' order { bm25($d.body, "fox cat") } limit $n offset $o'
    )
    everything = library.check(asked, n=99, o=0)
    assert library.check(asked, n=2, o=1) == everything[1:3]
    assert library.check(asked, n=0, o=0) == []
    for wrong in ({"n": -1, "o": 0}, {"n": 1, "o": -1}):
        with pytest.raises(ParameterInvalid, match="is a number of rows: 0 or more, not -1"):
            library.ask(asked, **wrong)


def test_a_vector_must_have_the_width_and_a_direction(library: Library) -> None:
    asked = (
        "($v: Vector(3)) match { $d: Doc } return { $d.slug } order { nearest($d.v, $v) } limit 1"
    )
    for wrong in ([1, 2], [1, 2, float("nan")], [0, 0, 0]):
        with pytest.raises(ParameterInvalid) as refused:
            library.ask(asked, v=wrong)
        assert refused.value.reason == "P002"
    with pytest.raises(TypeCheckFailed, match="T15"):
        library.ask(
            "match { $d: Doc } return { $d.slug } order { nearest($d.v, [0, 0, 0]) } limit 1"
        )


def test_a_text_without_a_provider_is_refused(tmp_path: Path) -> None:
    with Graph.init(str(tmp_path / "graph"), SCHEMA, durability="relaxed") as graph:
        asked = 'match { $d: Doc } return { $d.slug } order { nearest($d.v, "a") } limit 1'
        with pytest.raises(EmbedProviderMissing):
            graph.query(f"query q() {{ {asked} }}")


# Limits -------------------------------------------------------------------------------------------


def test_a_ranking_keeps_to_the_limits_of_a_query(library: Library) -> None:
    asked = 'query q() { match { $d: Doc } return { $d.slug } order { bm25($d.body, "fox") } }'
    with pytest.raises(LimitExceeded, match="`ranking`"):
        library.graph.query(asked, memory_bytes=64)
    with pytest.raises((LimitExceeded, QueryCancelled)):
        library.graph.query(asked, timeout_s=0)


# Plans --------------------------------------------------------------------------------------------


def test_an_explanation_says_what_a_ranking_looked_at(library: Library) -> None:
    fused = 'rrf(nearest($d.v, [1, 2, 3]), bm25($d.body, "fox"))'
    asked = f"""query q() {{
        match {{ $d: Doc  $d.year >= 2010  top 3 $d by {fused}  $d cites $e }}
        return {{ $e.slug }} order {{ nearest($e.v, [1, 2, 3]) }} limit 2
    }}"""
    candidates = sum(1 for doc in library.rows["Doc"].values() if doc.values["year"] >= 2010)
    steps = {step.operator: step for step in library.graph.explain(asked, analyze=True).steps}
    assert steps["TopK"].notes == (
        f"Doc.v: {candidates} candidates, every vector",
        f"Doc.body: {candidates} candidates, by the words of the query",
    )
    (note,) = steps["Sort"].notes
    assert note.startswith("Doc.v: ") and note in str(library.graph.explain(asked, analyze=True))
    assert not any(step.notes for step in library.graph.explain(asked).steps)


# Changes ------------------------------------------------------------------------------------------


def test_a_change_may_search(tmp_path: Path) -> None:
    """Rows that the same change wrote are judged as those on disk are."""
    library = Library.at(tmp_path / "graph")
    with library.one_commit():
        library.doc("a", "running cats", None)
        library.doc("b", "a dog", None)
    change = """query change($q: String) {
        insert Doc { slug: "c", title: "t", body: "The CAT runs", year: 1 }
        update Doc set { year: 7 } where search(body, $q)
        update Doc set { title: "ran" } where match_text(body, "cat runs")
        update Doc set { title: "dog" } where fuzzy(body, "dag", 1)
    }"""
    assert library.graph.mutate(change, params={"q": "cat"}).affected_nodes == 3
    shown = (
        "query q() { match { $d: Doc } return { $d.slug, $d.year, $d.title } order { $d.slug } }"
    )
    assert [tuple(row.values()) for row in library.graph.query(shown).to_pylist()] == [
        ("a", 7, "title of a"),
        ("b", 2000, "dog"),
        ("c", 7, "ran"),
    ]
    gone = "query gone($q: String?) { delete Doc where search(body, $q) }"
    assert library.graph.mutate(gone, params={"q": None}).affected_nodes == 0
    assert library.graph.mutate(gone, params={"q": "runs"}).affected_nodes == 2
