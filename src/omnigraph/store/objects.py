"""Objects by name, on a disk or in a bucket: the graph's id, schemas, sidecars, files of datasets.

An object is written whole or not at all, and once `put` returns it survives a power cut. Names use
`/` and are relative to the root. Bytes that someone else wrote (Lance, on a disk) survive only once
`sync` has been asked; a bucket keeps whatever it has acknowledged.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.frozen import frozen
from omnigraph.store.durability import Disk, Durability

__all__ = ["UNFINISHED", "DiskObjects", "Objects", "StoredObject", "SwappableObjects"]

# A name that is never shown: a half-written object is nobody's.
UNFINISHED = ".unfinished-"


@frozen
class StoredObject:
    name: str
    size: int
    changed_at_ms: int
    """When it was written, by the clock of the storage."""


class Objects(Protocol):
    def put(self, name: str, data: bytes) -> None: ...

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Write the object and give True, or give False if it is there already."""
        ...

    def get(self, name: str) -> bytes | None: ...

    def exists(self, name: str) -> bool: ...

    def fingerprint(self, name: str) -> str | None:
        """A text that changes whenever the object does, without reading it; None: not there.

        It may change without the object, too.
        """
        ...

    def list(self, folder: str) -> list[str]:
        """The names of the objects in a folder, sorted; none where there is no folder."""
        ...

    def walk(self, folder: str) -> Iterator[str]:
        """The names of all objects below a folder, at any depth."""
        ...

    def survey(self, folder: str) -> Iterator[StoredObject]:
        """All that is stored below a folder, at any depth; half-written objects too."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Give the same bytes a second name; a target that is there already stays."""
        ...

    def delete(self, name: str) -> None:
        """Remove the object, if it is there."""
        ...

    def forget_folder(self, folder: str) -> None:
        """Leave no trace of a folder without objects; one that has some stays.

        Objects that someone is about to write into it are not written.
        """
        ...

    def sync(self, names: Iterable[str]) -> None:
        """Make objects that someone else wrote survive a power cut."""
        ...

    def sync_removal(self, name: str) -> None:
        """Make sure that an object that was removed is not there again after a power cut."""
        ...


class SwappableObjects(Objects, Protocol):
    """Objects that know each of their states by a tag."""

    def get_tagged(self, name: str) -> tuple[bytes, str] | None: ...

    def swap(self, name: str, data: bytes, *, expected: str | None) -> str | None:
        """Put if the object has this tag, or with None if it is not there.

        Gives the new tag; None, and nothing written, where it is otherwise. After a lost answer it
        may be None although the bytes are there: a caller that must know reads them.
        """
        ...


class DiskObjects:
    def __init__(self, root: Path, durability: Durability = Durability.FSYNC) -> None:
        self._root = root
        self._disk = Disk(root, durability)

    def put(self, name: str, data: bytes) -> None:
        with disk_failures("write", self._told(name)), self._written(name, data) as unfinished:
            unfinished.rename(self._root / name)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        with disk_failures("write", self._told(name)), self._written(name, data) as unfinished:
            try:
                (self._root / name).hardlink_to(unfinished)
            except FileExistsError:
                return False
            return True

    def get(self, name: str) -> bytes | None:
        with disk_failures("read", self._told(name)):
            try:
                return (self._root / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def exists(self, name: str) -> bool:
        with disk_failures("look at", self._told(name)):
            return (self._root / name).exists()

    def fingerprint(self, name: str) -> str | None:
        with disk_failures("look at", self._told(name)):
            try:
                found = (self._root / name).stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
        # Nobody can set the time of the last change, as a restored backup does with the others.
        return f"{found.st_dev}-{found.st_ino}-{found.st_ctime_ns}-{found.st_size}"

    def list(self, folder: str) -> list[str]:
        with disk_failures("list", self._told(folder)):
            try:
                names = [entry.name for entry in os.scandir(self._root / folder)]
            except FileNotFoundError:
                return []
        return sorted(f"{folder}/{n}" for n in names if not n.startswith(UNFINISHED))

    def walk(self, folder: str) -> Iterator[str]:
        with disk_failures("list", self._told(folder)):
            for directory, _, names in os.walk(self._root / folder, onerror=_unless_gone):
                below = Path(directory).relative_to(self._root).as_posix()
                prefix = f"{below}/" if below != "." else ""
                yield from (prefix + name for name in names if not name.startswith(UNFINISHED))

    def survey(self, folder: str) -> Iterator[StoredObject]:
        with disk_failures("list", self._told(folder)):
            for directory, _, names in os.walk(self._root / folder, onerror=_unless_gone):
                below = Path(directory).relative_to(self._root).as_posix()
                prefix = f"{below}/" if below != "." else ""
                for name in names:
                    with suppress(FileNotFoundError):  # gone since the folder was listed
                        found = os.stat(f"{directory}/{name}")  # noqa: PTH116 - many thousands
                        yield StoredObject(
                            prefix + name, found.st_size, found.st_mtime_ns // 1_000_000
                        )

    def copy(self, source: str, target: str) -> None:
        with disk_failures("copy", self._told(source)):
            path = self._root / target
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.hardlink_to(self._root / source)
            self._disk.sync([path])

    def delete(self, name: str) -> None:
        with disk_failures("delete", self._told(name)):
            (self._root / name).unlink(missing_ok=True)

    def forget_folder(self, folder: str) -> None:
        directory = self._root / folder
        if any(self.walk(folder)):
            return
        for path in sorted(directory.rglob("*"), reverse=True):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        with suppress(OSError):
            directory.rmdir()
        self._disk.forget(directory)

    def sync(self, names: Iterable[str]) -> None:
        self._disk.sync(self._root / name for name in names)

    def sync_removal(self, name: str) -> None:
        self._disk.sync_name(self._root / name)

    def _told(self, name: str) -> str:
        """What messages call an object: their graph is named beside it."""
        return name

    @contextmanager
    def _written(self, name: str, data: bytes) -> Iterator[Path]:
        """The bytes under a name of their own, to be given the real one; then the names synced."""
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.parent / f"{UNFINISHED}{os.getpid()}-{os.urandom(8).hex()}"
        try:
            unfinished.write_bytes(data)
            # Before the rename: a name must never be durable before its bytes are.
            self._disk.sync_bytes(unfinished)
            yield unfinished
        finally:
            unfinished.unlink(missing_ok=True)
        self._disk.sync_name(target)


def _unless_gone(error: OSError) -> None:
    """A folder that is removed while others are listed has no objects, nor has an object any."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
