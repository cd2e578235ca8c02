"""A place in a source text, and how to point at it.

Lines and columns count from 1 and columns count code points, as editors do; a caret under a line
with tabs keeps the tabs so that both lines expand alike.
"""

import unicodedata
from dataclasses import dataclass

from omnigraph.base.frozen import frozen

__all__ = ["SourceText", "Span"]

# A caret is useful only beside what it points at: of a megabyte-long line, show this much.
EXCERPT_COLUMNS = 100


@dataclass(frozen=True, slots=True, order=True)
class Span:
    line: int
    column: int
    length: int = 1


@frozen
class SourceText:
    """A text and the name a person knows it by (a path, or `<query>`)."""

    text: str
    name: str = "<text>"

    def line(self, number: int) -> str:
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else ""

    def point_at(self, span: Span) -> str:
        """`name:line:column`, the line, and carets under the span."""
        text = self.line(span.line)
        start = max(0, min(span.column - 1, len(text)))
        first = max(0, start - EXCERPT_COLUMNS // 2) if len(text) > EXCERPT_COLUMNS else 0
        shown = text[first : first + EXCERPT_COLUMNS]
        before = shown[: start - first]
        under = shown[start - first : start - first + span.length]
        gutter = str(span.line)
        lead, trail = "…" if first else "", "…" if first + len(shown) < len(text) else ""
        pad = " " * _width(lead) + "".join("\t" if c == "\t" else " " * _width(c) for c in before)
        return (
            f"{self.name}:{span.line}:{span.column}\n"
            f"{gutter} | {lead}{_printable(shown)}{trail}\n"
            f"{' ' * len(gutter)} | {pad}{'^' * max(1, _width(under))}"
        )


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _printable(text: str) -> str:
    # Control characters would move the terminal's cursor and so the caret; a tab is handled above.
    return "".join(c if c == "\t" or c.isprintable() else "·" for c in text)
