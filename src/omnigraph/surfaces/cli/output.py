"""How answers look in a terminal: tables that fit, one JSON document, and steps that explain.

Standard output carries the answer and nothing else; everything said to a person beside it goes to
standard error.
"""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.base.words import amount

if TYPE_CHECKING:
    from omnigraph.engine.results import QueryResult

__all__ = ["Format", "print_json", "print_rows", "print_table", "say"]


PIPE_WIDTH = 100_000
LONGEST_WORD = 26
"""A ULID: an id is there to be copied, and never broken over two lines."""


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    KV = "kv"


def print_json(document: Any) -> None:
    json.dump(document, sys.stdout, ensure_ascii=False, default=_plain)
    sys.stdout.write("\n")


def say(text: str) -> None:
    """Tell a person something that is not the answer."""
    sys.stderr.write(text + "\n")


def print_rows(result: "QueryResult", style: Format) -> None:
    """A query's rows in any format but JSON's single document, which wraps them in more."""
    result = result.readable()
    match style:
        case Format.JSONL:
            for row in result:
                print_json(row)
        case Format.CSV:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(result.columns)
            writer.writerows([_cell(v) for v in row.values()] for row in result)
        case Format.KV:
            for number, row in enumerate(result):
                sys.stdout.write("\n" * (number > 0))
                sys.stdout.writelines(f"{name}: {_cell(value)}\n" for name, value in row.items())
        case Format.TABLE | Format.JSON:
            print_table(result.columns, (row.values() for row in result))
            say(amount(len(result), "row"))


def print_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table: Table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    listed = [list(row) for row in rows]
    for number, name in enumerate(columns):
        values = [row[number] for row in listed]
        is_number = any(_is_number(v) for v in values) and all(
            v is None or _is_number(v) for v in values
        )
        table.add_column(
            name,
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=all(_is_word(_cell(v)) for v in values),
        )
    for row in listed:
        table.add_row(*(_escape(_cell(v)) for v in row))
    # A pipe has no width: every column gets the room it needs instead of 80 columns' worth.
    Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH).print(table)


def _is_word(cell: str) -> bool:
    return len(cell) <= LONGEST_WORD and " " not in cell


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=_plain)
        case _:
            return str(_plain(value))


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, int | float) else str(value)
