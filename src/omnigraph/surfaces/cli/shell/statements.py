"""Where what is typed ends: a text becomes statements, each with its place.

A command (`.help`) ends with its line. A whole query (`query name() { … }`) ends with its closing
brace. A body alone (`match { … } return { … }`, `insert … { … }`) ends with `;` or an empty line,
because more of it may follow: `limit 5`, or a second `insert` that belongs to the same commit.
Nothing ends inside of brackets, in a text or in a comment.
"""

import re
from collections.abc import Iterator

from omnigraph.base.frozen import frozen
from omnigraph.base.span import Span
from omnigraph.lang.query.text.comments import OPEN_TEXT

__all__ = ["BEFORE_A_STATEMENT", "Cut", "Statement", "cut"]

TOKEN = re.compile(
    rf'(?P<text>{OPEN_TEXT}"?)|(?P<comment>//[^\n]*|/\*(?s:.*?)\*/)|(?P<unclosed>/\*(?s:.*))'
    r"|(?P<open>[{(\[])|(?P<close>[})\]])|(?P<end>;)|(?P<line>\n)|(?P<blank>[^\S\n]+)"
    r"|(?P<word>\w+)|(?P<sign>.)"
)

BEFORE_A_STATEMENT = re.compile(r"\.explain(?P<analyze>[^\S\n]+analyze)?(?=\s|\Z)[^\S\n]*")
"""A command that a statement follows, which ends it."""

COMMAND = re.compile(r"\.[^\n]*")


@frozen
class Statement:
    """A statement without what ends it. Line and column count from 1."""

    text: str
    start: int
    """How many characters stand before it."""
    line: int
    column: int
    unopened: Span | None = None
    """The first bracket that closes nothing."""


@frozen
class Cut:
    statements: tuple[Statement, ...]
    """Those that have ended."""
    rest: Statement | None
    """What was begun and has not ended."""
    depth: int
    """How many brackets of the rest are open."""

    @property
    def all(self) -> tuple[Statement, ...]:
        """The statements of a text that nothing follows."""
        return self.statements if self.rest is None else (*self.statements, self.rest)


def cut(text: str) -> Cut:
    """The statements of a text. A text in which nothing is begun has none."""
    cutting = _Cutting(text)
    statements = tuple(cutting.statements())
    return Cut(statements, cutting.rest(), max(0, cutting.depth))


class _Cutting:
    def __init__(self, text: str) -> None:
        self._text = text
        self._start: int | None = None
        self._is_query = False
        self._unopened: int | None = None
        self.depth = 0

    def statements(self) -> Iterator[Statement]:
        at, is_line_empty = 0, True
        while at < len(self._text):
            if self._start is None and self._text[at] == ".":
                begins, at, is_line_empty = at, self._after_command(at), False
                if self._start is None:
                    yield self._statement(begins, at)
                continue
            token = TOKEN.match(self._text, at)
            assert token is not None, "every character is a token"
            kind = token.lastgroup
            if self._is_end(token[0], kind, is_line_empty=is_line_empty):
                end = token.end() if kind == "close" else token.start()
                assert self._start is not None, "only what has begun ends"
                yield self._statement(self._start, end)
                self._begin(None)
            elif self._start is None and kind not in ("blank", "line", "comment", "end"):
                self._begin(token.start(), is_query=token[0] == "query")
                self._count(kind, at)
            else:
                self._count(kind, at)
            is_line_empty = kind == "line" or (is_line_empty and kind == "blank")
            at = token.end()

    def rest(self) -> Statement | None:
        return None if self._start is None else self._statement(self._start, len(self._text))

    def _begin(self, start: int | None, *, is_query: bool = False) -> None:
        self._start, self._is_query, self.depth, self._unopened = start, is_query, 0, None

    def _count(self, kind: str | None, at: int) -> None:
        if kind == "close" and self.depth == 0 and self._unopened is None:
            self._unopened = at
        self.depth += (kind == "open") - (kind == "close")

    def _is_end(self, text: str, kind: str | None, *, is_line_empty: bool) -> bool:
        if self._start is None:
            return False
        if kind == "close":
            return self._is_query and text == "}" and self.depth == 1
        if self.depth > 0:
            return False
        return kind == "end" or (kind == "line" and is_line_empty and not self._is_query)

    def _after_command(self, at: int) -> int:
        """Where the command ends; for one that a statement follows, where that begins."""
        before = BEFORE_A_STATEMENT.match(self._text, at)
        line = COMMAND.match(self._text, at)
        assert line is not None, "it begins with a dot"
        if before is None or before.end() >= line.end():
            return line.end()
        following = TOKEN.match(self._text, before.end())
        assert following is not None, "the line goes on"
        self._begin(at, is_query=following[0] == "query")
        return before.end()

    def _statement(self, start: int, end: int) -> Statement:
        place = self._place(start)
        unopened = None if self._unopened is None else self._place(self._unopened)
        text = self._text[start:end].rstrip()
        return Statement(text, start, place.line, place.column, unopened)

    def _place(self, at: int) -> Span:
        line_start = self._text.rfind("\n", 0, at) + 1
        return Span(self._text.count("\n", 0, at) + 1, at - line_start + 1)
