"""Making bytes outlive a power cut.

Lance never calls fsync on a local disk, so whoever needs a file to be there afterwards asks here.
A new file needs its directory synced too: otherwise the bytes survive and their name does not.
"""

import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from omnigraph.base.errors import StorageFailed

__all__ = ["Disk", "Durability"]


class Durability(Enum):
    FSYNC = "fsync"
    """Every barrier of a write waits for the disk."""
    RELAXED = "relaxed"
    """A power cut may lose recent commits or the graph: for tests and throw-away data."""


class Disk:
    """Syncs files under one root, and each directory above them once."""

    def __init__(self, root: Path, durability: Durability = Durability.FSYNC) -> None:
        self._root = root
        self._durability = durability
        self._durable: set[Path] = set()

    def sync(self, files: Iterable[Path]) -> None:
        """Make files durable with their names."""
        named = list(files)
        self.sync_bytes(named)
        self.sync_names(named)

    def sync_bytes(self, files: Iterable[Path]) -> None:
        if self._durability is Durability.FSYNC:
            for file in files:
                _sync_one(file)

    def sync_names(self, files: Iterable[Path]) -> None:
        if self._durability is Durability.FSYNC:
            for parent in {file.parent for file in files}:
                _sync_one(parent)
                self._sync_above(parent)

    def _sync_above(self, directory: Path) -> None:
        # A directory is a name in its parent: synced when we first meet it, and it stays there.
        while directory not in self._durable and directory != self._root:
            self._durable.add(directory)
            directory = directory.parent
            _sync_one(directory)


def _sync_one(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageFailed(doing="make durable", path=str(path), reason=reason) from error
