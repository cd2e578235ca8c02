import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import ParseFailed
from omnigraph.base.span import SourceText
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.comments import comments_in
from omnigraph.lang.query.text.format import format_source, format_tree
from omnigraph.lang.query.text.parser import parse
from tests.lang.query.cases import FOLDER
from tests.lang.query.trees import files
from tests.lang.schema.cases import read_case

TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|\$?\w+|[!<>]=|-?\d[\d.eE+-]*|\S')


def queries_that_parse() -> dict[str, str]:
    """The texts of the cases, by the case's name."""
    texts = {}
    for path in sorted(FOLDER.glob("*.case")):
        text = read_case(path).sections["query"]
        try:
            parse(SourceText(text))
        except ParseFailed:
            continue
        texts[path.stem] = text
    return texts


TEXTS = queries_that_parse()


@given(files())
def test_what_is_formatted_reads_back_as_it_was(tree: ast.File) -> None:
    text = format_tree(tree)
    assert parse(SourceText(text)) == tree
    assert format_source(SourceText(text)) == text


@pytest.mark.parametrize("name", TEXTS)
def test_so_does_a_tree_whose_text_is_not_at_hand(name: str) -> None:
    """Its places are of that text: of its lines, which nobody can look up any more."""
    for tree in (parse(SourceText(text)) for text in (TEXTS[name], "\n\n" + TEXTS[name])):
        assert parse(SourceText(format_tree(tree))) == tree


@given(files(), st.data())
def test_commas_in_braces_may_be_left_out(tree: ast.File, data: st.DataObject) -> None:
    text = format_tree(tree)
    left_out = []
    for position in optional_commas(text):
        # A literal that has no comma before it must begin a line.
        is_literal = begins_a_literal(text[position + 1 :].lstrip())
        choices = [",", "\n"] if is_literal else [",", " ", "\n", "/**/"]
        left_out.append((position, data.draw(st.sampled_from(choices))))
    for position, instead in reversed(left_out):
        text = text[:position] + instead + text[position + 1 :]
    assert parse(SourceText(text)) == tree
    if "/**/" not in text:
        assert format_source(SourceText(format_source(SourceText(text)))) == format_tree(tree)


def optional_commas(text: str) -> list[int]:
    """Where commas stand between the members of braces, in a formatted text.

    A column that is called like a direction or `as` needs the comma, or it would be taken for one,
    and so do the hops of a traversal.
    """
    found = []
    open_brackets: list[str] = []
    tokens = list(TOKEN.finditer(text))
    for token, after in itertools.zip_longest(tokens, tokens[1:]):
        match token[0]:
            case "{" | "(" | "[":
                open_brackets.append(token[0])
            case "}" | ")" | "]":
                open_brackets.pop()
            case "," if open_brackets[-1] == "{":
                is_hop = text[token.end()].isdigit() or text[token.end()] == "}"
                is_word = after is None or after[0] in ("as", "asc", "desc")
                if not (is_hop or is_word):
                    found.append(token.start())
    return found


def begins_a_literal(text: str) -> bool:
    return bool(re.match(r'["\[]|-?[0-9]|(true|false|null)\b|(date|datetime)\(', text))


@pytest.mark.parametrize("name", TEXTS)
def test_formatting_changes_no_meaning_and_loses_no_comment(name: str) -> None:
    text = TEXTS[name]
    formatted = format_source(SourceText(text))
    assert parse(SourceText(formatted)) == parse(SourceText(text))
    assert sorted(c.text for c in comments_in(formatted)) == sorted(
        c.text for c in comments_in(text)
    )
    assert format_source(SourceText(formatted)) == formatted


@given(st.sampled_from(list(TEXTS.values())), st.data())
def test_comments_anywhere_are_kept_and_stay_where_formatting_puts_them(
    text: str, data: st.DataObject
) -> None:
    ends = [m.end() for m in TOKEN.finditer(text)]
    for position in sorted(data.draw(st.sets(st.sampled_from(ends), max_size=4)), reverse=True):
        comment = data.draw(st.sampled_from([" // x\n", "\n// y\n", " /* z */ ", "\n\n// h\n\n"]))
        text = text[:position] + comment + text[position:]
    source = SourceText(text)
    try:
        tree = parse(source)
    except ParseFailed:
        # The comment went into the middle of another one, or of a token of two signs.
        return
    formatted = format_source(source)
    assert parse(SourceText(formatted)) == tree
    assert sorted(c.text for c in comments_in(formatted)) == sorted(
        c.text for c in comments_in(text)
    )
    again = format_source(SourceText(formatted))
    assert format_source(SourceText(again)) == again


def test_the_sample_is_written_as_the_formatter_writes() -> None:
    sample = Path(__file__).parents[3] / "src/omnigraph/surfaces/cli/sample/queries.gq"
    text = sample.read_text("utf-8")
    assert format_source(SourceText(text)) == text
