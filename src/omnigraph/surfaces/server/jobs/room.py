"""Room in the spool: how much each upload holds, and that neither it nor all are above a limit."""

import threading
from collections import Counter

from omnigraph.base.errors import LimitExceeded, SpoolFull

__all__ = ["Room"]

WHAT = "the upload in bytes"


class Room:
    """Counts bytes that are there, and those that are coming. Any thread may ask."""

    def __init__(self, *, max_job_bytes: int, max_bytes: int) -> None:
        self._max_job, self._max = max_job_bytes, max_bytes
        self._lock = threading.Lock()
        self._kept: dict[str, Counter[int]] = {}
        """By job, the bytes of each part."""
        self._coming: Counter[str] = Counter()

    def check(self, size: int) -> None:
        """Raise if an upload of so many bytes would not fit."""
        with self._lock:
            self._check("", size)

    def take(self, job: str, size: int) -> None:
        """Room for more of a part that is coming; raises if there is none."""
        with self._lock:
            self._check(job, size)
            self._coming[job] += size

    def give_back(self, job: str, size: int) -> None:
        """Of a part that did not come in full."""
        with self._lock:
            self._coming[job] -= size

    def keep(self, job: str, number: int, size: int, *, coming: int = 0) -> None:
        """A part is there, in the place of what had its number before."""
        with self._lock:
            self._coming[job] -= coming
            self._kept.setdefault(job, Counter())[number] = size

    def forget(self, job: str) -> None:
        with self._lock:
            self._kept.pop(job, None)

    @property
    def used(self) -> int:
        with self._lock:
            return self._used()

    def _used(self) -> int:
        return self._coming.total() + sum(parts.total() for parts in self._kept.values())

    def _check(self, job: str, more: int) -> None:
        of_job = self._coming[job] + self._kept.get(job, Counter()).total() + more
        if of_job > self._max_job:
            raise LimitExceeded(what=WHAT, limit=self._max_job, found=of_job)
        if self._used() + more > self._max:
            raise SpoolFull(self._max)
