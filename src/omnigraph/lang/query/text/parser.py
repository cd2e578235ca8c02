"""Text to syntax tree, or every parse error of the file at once.

The whole file is parsed in one go. Only if that fails is it cut where a line begins with
`query name(` and read in pieces, so that an error in one query is no error of the next. A piece is
parsed to its last character: a text that was cut in the wrong place does not parse, and never runs.
Nothing inside a comment or a text is taken for a query, even where a quote that is not closed makes
it doubtful what is a comment.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from omnigraph.base.errors import Diagnostic, ParseFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.looks import Look, looking, never
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import clipped
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.build import Builder
from omnigraph.lang.query.text.comments import OPEN_TEXT, without_comments
from omnigraph.lang.query.text.expected import describe
from omnigraph.lang.query.text.other_languages import LIST_ACCESS
from omnigraph.lang.query.text.tables import CONDITIONS, FILE, make_parser
from omnigraph.lang.query.text.tokens import Refused

__all__ = ["MAX_ERRORS", "Broken", "Reading", "last_query", "parse", "parse_conditions", "read"]

# Far more than people nest; the checker and the planner recurse into blocks.
MAX_NESTED_BLOCKS = 40

# Reading goes at a few megabytes a second, and a file this long was not written by hand.
MAX_TEXT_CHARACTERS = 4_000_000

# After so many, the rest rarely tells more.
MAX_ERRORS = 20

# Strings and comments are matched so that their insides are skipped; each also matches when it is
# never closed, or a text full of opening quotes would be scanned once per quote. The name of a
# query may be none, such as `top-10`: that is its own error and not the one before's.
LANDMARK = re.compile(
    rf'{OPEN_TEXT}(?:"|(?P<unclosed>))'
    r"|//[^\n]*"
    r"|/\*(?s:.*?)(?:\*/|\Z)"
    r"|(?P<open>[{(\[])"
    r"|(?P<close>[})\]])"
    r"|(?P<query>(?m:^)[ \t\uFEFF]*query(?:[ \t]+(?P<name>[^\s:(){}\"]+))?[ \t]*\()"
)


@frozen
class Broken:
    """A query that can't be read. `name` is None where the text does not give it one."""

    name: str | None
    finding: Diagnostic


@frozen
class Reading:
    """The queries of a file, and those that can't be read. Both are in the order of the text."""

    file: ast.File
    broken: tuple[Broken, ...]


def parse(source: SourceText, look: Look = never) -> ast.File:
    """The tree of the file; raises ParseFailed with all that is wrong."""
    reading = read(source, look)
    if reading.broken:
        raise ParseFailed(source, tuple(b.finding for b in reading.broken[:MAX_ERRORS]))
    return reading.file


def parse_conditions(source: SourceText) -> tuple[ast.Predicate, ...]:
    """The tests of a `where` that stands by itself; raises ParseFailed."""
    _refuse_what_is_too_long(source)
    try:
        _refuse_what_is_too_deep(source.text, 1)
        tests: object = grammar().parse(source.text, CONDITIONS)
    except Refused as error:
        raise ParseFailed(source, (error.diagnostic,)) from error
    except (UnexpectedToken, UnexpectedCharacters) as error:
        raise ParseFailed(source, (describe(error, source.text, is_last=True),)) from error
    assert isinstance(tests, tuple)
    return tests


def read(source: SourceText, look: Look = never) -> Reading:
    """The queries that can be read, beside those that can't; raises ParseFailed if it is too long.

    Of two queries with one name, the second is broken.
    """
    _refuse_what_is_too_long(source)
    try:
        pieces: list[ast.File | Broken] = [_tree(source.text, look=look)]
    except (UnexpectedInput, Refused):
        pieces = [piece.read(look) for piece in _pieces(source.text)]
        assert any(isinstance(p, Broken) for p in pieces), "the pieces parse, and the file does not"
    queries: dict[str, ast.Query] = {}
    broken: list[Broken] = []
    for piece in pieces:
        if isinstance(piece, Broken):
            broken.append(piece)
            continue
        for query in piece.queries:
            name = query.header.name
            first = queries.setdefault(name.text, query)
            if first is not query:
                line = first.header.name.span.line
                message = f"in line {line}, another query is called {clipped(name.text)}"
                advice = "give one of them another name"
                broken.append(Broken(name.text, Diagnostic("Q002", message, name.span, advice)))
    return Reading(ast.File(tuple(queries.values())), tuple(broken))


def last_query(text: str) -> int:
    """Where the last query of a text begins, as it is cut into queries; 0 where there is none."""
    begins = 0
    for found in LANDMARK.finditer(text):
        begins = found.start() if found.lastgroup == "query" else begins
    return begins


@functools.cache
def grammar() -> Lark:
    """Made on first use, and once."""
    return make_parser(Builder())


@frozen
class _Piece:
    """Some lines of a file: a query, or what stands before the first one."""

    text: str
    first_line: int
    name: str | None
    is_last: bool

    def read(self, look: Look) -> ast.File | Broken:
        look()
        try:
            return _tree(self.text, self.first_line, look=look)
        except Refused as error:
            return Broken(self.name, error.diagnostic)
        except (UnexpectedToken, UnexpectedCharacters) as error:
            found = describe(error, self.text, is_last=self.is_last)
            line = found.span.line + self.first_line - 1
            return Broken(self.name, replace(found, span=replace(found.span, line=line)))


def _pieces(text: str) -> Iterator[_Piece]:
    start, line, name = 0, 1, None
    for found in LANDMARK.finditer(text):
        if found.lastgroup == "unclosed" and "/*" in _line_around(text, found.start()):
            # Which of the quotes lacks its other half is a guess, and so is whether a comment
            # begins here. Queries after it may be inside that comment: none of them is read.
            break
        if found.lastgroup == "query":
            if found.start() > start:
                yield _Piece(text[start : found.start()], line, name, is_last=False)
                line += text.count("\n", start, found.start())
            start, name = found.start(), found["name"]
    yield _Piece(text[start:], line, name, is_last=True)


class _Looking:
    """A lexer with a look at the clock every few tokens."""

    def __init__(self, lexer: Any, look: Look) -> None:
        self._lexer = lexer
        self._look = look

    def lex(self, state: Any, parser_state: Any) -> Iterator[Any]:
        return looking(self._lexer.lex(state, parser_state), self._look)


def _tree(text: str, first_line: int = 1, *, look: Look = never) -> ast.File:
    _refuse_what_is_too_deep(text, first_line, look)
    parser = grammar().parse_interactive(text, FILE)
    parser.lexer_thread.lexer = _Looking(parser.lexer_thread.lexer, look)  # type: ignore[assignment]
    state = parser.lexer_thread.state
    assert state is not None
    state.line_ctr.line = first_line
    tree: object = parser.resume_parse()  # type: ignore[no-untyped-call]
    assert isinstance(tree, ast.File)
    _refuse_columns_without_a_comma(tree, text, first_line)
    return tree


def _refuse_columns_without_a_comma(tree: ast.File, text: str, first_line: int) -> None:
    """Refuse `$p.age -1` and `$p.tags[0]`: commas may be left out, so each would be two columns."""
    lines: list[str] | None = None
    for query in tree.queries:
        if not isinstance(query, ast.Read):
            continue
        members: list[ast.Item | ast.OrderItem] = [*query.items[1:], *query.order[1:]]
        for value in (m.expression for m in members):
            if not isinstance(value, ast.Literal | ast.ListLiteral):
                continue
            lines = lines or text.split("\n")
            line, column = lines[value.span.line - first_line], value.span.column - 1
            if not _begins_a_column(line[:column].rstrip()):
                raise Refused(_without_a_comma(value))


def _without_a_comma(value: ast.Literal | ast.ListLiteral) -> Diagnostic:
    shown = ast.text_of(value)
    hint = f"if {shown} is a column, put a comma before it"
    if isinstance(value, ast.ListLiteral):
        hint = f"{LIST_ACCESS}; {hint}"
    elif shown.startswith("-"):
        hint = f"there is no subtraction; {hint}"
    return Diagnostic("Q000", f"{shown} follows another column without a comma", value.span, hint)


def _begins_a_column(before: str) -> bool:
    """True if a column can begin behind this part of a line."""
    bare = before
    while bare.endswith("*/"):
        # A comment of several lines hides all that is before it in its last one.
        bare = bare[: max(0, bare.rfind("/*"))].rstrip()
    if not bare or bare.endswith((",", "{")):
        return True
    # A comment may hold what looks like the beginning of another.
    return before.endswith("*/") and without_comments(before).rstrip().endswith((",", "{"))


def _line_around(text: str, position: int) -> str:
    end = text.find("\n", position)
    return text[text.rfind("\n", 0, position) + 1 : None if end < 0 else end]


def _refuse_what_is_too_long(source: SourceText) -> None:
    if len(source.text) > MAX_TEXT_CHARACTERS:
        message = f"the text is longer than {MAX_TEXT_CHARACTERS:,} characters"
        raise ParseFailed(source, (Diagnostic("Q001", message, Span(1, 1)),))


def _refuse_what_is_too_deep(text: str, first_line: int, look: Look = never) -> None:
    depth = 0
    for found in looking(LANDMARK.finditer(text), look):
        match found.lastgroup:
            case "query":
                depth = 1
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case _:
                pass
        if depth > MAX_NESTED_BLOCKS:
            message = f"blocks are nested more than {MAX_NESTED_BLOCKS} deep"
            position = found.start()
            column = position - text.rfind("\n", 0, position)
            line = text.count("\n", 0, position) + first_line
            raise Refused(Diagnostic("Q001", message, Span(line, column)))
