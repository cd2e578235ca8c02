"""Comments: where they stand in a text, and how they travel with the lines of a formatted one.

A comment after code stays at the end of that line; any other stays above the line it precedes.
Comments are no part of the syntax tree.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from omnigraph.base.frozen import frozen

__all__ = [
    "COMMENT",
    "OPEN_TEXT",
    "Comment",
    "Line",
    "comments_in",
    "without_comments",
    "woven",
]

# As the grammar has them; a text is here without its closing quote.
OPEN_TEXT = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*'
COMMENT = r"//[^\n]*|/\*(?s:.*?)\*/"

SCAN = re.compile(rf'{OPEN_TEXT}"?|(?P<comment>{COMMENT})')

Place = tuple[int, int]
"""Line and column, from 1."""


@frozen
class Comment:
    text: str
    place: Place
    is_after_code: bool
    is_before_blank: bool
    """A blank line follows it, so it is a heading of its own."""


@frozen
class Line:
    """A formatted line and the place of its first word in the original."""

    text: str
    place: Place
    depth: int
    is_closing: bool = False
    is_apart: bool = False
    """A blank line stands above it."""


def comments_in(text: str) -> tuple[Comment, ...]:
    """The comments of a text that parses."""
    lines = text.split("\n")
    found = []
    number, start = 1, 0
    for match in SCAN.finditer(text):
        number += text.count("\n", start, match.start())
        start = match.start()
        comment = match["comment"]
        if comment is None:
            continue
        column = match.start() - (text.rfind("\n", 0, match.start()) + 1)
        last = number + comment.count("\n")
        before = without_comments(lines[number - 1][:column])
        found.append(
            Comment(
                comment.rstrip(),
                (number, column + 1),
                is_after_code=bool(before.strip()),
                is_before_blank=last < len(lines) and not lines[last].strip(),
            )
        )
    return tuple(found)


def woven(lines: Sequence[Line], comments: Sequence[Comment], indent: str) -> Iterator[str]:
    """The text of the lines with the comments in their places."""
    above: dict[int, list[Comment]] = {}
    beside: dict[int, list[Comment]] = {}
    # A tail written out of order must not send a comment back to where its line moved to.
    places = list(accumulate((line.place for line in lines), max))
    for comment in comments:
        following = bisect_right(places, comment.place)
        if comment.is_after_code and following > 0:
            beside.setdefault(following - 1, []).append(comment)
        else:
            above.setdefault(following, []).append(comment)
    for position, line in enumerate(lines):
        beside_it = beside.get(position, [])
        at_end = beside_it if len(beside_it) == 1 and "\n" not in beside_it[0].text else []
        if line.is_apart:
            yield ""
        depth = line.depth + 1 if line.is_closing else line.depth
        for comment in (*above.get(position, []), *(c for c in beside_it if c not in at_end)):
            yield indent * depth + comment.text
            if comment.is_before_blank and not line.is_closing:
                yield ""
        yield "  ".join([indent * line.depth + line.text, *(c.text for c in at_end)])
    for comment in above.get(len(lines), []):
        yield comment.text


def without_comments(text: str) -> str:
    """The text without comments that begin and end in it."""
    return SCAN.sub(lambda m: "" if m["comment"] else m[0], text)
