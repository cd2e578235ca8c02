"""NDJSON as blocks of whole lines.

A line belongs to the range in which it begins, whatever the range's borders cut: the reader skips
the rest of a line that began earlier and reads its own last line to the end. So any way of cutting
a file gives the same lines, each once. Blocks are small enough to be parsed in memory at once.
"""

from collections.abc import Iterator
from typing import BinaryIO

from omnigraph.base.errors import LimitExceeded
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.sources.opening import CHUNK_BYTES, opened, unpacked_chunks
from omnigraph.pipeline.sources.spilled import data_in
from omnigraph.pipeline.sources.splits import InlineLines, LineRange, LinesFile, LinesSplit

__all__ = ["BYTE_ORDER_MARK", "line_blocks", "lines_before", "read_range"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def line_blocks(split: LinesSplit, limits: InputLimits) -> Iterator[tuple[int, bytes]]:
    """Whole lines in order, and the number within the split of the first in each block."""
    match split:
        case LineRange():
            yield 0, read_range(split, limits)
        case InlineLines(data=data):
            yield 0, data_in(data).removeprefix(BYTE_ORDER_MARK)
        case LinesFile():
            first = 0
            for block in _blocks_of_lines(split, limits):
                yield first, block.removeprefix(BYTE_ORDER_MARK) if first == 0 else block
                first += block.count(b"\n")


def read_range(split: LineRange, limits: InputLimits) -> bytes:
    """The range's lines; the last line of a file may lack its newline."""
    with opened(split) as file:
        start = _first_line(file, split)
        if start >= split.end:
            return b""
        file.seek(start)
        body = file.read(split.end - start)
        if not body.endswith(b"\n"):
            body += _rest_of_line(file, split, limits)
        return body.removeprefix(BYTE_ORDER_MARK) if start == 0 else body


def lines_before(split: LineRange) -> int:
    """How many lines of the file come before the range's first: makes its line numbers absolute."""
    with opened(split) as file:
        left = _first_line(file, split)
        file.seek(0)
        count = 0
        while left > 0 and (chunk := file.read(min(left, CHUNK_BYTES))):
            count += chunk.count(b"\n")
            left -= len(chunk)
        return count


def _first_line(file: BinaryIO, split: LineRange) -> int:
    """Where the first line that is the range's begins; at or past its end if none does."""
    if split.start == 0:
        return 0
    # One byte back: a newline there means that a line begins exactly at `start`.
    position = split.start - 1
    file.seek(position)
    while position < split.end and (chunk := file.read(CHUNK_BYTES)):
        newline = chunk.find(b"\n")
        if newline >= 0:
            return position + newline + 1
        position += len(chunk)
    return split.end


def _rest_of_line(file: BinaryIO, split: LineRange, limits: InputLimits) -> bytes:
    rest = file.readline(limits.max_line_bytes)
    if len(rest) == limits.max_line_bytes and not rest.endswith(b"\n"):
        raise _too_long(split.file, limits)
    return rest


def _blocks_of_lines(split: LinesFile, limits: InputLimits) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = 0
    for chunk in unpacked_chunks(split, limits.chunk_bytes):
        end = chunk.rfind(b"\n") + 1
        if end and size + end >= limits.max_block_bytes:
            yield b"".join((*waiting, chunk[:end]))
            waiting, size, chunk = [], 0, chunk[end:]
        waiting.append(chunk)
        size += len(chunk)
        if size > limits.max_block_bytes + limits.max_line_bytes:
            raise _too_long(split.file, limits)
    if size:
        yield b"".join(waiting)


def _too_long(file: str, limits: InputLimits) -> LimitExceeded:
    return LimitExceeded(what=f"a line of {file}, in bytes,", limit=limits.max_line_bytes)
