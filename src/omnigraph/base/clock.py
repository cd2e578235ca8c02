"""Time and fresh ids, passed in, so that tests can hold them still.

A ULID is 48 bits of milliseconds and 80 bits of chance, written as 26 Crockford base-32 letters
that sort as the numbers do.
"""

import os
import threading
import time
from typing import Protocol

__all__ = [
    "CROCKFORD",
    "RANDOM_BITS",
    "ULID_LETTERS",
    "Clock",
    "SystemClock",
    "is_ulid",
    "ulid_text",
]

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ULID_LETTERS = 26
RANDOM_BITS = 80


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        ...

    def ulid(self) -> str:
        """A fresh id, greater than every id this clock has given before."""
        ...


class SystemClock:
    """The machine's clock. Ids grow even within one millisecond and when the clock steps back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def ulid(self) -> str:
        fresh = (self.now_ms() << RANDOM_BITS) | int.from_bytes(os.urandom(RANDOM_BITS // 8))
        with self._lock:
            self._last = max(fresh, self._last + 1)
            return ulid_text(self._last)


def is_ulid(text: str) -> bool:
    return len(text) == ULID_LETTERS and set(text) <= set(CROCKFORD)


def ulid_text(number: int) -> str:
    """The 26 letters of a 128-bit ULID."""
    return "".join(CROCKFORD[(number >> (5 * i)) & 31] for i in reversed(range(ULID_LETTERS)))
