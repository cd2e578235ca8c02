"""Bytes of input files, plain or unpacked on the way, with errors that name the file.

A damaged archive may give many good bytes before the damage shows. That is why a load publishes
nothing before every task has read its pieces to the end.
"""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from omnigraph.base.errors import FileMissing, SourceInvalid, StorageFailed

__all__ = [
    "CHUNK_BYTES",
    "PACKED_SUFFIXES",
    "Readable",
    "Reads",
    "is_packed",
    "naming",
    "opened",
    "size_of",
    "suffix_of",
    "unpacked_chunks",
]

PACKED_SUFFIXES = (".gz", ".zst")
CHUNK_BYTES = 1 << 20


class Reads(Protocol):
    """A piece that lies in a file."""

    @property
    def file(self) -> str: ...
    @property
    def path(self) -> str: ...


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def suffix_of(path: str | Path) -> str:
    """What the name ends in, whatever its case: `.csv` of `Person.CSV`."""
    return Path(path).suffix.lower()


def is_packed(path: str) -> bool:
    return suffix_of(path) in PACKED_SUFFIXES


@contextlib.contextmanager
def naming(file: str) -> Iterator[None]:
    """What the disk refuses, as an error that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileMissing(path=file) from error
    except OSError as error:
        raise StorageFailed(doing="read", path=file, reason=error.strerror or str(error)) from error


@contextlib.contextmanager
def opened(piece: Reads) -> Iterator[BinaryIO]:
    """The file as it lies there."""
    with naming(piece.file), Path(piece.path).open("rb") as file:
        yield file


def size_of(file: Reads) -> int:
    with naming(file.file):
        return Path(file.path).stat().st_size


def unpacked_chunks(piece: Reads) -> Iterator[bytes]:
    """What a compressed file holds, in order."""
    with opened(piece) as file:
        # An archive of nothing has bytes; the codecs take a file without any for one.
        if size_of(piece) == 0:
            raise _damaged(piece, "it has no bytes")
        stream = _unpacking(file, suffix_of(piece.path))
        while True:
            try:
                chunk = stream.read(CHUNK_BYTES)
            # Arrow's codecs and Python's say "damaged" in different ways.
            except (EOFError, OSError, zlib.error, pa.ArrowException) as error:
                raise _damaged(piece, str(error)) from error
            if not chunk:
                return
            yield chunk


def _damaged(piece: Reads, reason: str) -> SourceInvalid:
    return SourceInvalid(
        file=piece.file,
        reason=f"it is damaged or cut short ({reason})",
        advice="make or copy the file again; nothing was loaded",
    )


def _unpacking(file: BinaryIO, suffix: str) -> Readable:
    match suffix:
        case ".gz":
            unpacking: Readable = gzip.open(file, "rb")  # noqa: SIM115 (`file` is closed by its owner)
        case ".zst":
            unpacking = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        case _:
            raise AssertionError(f"{suffix} is no compressed file")
    return unpacking
