"""Files in a bucket that are no graph's: what a load reads.

A key is taken as it stands, with any letters; an address of a graph is stricter. An open file asks
the bucket for the bytes that are read and no others, so a range of a large object costs that range.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

from omnigraph.base.errors import StorageFailed
from omnigraph.store.root import bucket_and_key

if TYPE_CHECKING:
    from omnigraph.store.bucket import BucketObjects, ObjectState

__all__ = ["BucketFile", "files_below", "in_bucket", "look_at", "open_file"]

SCHEME = "s3://"


@dataclass(frozen=True, slots=True)
class BucketFile:
    uri: str
    size: int
    tag: str
    """Another one for other bytes."""


def in_bucket(path: str) -> bool:
    return path.startswith(SCHEME)


def look_at(uri: str, options: dict[str, str]) -> BucketFile | None:
    """The file of this address; None where there is none."""
    _, key = bucket_and_key(uri)
    with _addressed(uri):
        state = _objects(uri, options).look_at(key) if key and not key.endswith("/") else None
    return None if state is None else _file(uri, state)


def files_below(uri: str, options: dict[str, str]) -> Iterator[BucketFile]:
    """Every file whose key begins with that of the address and a slash, in a disk's order."""
    bucket, key = bucket_and_key(uri)
    with _addressed(uri):
        found = [*_objects(uri, options).states(key.rstrip("/"))]
    for state in sorted(found, key=lambda state: state.name.split("/")):
        yield _file(f"{SCHEME}{bucket}/{state.name}", state)


def open_file(uri: str, options: dict[str, str], *, buffer_bytes: int) -> BinaryIO:
    """The file, open for reading; `buffer_bytes` are asked for at once, 0: what is read.

    Raises `FileNotFoundError` where there is none.
    """
    found = look_at(uri, options)
    if found is None:
        raise FileNotFoundError(uri)
    raw = _OpenFile(_objects(uri, options), uri, found.size)
    return io.BufferedReader(raw, buffer_bytes) if buffer_bytes else cast(BinaryIO, raw)


class _OpenFile(io.RawIOBase):
    def __init__(self, objects: "BucketObjects", uri: str, size: int) -> None:
        super().__init__()
        self._objects = objects
        self._uri = uri
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
        with _addressed(self._uri):
            data = self._objects.read_range(bucket_and_key(self._uri)[1], self._position, end)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


@contextmanager
def _addressed(uri: str) -> Iterator[None]:
    """A bucket that refuses is told by the whole address: it is not the graph's."""
    try:
        yield
    except StorageFailed as error:
        raise StorageFailed(doing=error.doing, path=uri, reason=error.reason) from error


def _file(uri: str, state: "ObjectState") -> BucketFile:
    return BucketFile(uri, state.size, state.tag)


def _objects(uri: str, options: dict[str, str]) -> "BucketObjects":
    from omnigraph.store.bucket import BucketObjects  # a disk needs no client of S3
    from omnigraph.store.root import BucketRoot

    return BucketObjects.at(BucketRoot(bucket_and_key(uri)[0], prefix=""), options)
