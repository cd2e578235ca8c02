"""How rows look in a terminal: a table if they fit, else records of `name: value` lines.

A number, a time or an id is shown whole or not at all: a part of one is another one. Only text and
lists are shortened, and `…` says so. A row that does not fit even then becomes a record. Data never
steers the terminal: control characters are shown as escapes.

A newcomer would count characters. A terminal counts cells: `日` and most emoji take two of them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import accumulate, takewhile
from typing import Any

from rich.cells import cell_len

from omnigraph.base.frozen import frozen
from omnigraph.base.words import JOINERS, visible

__all__ = ["Shown", "lay_out", "plain", "value_text"]

GAP = "   "
INDENT = "  "
MORE = "…"

LEAST_TEXT = 12
"""A column of text is made no narrower, in cells: less than a word or two says nothing."""

LONGEST_WORD = 40
"""A word of ASCII up to this length may be an id (a ULID has 26 characters, a UUID 36): whole."""


@frozen
class Shown:
    """Lines to print."""

    lines: tuple[str, ...]
    is_shortened: bool
    """Whether some text is not shown to its end."""
    is_table: bool
    """A heading, a rule and a line for each row; otherwise records."""


def lay_out(
    columns: Sequence[str],
    rows: Iterable[Iterable[Any]],
    *,
    width: int | None,
    may_shorten: bool = True,
) -> Shown:
    """The rows in lines of at most `width` cells, where nothing in them has to be longer.

    Without a width every column gets the room it needs. Unless it `may_shorten` text, a table that
    does not fit becomes records.
    """
    names = [visible(name) for name in columns]
    cells = [[_cell(name, v) for name, v in zip(columns, row, strict=True)] for row in rows]
    fields = [_Field.of(name, [row[n] for row in cells]) for n, name in enumerate(names)]
    widths = _widths(fields, width, may_shorten=may_shorten)
    if widths is None:
        assert width is not None, "everything fits where there is no width"
        return _records(names, cells, width if may_shorten else None)
    return _table(fields, cells, widths)


def value_text(value: Any) -> str:
    """A value in one line. Null is nothing, and empty text is `""`, as in a CSV file of ours."""
    match value:
        case None:
            return ""
        case "":
            return '""'
        case bool():
            return "true" if value else "false"
        case str():
            return visible(value)
        case datetime():
            return value.isoformat(sep=" ", timespec="milliseconds")
        case Mapping() | list():
            return _json_text(value)
        case _:
            return str(plain(value))


def plain(value: Any) -> Any:
    """A value of a row as JSON and text have it."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, int | float) else str(value)


# Cells --------------------------------------------------------------------------------------------


@frozen
class _Cell:
    text: str
    width: int
    shorten: Callable[[int], str] | None = None
    """The text in a given width; None if it is shown whole or not at all."""
    is_number: bool = False
    is_null: bool = False

    def within(self, width: int) -> str:
        if self.width <= width or self.shorten is None:
            return self.text
        return self.shorten(width)


def _cell(name: str, value: Any) -> _Cell:
    text = value_text(value)
    shorten: Callable[[int], str] | None = None
    if isinstance(value, str) and not (_is_word(text) or _names_ids(name)):
        shorten = _Text(text)
    elif isinstance(value, list):
        shorten = _Members("[", "]", [_json_text(item) for item in value])
    elif isinstance(value, Mapping):
        members = [f"{_json_text(str(key))}: {_json_text(item)}" for key, item in value.items()]
        shorten = _Members("{", "}", members)
    return _Cell(
        text,
        cell_len(text),
        shorten,
        is_number=isinstance(value, int | float) and not isinstance(value, bool),
        is_null=value is None,
    )


def _json_text(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False, default=plain))


def _is_word(text: str) -> bool:
    return text.isascii() and len(text) <= LONGEST_WORD and " " not in text


def _names_ids(column: str) -> bool:
    return column == "id" or column.endswith(".id")


@frozen
class _Text:
    text: str

    def __call__(self, width: int) -> str:
        taken = accumulate(cell_len(character) for character in self.text)
        end = sum(1 for _ in takewhile(lambda cells: cells < width, taken))
        kept = self.text[:end]
        # A number in the text is not cut either: 1234 is not the beginning of 1234567.
        following = self.text[end : end + 1]
        if kept[-1:].isdigit() and (following.isdigit() or following in ".,:-"):
            kept = kept.rstrip("0123456789.,:+-")
        return kept.rstrip(JOINERS).rstrip() + MORE


@frozen
class _Members:
    opening: str
    closing: str
    members: Sequence[str]

    def __call__(self, width: int) -> str:
        """As many members as fit whole."""
        kept, room = [], width - len(f"{self.opening}{MORE}{self.closing}")
        for member in self.members:
            room -= cell_len(member) + len(", ")
            if room < 0:
                break
            kept.append(f"{member}, ")
        return f"{self.opening}{''.join(kept)}{MORE}{self.closing}"


# Tables -------------------------------------------------------------------------------------------


@frozen
class _Field:
    """A column, and how much room it takes."""

    name: str
    is_number: bool
    full: int
    least: int

    @classmethod
    def of(cls, name: str, cells: Sequence[_Cell]) -> "_Field":
        heading = cell_len(name)
        whole = max((c.width for c in cells if c.shorten is None), default=0)
        text = max((c.width for c in cells if c.shorten is not None), default=0)
        return cls(
            name=name,
            is_number=any(c.is_number for c in cells)
            and all(c.is_number or c.is_null for c in cells),
            full=max(heading, whole, text),
            least=max(heading, whole, min(text, LEAST_TEXT)),
        )


def _widths(fields: Sequence[_Field], width: int | None, *, may_shorten: bool) -> list[int] | None:
    """How wide each column is made; None if there is not enough room for all of them."""
    full = [field.full for field in fields]
    room = None if width is None else width - len(GAP) * (len(fields) - 1)
    if room is None or sum(full) <= room:
        return full
    if not may_shorten or sum(field.least for field in fields) > room:
        return None
    # The widest columns give way first, all to the same width.
    cap = min(max(full), room)
    while sum(widths := [min(f.full, max(f.least, cap)) for f in fields]) > room:
        cap -= 1
    return widths


def _table(fields: Sequence[_Field], cells: Sequence[Sequence[_Cell]], widths: list[int]) -> Shown:
    def line(texts: Sequence[str]) -> str:
        placed = zip(fields, texts, widths, strict=True)
        padded = (_padded(text, width, right=field.is_number) for field, text, width in placed)
        return GAP.join(padded).rstrip()

    rule = "─" * (sum(widths) + len(GAP) * (len(widths) - 1))
    lines = [line([field.name for field in fields]), rule]
    is_shortened = False
    for row in cells:
        texts = [cell.within(width) for cell, width in zip(row, widths, strict=True)]
        is_shortened |= texts != [cell.text for cell in row]
        lines.append(line(texts))
    return Shown(tuple(lines), is_shortened, is_table=True)


def _padded(text: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


# Records ------------------------------------------------------------------------------------------


def _records(names: Sequence[str], cells: Sequence[Sequence[_Cell]], width: int | None) -> Shown:
    """The rows as records; without a width nothing in them is shortened."""
    lines: list[str] = []
    is_shortened = False
    for number, row in enumerate(cells):
        lines += [""] * (number > 0)
        for name, cell in zip(names, row, strict=True):
            beside = f"{name}: "
            if width is None or cell_len(beside) + cell.width <= width:
                lines.append((beside + cell.text).rstrip())
                continue
            text = cell.within(width - len(INDENT))
            is_shortened |= text != cell.text
            lines += [f"{name}:", INDENT + text]
    return Shown(tuple(lines), is_shortened, is_table=False)
