"""Files for others: written under another name beside their own, and renamed when they are whole.

Nobody finds half a file, and what was there before stays until then. A crash may leave a name that
begins with `.` and ends in `.part`.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import TargetTaken
from omnigraph.store.durability import Disk, Durability

__all__ = ["new_directory", "new_file"]


@contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A file to write to, at `path` once all went well."""
    if path.is_dir() or (path.exists() and not overwrite):
        raise TargetTaken(str(path))
    part = _part_of(path)
    with disk_failures("write", path):
        try:
            with part.open("xb") as file:
                yield file
                _sync(file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def new_directory(path: Path, *, overwrite: bool, durability: Durability) -> Iterator[Path]:
    """A directory to fill, at `path` once all went well. An empty one may be there already.

    Its name outlives a power cut; for the files in it, they who write them care.
    """
    is_taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if is_taken and not (overwrite and path.is_dir()):
        raise TargetTaken(str(path))
    part = _part_of(path)
    with disk_failures("write", path):
        disk = Disk(next(above for above in path.parents if above.exists()), durability)
        try:
            part.mkdir(parents=True)
            yield part
            if path.exists():
                # A directory takes the place of an empty one only, so the old one steps aside.
                old = _part_of(path)
                path.rename(old)
                part.rename(path)
                disk.sync_name(path)
                shutil.rmtree(old)
            else:
                part.rename(path)
                disk.sync_name(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
