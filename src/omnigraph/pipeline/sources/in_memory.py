"""Rows that come with the call: dicts, bytes, an open file, frames of several libraries.

A frame is known by what it offers (Arrow's stream interface) or by the module of its type, so none
of these libraries is imported for a load that doesn't use it.
"""

import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.errors import ArgumentInvalid, SourceInvalid
from omnigraph.pipeline.sources.splits import InlineLines

__all__ = ["as_table", "inline_lines", "is_frame", "json_value", "lines_of_file", "lines_of_rows"]


def is_frame(source: object) -> bool:
    return (
        isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader)
        or _is_pandas(source)
        or hasattr(type(source), "__arrow_c_stream__")
    )


def as_table(name: str, frame: Any) -> pa.Table:
    """The frame as an Arrow table, with nulls where pandas has NaN."""
    try:
        if isinstance(frame, pa.Table):
            return frame
        if isinstance(frame, pa.RecordBatch):
            return pa.Table.from_batches([frame])
        if _is_pandas(frame):
            # An index with a name is data, as it is for whatever pandas writes; others count rows.
            named = [level for level, name in enumerate(frame.index.names) if name is not None]
            columns = frame.reset_index(level=named) if named else frame
            return _without_empty_types(pa.Table.from_pandas(columns, preserve_index=False))
        return pa.RecordBatchReader.from_stream(frame).read_all()
    # An OSError is how Arrow tells what went wrong behind its stream interface.
    except (pa.ArrowException, OSError, TypeError, ValueError) as error:
        told = re.split(r"\n|\. Detail: ", str(error))[0]
        reason = f"the frame can't be converted to an Arrow table ({told})"
        raise SourceInvalid(file=name, reason=reason) from error


def _without_empty_types(table: pa.Table) -> pa.Table:
    """The table with untyped nulls in columns that hold nothing else.

    pandas has no null for text or days: a column without a value is one of floats, which says
    nothing about what it would hold.
    """
    for number, column in enumerate(table.columns):
        if column.null_count == len(column):
            table = table.set_column(number, table.field(number).name, pa.nulls(len(column)))
    return table


def inline_lines(name: str, data: bytes, *, cut_bytes: int) -> Iterator[InlineLines]:
    """NDJSON in splits, each of whole lines."""
    start = line = 0
    while start < len(data):
        end = data.find(b"\n", min(start + cut_bytes, len(data))) + 1 or len(data)
        yield InlineLines(name, line, data[start:end])
        line += data.count(b"\n", start, end)
        start = end


def lines_of_file(name: str, file: Any, *, cut_bytes: int) -> Iterator[InlineLines]:
    """NDJSON that an open file gives, as text or bytes."""
    try:
        data = file.read()
    # Closed, not open for reading, or text that is in another encoding.
    except (OSError, ValueError) as error:
        raise SourceInvalid(file=name, reason=f"the file object can't be read ({error})") from error
    if isinstance(data, str):
        data = _encoded([data])
    if not isinstance(data, bytes | bytearray | memoryview):
        rule = f"read() must return text or bytes, not {type(data).__name__}"
        raise ArgumentInvalid(argument="source", value=name, rule=rule)
    yield from inline_lines(name, bytes(data), cut_bytes=cut_bytes)


def lines_of_rows(name: str, rows: Iterable[object], *, cut_bytes: int) -> Iterator[InlineLines]:
    """Envelopes as the lines they would be in a file; a bytes value becomes `base64:…`."""
    waiting: list[str] = []
    size = first = 0
    for number, row in enumerate(rows):
        waiting.append(line := _line(number, row))
        size += len(line)
        if size >= cut_bytes:
            yield InlineLines(name, first, _encoded(waiting))
            waiting, size, first = [], 0, number + 1
    if waiting:
        yield InlineLines(name, first, _encoded(waiting))


def _encoded(lines: list[str]) -> bytes:
    # Half of a surrogate pair is not text: parsing the line reports it.
    return "".join(lines).encode(errors="surrogatepass")


def _line(number: int, row: object) -> str:
    if not isinstance(row, Mapping):
        raise _no_row(number, f"a row must be a dict, not {type(row).__name__}")
    try:
        text = json.dumps(dict(row), default=json_value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_row(number, f"the row can't be written as JSON: {error}") from error
    return f"{text}\n"


def json_value(value: object) -> object:
    """A value that JSON lacks, in the form that a load reads back."""
    match value:
        case bytes() | bytearray() | memoryview():
            return text_from_blob(bytes(value))
        case datetime.date():
            return value.isoformat()
        case Mapping():
            return dict(value)
        case _:
            # Numbers and arrays of NumPy.
            if callable(as_list := getattr(value, "tolist", None)):
                return as_list()
    raise TypeError(f"a value of type {type(value).__name__} can't be loaded")


def _no_row(number: int, rule: str) -> ArgumentInvalid:
    return ArgumentInvalid(argument="source", value=f"row {number + 1}", rule=rule)


def _is_pandas(source: object) -> bool:
    kind = type(source)
    return kind.__module__.startswith("pandas.") and kind.__name__ == "DataFrame"
