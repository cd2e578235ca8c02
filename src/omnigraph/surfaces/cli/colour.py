"""Colours, where a person looks at a terminal that shows them.

Colours are put on last, on lines that are laid out and whose data is made harmless: an escape that
is left to see was put there by us.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import IO

__all__ = ["OF_OPERATION", "bold", "dim", "paint_log", "paint_said", "shows_colours"]

Paint = Callable[[str], str]

ULID = r"[0-9A-HJKMNP-TV-Z]{26}"


def shows_colours(stream: IO[str]) -> bool:
    """True for a terminal, unless NO_COLOR is set (no-color.org) or it knows no escapes."""
    # Of the terminal, as its width is, and not a setting of a graph.
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _style(code: str) -> Paint:
    return lambda text: f"\x1b[{code}m{text}\x1b[0m" if text else text


bold, dim, red, green, yellow, cyan = (
    _style(code) for code in ("1", "2", "1;31", "32", "33", "36")
)

SAID: tuple[tuple[re.Pattern[str], Paint], ...] = (
    (re.compile(r"^(?:internal )?error(?:\[\w+\])?(?=:)", re.MULTILINE), red),
    (re.compile(r"^warning(?:\[\w+\])?(?=:)", re.MULTILINE), yellow),
    (re.compile(r"(?<=^  )hint(?=:)", re.MULTILINE), cyan),
    # Carets below a line of a text.
    (re.compile(r"(?<= )\^+$", re.MULTILINE), red),
)
LOG = (
    (re.compile(rf"{ULID}  (\[[^\]]+\])"), green),
    (re.compile(rf"^[^\w]*({ULID})"), yellow),
)
OF_OPERATION: Mapping[str, Paint] = {"insert": green, "update": yellow, "delete": red}
"""For lines of a diff."""


def paint_said(text: str) -> str:
    """What is said on standard error: the word that says what it is, and the place it points at."""
    for pattern, paint in SAID:
        text = pattern.sub(lambda found, paint=paint: paint(found[0]), text)  # type: ignore[misc]
    return text


def paint_log(line: str) -> str:
    """A line of a log: the commit, and the branches whose head it is."""
    for pattern, paint in LOG:
        if found := pattern.search(line):
            line = line[: found.start(1)] + paint(found[1]) + line[found.end(1) :]
    return line
