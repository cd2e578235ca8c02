"""Calls of the operating system that fail, and power cuts, below one folder.

A process that has `syscalls.c` loaded (`environment`) reports each change below the folder, and
fails those that `Calls` names: Lance's calls as well as Python's. `cut_power` then leaves of the
folder what was certain to survive: a file up to its size at its last sync, and under a name only if
the directory was synced after the name was given. After a failed sync a later one proves nothing,
since the kernel may have dropped what it could not write. So such a file counts as never synced,
and the name of a file as not given until it is given again. Names of directories are exempt: nobody
can give them again, and a file system that can't write its directories stops.
"""

import mmap
import os
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Calls", "Watched", "environment"]

SOURCE = Path(__file__).with_name("syscalls.c")

# Counted calls, the first and the last that fail, their errno, how many have failed.
NUMBERS = struct.Struct("5q")
WHAT_BYTES = 4096
NEVER_ENDING = 2**62

CONTROL, LOG = "SYSCALLS_CONTROL", "SYSCALLS_LOG"


def environment(folder: Path, scratch: Path) -> Mapping[str, str]:
    """The environment of a process whose calls below the folder are to fail."""
    library = scratch / "syscalls.so"
    compiler = shutil.which("gcc")
    assert compiler is not None, "gcc is missing: install it, these tests compile syscalls.c"
    flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([compiler, *flags, str(SOURCE), "-ldl"], check=True)
    control, log = scratch / "control", scratch / "log"
    control.write_bytes(bytes(NUMBERS.size + WHAT_BYTES))
    log.touch()
    return {
        **os.environ,
        "LD_PRELOAD": str(library),
        "SYSCALLS_DIR": str(folder),
        CONTROL: str(control),
        LOG: str(log),
    }


class Calls:
    """The calls below the folder that this process makes, to count them and to fail some."""

    def __init__(self) -> None:
        with open(os.environ[CONTROL], "r+b") as file:  # noqa: PTH123 - it is mapped, not read
            self._shared = mmap.mmap(file.fileno(), 0)

    def fail(self, number: int, error: int, *, and_later_ones: bool = False) -> None:
        """Count from now on, and fail the call with this number; 0: none."""
        last = NEVER_ENDING if and_later_ones else number
        self._shared[:] = NUMBERS.pack(0, number, last, error, 0) + bytes(WHAT_BYTES)

    def stop(self) -> tuple[int, str]:
        """Fail no more calls. Gives how many there were, and the first that failed."""
        count, *_ = NUMBERS.unpack(self._shared[: NUMBERS.size])
        what = self._shared[NUMBERS.size :].split(b"\0", 1)[0].decode()
        self._shared[: NUMBERS.size] = NUMBERS.pack(count, 0, 0, 0, 0)
        return count, what


class Watched:
    """A folder from now on: what was done to it, and what a power cut leaves of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = Path(os.environ[LOG])
        os.truncate(self._log, 0)
        self._before = {path: path.stat().st_ino for path in folder.rglob("*")}

    def may_return(self) -> list[str]:
        """Removed names that a power cut may bring back."""
        durable = _Durable(self._before)
        durable.replay(self._log.read_text().splitlines())
        return sorted(str(path.relative_to(self._folder)) for path in durable.removed)

    def cut_power(self) -> list[str]:
        """Take away what a power cut may; gives what has lost its name or bytes."""
        durable = _Durable(self._before)
        durable.replay(self._log.read_text().splitlines())
        lost = []
        for path in sorted(self._folder.rglob("*"), reverse=True):
            found, is_named = path.stat(), durable.has(path)
            size = durable.size_of(found)
            if is_named and (path.is_dir() or size == found.st_size):
                continue
            lost.append(str(path.relative_to(self._folder)))
            if is_named:
                os.truncate(path, size)
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        return lost


class _Durable:
    """The names and bytes that have reached the disk for certain."""

    def __init__(self, before: Mapping[Path, int]) -> None:
        self._names = set(before)
        self._old = set(before.values())
        """Inodes that nothing was written to since."""
        self._sizes: dict[int, int] = {}
        self._never: set[int] = set()
        self._given: set[Path] = set()
        """Names whose directory was not synced since."""
        self._folders: set[Path] = set()
        self.removed: set[Path] = set()
        self._reported: set[Path] = set()
        self._synced_folders: set[Path] = set()

    def replay(self, lines: Sequence[str]) -> None:
        for line in lines:
            letter, inode, size, path = line.split(" ", 3)
            self._apply(letter, int(inode), int(size), Path(path))

    def has(self, path: Path) -> bool:
        # A library may give a name without libc: then only the directory tells.
        is_unreported = path not in self._reported and path.parent in self._synced_folders
        return path in self._names or is_unreported

    def size_of(self, found: os.stat_result) -> int:
        if found.st_ino in self._old:
            return found.st_size
        return min(found.st_size, self._sizes.get(found.st_ino, 0))

    def _apply(self, letter: str, inode: int, size: int, path: Path) -> None:
        match letter:
            case "C":  # a new file; the number of its inode may be that of a removed one
                self._give(path)
                self._old.discard(inode)
                self._never.discard(inode)
                self._sizes.pop(inode, None)
            case "N":
                self._give(path)
            case "M":
                self._folders.add(path)
                self._give(path)
            case "U":
                if path in self._names:
                    self.removed.add(path)
                self._given.discard(path)
                self._names.discard(path)
            case "S":
                if inode not in self._never:
                    self._sizes[inode] = size
            case "s":
                self._never.add(inode)
                self._sizes.pop(inode, None)
            case "D":
                self._synced_folders.add(path)
                self.removed = {name for name in self.removed if name.parent != path}
                self._names |= {name for name in self._given if name.parent == path}
            case "d":
                files = self._given - self._folders
                self._given -= {name for name in files if name.parent == path}
            case _:
                raise AssertionError(f"syscalls.c reports {letter!r}")

    def _give(self, path: Path) -> None:
        self._reported.add(path)
        self._given.add(path)
