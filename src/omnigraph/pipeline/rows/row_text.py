"""What the input says in single rows, for rows that turned out wrong only among all others.

The split is read once more: that is cheaper than keeping the text of every row that may go wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.rows.parse_table import Cells, row_as_text
from omnigraph.pipeline.sources.columnar import table_batches
from omnigraph.pipeline.sources.delimited import record_blocks
from omnigraph.pipeline.sources.lines import line_blocks
from omnigraph.pipeline.sources.splits import (
    CsvFile,
    CsvRange,
    InlineLines,
    InlineTable,
    LanceRows,
    LineRange,
    LinesFile,
    RowGroups,
    ScratchRows,
    Split,
)

__all__ = ["rows_as_text"]


def rows_as_text(split: Split, numbers: Sequence[int], limits: InputLimits) -> list[str]:
    """What stands in the rows of these numbers: a line, or a table's row as JSON."""
    wanted = np.unique(np.asarray(numbers, dtype=np.int64))
    found: dict[int, str] = {}
    for first, count, text in _texts(split, limits):
        inside = wanted[(wanted >= first) & (wanted < first + count)]
        found |= {number: text(number - first) for number in inside.tolist()}
    return [found[number] for number in numbers]


def _texts(split: Split, limits: InputLimits) -> Iterator[tuple[int, int, Callable[[int], str]]]:
    """Of each block the number of its first row, how many it has, and the text of each."""
    match split:
        case LineRange() | LinesFile() | InlineLines():
            for first, block in line_blocks(split, limits):
                lines = block.split(b"\n")
                yield first, len(lines), partial(_line, lines)
        case CsvRange(table=layout, feed=feed) | CsvFile(table=layout, feed=feed):
            for records in record_blocks(split, limits):
                yield records.first, len(records.ends), Cells(records, layout, feed).text
        case RowGroups() | LanceRows() | InlineTable() | ScratchRows():
            for first, batch in table_batches(split, limits):
                yield first, batch.num_rows, partial(row_as_text, batch)


def _line(lines: list[bytes], number: int) -> str:
    return lines[number].strip(b" \t\r").decode(errors="replace")
