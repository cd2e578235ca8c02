"""Rows as a plain HTML table. Every text is escaped: data is never markup."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from omnigraph.base.words import amount

__all__ = ["html_table"]

# A cell is for recognising a value; a long one is cut.
LETTERS_SHOWN = 200


def html_table(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]], total: int = 0, *, below: str = ""
) -> str:
    """The rows given, and below them how many there are in all, or what else is said."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(_cell(row[c]) for c in columns)}</tr>" for row in rows)
    said = escape(below) or amount(total, "row")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{said}</p>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td><em>null</em></td>"
    text = str(value)
    return f"<td>{escape(text[:LETTERS_SHOWN])}{'…' * (len(text) > LETTERS_SHOWN)}</td>"
