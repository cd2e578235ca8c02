"""Two names of a file system change places, in one step where the system can."""

import ctypes
import errno
import os
import sys
import uuid
from pathlib import Path

__all__ = ["exchange"]

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # of Linux, and RENAME_SWAP of macOS has the same value
NOT_HERE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
"""What a system or a file system says that can't do this."""


def exchange(one: Path, other: Path) -> None:
    """Give each the name of the other; both are there, in one directory.

    Where that takes several steps, a crash between them leaves `one` or `other` under a hidden
    name beside them.
    """
    if not _at_once(os.fsencode(one), os.fsencode(other)):
        aside = other.with_name(f".{other.name}.{uuid.uuid4().hex[:8]}.old")
        other.rename(aside)
        one.rename(other)
        aside.rename(one)


def _at_once(one: bytes, other: bytes) -> bool:
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        failed = library.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
    elif sys.platform == "darwin":
        failed = library.renamex_np(one, other, RENAME_EXCHANGE)
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in NOT_HERE:
        return False
    raise OSError(number, os.strerror(number), os.fsdecode(one), None, os.fsdecode(other))
