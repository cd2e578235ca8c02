"""How the threads of a server share memory that is free.

An allocator gives each thread a heap of its own, so that threads don't wait for each other. What a
thread has freed only that thread takes again: with some eighty threads, a server that writes and
reads all the time grows for an hour, and holds twice what it uses.
"""

import ctypes

import pyarrow as pa

__all__ = ["share_heaps"]

M_ARENA_MAX = -8
"""The number of this setting in glibc's `malloc.h`."""
MAX_HEAPS = 4


def share_heaps() -> None:
    """Let all threads of this process allocate from a few heaps. Where that can't be set, nothing
    changes but the memory that the process takes."""
    pa.set_memory_pool(pa.system_memory_pool())
    # Only glibc has it: the C library of macOS and musl have no heaps by thread.
    set_limit = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_limit is not None:
        set_limit(M_ARENA_MAX, MAX_HEAPS)
