"""The parser's saved tables are those of the grammar."""

import logging
from importlib.resources import files
from pathlib import Path

import lark
import pytest
from lark import Lark

from omnigraph.lang.query.text import tables
from omnigraph.lang.query.text.build import Builder
from omnigraph.lang.query.text.tables import (
    CONDITIONS,
    FILE,
    TABLES,
    grammar_text,
    make_parser,
    tables_of,
)

QUERY = (
    "query q($n: I64?) { match { $p: Person { number: $n }  not { $p knows $_ } } return { $p } }"
)


def test_the_saved_tables_are_those_of_the_grammar(request: pytest.FixtureRequest) -> None:
    saved = files("omnigraph.lang.query.text").joinpath(TABLES)
    made = tables_of(grammar_text())
    if request.config.getoption("--bless"):
        Path(str(saved)).write_text(made, encoding="utf-8")
    assert saved.read_text("utf-8") == made


def test_the_grammar_leaves_nothing_for_the_parser_to_choose(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Lark takes the first of two readings and says so only to its log."""
    with caplog.at_level(logging.DEBUG, lark.logger.name):
        Lark(grammar_text(), start=[FILE, CONDITIONS], parser="lalr", debug=True)
        assert not caplog.messages
        Lark('start: a "x"*\na: "x"*', parser="lalr", debug=True)
        assert "Shift/Reduce conflict" in caplog.text


def test_a_parser_made_from_tables_gives_the_same_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = make_parser(Builder()).parse(QUERY, FILE)
    monkeypatch.setattr(tables, "_origin", lambda _text: ["another lark", ""])
    assert make_parser(Builder()).parse(QUERY, FILE) == loaded


def test_tables_of_another_grammar_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = grammar_text().replace('"query"', '"question"')
    assert renamed != grammar_text()
    monkeypatch.setattr(tables, "grammar_text", lambda: renamed)
    assert make_parser(Builder()).parse(QUERY.replace("query", "question"), FILE)
