"""Splits of the input, which tasks read on their own.

A split says where its rows are, never how they are judged, and travels to workers by pickle. Its
rows are numbered from 0 within it; `positions.position_in` turns a number into a line or row that a
person can look up. Lines name their type themselves; a split of a table carries the `Feed` that
does.
"""

from dataclasses import field, replace

from omnigraph.base.frozen import frozen
from omnigraph.pipeline.sources.feed import Feed
from omnigraph.pipeline.sources.opening import FileState
from omnigraph.store.location import Location

__all__ = [
    "CsvFile",
    "CsvRange",
    "InlineLines",
    "InlineTable",
    "LanceRows",
    "LineRange",
    "LinesFile",
    "LinesSplit",
    "Origin",
    "RowGroups",
    "ScratchRows",
    "SpilledData",
    "Split",
    "TextTable",
    "join",
]


@frozen
class LineRange:
    """The lines of a file that begin in [start, end)."""

    file: str
    """As the user named it, for messages."""
    location: Location
    start: int
    end: int
    state: FileState | None = None

    @property
    def size(self) -> int:
        return self.end - self.start


@frozen
class LinesFile:
    """All lines of a compressed file, which can only be read from its beginning."""

    file: str
    location: Location
    size: int
    state: FileState | None = None


@frozen
class SpilledData:
    """Bytes that came with the call, in an object that tasks read: see `stored`."""

    location: Location
    size: int
    digest: str

    def __len__(self) -> int:
        return self.size


@frozen
class InlineLines:
    """Lines that came with the call. `first_row` counts those of the splits before it."""

    file: str
    first_row: int
    data: bytes | SpilledData = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.data)


@frozen
class TextTable:
    """How a file of separated values is read: its header, in order, and what parts the fields."""

    columns: tuple[str, ...]
    delimiter: str


@frozen
class Origin:
    """What the records of a table were made of that an import has written."""

    file: str
    lines: Location
    """For each line of the table that of the file, as 64-bit numbers."""


@frozen
class CsvRange:
    """The records in [start, end), which begins and ends at a border between records."""

    file: str
    location: Location
    start: int
    end: int
    first_line: int
    """Lines of the file before `start`: a quoted field may hold some of its own."""
    table: TextTable
    feed: Feed
    origin: Origin | None = None
    """None: the records are the user's own."""
    state: FileState | None = None

    @property
    def size(self) -> int:
        return self.end - self.start


@frozen
class CsvFile:
    """All records of a compressed file."""

    file: str
    location: Location
    size: int
    table: TextTable
    feed: Feed
    state: FileState | None = None


@frozen
class RowGroups:
    """Row groups of a Parquet file, one after the other."""

    file: str
    location: Location
    size: int
    first_row: int
    groups: tuple[int, ...]
    feed: Feed
    state: FileState | None = None


@frozen
class LanceRows:
    """Fragments of one version of a Lance dataset."""

    file: str
    location: Location
    size: int
    first_row: int
    version: int
    fragments: tuple[int, ...]
    feed: Feed


@frozen
class InlineTable:
    """Rows of a frame that came with the call, as an Arrow stream."""

    file: str
    first_row: int
    data: bytes | SpilledData = field(repr=False)
    feed: Feed

    @property
    def size(self) -> int:
        return len(self.data)


@frozen
class ScratchRows:
    """Rows of a Spark frame, in a file that one of its own tasks has written."""

    file: str
    location: Location
    fragment: str
    size: int
    first_row: int
    feed: Feed


LinesSplit = LineRange | LinesFile | InlineLines
Split = LinesSplit | CsvRange | CsvFile | RowGroups | LanceRows | InlineTable | ScratchRows


def join(left: Split, right: Split) -> Split | None:
    """Two splits as one, where the second begins in a file at the end of the first."""
    # One file has one form, so ranges of one location are of one kind.
    if isinstance(left, LineRange | CsvRange) and isinstance(right, LineRange | CsvRange):
        follows = left.location == right.location and left.end == right.start
        return replace(left, end=right.end) if follows else None
    if isinstance(left, RowGroups) and isinstance(right, RowGroups):
        follows = left.location == right.location and left.groups[-1] + 1 == right.groups[0]
        groups, size = (*left.groups, *right.groups), left.size + right.size
        return replace(left, groups=groups, size=size) if follows else None
    return None
