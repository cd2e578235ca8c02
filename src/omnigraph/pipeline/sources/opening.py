"""Bytes of input files, plain or unpacked on the way, with errors that name the file.

A damaged archive may give many good bytes before the damage shows. That is why a load publishes
nothing before every task has read its splits to the end.
"""

import contextlib
import gzip
import platform
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import OmnigraphError, SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.store.bucket_files import BucketFile, look_at, open_file
from omnigraph.store.location import BucketLocation, DiskLocation, Location

__all__ = [
    "AHEAD_BYTES",
    "CHUNK_BYTES",
    "PACKED_SUFFIXES",
    "ByteStream",
    "FilePart",
    "FileState",
    "NotedFile",
    "WholeFile",
    "failing_by_changes",
    "is_packed",
    "opened",
    "state_of",
    "state_of_object",
    "suffix_of",
    "unchanged",
    "unpacked_chunks",
]

PACKED_SUFFIXES = (".gz", ".zst")
CHUNK_BYTES = 1 << 20

# How much to ask a bucket for at once when a file is read to its end.
AHEAD_BYTES = 8 << 20


@frozen
class FileState:
    """What a file was like when the load was planned. If it is like that after it was read, then
    what was read is what was planned."""

    size: int
    tag: str
    """When it was changed last, on a disk; the entity tag of an object in a bucket."""
    inode: int = 0
    """The number of the file on its disk: another one once the file was replaced."""
    host: str = ""
    """The machine that counts so. Another one may number the files of a shared disk differently."""

    @property
    def everywhere(self) -> str:
        """The part of it that every machine sees, as text."""
        return f"{self.size} {self.tag}"

    def is_like(self, now: "FileState") -> bool:
        is_here = self.host == now.host
        return self.everywhere == now.everywhere and (not is_here or self.inode == now.inode)


class FilePart(Protocol):
    """A split or a file, as far as reading it goes."""

    @property
    def file(self) -> str: ...
    @property
    def location(self) -> Location: ...
    @property
    def state(self) -> FileState | None:
        """None: nobody but this package changes the file."""


@frozen
class NotedFile:
    """A file of the input, and what it was like before it was first read."""

    file: str
    location: Location
    state: FileState

    @property
    def size(self) -> int:
        return self.state.size


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
    with reading_file(part.file), unchanged(part):
        match part.location:
            case DiskLocation(path=path):
                reading: BinaryIO = path.open("rb")
            case BucketLocation() as location:
                reading = open_file(location, buffer_bytes=ahead_bytes)
        with reading:
            yield reading


def state_of(file: str, location: Location) -> FileState:
    """What the file is like now; `file` is its name in messages."""
    with reading_file(file):
        match location:
            case DiskLocation(path=path):
                about = path.stat()
                when = str(about.st_mtime_ns)
                return FileState(about.st_size, when, about.st_ino, platform.node())
            case BucketLocation():
                if (found := look_at(location)) is None:
                    raise FileNotFoundError(str(location))
                return state_of_object(found)


def state_of_object(found: BucketFile) -> FileState:
    # A list may give the tag without the quotes that it has elsewhere.
    return FileState(found.size, found.tag.removeprefix("W/").strip('"'))


@contextlib.contextmanager
def unchanged(part: FilePart) -> Iterator[None]:
    """Raise if the file that is read in the block has changed since the load was planned.

    A file that changes may also look damaged: then the change is the error.
    """
    try:
        yield
    except (OmnigraphError, OSError, pa.ArrowException) as error:
        _require_unchanged(part, error)
        raise
    _require_unchanged(part, None)


@contextlib.contextmanager
def failing_by_changes(parts: Iterable[FilePart]) -> Iterator[None]:
    """If the block fails and one of these files has changed since it was noted, raise that error.

    `unchanged` can't tell where the one who reads a file finds it damaged once it is closed.
    """
    try:
        yield
    except OmnigraphError as error:
        for part in parts:
            _require_unchanged(part, error)
        raise


def _require_unchanged(part: FilePart, cause: Exception | None) -> None:
    if part.state is not None and not part.state.is_like(state_of(part.file, part.location)):
        raise SourceInvalid(
            file=part.file,
            reason="the file was changed while it was loaded",
            advice="nothing was loaded: load the file again once nobody writes to it",
        ) from cause


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
