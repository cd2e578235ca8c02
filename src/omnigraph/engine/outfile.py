"""Files for others: written under another name beside their own, and renamed when they are whole.

Nobody finds half a file, and what was there before stays until then. A crash may leave a name that
begins with `.` and ends in `.part`; the next export to the same place removes it.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from omnigraph.base.disk_failures import disk_failures, reason_of
from omnigraph.base.errors import ArgumentInvalid, StorageFailed, TargetTaken, Unsupported
from omnigraph.base.exchange import exchange
from omnigraph.store.durability import Disk, Durability

__all__ = ["new_directory", "new_file", "place_of"]


def place_of(text: str, *, argument: str = "target") -> Path:
    """Where a path of a disk leads to."""
    try:
        return Path(text).resolve()
    except ValueError as error:  # a NUL
        raise ArgumentInvalid(argument=argument, value=text, rule="it is no path") from error
    except (OSError, RuntimeError) as error:  # links that lead to each other
        reason = reason_of(error) if isinstance(error, OSError) else "its links lead in a circle"
        raise StorageFailed(doing="write", path=text, reason=reason) from error


@contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A file to write to, at `path` once all went well."""
    part = _part_of(path)
    with disk_failures("write", path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            # Under its name there would be a file then: /dev/null, say, would be gone for everyone.
            raise Unsupported(
                what=f"writing to {path}, which is a device or a pipe,",
                instead="name a file, or write to standard output and redirect it",
            )
        if path.is_dir() or (path.exists() and not overwrite):
            raise TargetTaken(str(path), was_forced=overwrite)
        try:
            with part.open("xb") as file:
                _hold(file.fileno())
                yield file
                file.flush()
                os.fsync(file.fileno())
                part.replace(path)
            _sync_directory(path.parent)
            _remove_dead_parts(path)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def new_directory(
    path: Path, *, overwrite: bool, is_ours: Callable[[Path], bool], durability: Durability
) -> Iterator[Path]:
    """A directory to fill, at `path` once all went well. An empty one may be there already.

    To overwrite is to replace one that `is_ours`: whatever another directory holds is not ours to
    remove. Its name outlives a power cut; for the files in it, they who write them
    care.
    """
    part = _part_of(path)
    with disk_failures("write", path):
        is_taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
        if is_taken and not (overwrite and path.is_dir() and is_ours(path)):
            raise TargetTaken(str(path), was_forced=overwrite)
        disk = Disk(next(above for above in path.parents if above.exists()), durability)
        try:
            part.mkdir(parents=True)
            with _held_directory(part):
                yield part
                # A directory takes the place of an empty one only. The old one is then the part.
                if is_taken:
                    exchange(part, path)
                else:
                    part.rename(path)
                disk.sync_name(path)
            _remove_dead_parts(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")


def _sync_directory(directory: Path) -> None:
    with _opened(directory) as descriptor:
        os.fsync(descriptor)


# A lock tells the part of an export that goes on from that of one that was killed -----------------


@contextmanager
def _held_directory(part: Path) -> Iterator[None]:
    with _opened(part) as descriptor:
        _hold(descriptor)
        yield


def _hold(descriptor: int) -> None:
    # A file system without locks keeps every part.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_dead_parts(path: Path) -> None:
    name, end = f".{path.name}.", ".part"
    for part in path.parent.iterdir():
        is_part = part.name.startswith(name) and part.name.endswith(end)
        if is_part and len(part.name) == len(name) + 8 + len(end):
            with suppress(OSError), _opened(part) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(part) if part.is_dir() else part.unlink()


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
