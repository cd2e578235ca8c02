"""Making bytes outlive a power cut.

Lance never calls fsync on a local disk, so code that needs a file to survive calls this module.
A new file needs its directory synced too: otherwise the bytes survive and their name does not.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import cached_property
from pathlib import Path

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.process import claim_process
from omnigraph.base.recent import Recent

__all__ = ["Disk", "Durability"]


# More would find the disk's journal being written for the ones before.
PARALLEL_SYNCS = 8

# Every branch brings directories of its own. One that was let go is synced once more.
MAX_DURABLE_DIRECTORIES = 1_024


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
        self._durable: Recent[Path, Path] = Recent(MAX_DURABLE_DIRECTORIES)
        """Directories whose names are known to be durable."""

    def sync(self, files: Iterable[Path]) -> None:
        """Make files durable with their names, in no order: all are when it returns."""
        named = set(files)
        self._sync(named, {file.parent for file in named})

    def sync_bytes(self, file: Path) -> None:
        self._sync({file}, set())

    def sync_name(self, file: Path) -> None:
        self._sync(set(), {file.parent})

    def forget(self, directory: Path) -> None:
        """The directory was removed: if it is made again, its name is a new one."""
        self._durable.forget_all(lambda known: known.is_relative_to(directory))

    def _sync(self, files: set[Path], directories: set[Path]) -> None:
        if self._durability is not Durability.FSYNC:
            return
        claim_process()
        # A directory is a name in its parent: synced when we first meet it, and it stays there.
        new = {d for directory in directories for d in self._not_yet_durable(directory)}
        _sync_all(self._pool, files | directories | {directory.parent for directory in new})
        for directory in new:
            self._durable.put(directory, directory)

    def _not_yet_durable(self, directory: Path) -> Iterator[Path]:
        while self._durable.get(directory) is None and directory != self._root:
            yield directory
            directory = directory.parent

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(PARALLEL_SYNCS, thread_name_prefix="omnigraph-sync")


def _sync_all(pool: ThreadPoolExecutor, paths: Collection[Path]) -> None:
    """Sync all paths at once: a file system then writes its journal once for all of them."""
    if len(paths) == 1:
        _sync_one(*paths)
    else:
        list(pool.map(_sync_one, paths))


def _sync_one(path: Path) -> None:
    with disk_failures("make durable", path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
