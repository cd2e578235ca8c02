"""The writer's fence: one writer per branch, across threads and processes.

On a disk it is a lock that the kernel frees when its holder dies, so a sidecar found while holding
it has no living owner. A forked child would inherit it, so it lets go of it at once. The lock file
of a branch is never removed: a waiter may hold the file that is no longer named, and then two
writers would be inside. For a fence that does not last, each who takes it makes sure that its file
is still the one of that name. In a bucket a fence is a lease (`lease`), which a holder that stands
still can lose without knowing; whatever holds only if it can't be lost asks `may_lapse`.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from omnigraph.base.disk_failures import disk_failures, reason_of
from omnigraph.base.errors import BranchBusy, GraphMissing, StoreUnfit
from omnigraph.base.frozen import frozen
from omnigraph.store.layout import LOCKS
from omnigraph.store.waiting import this_process, tries

__all__ = ["Fences", "FileFences", "Hold"]

# How long to sleep between tries: a fraction of a commit, so that no time is lost between two. The
# kernel could wake a waiter itself, in the order of arrival. But then each commit waits until one
# certain process gets a processor, which on a busy machine takes twice as long as the commit; and
# such a wait can be ended neither by a time limit nor by a Ctrl-C.
PAUSE_S = 0.005

# What a file system says that does not lock at all, or not for us.
NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}

# Room for the longest name of a machine and a process number.
SIGNATURE_BYTES = 320


class Hold(Protocol):
    """A fence while it is ours."""

    @property
    def number(self) -> int:
        """The fencing number. It grows when a fence is taken over from a living holder."""
        ...

    @property
    def may_lapse(self) -> bool:
        """True if it can pass to another writer while this one still runs."""
        ...

    def check(self) -> None:
        """Raise `FenceLost` if it is lost, asking only when our clock says that it may be."""
        ...

    def confirm(self) -> None:
        """Raise `FenceLost` if it is lost, asking in any case."""
        ...


class Fences(Protocol):
    def require(self) -> None:
        """Raise `StoreUnfit` where writers can't be kept apart."""
        ...

    def hold(
        self, name: str, *, timeout_s: float, at_least: int = 0, is_lasting: bool = True
    ) -> AbstractContextManager[Hold]:
        """Wait for the fence and hold it, with a number not below `at_least`.

        0 seconds: take it if it is free. Of a fence that is not lasting nothing is left once it is
        given back, and its number begins again: for names that are used once. All who take it must
        say so.
        """
        ...


# On a disk ----------------------------------------------------------------------------------------


@frozen
class KernelHold:
    """A fence that ends with its holder, and not before."""

    number: int
    may_lapse: bool = False

    def check(self) -> None:
        pass

    def confirm(self) -> None:
        pass


class FileFences:
    def __init__(self, root: Path) -> None:
        self._root = root

    def require(self) -> None:
        with _failures(self._root):
            # The directory itself: nothing is written, should the graph only be read after all.
            descriptor = os.open(self._root, os.O_RDONLY)
        try:
            _try_lock(self._root, descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    @contextmanager
    def hold(
        self, name: str, *, timeout_s: float, at_least: int = 0, is_lasting: bool = True
    ) -> Iterator[Hold]:
        path = self._root / LOCKS / f"{quote(name, safe='')}.lock"
        while True:
            with self._file(path) as file:
                for _ in tries(timeout_s, pause_s=PAUSE_S):
                    if _try_lock(self._root, file.fileno(), fcntl.LOCK_EX):
                        break
                else:
                    raise BranchBusy(branch=name, holder=_holder(file), waited_s=timeout_s)
                if not is_lasting and not _has_name(file, path):
                    continue  # its last holder has removed it: the next fence is in another file
                with _failures(self._root):
                    _sign(file)
                with nullcontext() if is_lasting else _removed_at_the_end(path):
                    yield KernelHold(at_least)
                return

    @contextmanager
    def _file(self, path: Path) -> Iterator[FileIO]:
        with _failures(path):
            try:
                path.parent.mkdir(exist_ok=True)
            except FileNotFoundError:
                raise GraphMissing(str(self._root)) from None  # moved away while it was open
            # In one call: the holder of a fence that does not last removes its file at any moment.
            # Unbuffered: what a full disk refuses must not be tried again when the file is closed.
            file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+")
        with file, _inherited_by_nobody(file):
            yield file


# The lock files that this process has open, and a forked child of it would have too.
_open: set[FileIO] = set()


@contextmanager
def _inherited_by_nobody(file: FileIO) -> Iterator[None]:
    """Let no forked child keep the lock: neither while we have it, nor when we let go of it."""
    owner = os.getpid()
    _open.add(file)
    try:
        yield
    finally:
        _open.discard(file)
        if os.getpid() == owner:
            # To close the file would not do while a child that is being made has it open too.
            # After an interrupt it may be closed, and with it the lock gone, before we are asked.
            with suppress(OSError, ValueError):
                fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def _removed_at_the_end(path: Path) -> Iterator[None]:
    """Remove a lock file that is ours, unless its holder is killed or interrupted."""
    try:
        yield
    except Exception:
        _remove(path)
        raise
    _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _has_name(file: FileIO, path: Path) -> bool:
    """True if the opened file is the one that has the name now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _let_go_in_child() -> None:
    for file in _open:
        file.close()  # the parent's lock is the parent's: it has the file open as well
    _open.clear()


os.register_at_fork(after_in_child=_let_go_in_child)


def _try_lock(path: Path, descriptor: int, kind: int) -> bool:
    with _failures(path):
        try:
            # flock belongs to this opening of the file, so two threads exclude each other too;
            # lockf would be lost as soon as anyone in the process closes the file.
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _sign(file: FileIO) -> None:
    # Written over, never cut short: after a truncation some file systems wait for the disk, which
    # can take longer than the whole commit.
    file.write(this_process().encode().ljust(SIGNATURE_BYTES))


def _holder(file: FileIO) -> str:
    file.seek(0)
    return file.read().decode().strip() or "another process"


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    with disk_failures("lock", path):
        try:
            yield
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            unfit = f"its file system can't lock files ({reason_of(error)})"
            raise StoreUnfit(path=str(path), reason=unfit) from error
