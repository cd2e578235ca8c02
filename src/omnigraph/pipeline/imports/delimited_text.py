"""Files of separated values, block by block, by the code that loads read them with.

A record that is none (a quote out of place, too many fields, no UTF-8) ends an import with its
line: what its row would be is not known, so no rule can set it aside.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import LimitExceeded, SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.pipeline.imports.blocks import place
from omnigraph.pipeline.imports.files import SourceFile
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.rows.parse_table import Cells
from omnigraph.pipeline.sources.delimited import records_in, without_first
from omnigraph.pipeline.sources.feed import Feed
from omnigraph.pipeline.sources.lines import BYTE_ORDER_MARK
from omnigraph.pipeline.sources.splits import TextTable
from omnigraph.store.arrays import one_array

__all__ = ["FirstLine", "TextFile", "first_line", "text_blocks"]

LIMITS = InputLimits()


@frozen
class TextFile:
    source: SourceFile
    delimiter: str = ","


@frozen
class FirstLine:
    text: str
    size: int
    """How many bytes it takes with its end."""
    is_all: bool
    """True if nothing but blanks follows."""


def first_line(source: SourceFile) -> FirstLine:
    head = source.head(LIMITS.max_header_bytes + 1)
    line, end, rest = head.partition(b"\n")
    if len(line) > LIMITS.max_header_bytes:
        what = f"the first line of {source.file}, in bytes,"
        raise LimitExceeded(what=what, limit=LIMITS.max_header_bytes)
    try:
        text = line.removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        raise SourceInvalid(file=place(source.file, 1), reason="it is not UTF-8") from error
    is_whole = len(head) <= LIMITS.max_header_bytes
    return FirstLine(text.rstrip("\r"), len(line) + len(end), is_whole and not rest.strip())


def text_blocks(
    file: TextFile, columns: tuple[str, ...], *, skip_header: bool
) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    """Blocks of records: the line of each, and its cells; an empty cell is null, `""` is not."""
    source = file.source
    if skip_header:
        start = first_line(source).size
    else:
        mark = len(BYTE_ORDER_MARK)
        start = mark if source.head(mark) == BYTE_ORDER_MARK else 0
    # Columns may share a name, or be of no interest: here they go by their numbers.
    numbers = tuple(str(number) for number in range(len(columns)))
    layout = TextTable(numbers, file.delimiter)
    feed = Feed(TableKey("import"), tuple((number, number) for number in numbers))
    chunks = without_first(source.chunks(LIMITS.chunk_bytes), start)
    for records in records_in(
        chunks, file.delimiter, file=source.file, first_line=int(skip_header), limits=LIMITS
    ):
        cells = Cells(records, layout, feed)
        if cells.broken:
            first = min(cells.broken)
            line, reason = int(records.lines[first]), cells.broken[first][0].message
            raise SourceInvalid(file=place(source.file, line), reason=reason)
        arrays = [one_array(cells.table[number]) for number in numbers]
        if len(cells.numbers):
            yield records.lines[cells.numbers], dict(zip(columns, arrays, strict=True))
