"""Work, counted instead of timed: calls of functions, and bytes of Arrow arrays."""

import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import OmnigraphError

__all__ = ["calls_of", "copied_bytes"]


def calls_of(work: Callable[[], Any]) -> int:
    """The number of calls, of Python's functions and of others, until the work is done or refused.

    Work inside one call of C is not seen.
    """
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        with suppress(OmnigraphError):
            work()
    finally:
        sys.setprofile(None)
    return count


def copied_bytes(work: Callable[[], Any]) -> int:
    """The bytes of all Arrow arrays that the work makes, also of those that are gone when it is
    done."""
    pool = pa.default_memory_pool()
    before: int = pool.total_bytes_allocated()
    work()
    after: int = pool.total_bytes_allocated()
    return after - before
