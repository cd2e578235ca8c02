"""How answers look in a terminal: tables that fit, one JSON document, and steps that explain.

Standard output carries the answer and nothing else; everything said to a person beside it goes to
standard error.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.words import amount, visible
from omnigraph.surfaces.cli.colour import bold, dim, paint_said, shows_colours
from omnigraph.surfaces.cli.tables import lay_out, plain, value_text

if TYPE_CHECKING:
    from omnigraph.engine.results import QueryResult

__all__ = [
    "Format",
    "print_json",
    "print_rows",
    "print_table",
    "print_text",
    "say",
    "say_unwritten",
]


NEEDS_QUOTES = re.compile('[",\r\n]|^[ \t]|[ \t]$')


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    KV = "kv"
    ARROW = "arrow"
    PARQUET = "parquet"


def print_json(document: Any) -> None:
    # Python would write \U0001f600 where the encoding lacks a character, which is no JSON.
    has_all = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, ensure_ascii=not has_all, default=plain)
    # JSON lets characters stand in a text that a terminal obeys, such as U+009B and U+202E.
    sys.stdout.write(visible(text, escape=lambda character: json.dumps(character)[1:-1]) + "\n")


def print_text(text: str, *, paint: Callable[[str], str] | None = None) -> None:
    """An answer that is lines of text; a terminal shows each as it is painted."""
    shown = visible(text, keep="\n")
    if paint is not None and shows_colours(sys.stdout):
        shown = "\n".join(map(paint, shown.split("\n")))
    sys.stdout.write(shown + "\n")


def say(text: str) -> None:
    """Tell a person something that is not the answer."""
    shown = visible(text, keep="\n")
    # Where both go to one file, what was printed before stands before it. What can't be written
    # now is written, or complained about, at the end.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    try:
        sys.stderr.write((paint_said(shown) if shows_colours(sys.stderr) else shown) + "\n")
    except BrokenPipeError:
        raise
    except OSError:
        # Its disk is full: nobody can be told, which is no reason to leave the work undone.
        return


def say_unwritten(error: OSError | ValueError) -> None:
    """Tell a person that the answer is not where it should be."""
    why = error.strerror if isinstance(error, OSError) else error
    say(f"error: the output can't be written: {why}")


def print_rows(result: "QueryResult", style: Format, *, how_whole: str = "--format kv") -> None:
    """A query's rows in any format but JSON's single document, which wraps them in more.

    `how_whole` is what to type to see the whole of a text that was shortened.
    """
    if style in (Format.ARROW, Format.PARQUET):
        _print_columns(result, style)
        return
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
        case Format.TABLE | Format.JSON | Format.ARROW | Format.PARQUET:
            is_shortened = print_table(result.columns, (row.values() for row in result))
            how = f"; text is shortened: {how_whole} shows all of it" * is_shortened
            say(amount(len(result), "row") + how)


def _print_columns(result: "QueryResult", style: Format) -> None:
    """Rows with their types, for programs: a stream of Arrow, or a file of Parquet."""
    if sys.stdout.isatty():
        rule = f"{style} is for programs, not for a terminal"
        raise ArgumentInvalid("--format", None, rule, f"send it to a file: > rows.{style}")
    import pyarrow as pa

    rows, sink = result.to_arrow(), sys.stdout.buffer
    if style is Format.ARROW:
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
    else:
        import pyarrow.parquet as pq

        pq.write_table(rows, sink)
    sink.flush()


def print_table(
    columns: Sequence[str],
    rows: Iterable[Iterable[Any]],
    *,
    may_shorten: bool = True,
    paints: Sequence[Callable[[str], str]] = (),
) -> bool:
    """Show rows, and tell whether text of theirs had to be shortened for it.

    On a terminal the line of a row is painted by the one of `paints` that has its place.
    """
    # A pipe has no width: every column gets the room it needs instead of 80 columns' worth.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    shown = lay_out(columns, rows, width=width, may_shorten=may_shorten)
    lines = list(shown.lines)
    if shown.is_table and shows_colours(sys.stdout):
        by_line = (bold, dim, *paints)
        lines[: len(by_line)] = [paint(line) for paint, line in zip(by_line, lines, strict=False)]
    sys.stdout.writelines(f"{line}\n" for line in lines)
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
