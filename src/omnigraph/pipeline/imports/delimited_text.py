"""Files of separated values, block by block, by the code that loads read them with.

A record that is none (a quote out of place, too many fields, no UTF-8) ends an import with its
line: what its row would be is not known, so no rule can set it aside.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import LimitExceeded, SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.pipeline.imports.blocks import place
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.rows.parse_table import Cells
from omnigraph.pipeline.sources.delimited import record_blocks
from omnigraph.pipeline.sources.feed import Feed
from omnigraph.pipeline.sources.lines import BYTE_ORDER_MARK
from omnigraph.pipeline.sources.splits import CsvRange, TextTable
from omnigraph.store.arrays import one_array
from omnigraph.store.location import DiskLocation

__all__ = ["TextFile", "first_line", "text_blocks"]

LIMITS = InputLimits()


@frozen
class TextFile:
    path: Path
    delimiter: str = ","


def first_line(path: Path) -> tuple[str, int]:
    """The first line of a file, and how many bytes it takes with its end."""
    with reading_file(path), path.open("rb") as file:
        head = file.readline(LIMITS.max_header_bytes + 1)
    if len(head) > LIMITS.max_header_bytes:
        what = f"the first line of {path}, in bytes,"
        raise LimitExceeded(what=what, limit=LIMITS.max_header_bytes)
    try:
        text = head.removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        raise SourceInvalid(file=place(path, 1), reason="it is not UTF-8") from error
    return text.rstrip("\r\n"), len(head)


def text_blocks(
    file: TextFile, columns: tuple[str, ...], *, skip_header: bool
) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    """Blocks of records: the line of each, and its cells; an empty cell is null, `""` is not."""
    name, location = str(file.path), DiskLocation(file.path.absolute())
    start = first_line(file.path)[1] if skip_header else _mark_bytes(file.path)
    with reading_file(name):
        end = file.path.stat().st_size
    # Columns may share a name, or be of no interest: here they go by their numbers.
    numbers = tuple(str(number) for number in range(len(columns)))
    layout = TextTable(numbers, file.delimiter)
    feed = Feed(TableKey("import"), tuple((number, number) for number in numbers))
    split = CsvRange(name, location, start, end, int(skip_header), layout, feed)
    for records in record_blocks(split, LIMITS):
        cells = Cells(records, layout, feed)
        if cells.broken:
            first = min(cells.broken)
            line, reason = int(records.lines[first]), cells.broken[first][0].message
            raise SourceInvalid(file=place(name, line), reason=reason)
        arrays = [one_array(cells.table[number]) for number in numbers]
        if len(cells.numbers):
            yield records.lines[cells.numbers], dict(zip(columns, arrays, strict=True))


def _mark_bytes(path: Path) -> int:
    with reading_file(path), path.open("rb") as file:
        return len(BYTE_ORDER_MARK) if file.read(3) == BYTE_ORDER_MARK else 0
