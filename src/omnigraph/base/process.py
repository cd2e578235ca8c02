"""Processes: storage is used in the process that first used it, never in a forked copy of that.

A forked child has the memory of its parent and none of its threads. Lance, the clients of buckets
and our own pools wait for threads that are not there, or crash. So a child is refused before it
reaches any of them. A child that is forked before its parent uses a graph is as good as any other.
"""

import os

from omnigraph.base.errors import ForkedProcess

__all__ = ["claim_process"]

# Of the process as a whole, as its threads are: which process first used storage.
_used_in: int | None = None


def claim_process() -> None:
    """Ask before storage is used. Raise `ForkedProcess` if a parent of this process has used it."""
    global _used_in
    pid = os.getpid()
    if _used_in is None:
        _used_in = pid
    if _used_in != pid:
        raise ForkedProcess(parent=_used_in, child=pid)
