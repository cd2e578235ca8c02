"""Files in a bucket that are no graph's: what a load reads.

A key is taken as it stands, with any letters; an address of a graph is stricter. An open file asks
the bucket for the bytes that are read and no others, so a range of a large object costs that range.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.location import BucketLocation

if TYPE_CHECKING:
    from omnigraph.store.bucket import BucketObjects

__all__ = ["BucketFile", "files_below", "look_at", "open_file"]


@frozen
class BucketFile:
    location: BucketLocation
    size: int
    tag: str
    """Another one for other bytes."""


def look_at(location: BucketLocation) -> BucketFile | None:
    """The file there; None where there is none."""
    with _addressed(location):
        state = _objects(location).look_at(location.key) if location.key else None
    return None if state is None else BucketFile(location, state.size, state.tag)


def files_below(location: BucketLocation) -> Iterator[BucketFile]:
    """Every file whose key begins with that of the location and a slash, in a disk's order."""
    with _addressed(location):
        found = [*_objects(location).states(location.key)]
    for state in sorted(found, key=lambda state: state.name.split("/")):
        yield BucketFile(replace(location, key=state.name), state.size, state.tag)


def open_file(location: BucketLocation, *, buffer_bytes: int) -> BinaryIO:
    """The file, open for reading; `buffer_bytes` are asked for at once, 0: what is read.

    Raises `FileNotFoundError` where there is none.
    """
    found = look_at(location)
    if found is None:
        raise FileNotFoundError(str(location))
    raw = _OpenFile(_objects(location), location, found.size)
    return io.BufferedReader(raw, buffer_bytes) if buffer_bytes else cast(BinaryIO, raw)


class _OpenFile(io.RawIOBase):
    def __init__(self, objects: "BucketObjects", location: BucketLocation, size: int) -> None:
        super().__init__()
        self._objects = objects
        self._location = location
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: "memoryview", /) -> int:  # type: ignore[override]  # any buffer
        end = min(self._position + len(buffer), self._size)
        if end <= self._position:
            return 0
        with _addressed(self._location):
            data = self._objects.read_range(self._location.key, self._position, end)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


@contextmanager
def _addressed(location: BucketLocation) -> Iterator[None]:
    """Name the whole address in an error of the bucket, since it isn't the graph's."""
    try:
        yield
    except StorageFailed as error:
        raise replace(error, path=str(location)) from error


def _objects(location: BucketLocation) -> "BucketObjects":
    """All objects of the bucket: the key of a single one is no prefix."""
    from omnigraph.store.bucket import BucketObjects  # a disk needs no client of S3

    return BucketObjects.at(location.bucket, "", location.options)
