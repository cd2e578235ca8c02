"""CSV and its kin as blocks of whole records.

A newline within quotes ends no record, so where records end depends on every quote before. Quotes
are found with NumPy for a block at once: in a well-formed file each opens or closes a field in
turn. Only a block that breaks this rule is looked at quote by quote, and only its broken records
are lost. A blank line is no record, but has a number like one.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from omnigraph.base.errors import LimitExceeded, SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.sources.feed import Feed
from omnigraph.pipeline.sources.lines import BYTE_ORDER_MARK
from omnigraph.pipeline.sources.opening import (
    AHEAD_BYTES,
    FilePart,
    WholeFile,
    is_packed,
    opened,
    unpacked_chunks,
)
from omnigraph.pipeline.sources.splits import CsvFile, CsvRange, TextTable

__all__ = ["Records", "csv_splits", "read_header", "record_blocks", "records_in", "without_first"]

NEWLINE, RETURN, QUOTE = 10, 13, 34


@frozen(slots=False)
class Records:
    """Whole records, the last one's newline included."""

    first: int
    """The number within the split of the first."""
    first_line: int
    """Lines of the file before it."""
    data: bytes = field(repr=False)
    ends: np.ndarray = field(repr=False)
    """Where each record ends, after its newline."""
    misplaced: np.ndarray = field(repr=False)
    """Quotes and returns that stand where none may: their records can't be read."""
    inside: np.ndarray | None = field(repr=False)
    """For each byte, whether it lies within quotes; None where nothing does."""

    @property
    def starts(self) -> np.ndarray:
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    @cached_property
    def lines(self) -> np.ndarray:
        """The line of the file, from 1, in which each record begins."""
        newlines = np.flatnonzero(np.frombuffer(self.data, np.uint8) == NEWLINE)
        return self.first_line + 1 + np.searchsorted(newlines, self.starts)

    @cached_property
    def is_blank(self) -> np.ndarray:
        code = np.frombuffer(self.data, np.uint8)
        lengths = self.ends - self.starts
        only_return = (lengths == 2) & (code[self.starts] == RETURN)
        blank: np.ndarray = (lengths == 1) | only_return
        return blank

    def widths(self, delimiter: str) -> np.ndarray:
        """How many fields each record has."""
        is_border = np.frombuffer(self.data, np.uint8) == ord(delimiter)
        if self.inside is not None:
            is_border &= ~self.inside
        counts: np.ndarray = np.diff(np.searchsorted(np.flatnonzero(is_border), self.borders))
        return counts + 1

    @property
    def borders(self) -> np.ndarray:
        return np.concatenate([[0], self.ends])

    def is_misplaced(self) -> np.ndarray:
        marks = np.zeros(len(self.ends), dtype=bool)
        marks[np.searchsorted(self.ends, self.misplaced, side="right")] = True
        return marks

    def raw(self, record: int) -> bytes:
        return self.data[self.starts[record] : self.ends[record]].rstrip(b"\r\n")

    def table(self, which: np.ndarray, layout: TextTable, columns: tuple[str, ...]) -> pa.Table:
        """Columns of the records that `which` marks, as text; an empty cell is null, "" is not."""
        data = self.data
        if not which.all():
            kept = np.repeat(which, self.ends - self.starts)
            data = np.frombuffer(data, np.uint8)[kept].tobytes()
        # Arrow drops one mark at the beginning, of whatever block: here it would be a cell's.
        if data.startswith(BYTE_ORDER_MARK):
            data = BYTE_ORDER_MARK + data
        # An empty list of columns means all of them to Arrow.
        wanted = list(columns or layout.columns[:1])
        if not data:
            return pa.table({name: pa.array([], pa.string()) for name in wanted})
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            # Tasks are what runs in parallel, and one block keeps each column in one piece.
            read_options=pa_csv.ReadOptions(
                use_threads=False, column_names=list(layout.columns), block_size=len(data) + 1
            ),
            parse_options=pa_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                include_columns=wanted,
                column_types={name: pa.string() for name in wanted},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                check_utf8=False,
            ),
        )
        assert table.num_rows == which.sum(), "Arrow sees the records that we see"
        return table


def read_header(source: WholeFile, limits: InputLimits) -> tuple[TextTable | None, int]:
    """The columns that the first record names, and how many bytes it takes; None if none is."""
    head = _head(source, limits)
    body = head.removeprefix(BYTE_ORDER_MARK)
    delimiter = "\t" if ".tsv" in Path(source.location.name.lower()).suffixes else ","
    records = _records(body, delimiter, first=0, first_line=0)
    named = np.flatnonzero(~records.is_blank)
    if not len(body) or not len(named):
        return None, len(head)
    record = int(named[0])
    _refuse_lone_returns(records, record, source.file)
    taken = len(head) - len(body) + int(records.ends[record])
    if taken > limits.max_header_bytes:
        what = f"the header of {source.file}, in bytes,"
        raise LimitExceeded(what=what, limit=limits.max_header_bytes)
    if records.is_misplaced()[record]:
        raise SourceInvalid(file=source.file, reason="its header contains a misplaced quote")
    names = _fields(records.raw(record), delimiter, source.file)
    return TextTable(names, delimiter), min(taken, len(head))


def csv_splits(
    source: WholeFile,
    layout: TextTable,
    feed: Feed,
    *,
    header_bytes: int,
    cut_bytes: int,
    limits: InputLimits,
) -> Iterator[CsvRange | CsvFile]:
    """The file's records, in ranges of about `cut_bytes`."""
    file, location, size = source.file, source.location, source.size
    if is_packed(location.name):
        yield CsvFile(file, location, size, layout, feed, source.state)
        return
    with opened(source) as stream:
        line = stream.read(header_bytes).count(b"\n")
    if size - header_bytes <= cut_bytes:
        if size > header_bytes:
            yield CsvRange(
                file, location, header_bytes, size, line, layout, feed, state=source.state
            )
        return
    start = header_bytes
    chunks = _chunks(source, start, size, step=min(limits.chunk_bytes, cut_bytes))
    cut = replace(limits, max_records_bytes=cut_bytes)
    for block in _blocks(chunks, layout.delimiter, file, cut):
        end = start + len(block)
        yield CsvRange(file, location, start, end, line, layout, feed, state=source.state)
        start, line = end, line + block.count(b"\n")


def record_blocks(split: CsvRange | CsvFile, limits: InputLimits) -> Iterator[Records]:
    """The split's records in order."""
    match split:
        case CsvRange():
            chunks = _chunks(split, split.start, split.end, step=limits.chunk_bytes)
            line = split.first_line
        case CsvFile():
            _, header_bytes = read_header(split, limits)
            line = _head(split, limits)[:header_bytes].count(b"\n")
            chunks = without_first(unpacked_chunks(split, limits.chunk_bytes), header_bytes)
    delimiter = split.table.delimiter
    yield from records_in(chunks, delimiter, file=split.file, first_line=line, limits=limits)


def records_in(
    chunks: Iterator[bytes], delimiter: str, *, file: str, first_line: int, limits: InputLimits
) -> Iterator[Records]:
    """Bytes as records in order; `first_line` lines of the file come before them."""
    first, line = 0, first_line
    for block in _blocks(chunks, delimiter, file, limits):
        records = _records(block, delimiter, first=first, first_line=line)
        yield records
        first += len(records.ends)
        line += block.count(b"\n")


def _refuse_lone_returns(records: Records, header: int, file: str) -> None:
    """Without newlines a whole file would be its header."""
    misplaced = records.misplaced[records.misplaced < records.ends[header]]
    if any(records.data[position] == RETURN for position in misplaced.tolist()):
        raise SourceInvalid(
            file=file,
            reason="its lines end in a carriage return without a newline",
            advice="convert its line ends to \\n or \\r\\n",
        )


# Finding records ----------------------------------------------------------------------------------


def _blocks(
    chunks: Iterator[bytes], delimiter: str, file: str, limits: InputLimits
) -> Iterator[bytes]:
    """Whole records; the last one may lack its newline, or the quote that closes it."""
    waiting = b""
    for chunk in _of_size(chunks, limits.max_records_bytes):
        waiting += chunk
        if border := _last_border(waiting, delimiter):
            yield waiting[:border]
            waiting = waiting[border:]
        if len(waiting) > limits.max_line_bytes:
            what = f"a record of {file}, in bytes,"
            raise LimitExceeded(what=what, limit=limits.max_line_bytes)
    if waiting:
        yield waiting


def _last_border(data: bytes, delimiter: str) -> int:
    """Where the last whole record ends."""
    newline = data.rfind(b"\n")
    if QUOTE not in data:
        return newline + 1
    quotes, _ = _structural(np.frombuffer(data, np.uint8), delimiter)
    while newline >= 0 and (before := int(np.searchsorted(quotes, newline))) % 2:
        # Within quotes: go on before the one that opened them.
        newline = data.rfind(b"\n", 0, int(quotes[before - 1]))
    return newline + 1


def _records(data: bytes, delimiter: str, *, first: int, first_line: int) -> Records:
    if not data.endswith(b"\n"):
        data += b"\n"
    code = np.frombuffer(data, np.uint8)
    is_end = code == NEWLINE
    is_return = code == RETURN
    quotes, misplaced = _structural(code, delimiter)
    inside = None
    if len(quotes):
        counts = np.zeros(len(code), dtype=np.uint8)
        counts[quotes] = 1
        # Eight bits are enough to tell odd from even.
        inside = (np.cumsum(counts, dtype=np.uint8) & 1).view(bool)
        is_end &= ~inside
        is_return &= ~inside
    ends = np.flatnonzero(is_end) + 1
    if not len(ends):
        return Records(first, first_line, data, np.array([len(data)]), np.array([0]), inside=None)
    returns = np.flatnonzero(is_return)
    misplaced = np.concatenate([misplaced, returns[code[returns + 1] != NEWLINE]])
    return Records(first, first_line, data, ends, misplaced[misplaced < ends[-1]], inside)


def _structural(code: np.ndarray, delimiter: str) -> tuple[np.ndarray, np.ndarray]:
    """The quotes that open and close fields in turn, and those that stand where none may."""
    quotes = np.flatnonzero(code == QUOTE)
    if _alternate(code, quotes, delimiter):
        return quotes, quotes[:0]
    return _one_by_one(code, quotes, delimiter)


def _alternate(code: np.ndarray, quotes: np.ndarray, delimiter: str) -> bool:
    """True if quotes open and close fields in turn. Two in a row are a quote in a quoted field."""
    opening, closing = quotes[0::2], quotes[1::2]
    before = np.where(opening > 0, code[opening - 1], NEWLINE)
    opens = (before == ord(delimiter)) | (before == NEWLINE)
    opens[1:] |= opening[1:] == closing[: max(0, len(opening) - 1)] + 1
    after = code[np.minimum(closing + 1, len(code) - 1)]
    closes = (after == ord(delimiter)) | (after == NEWLINE) | (after == RETURN) | (after == QUOTE)
    return bool(opens.all() and closes.all())


def _one_by_one(
    code: np.ndarray, quotes: np.ndarray, delimiter: str
) -> tuple[np.ndarray, np.ndarray]:
    before, after = {ord(delimiter), NEWLINE}, {ord(delimiter), NEWLINE, RETURN}
    structural: list[int] = []
    misplaced: list[int] = []
    is_open = False
    positions = iter(quotes.tolist())
    for position in positions:
        follows = int(code[position + 1]) if position + 1 < len(code) else NEWLINE
        if not is_open:
            if position == 0 or int(code[position - 1]) in before:
                is_open = True
                structural.append(position)
            else:
                misplaced.append(position)
        elif follows == QUOTE:
            structural += [position, next(positions)]
        else:
            is_open = False
            structural.append(position)
            if follows not in after:
                misplaced.append(position)
    return np.array(structural, dtype=np.int64), np.array(misplaced, dtype=np.int64)


# Bytes --------------------------------------------------------------------------------------------


def _head(source: WholeFile, limits: InputLimits) -> bytes:
    """The first bytes of a file, unpacked: one more than a header may take."""
    wanted = limits.max_header_bytes + 1
    if not is_packed(source.location.name):
        with opened(source) as file:
            return file.read(wanted)
    head = b""
    for chunk in unpacked_chunks(source, limits.chunk_bytes):
        head += chunk
        if len(head) >= wanted:
            break
    return head[:wanted]


def _chunks(split: FilePart, start: int, end: int, *, step: int) -> Iterator[bytes]:
    with opened(split, ahead_bytes=min(AHEAD_BYTES, max(1, end - start))) as file:
        file.seek(start)
        while start < end and (chunk := file.read(min(step, end - start))):
            yield chunk
            start += len(chunk)


def _of_size(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes, `size` at a time, or a little more."""
    waiting: list[bytes] = []
    size_so_far = 0
    for chunk in chunks:
        waiting.append(chunk)
        size_so_far += len(chunk)
        if size_so_far >= size:
            yield b"".join(waiting)
            waiting, size_so_far = [], 0
    if size_so_far:
        yield b"".join(waiting)


def without_first(chunks: Iterator[bytes], count: int) -> Iterator[bytes]:
    """All but the first bytes."""
    for chunk in chunks:
        yield chunk[count:]
        count = max(0, count - len(chunk))


def _fields(record: bytes, delimiter: str, file: str) -> tuple[str, ...]:
    try:
        text = record.decode()
    except UnicodeDecodeError as error:
        raise SourceInvalid(file=file, reason="its header is not UTF-8") from error
    return tuple(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)))
