"""The writer's fence: one writer per branch, across threads and processes.

The kernel frees the lock when its holder dies, so a sidecar found while holding it has no living
owner. A lock survives `fork()` in the child: start processes by spawn. Lock files are never
removed: a waiter may hold the file that is no longer named, and then two writers would be inside.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from urllib.parse import quote

from omnigraph.base.errors import BranchBusy, StorageFailed
from omnigraph.store.layout import LOCKS

__all__ = ["Fences"]

# How long to sleep between tries: soon enough that a waiting commit is not the slower for it.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.001, 0.02


class Fences:
    def __init__(self, root: Path) -> None:
        self._directory = root / LOCKS

    @contextmanager
    def hold(self, name: str, *, timeout_s: float) -> Iterator[None]:
        """Wait for the fence and hold it. 0 seconds: take it if it is free."""
        with self._file(name) as file:
            started = time.monotonic()
            pause_s = FIRST_PAUSE_S
            while not _try_lock(file):
                waited_s = time.monotonic() - started
                if waited_s >= timeout_s:
                    raise BranchBusy(branch=name, holder=_holder(file), waited_s=timeout_s)
                time.sleep(min(pause_s, timeout_s - waited_s))
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            _sign(file)
            yield

    @contextmanager
    def _file(self, name: str) -> Iterator[BufferedRandom]:
        path = self._directory / f"{quote(name, safe='')}.lock"
        try:
            path.parent.mkdir(exist_ok=True)
            path.touch()
            file = path.open("r+b")
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageFailed(doing="lock", path=str(path), reason=reason) from error
        with file:
            yield file


def _try_lock(file: BufferedRandom) -> bool:
    try:
        # flock belongs to this opening of the file, so two threads exclude each other too; lockf
        # would be lost as soon as anyone in the process closes the file.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(file: BufferedRandom) -> None:
    file.truncate(0)
    file.write(json.dumps({"process": os.getpid(), "host": socket.gethostname()}).encode())
    file.flush()


def _holder(file: BufferedRandom) -> str:
    file.seek(0)
    try:
        signed = json.loads(file.read())
        return f"process {signed['process']} on {signed['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
