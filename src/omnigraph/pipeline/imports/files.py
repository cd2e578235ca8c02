"""The files of a source: one that was named, or those of a directory, on a disk or in a bucket.

Files may be packed (`.gz`, `.zst`): whoever reads them sees the bytes within, and names them
without that suffix. Directories within a directory are not looked into.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import ArgumentInvalid, FileMissing, LimitExceeded, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.pipeline.sources.opening import (
    AHEAD_BYTES,
    CHUNK_BYTES,
    FileState,
    is_packed,
    opened,
    state_of,
    state_of_object,
    suffix_of,
    unpacked_chunks,
)
from omnigraph.store.bucket_files import files_below, look_at
from omnigraph.store.location import (
    BucketAccess,
    DiskLocation,
    Location,
    is_bucket_address,
    source_location,
)

__all__ = ["Source", "SourceFile", "find_source"]

ARCHIVES = (".bz2", ".xz", ".zip", ".lz4", ".br", ".7z", ".tar", ".tgz", ".rar")
"""Data that can't be read. Found in a directory, they are not passed over in silence."""


@frozen
class SourceFile:
    file: str
    """As the user named it, or below the directory that the user named: for messages."""
    location: Location
    state: FileState

    @property
    def size(self) -> int:
        """As it lies there."""
        return self.state.size

    @property
    def name(self) -> str:
        """Its name without the suffix of a packed file."""
        name = self.location.name
        return PurePosixPath(name).stem if is_packed(name) else name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        return suffix_of(self.name)

    def chunks(
        self, chunk_bytes: int = CHUNK_BYTES, *, ahead_bytes: int = AHEAD_BYTES
    ) -> Iterator[bytes]:
        """Its bytes in order, unpacked. A bucket is asked for `ahead_bytes` at once."""
        if is_packed(self.location.name):
            yield from unpacked_chunks(self, chunk_bytes)
            return
        with opened(self, ahead_bytes=ahead_bytes) as file:
            while chunk := file.read(chunk_bytes):
                yield chunk

    def head(self, count: int) -> bytes:
        """Its first bytes, unpacked: as many as it has, and no more than `count`."""
        found = b""
        step = min(count, CHUNK_BYTES)
        for chunk in self.chunks(step, ahead_bytes=step):
            found += chunk
            if len(found) >= count:
                break
        return found[:count]

    def lines(self, max_bytes: int) -> Iterator[bytes]:
        """Its lines, without their newlines; none may be longer than `max_bytes`."""
        waiting = b""
        for chunk in self.chunks():
            *whole, waiting = (waiting + chunk).split(b"\n")
            for line in whole:
                self._check_length(line, max_bytes)
                yield line
            self._check_length(waiting, max_bytes)
        if waiting:
            yield waiting

    def _check_length(self, line: bytes, max_bytes: int) -> None:
        if len(line) > max_bytes:
            raise LimitExceeded(what=f"a line of {self.file}, in bytes,", limit=max_bytes)


@frozen
class Source:
    """What a user named."""

    name: str
    files: tuple[SourceFile, ...]
    """Of a directory all that lie in it, by name."""
    is_directory: bool

    def get(self, name: str) -> SourceFile | None:
        """The file of a directory with this very name."""
        return next((file for file in self.files if file.location.name == name), None)

    def path(self, name: str) -> str:
        """What messages call a file of this name, whether it is there or not."""
        return f"{self.name.rstrip('/')}/{name}"

    def with_suffixes(self, suffixes: tuple[str, ...]) -> list[SourceFile]:
        """The file that was named, whatever it is called; of a directory those with a suffix."""
        if not self.is_directory:
            return list(self.files)
        for file in self.files:
            if suffix_of(file.location.name) in ARCHIVES:
                raise Unsupported(what=f"importing {file.file}", instead="unpack the file first")
        return [file for file in self.files if file.suffix in suffixes]


def find_source(text: str, access: BucketAccess) -> Source:
    """The source at a path of a disk, or at an address in a bucket."""
    if is_bucket_address(text):
        return _in_bucket(text, access)
    if "://" in text:
        what, instead = f"importing from {text}", "copy the files to a disk or a bucket (s3://…)"
        raise Unsupported(what=what, instead=instead)
    if not text:
        raise ArgumentInvalid("path", text, "it is empty")
    path = Path(text)
    with reading_file(text):
        if not path.exists():
            raise FileMissing(path=text)
        if not path.is_dir():
            return Source(text, (_on_disk(path),), is_directory=False)
        found = [_on_disk(one) for one in sorted(path.iterdir()) if one.is_file()]
    return Source(text, tuple(found), is_directory=True)


def _on_disk(path: Path) -> SourceFile:
    location = DiskLocation(path.absolute())
    return SourceFile(str(path), location, state_of(str(path), location))


def _in_bucket(text: str, access: BucketAccess) -> Source:
    location = source_location(text, access)
    if not text.endswith("/") and (one := look_at(location)) is not None:
        file = SourceFile(str(location), location, state_of_object(one))
        return Source(text, (file,), is_directory=False)
    found = tuple(
        SourceFile(str(one.location), one.location, state_of_object(one))
        for one in files_below(location)
        if str(one.location.parent) == str(location)
    )
    if not found:
        raise FileMissing(path=text)
    return Source(text, found, is_directory=True)
