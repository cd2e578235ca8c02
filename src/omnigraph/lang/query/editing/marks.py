"""What each word of a query is, for an editor that shows it in colours.

A text that is being written is wrong most of the time: behind the first mistake words are still
told apart, by their looks alone.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from omnigraph.base.frozen import frozen
from omnigraph.lang.query.editing.beginning import Piece, keywords, read_beginning
from omnigraph.lang.query.text.comments import COMMENT, OPEN_TEXT

__all__ = ["Mark", "MarkKind", "marks"]


class MarkKind(StrEnum):
    COMMENT = "comment"
    CONSTANT = "constant"
    KEYWORD = "keyword"
    NAME = "name"
    NUMBER = "number"
    SIGN = "sign"
    TEXT = "text"
    VARIABLE = "variable"


KINDS = {
    "VARIABLE": MarkKind.VARIABLE,
    "NAME": MarkKind.NAME,
    "WORD": MarkKind.NAME,
    "INT": MarkKind.NUMBER,
    "FLOAT": MarkKind.NUMBER,
    "STRING": MarkKind.TEXT,
    "TRUE": MarkKind.CONSTANT,
    "FALSE": MarkKind.CONSTANT,
    "NULL": MarkKind.CONSTANT,
}

LOOKS = re.compile(
    rf'(?P<comment>{COMMENT}|/\*(?s:.*))|(?P<text>{OPEN_TEXT}"?)|(?P<variable>\$\w*)'
    r"|(?P<number>-?[0-9][0-9.eE]*\b)|(?P<word>\w+)|(?P<sign>[^\w\s])"
)


@frozen
class Mark:
    """Characters from `start` to `end`, and what they are. Blanks between marks are nothing."""

    start: int
    end: int
    kind: MarkKind


def marks(text: str) -> list[Mark]:
    """The marks of a query or of its body, in order."""
    beginning = read_beginning(text)
    known = [Mark(p.start, p.end, _kind(p)) for p in beginning.pieces]
    # What the grammar has read is what it says, and not what it looks like.
    looks = (
        look
        for look in _looks(text)
        if look.start >= beginning.end or look.kind is MarkKind.COMMENT
    )
    return sorted([*known, *looks], key=lambda mark: mark.start)


def _kind(piece: Piece) -> MarkKind:
    if piece.kind in KINDS:
        return KINDS[piece.kind]
    return MarkKind.KEYWORD if piece.kind in keywords() else MarkKind.SIGN


def _looks(text: str) -> Iterator[Mark]:
    words = {word: kind for kind, word in keywords().items()}
    for match in LOOKS.finditer(text):
        group = match.lastgroup
        if group == "word":
            token = words.get(match[0])
            kind = KINDS.get(token, MarkKind.KEYWORD) if token else MarkKind.NAME
        else:
            assert group is not None, "every alternative has a name"
            kind = MarkKind(group)
        yield Mark(match.start(), match.end(), kind)
