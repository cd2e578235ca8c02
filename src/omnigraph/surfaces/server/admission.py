"""Admission: how much one actor may have under way, so that no one starves the others.

Writes and the bytes of bodies are counted, and an actor with too many of them is refused. A read
that finds all places of its actor taken waits for one. All this happens on the event loop, so it
needs no lock; a policy was asked before.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager

import anyio

from omnigraph.base.errors import RequestsTooMany
from omnigraph.surfaces.server.limits import ServerLimits

__all__ = ["Admission", "HeldBytes"]


class Admission:
    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._writes: Counter[str | None] = Counter()
        self._bytes: Counter[str | None] = Counter()
        self._reads: dict[str, anyio.CapacityLimiter] = {}

    @asynccontextmanager
    async def read(self, actor: str | None) -> AsyncIterator[None]:
        """Wait for a place for a read. Without tokens there are no actors to tell apart."""
        if actor is None:
            yield
            return
        places = self._reads.setdefault(actor, anyio.CapacityLimiter(self._limits.max_actor_reads))
        ours = object()
        try:
            await places.acquire_on_behalf_of(ours)
            try:
                yield
            finally:
                places.release_on_behalf_of(ours)
        finally:
            if not places.borrowed_tokens and not places.statistics().tasks_waiting:
                self._reads.pop(actor, None)

    def write(self, actor: str | None) -> AbstractContextManager[None]:
        """A place for a write; raises RequestsTooMany at once if all are taken."""
        limit = self._limits.max_actor_writes
        if self._writes[actor] >= limit:
            raise self._refusal("this actor has too many writes under way", limit)
        self._writes[actor] += 1
        return self._place(actor)

    @contextmanager
    def _place(self, actor: str | None) -> Iterator[None]:
        try:
            yield
        finally:
            self._given_back(self._writes, actor, 1)

    @contextmanager
    def body(self, actor: str | None) -> "Iterator[HeldBytes]":
        """Count the bytes of a body for as long as it is held."""
        held = HeldBytes(self, actor)
        try:
            yield held
        finally:
            self._given_back(self._bytes, actor, held.bytes)

    def take_bytes(self, actor: str | None, count: int) -> None:
        limit = self._limits.max_actor_bytes
        if self._bytes[actor] + count > limit:
            raise self._refusal("this actor has too many bytes under way", limit)
        self._bytes[actor] += count

    def writes_under_way(self) -> int:
        return self._writes.total()

    def _refusal(self, what: str, limit: int) -> RequestsTooMany:
        return RequestsTooMany(what=what, limit=limit, retry_after_s=self._limits.retry_after_s)

    def _given_back(self, counted: Counter[str | None], actor: str | None, count: int) -> None:
        counted[actor] -= count
        if not counted[actor]:
            del counted[actor]


class HeldBytes:
    def __init__(self, admission: Admission, actor: str | None) -> None:
        self._admission = admission
        self._actor = actor
        self.bytes = 0

    def add(self, count: int) -> None:
        self._admission.take_bytes(self._actor, count)
        self.bytes += count
