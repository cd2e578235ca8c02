"""Bytes of input files, plain or unpacked on the way, with errors that name the file.

A damaged archive may give many good bytes before the damage shows. That is why a load publishes
nothing before every task has read its splits to the end.
"""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import SourceInvalid
from omnigraph.store.bucket_files import look_at, open_file
from omnigraph.store.location import BucketLocation, DiskLocation, Location

__all__ = [
    "AHEAD_BYTES",
    "CHUNK_BYTES",
    "PACKED_SUFFIXES",
    "ByteStream",
    "FilePart",
    "WholeFile",
    "is_packed",
    "opened",
    "state_of",
    "suffix_of",
    "unpacked_chunks",
]

PACKED_SUFFIXES = (".gz", ".zst")
CHUNK_BYTES = 1 << 20

# How much to ask a bucket for at once when a file is read to its end.
AHEAD_BYTES = 8 << 20


class FilePart(Protocol):
    """A split or a file, as far as reading it goes."""

    @property
    def file(self) -> str: ...
    @property
    def location(self) -> Location: ...


class WholeFile(FilePart, Protocol):
    """A whole file."""

    @property
    def size(self) -> int: ...


class ByteStream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def suffix_of(path: str | Path) -> str:
    """The last suffix of a name in lower case: `.csv` of `Person.CSV`."""
    return Path(path).suffix.lower()


def is_packed(path: str) -> bool:
    return suffix_of(path) in PACKED_SUFFIXES


@contextlib.contextmanager
def opened(part: FilePart, *, ahead_bytes: int = CHUNK_BYTES) -> Iterator[BinaryIO]:
    """The file as it lies there. A bucket is asked for `ahead_bytes` at once, 0: for what is read.

    A question takes a bucket as long as some megabytes do.
    """
    with reading_file(part.file):
        match part.location:
            case DiskLocation(path=path):
                reading: BinaryIO = path.open("rb")
            case BucketLocation() as location:
                reading = open_file(location, buffer_bytes=ahead_bytes)
        with reading:
            yield reading


def state_of(part: FilePart) -> str:
    """A text that differs once the file has changed."""
    with reading_file(part.file):
        match part.location:
            case DiskLocation(path=path):
                about = path.stat()
                return f"{about.st_size} {about.st_mtime_ns}"
            case BucketLocation() as location:
                if (found := look_at(location)) is None:
                    raise FileNotFoundError(str(location))
                return f"{found.size} {found.tag}"


def unpacked_chunks(part: WholeFile, chunk_bytes: int) -> Iterator[bytes]:
    """The unpacked bytes of a compressed file, in order."""
    with opened(part, ahead_bytes=AHEAD_BYTES) as file:
        # An archive of nothing has bytes; the codecs take a file without any for one.
        if part.size == 0:
            raise _damaged(part, "it is empty")
        stream = _unpacking(file, suffix_of(part.location.name))
        while True:
            try:
                chunk = stream.read(chunk_bytes)
            # Arrow's codecs and Python's say "damaged" in different ways.
            except (EOFError, OSError, zlib.error, pa.ArrowException) as error:
                raise _damaged(part, str(error)) from error
            if not chunk:
                return
            yield chunk


def _damaged(part: FilePart, reason: str) -> SourceInvalid:
    return SourceInvalid(
        file=part.file,
        reason=f"the file is damaged or truncated ({reason})",
        advice="create or copy the file again; nothing was loaded",
    )


def _unpacking(file: BinaryIO, suffix: str) -> ByteStream:
    match suffix:
        case ".gz":
            unpacking: ByteStream = gzip.open(file, "rb")  # noqa: SIM115 (`file` is closed by its owner)
        case ".zst":
            unpacking = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        case _:
            raise AssertionError(f"{suffix} is no compressed file")
    return unpacking
