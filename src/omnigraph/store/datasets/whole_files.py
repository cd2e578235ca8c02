"""Whether the files that a transaction or a version names are whole.

The last write to a file may fail: the disk is full, the file has reached a size limit, or the
device fails. Lance can then still report success. So on a disk every file is compared with what
Lance has recorded of it before a commit may name it. A bucket is not asked: it has an object whole
or not at all, and a request for each file of each commit would cost more than the commit.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.deletions import MalformedDeletionFile, deleted_offsets
from omnigraph.store.datasets.version_file import MAGIC
from omnigraph.store.location import DiskLocation, Location

__all__ = ["Flaw", "RecordedFile", "flaws_of", "require_whole"]

# Data files and files of scalar indexes, and files of vector indexes.
LANCE_SUFFIXES = {".lance", ".idx"}


@frozen
class RecordedFile:
    """A file, and what Lance has recorded of it."""

    name: str
    """Relative to the graph's root."""
    size: int | None = None
    """None: it is not recorded."""
    deleted_rows: int | None = None
    """Of a deletion file: how many rows it lists."""


@frozen
class Flaw:
    name: str
    reason: str
    """A sentence about the file: `has 0 of 698 bytes`."""
    is_missing: bool = False


def require_whole(root: Location, files: Iterable[RecordedFile]) -> None:
    """Raise `StorageFailed` for the first file that is missing or incomplete."""
    for flaw in flaws_of(root, files):
        reason = f"it {flaw.reason}: is the disk full?"
        raise StorageFailed(doing="write", path=flaw.name, reason=reason)


def flaws_of(root: Location, files: Iterable[RecordedFile]) -> Iterator[Flaw]:
    """Missing and incomplete files of a graph on a disk. Files in a bucket are not looked at."""
    if isinstance(root, DiskLocation):
        for file in files:
            with disk_failures("look at", file.name):
                flaw = _flaw_of(root.path / file.name, file)
            if flaw is not None:
                yield flaw


def _flaw_of(path: Path, file: RecordedFile) -> Flaw | None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return Flaw(file.name, "is missing", is_missing=True)
    if file.size is not None and size != file.size:
        return Flaw(file.name, f"has {size:,} of {file.size:,} bytes")
    if file.deleted_rows is not None:
        reason = _flaw_of_deletions(path, file.deleted_rows)
    else:
        reason = _flaw_of_ending(path) if path.suffix in LANCE_SUFFIXES else None
    return None if reason is None else Flaw(file.name, reason)


def _flaw_of_deletions(path: Path, expected: int) -> str | None:
    try:
        offsets = deleted_offsets(path.read_bytes(), path.name)
    except MalformedDeletionFile as error:
        return str(error)
    if offsets is None or len(offsets) == expected:
        return None
    return f"lists {len(offsets):,} of {expected:,} deleted rows"


def _flaw_of_ending(path: Path) -> str | None:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(MAGIC)))
        ending = file.read()
    return None if ending == MAGIC else f"does not end in {MAGIC.decode()}"
