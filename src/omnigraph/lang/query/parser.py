"""Text to syntax tree, or every parse error of the file at once.

The whole file is parsed in one go. Only if that fails is it cut at each `query name(` and read in
pieces, so that an error in one query does not hide those of the next.
"""

import functools
import re
from collections.abc import Iterator

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from omnigraph.base.errors import Diagnostic, ParseFailed
from omnigraph.base.span import SourceText, Span
from omnigraph.lang.query import ast
from omnigraph.lang.query.build import Builder
from omnigraph.lang.query.expected import describe
from omnigraph.lang.query.findings import clipped
from omnigraph.lang.query.tables import make_parser
from omnigraph.lang.query.tokens import Refused

__all__ = ["parse"]

# Far more than people nest; the checker and the planner recurse into blocks.
MOST_NESTED = 40

# Reading goes at a few megabytes a second, and a file this long was not written by hand.
MOST_CHARACTERS = 4_000_000

# After so many, the rest rarely tells more.
MOST_ERRORS = 20

# Strings and comments are matched so that what is inside them is skipped; each also matches when it
# is never closed, or a text full of opening quotes would be scanned once per quote.
LANDMARK = re.compile(
    r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
    r"|//[^\n]*"
    r"|/\*(?s:.*?)(?:\*/|\Z)"
    r"|(?P<open>[{(\[])"
    r"|(?P<close>[})\]])"
    r"|(?P<query>\bquery\s+[A-Za-z_][A-Za-z0-9_]*\s*\()"
)


def parse(source: SourceText) -> ast.File:
    """The tree of the file; raises ParseFailed with all that is wrong."""
    _refuse_what_is_too_big(source)
    try:
        file = _tree(source.text)
    except (UnexpectedInput, Refused):
        errors = tuple(_errors(source.text))
        assert errors, "the pieces of a file parse, and the file does not"
        raise ParseFailed(source, errors) from None
    repeated = tuple(_repeated(file))
    if repeated:
        raise ParseFailed(source, repeated)
    return file


@functools.cache
def grammar() -> Lark:
    """Made on first use, and once."""
    return make_parser(Builder())


def _tree(text: str) -> ast.File:
    tree: object = grammar().parse(text)
    assert isinstance(tree, ast.File)
    return tree


def _repeated(file: ast.File) -> Iterator[Diagnostic]:
    seen: dict[str, Span] = {}
    for query in file.queries:
        name = query.header.name
        first = seen.setdefault(name.text, name.span)
        if first is not name.span:
            message = clipped(f"in line {first.line}, another query is called {name.text}")
            yield Diagnostic("Q002", message, name.span, "give one of them another name")


def _refuse_what_is_too_big(source: SourceText) -> None:
    if len(source.text) > MOST_CHARACTERS:
        message = f"the text is longer than {MOST_CHARACTERS:,} characters"
        raise ParseFailed(source, (Diagnostic("Q001", message, Span(1, 1)),))
    depth = 0
    for found in LANDMARK.finditer(source.text):
        match found.lastgroup:
            case "query":
                depth = 1
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case _:
                pass
        if depth > MOST_NESTED:
            message = f"blocks are nested more than {MOST_NESTED} deep"
            start = found.start()
            raise ParseFailed(source, (Diagnostic("Q001", message, _place(source.text, start)),))


def _errors(text: str) -> Iterator[Diagnostic]:
    count = 0
    for start, end in _pieces(text):
        try:
            _tree(text[start:end])
        except (UnexpectedInput, Refused) as error:
            yield _moved(_diagnostic(error, text[start:end], is_last=end == len(text)), text, start)
            count += 1
            if count == MOST_ERRORS:
                return


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in LANDMARK.finditer(text):
        if found.lastgroup == "query" and found.start() > start:
            yield start, found.start()
            start = found.start()
    yield start, len(text)


def _diagnostic(error: UnexpectedInput | Refused, piece: str, *, is_last: bool) -> Diagnostic:
    match error:
        case Refused(diagnostic=diagnostic):
            return diagnostic
        case UnexpectedToken() | UnexpectedCharacters():
            return describe(error, piece, is_last=is_last)
        case _:
            raise AssertionError(f"the parser raised {type(error).__name__}")


def _moved(found: Diagnostic, text: str, start: int) -> Diagnostic:
    """A finding in a piece as a finding in the whole text."""
    origin = _place(text, start)
    column = found.span.column + (origin.column - 1 if found.span.line == 1 else 0)
    span = Span(found.span.line + origin.line - 1, column, found.span.length)
    return Diagnostic(found.code, found.message, span, found.hint)


def _place(text: str, position: int) -> Span:
    line_start = text.rfind("\n", 0, position) + 1
    return Span(text.count("\n", 0, position) + 1, position - line_start + 1)
