"""Where single rows of a split stand in the input, for messages."""

from collections.abc import Callable
from functools import cache

import numpy as np

from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.sources.delimited import record_blocks
from omnigraph.pipeline.sources.lines import lines_before
from omnigraph.pipeline.sources.splits import (
    CsvFile,
    CsvRange,
    InlineLines,
    InlineTable,
    LanceRows,
    LineRange,
    LinesFile,
    Origin,
    RowGroups,
    ScratchRows,
    Split,
)
from omnigraph.store.durability import Durability
from omnigraph.store.location import Location

__all__ = ["Position", "position_in"]

Position = Callable[[int], tuple[str, int]]


def position_in(split: Split, limits: InputLimits) -> Position:
    """The file and the line (of lines and CSV) or row (of tables), from 1, of a row's number.

    It costs nothing until it is asked; then some splits are read once more.
    """
    match split:
        case LineRange():
            before = cache(lambda: lines_before(split))
            return lambda number: (split.file, before() + number + 1)
        case CsvRange(origin=Origin() as origin):
            lines = cache(lambda: np.concatenate([r.lines for r in record_blocks(split, limits)]))
            theirs = cache(lambda: np.frombuffer(_bytes_at(origin.lines), np.int64))
            return lambda number: (origin.file, int(theirs()[lines()[number] - 1]))
        case CsvRange() | CsvFile():
            lines = cache(lambda: np.concatenate([r.lines for r in record_blocks(split, limits)]))
            return lambda number: (split.file, int(lines()[number]))
        case LinesFile():
            return lambda number: (split.file, number + 1)
        case InlineLines() | RowGroups() | LanceRows() | InlineTable() | ScratchRows():
            return lambda number: (split.file, split.first_row + number + 1)


def _bytes_at(location: Location) -> bytes:
    return location.parent.objects(Durability.RELAXED).get(location.name) or b""
