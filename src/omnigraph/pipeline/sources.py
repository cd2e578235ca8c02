"""Files, directories and globs of NDJSON as byte ranges that tasks read on their own.

A line belongs to the split in which it begins, whatever the split's borders cut: the reader skips
the rest of a line that began earlier and reads its own last line to the end. So any way of cutting
a file gives the same lines, each once.
"""

import contextlib
import glob
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from omnigraph.base.errors import FileMissing, LimitExceeded, StorageFailed, Unsupported

__all__ = ["NDJSON_SUFFIXES", "Split", "find_files", "lines_before", "pack", "read_split"]

NDJSON_SUFFIXES = (".jsonl", ".ndjson", ".json")

# Data that this version can't read. Found in a directory, it is not passed over in silence.
OTHER_DATA_SUFFIXES = (".csv", ".tsv", ".parquet", ".gz", ".zst", ".bz2", ".xz", ".zip")

# A split is parsed in memory at once, at a few times its size.
SPLIT_BYTES = 16 << 20

# One row. Longer than this, a file is not lines of JSON at all, and reading on would fill memory.
LINE_BYTES = 64 << 20

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Split:
    """The lines of a file that begin in [start, end)."""

    file: str
    """As the user named it, for messages."""
    path: str
    """Absolute: a worker's working directory is not the driver's."""
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def find_files(sources: Sequence[str]) -> list[str]:
    """The NDJSON files that paths, directories and globs name: each once, in a stable order."""
    return list(dict.fromkeys(file for source in sources for file in _files_of(source)))


def pack(files: Iterable[str], *, task_bytes: int) -> list[tuple[Split, ...]]:
    """Splits of all files in order, dealt to tasks of about `task_bytes` each."""
    tasks: list[tuple[Split, ...]] = []
    task: list[Split] = []
    room = task_bytes
    for split in _splits(files, split_bytes=min(SPLIT_BYTES, task_bytes)):
        if task and split.size > room:
            tasks.append(tuple(task))
            task, room = [], task_bytes
        task.append(split)
        room -= split.size
    return [*tasks, tuple(task)] if task else tasks


def read_split(split: Split) -> bytes:
    """The split's lines; the last line of a file may lack its newline."""
    with _opened(split) as file:
        start = _first_line(file, split)
        if start >= split.end:
            return b""
        file.seek(start)
        body = file.read(split.end - start)
        if not body.endswith(b"\n"):
            body += _rest_of_line(file, split)
        return body.removeprefix(BYTE_ORDER_MARK) if start == 0 else body


def lines_before(split: Split) -> int:
    """How many lines of the file come before the split's first: makes its line numbers absolute."""
    with _opened(split) as file:
        left = _first_line(file, split)
        file.seek(0)
        count = 0
        while left > 0 and (chunk := file.read(min(left, CHUNK_BYTES))):
            count += chunk.count(b"\n")
            left -= len(chunk)
        return count


def _files_of(source: str) -> Iterator[str]:
    if "://" in source:
        raise Unsupported(what=f"loading from {source}", instead="copy the files to a local disk")
    path = Path(source)
    if path.is_dir():
        yield from _files_in(path)
    elif path.exists():
        if path.suffix not in NDJSON_SUFFIXES:
            raise _not_ndjson(path)
        yield source
    # `Path.glob` takes no absolute pattern.
    elif glob.has_magic(source) and (found := glob.glob(source, recursive=True)):  # noqa: PTH207
        for name in sorted(found):
            yield from _files_of(name)
    else:
        raise FileMissing(path=source)


def _files_in(directory: Path) -> Iterator[str]:
    """What programs leave beside data (`_SUCCESS`, `.part.crc`) and texts are passed over."""
    files = [
        path
        for path in sorted(directory.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(directory).parts)
    ]
    for path in files:
        if path.suffix in OTHER_DATA_SUFFIXES:
            raise _not_ndjson(path)
    wanted = [str(path) for path in files if path.suffix in NDJSON_SUFFIXES]
    if not wanted:
        raise FileMissing(path=str(directory / f"*{NDJSON_SUFFIXES[0]}"))
    yield from wanted


def _not_ndjson(path: Path) -> Unsupported:
    suffixes = ", ".join(NDJSON_SUFFIXES)
    return Unsupported(
        what=f"loading {path}", instead=f"give lines of JSON in a file named {suffixes}"
    )


def _splits(files: Iterable[str], *, split_bytes: int) -> Iterator[Split]:
    for file in files:
        path = Path(file).absolute()
        size = path.stat().st_size
        for start in range(0, size, split_bytes):
            yield Split(file, str(path), start, min(start + split_bytes, size))


@contextlib.contextmanager
def _opened(split: Split) -> Iterator[BinaryIO]:
    try:
        with Path(split.path).open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise FileMissing(path=split.file) from error
    except OSError as error:
        raise StorageFailed(
            doing="read", path=split.file, reason=error.strerror or str(error)
        ) from error


def _first_line(file: BinaryIO, split: Split) -> int:
    """Where the first line that is the split's begins; at or past its end if none does."""
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


def _rest_of_line(file: BinaryIO, split: Split) -> bytes:
    rest = file.readline(LINE_BYTES)
    if len(rest) == LINE_BYTES and not rest.endswith(b"\n"):
        raise LimitExceeded(what=f"a line of {split.file}, in bytes,", limit=LINE_BYTES)
    return rest
