"""An editor that is told what a query may go on with offers what fits, and never fails."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.query.editing.beginning import keywords, read_beginning
from omnigraph.lang.query.editing.complete import complete
from omnigraph.lang.query.editing.marks import MarkKind, marks
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from tests.lang.query.cases import FOLDER, case_catalog
from tests.lang.schema.cases import read_case

# `exact` is a word of one function, and an edge behind `:<` is a mistake until its `>` is there.
NOT_OFFERED = {"exact", "<"}


@cache
def valid_queries() -> list[tuple[str, Catalog]]:
    """Queries of golden cases: every third is enough to have all of the language."""
    found = []
    for path in sorted(FOLDER.glob("plan-*.case"))[::3]:
        case = read_case(path)
        text, catalog = case.sections["query"], case_catalog(case)
        try:
            compile_query(SourceText(text), catalog, case.sections.get("name", "").strip() or None)
        except OmnigraphError:
            continue
        if text.count("query ") == 1:
            found.append((text, catalog))
    return found


def offered(text: str, catalog: Catalog) -> set[str]:
    return {each.text for each in complete(text, catalog).candidates}


@cache
def schema() -> Catalog:
    return compile_schema(SourceText((FOLDER / "schema.pg").read_text("utf-8")))


def test_every_word_of_a_valid_query_that_is_known_before_is_offered() -> None:
    for text, catalog in valid_queries():
        pieces = read_beginning(text).pieces
        for n, piece in enumerate(pieces):
            known = {p.text for p in pieces[:n]}
            is_new = piece.kind == "VARIABLE" and piece.text not in known | {"$_"}
            is_new |= n > 0 and pieces[n - 1].kind in ("QUERY", "AS")
            is_header = "{" not in known
            if piece.kind not in {"NAME", *keywords()} and (piece.kind != "VARIABLE" or is_header):
                continue
            if is_new or piece.text in ("$_", *NOT_OFFERED) or pieces[n - 1].text in NOT_OFFERED:
                continue
            words = {
                re.sub(r"[()>]", "", w).casefold() for w in offered(text[: piece.start], catalog)
            }
            assert piece.text.casefold() in words, text[: piece.end]


@given(st.data())
def test_every_word_that_is_offered_keeps_the_text_the_beginning_of_a_query(
    data: st.DataObject,
) -> None:
    text, catalog = data.draw(st.sampled_from(valid_queries()))
    before = text[: data.draw(st.integers(0, len(text)))]
    completion = complete(before, catalog)
    for candidate in completion.candidates:
        assert candidate.text.casefold().startswith(before[completion.start :].casefold())
        whole = f"{before[: completion.start]}{candidate.text} "
        assert read_beginning(whole).accepted, whole


@given(st.data())
def test_a_body_is_completed_like_the_inside_of_its_query(data: st.DataObject) -> None:
    text, catalog = data.draw(st.sampled_from(valid_queries()))
    header, _, body = text.partition("{")
    parameters = re.findall(r"\$(\w+):", header)
    end = data.draw(st.integers(1, body.rstrip().rfind("}")))
    if not body[:end].strip():
        return
    inside = complete(body[:end], catalog, parameters)
    around = complete(f"{header}{{{body[:end]}", catalog)
    assert {c.text for c in inside.candidates} == {c.text for c in around.candidates}


@given(st.text(alphabet='{}()[]$.:;,<>|"/*\\ \n\t\0ab1_é日\u200d\ufeff'))
def test_no_text_makes_it_fail(text: str) -> None:
    complete(text, schema())
    end = 0
    for mark in marks(text):
        assert end <= mark.start < mark.end <= len(text)
        end = mark.end


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", ["query", "match", "insert", "update", "delete"]),
        ("ma", ["match"]),
        ("match { $p: P", ["Person"]),
        ("match { $p: Person { na", ["name"]),
        ("match { $p: Person  $p wo", ["worksAt"]),
        ("match { $p: Person  $p worksAt $c  $c.s", ["size"]),
        ("match { $p $e:knows $f  $e.", ["since", "weight", "id"]),
        ("match { $p: Person  $p <kn", ["knows>"]),
        ("match { $p: Person } return { $", ["$p"]),
        ("match { $p: Person } return { cou", ["count("]),
        ("match { $p: Person } return { $p.age as years } order { ye", ["years"]),
        ("match { $p: Person } return { $p } li", ["limit"]),
        ("insert Wor", ["WorksAt"]),
        ("insert WorksAt { ", ["from", "to", "role"]),
        ("insert WorksAt { from: 1, ", ["to", "role"]),
        ("update Company set { ", ["size"]),
        ("delete Knows where si", ["since"]),
        ("query q($x: S", ["String"]),
        ("query q($x: [I3", ["I32"]),
        ("query q($known: I32) { match { $p: Person } return { $p } limit ", ["$known"]),
        ("match { $p: Person // $p ", []),
        ('match { $p: Person { name: "mat', []),
        ("match } $p: ", []),
        ("match { $p: Person } return { $p.name } order by ", []),
    ],
)
def test_what_is_offered_fits_where_it_stands(text: str, first: list[str]) -> None:
    assert [each.text for each in complete(text, schema()).candidates] == first


def test_words_are_marked_by_what_the_grammar_takes_them_for() -> None:
    text = 'match { $order: Document { title: "match" } } // limit\nreturn { $order.limit } limit 3'
    found = [(text[m.start : m.end], m.kind) for m in marks(text) if m.kind is not MarkKind.SIGN]
    assert found == [
        ("match", MarkKind.KEYWORD),
        ("$order", MarkKind.VARIABLE),
        ("Document", MarkKind.NAME),
        ("title", MarkKind.NAME),
        ('"match"', MarkKind.TEXT),
        ("// limit", MarkKind.COMMENT),
        ("return", MarkKind.KEYWORD),
        ("$order", MarkKind.VARIABLE),
        ("limit", MarkKind.NAME),
        ("limit", MarkKind.KEYWORD),
        ("3", MarkKind.NUMBER),
    ]


def test_behind_a_mistake_words_are_marked_by_their_looks() -> None:
    text = 'match } $p return "open\n12 null /* to the end'
    kinds = [mark.kind.value for mark in marks(text)]
    assert kinds == [
        "keyword",
        "sign",
        "variable",
        "keyword",
        "text",
        "number",
        "constant",
        "comment",
    ]
