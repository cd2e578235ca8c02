"""Tables and paragraphs of HTML. Every text is escaped: data is never markup."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

from omnigraph.base.words import amount, clipped
from omnigraph.engine.change_values import json_text

__all__ = ["ALONE", "clipped_text", "html_table", "in_page", "paragraph", "safe"]

# A cell is for recognising a value; a long one is cut.
LETTERS_SHOWN = 200
# A table wider than this can't be looked at; the columns behind are counted.
COLUMNS_SHOWN = 40
# The style of a picture in a file, which has no page around it to take a colour from.
ALONE = "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"


def safe(text: str, letters: int = LETTERS_SHOWN) -> str:
    """The text for a page or a picture: escaped, on one line, its control characters visible."""
    return escape(clipped(text, letters))


def paragraph(text: str) -> str:
    return f"<p>{safe(text, 10 * LETTERS_SHOWN)}</p>" if text else ""


def in_page(svg: str) -> str:
    """A picture on a page, which scrolls where it is too wide."""
    return f'<div style="overflow:auto">{svg}</div>'


def html_table(
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    total: int | None = None,
    *,
    below: str = "",
) -> str:
    """The rows given, and below them how many there are in all, or what else is said."""
    shown = columns[:COLUMNS_SHOWN]
    head = "".join(f"<th>{safe(name)}</th>" for name in shown)
    body = "".join(f"<tr>{''.join(_cell(row[c]) for c in shown)}</tr>" for row in rows)
    said = below if total is None else _said(amount(total, "row"), len(columns))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{paragraph(said)}"


def _said(rows: str, columns: int) -> str:
    return rows if columns <= COLUMNS_SHOWN else f"{rows}, {amount(columns, 'column')}"


def clipped_text(value: Any) -> str:
    """A value on one line; of a long one the beginning."""
    match value:
        case None:
            return "null"
        case dict():
            # Of many members the first are as many letters as are shown.
            first = dict(islice(value.items(), LETTERS_SHOWN))
            return clipped(json_text(first), LETTERS_SHOWN)
        case list():
            return clipped(json_text(value[:LETTERS_SHOWN]), LETTERS_SHOWN)
        case _:
            return clipped(str(value), LETTERS_SHOWN)


def _cell(value: Any) -> str:
    return "<td><em>null</em></td>" if value is None else f"<td>{escape(clipped_text(value))}</td>"
