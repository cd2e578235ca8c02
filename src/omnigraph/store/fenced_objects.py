"""Objects on a disk whose states have tags, as those in a bucket have.

A file system can't replace a file on a condition. So a swap compares and renames behind a fence of
the kernel, and all who swap go through it; a tag is the hash of the bytes.
"""

import hashlib
from pathlib import Path

from omnigraph.base.disk_failures import disk_failures
from omnigraph.store.durability import Durability
from omnigraph.store.fence import FileFences
from omnigraph.store.objects import DiskObjects

__all__ = ["FencedObjects"]

FENCE = "swap"
# A swap takes a read and a rename; whoever waits longer waits for a disk that does not answer.
TIMEOUT_S = 30.0


class FencedObjects(DiskObjects):
    """The objects below a directory, which is made when something is swapped in it."""

    def __init__(self, root: Path, durability: Durability = Durability.FSYNC) -> None:
        super().__init__(root, durability)
        self._folder = root
        self._fences = FileFences(root)

    def get_tagged(self, name: str) -> tuple[bytes, str] | None:
        data = self.get(name)
        return None if data is None else (data, _tag(data))

    def swap(self, name: str, data: bytes, *, expected: str | None) -> str | None:
        with disk_failures("create", self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        with self._fences.hold(FENCE, timeout_s=TIMEOUT_S):
            found = self.get_tagged(name)
            if (None if found is None else found[1]) != expected:
                return None
            self.put(name, data)
        return _tag(data)

    def _told(self, name: str) -> str:
        return str(self._folder / name)


def _tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
