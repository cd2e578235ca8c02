"""How answers look in a terminal: tables that fit, one JSON document, and steps that explain.

Standard output carries the answer and nothing else; everything said to a person beside it goes to
standard error.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.base.words import amount, visible
from omnigraph.surfaces.cli.tables import lay_out, plain, value_text

if TYPE_CHECKING:
    from omnigraph.engine.results import QueryResult

__all__ = ["Format", "print_json", "print_rows", "print_table", "print_text", "say"]


NEEDS_QUOTES = re.compile('[",\r\n]|^[ \t]|[ \t]$')


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    KV = "kv"


def print_json(document: Any) -> None:
    text = json.dumps(document, ensure_ascii=False, default=plain)
    # JSON lets characters stand in a text that a terminal obeys, such as U+009B and U+202E.
    sys.stdout.write(visible(text, escape=lambda character: json.dumps(character)[1:-1]) + "\n")


def print_text(text: str) -> None:
    """An answer that is lines of text."""
    sys.stdout.write(visible(text, keep="\n") + "\n")


def say(text: str) -> None:
    """Tell a person something that is not the answer."""
    sys.stderr.write(visible(text, keep="\n") + "\n")


def print_rows(result: "QueryResult", style: Format, *, how_whole: str = "--format kv") -> None:
    """A query's rows in any format but JSON's single document, which wraps them in more.

    `how_whole` is what to type to see the whole of a text that was shortened.
    """
    result = result.readable()
    match style:
        case Format.JSONL:
            for row in result:
                print_json(row)
        case Format.CSV:
            _print_csv(result.columns)
            for row in result:
                _print_csv(row.values())
        case Format.KV:
            for number, row in enumerate(result):
                sys.stdout.write("\n" * (number > 0))
                for name, value in row.items():
                    sys.stdout.write(f"{visible(name)}: {value_text(value)}".rstrip() + "\n")
        case Format.TABLE | Format.JSON:
            is_shortened = print_table(result.columns, (row.values() for row in result))
            how = f"; text is shortened: {how_whole} shows all of it" * is_shortened
            say(amount(len(result), "row") + how)


def print_table(
    columns: Sequence[str], rows: Iterable[Iterable[Any]], *, may_shorten: bool = True
) -> bool:
    """Show rows, and tell whether text of theirs had to be shortened for it."""
    # A pipe has no width: every column gets the room it needs instead of 80 columns' worth.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    shown = lay_out(columns, rows, width=width, may_shorten=may_shorten)
    sys.stdout.writelines(f"{line}\n" for line in shown.lines)
    return shown.is_shortened


def _print_csv(values: Iterable[Any]) -> None:
    """A record as a load reads it: nothing is null, and `""` is empty text."""
    line = ",".join(_csv_cell(value) for value in values)
    # A file gets the data as it is. A terminal would obey some of it.
    sys.stdout.write((visible(line, keep="\n") if sys.stdout.isatty() else line) + "\n")


def _csv_cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            text = value
        case dict() | list():
            text = json.dumps(value, ensure_ascii=False, default=plain)
        case _:
            text = str(plain(value))
    is_plain = text and not NEEDS_QUOTES.search(text)
    return text if is_plain else '"' + text.replace('"', '""') + '"'
