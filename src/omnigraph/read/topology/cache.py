"""What reading has worked out and may need again: columns, id indexes, adjacency.

Keys are made of `DatasetRef`s, which never mean anything else than they meant, so an entry can't be
stale: a new version is a new key, and what nobody asks for any more falls off the end. Branches
that share a table's version share its entries.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar, cast

from omnigraph.read.topology.disk import DiskCache

__all__ = ["LIMIT_CACHE_BYTES", "RuntimeCache"]

# Enough for the columns and adjacency of some tens of millions of edges.
LIMIT_CACHE_BYTES = 4 * 1024**3


class Weighed(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Weighed)


class RuntimeCache:
    """The least recently used entries go first once their bytes pass the limit.

    Safe to share between threads. Two threads that miss at the same time both build the entry, and
    one is kept: waiting for each other would cost a lock per key.
    """

    def __init__(
        self, limit_bytes: int = LIMIT_CACHE_BYTES, *, disk: DiskCache | None = None
    ) -> None:
        self.disk = disk
        """Where other processes find what this one built; None: nowhere."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, Weighed] = OrderedDict()
        self._bytes = 0
        self._last: dict[Hashable, Hashable] = {}
        self._asked: dict[Hashable, float] = {}

    @property
    def nbytes(self) -> int:
        return self._bytes

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """The entry of this key, built on the first call. One key always stands for one type."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return cast(T, self._entries[key])
        built = build()
        with self._lock:
            self._keep(key, built)
        return built

    def follow(
        self,
        key: Hashable,
        family: Hashable,
        build: Callable[[tuple[Hashable, T] | None], T],
    ) -> T:
        """As `get`, where the entry may be made from another of its family.

        A family is the same thing at other versions; `build` is given the member that came last
        with its key, if it is still there.
        """
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                self._last[family] = key
                return cast(T, self._entries[key])

        def made() -> T:
            with self._lock:
                last = self._last.get(family)
                earlier = None if last is None else self._entries.get(last)
            return build(None if earlier is None else (last, cast(T, earlier)))

        entry = self.get(key, made)
        with self._lock:
            self._last[family] = key
        return entry

    def peek(self, key: Hashable) -> Weighed | None:
        """The entry of this key if there is one. Looking does not count as use."""
        with self._lock:
            return self._entries.get(key)

    def has(self, key: Hashable, family: Hashable) -> bool:
        """Whether the entry, or one of its family to make it from, is there."""
        with self._lock:
            return key in self._entries or self._last.get(family) in self._entries

    def asked(self, table: Hashable) -> float:
        """How many look-ups a table has had that nobody read whole."""
        return self._asked.get(table, 0.0)

    def note_asked(self, table: Hashable, lookups: float) -> None:
        with self._lock:
            self._asked[table] = self._asked.get(table, 0.0) + lookups

    def _keep(self, key: Hashable, built: Weighed) -> None:
        if key in self._entries or built.nbytes > self._limit_bytes:
            return
        self._entries[key] = built
        self._bytes += built.nbytes
        while self._bytes > self._limit_bytes:
            _, dropped = self._entries.popitem(last=False)
            self._bytes -= dropped.nbytes
