"""The beginning of a query: its tokens, and what the grammar lets follow them.

What is a keyword, and where, is asked of the grammar itself: nothing here lists words a second
time. A body without its query (`match { … } return { … }`) is read as if it stood in one.
"""

import functools
from collections.abc import Iterator
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedInput
from lark.lexer import PatternStr

from omnigraph.base.frozen import frozen
from omnigraph.base.looks import Look, looking, never
from omnigraph.lang.query.text.tables import FILE, make_parser

__all__ = ["Beginning", "Piece", "keywords", "read_beginning"]

HEADER = (("QUERY", "query"), ("NAME", "q"), ("LPAR", "("), ("CLOSE", ")"), ("LBRACE", "{"))
"""What a body stands behind."""


@frozen
class Piece:
    """A token. `kind` is what the grammar calls it; `start` counts characters."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@frozen
class Beginning:
    pieces: tuple[Piece, ...]
    """As many as follow the grammar."""
    accepted: frozenset[str]
    """The kinds of tokens that may follow; none where the text is wrong before its end."""
    is_body: bool
    """True if it is the inside of a query."""

    @property
    def end(self) -> int:
        return self.pieces[-1].end if self.pieces else 0


def read_beginning(text: str, look: Look = never) -> Beginning:
    """The tokens of a text, as far as they may be those of a query or of its body."""
    pieces, accepted = _read(text, look, is_body=False)
    # A text that begins with nothing may become either.
    if pieces:
        return Beginning(pieces, accepted, is_body=False)
    inside, follow = _read(text, look, is_body=True)
    return Beginning(inside, accepted | follow, is_body=True)


@functools.cache
def keywords() -> dict[str, str]:
    """Every keyword by the name of its token."""
    fixed = ((t.name, t.pattern.value) for t in _grammar().terminals if _is_fixed(t.pattern))
    return {name: word for name, word in fixed if word.replace("_", "").isalpha()}


def _is_fixed(pattern: object) -> bool:
    return isinstance(pattern, PatternStr)


@functools.cache
def _grammar() -> Lark:
    """Made on first use, and once: it builds no tree, so nothing in it can refuse a value."""
    return make_parser(None)


def _read(text: str, look: Look, *, is_body: bool) -> tuple[tuple[Piece, ...], frozenset[str]]:
    parser: Any = _grammar().parse_interactive(text, FILE)
    for kind, word in HEADER if is_body else ():
        parser.feed_token(Token(kind, word))
    pieces: list[Piece] = []
    try:
        for piece in looking(_fed(parser), look):
            pieces.append(piece)
    except UnexpectedInput:
        return tuple(pieces), frozenset()
    return tuple(pieces), frozenset(parser.accepts())


def _fed(parser: Any) -> Iterator[Piece]:
    """The tokens, each once the parser has taken it."""
    for token in parser.lexer_thread.lex(parser.parser_state):
        parser.feed_token(token)
        yield Piece(str(token.type), str(token), token.start_pos)
