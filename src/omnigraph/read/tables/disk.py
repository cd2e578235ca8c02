"""Adjacency and id indexes kept on disk, so that a new process need not build them again.

An entry is a directory of arrays under the digest of what it was made from. It appears by a rename,
so a reader never meets half of one, and it is mapped, not read. What does not check out (a stray
file, a wrong length, another checksum, another graph) counts as missing and is removed: the cache
may be deleted at any time by anyone.
"""

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.read.limits import ReadLimits

__all__ = ["DiskCache", "Kept"]

# An entry that is being written. One this old is of a process that died.
UNFINISHED = "unfinished-"
UNFINISHED_S = 3_600

NOTE = "note.json"
FORMAT = 3

Arrays = Mapping[str, NDArray[Any]]

log = logging.getLogger(__name__)


class Kept(NamedTuple):
    """An entry: what it was made from, in words of JSON, and its arrays."""

    origin: Any
    arrays: Arrays


class DiskCache:
    """One graph's entries. Entries used longest ago go first once all of them pass the limit."""

    def __init__(self, directory: Path, limits: ReadLimits | None = None) -> None:
        self._directory = directory
        self._limits = limits or ReadLimits()
        self._is_said = False

    def has(self, family: str) -> bool:
        try:
            return self._family(family).is_dir()
        except OSError as error:
            self._do_without(error)
            return False

    def last(self, family: str) -> Kept | None:
        """The entry of a family that was written last."""
        try:
            folders = sorted(self._family(family).iterdir(), key=lambda p: p.stat().st_mtime_ns)
        except OSError as error:
            self._do_without(error)
            return None
        for folder in reversed(folders):
            kept = _read(folder)
            if kept is not None:
                return kept
            shutil.rmtree(folder, ignore_errors=True)
        return None

    def is_worth_keeping(self, nbytes: int) -> bool:
        return nbytes >= self._limits.min_disk_entry_bytes

    def keep(self, family: str, kept: Kept) -> None:
        """Write an entry that is worth it. A full or read-only disk is no error: it is a cache."""
        size = sum(array.nbytes for array in kept.arrays.values())
        if not self.is_worth_keeping(size) or size > self._limits.max_disk_bytes:
            return
        home = self._family(family)
        folder = home / _digest(json.dumps(kept.origin))
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            home.mkdir(mode=0o700, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(dir=self._directory, prefix=UNFINISHED))
            try:
                _write(unfinished, kept)
                if not folder.exists():
                    unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
            self._make_room()
        except OSError as error:
            self._do_without(error)

    def _do_without(self, error: OSError) -> None:
        """Say it once, and not of files that are not there, or that another process removed."""
        if not self._is_said and not isinstance(error, FileNotFoundError):
            self._is_said = True
            log.warning("nothing is kept between processes: %s", error)

    def _make_room(self) -> None:
        for home in self._directory.glob(f"{UNFINISHED}*"):
            if time.time() - home.stat().st_mtime > UNFINISHED_S:
                shutil.rmtree(home, ignore_errors=True)
        entries = [folder for home in self._directory.iterdir() for folder in _entries(home)]
        entries.sort(key=lambda folder: folder.stat().st_mtime_ns)
        sizes = [sum(file.stat().st_size for file in folder.iterdir()) for folder in entries]
        total = sum(sizes)
        for folder, size in zip(entries, sizes, strict=True):
            if total <= self._limits.max_disk_bytes:
                return
            shutil.rmtree(folder, ignore_errors=True)
            total -= size

    def _family(self, family: str) -> Path:
        return self._directory / _digest(family)


def _entries(home: Path) -> list[Path]:
    if home.name.startswith(UNFINISHED) or not home.is_dir():
        return []
    return [folder for folder in home.iterdir() if folder.is_dir()]


def _write(folder: Path, kept: Kept) -> None:
    for name, array in kept.arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    sums = {name: zlib.crc32(np.ascontiguousarray(a).data) for name, a in kept.arrays.items()}
    note = {"format": FORMAT, "origin": kept.origin, "sums": sums}
    (folder / NOTE).write_text(json.dumps(note), encoding="utf-8")


def _read(folder: Path) -> Kept | None:
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        if note["format"] != FORMAT:
            return None
        arrays = {
            name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
            for name in note["sums"]
        }
        if any(zlib.crc32(arrays[name].data) != total for name, total in note["sums"].items()):
            return None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    with suppress(OSError):
        # Used just now, if anybody keeps count: a cache that comes with an image can't be written.
        os.utime(folder)
    return Kept(note["origin"], arrays)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
