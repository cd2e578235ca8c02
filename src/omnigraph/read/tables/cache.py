"""The runtime cache: columns, id indexes and adjacency that reading may need again.

Keys are made of `DatasetRef`s, which never mean anything else than they meant, so an entry can't be
stale: a new version is a new key. Branches that share a table's version share its entries. Of one
thing only a few versions are kept, since few are asked for again: those of branches that are gone
fall out by themselves.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from omnigraph.base.errors import LimitError
from omnigraph.base.recent import Recent
from omnigraph.read.limits import ReadLimits
from omnigraph.read.pace import Pace, Pieces
from omnigraph.read.tables.disk import DiskCache
from omnigraph.read.topology.csr import Room

__all__ = ["RuntimeCache", "size_of"]

# Versions of one thing: the head of a branch or two, and what they are compared with.
MAX_VERSIONS = 4

# Entries that were begun and not ended: some queries at a time, and those that gave up last.
MAX_UNFINISHED = 4

# Table versions whose look-ups are counted.
MAX_TABLES_ASKED = 1_024


class Weighed(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Weighed)


class _Entry(NamedTuple):
    value: Weighed
    nbytes: int
    """When it came: what is taken away later must be what was added."""
    family: Hashable


class RuntimeCache:
    """The least recently used entries go first once their bytes pass the limit.

    Safe to share between threads. Two threads that miss at the same time both build the entry, and
    one is kept: waiting for each other would cost a lock per key.
    """

    def __init__(self, limits: ReadLimits | None = None, *, disk: DiskCache | None = None) -> None:
        self.limits = limits or ReadLimits()
        self.disk = disk
        """Where other processes find what this one built; None: nowhere."""
        self._limit_bytes = self.limits.max_cache_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._families: dict[Hashable, OrderedDict[Hashable, None]] = {}
        """The keys of each family, the one used last at the end."""
        self._shared: Counter[Weighed] = Counter()
        """How many entries share each of the things that versions share: its bytes count once."""
        self._bytes = 0
        self._asked: Recent[Hashable, float] = Recent(MAX_TABLES_ASKED)
        self._unfinished: Recent[Hashable, dict[Hashable, Any]] = Recent(MAX_UNFINISHED)

    @property
    def nbytes(self) -> int:
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, build: Callable[[], T], *, family: Hashable = None) -> T:
        """The entry of this key, built on the first call. One key always stands for one type.

        A family is the same thing at other versions: only the last few of it are kept.
        """
        with self._lock:
            if key in self._entries:
                return cast(T, self._used(key))
        built = build()
        with self._lock:
            self._keep(key, built, family)
        return built

    def follow(self, key: K, family: Hashable, build: Callable[[tuple[K, T] | None], T]) -> T:
        """As `get`, where the entry may be made from another of its family.

        `build` is given the member that was used last, with its key, if there is one.
        """
        return self.get(key, lambda: build(self._last_of(family)), family=family)

    def _last_of(self, family: Hashable) -> tuple[Any, Any] | None:
        """One family has keys of one type and entries of one type."""
        with self._lock:
            last = next(reversed(self._families.get(family, {})), None)
            return None if last is None else (last, self._entries[last].value)

    @contextmanager
    def in_pieces(self, key: Hashable, pace: Pace) -> Iterator[Pieces]:
        """For making an entry: if time is over before it ends, the next goes on from there."""
        pieces = Pieces(pace, self._unfinished.get(key))
        try:
            yield pieces
        except LimitError:
            self._unfinished.put(key, pieces.made)
            raise
        self._unfinished.forget(key)

    def used(self, key: Hashable) -> Weighed | None:
        """The entry of this key if there is one, used once more."""
        with self._lock:
            return self._used(key) if key in self._entries else None

    def peek(self, key: Hashable) -> Weighed | None:
        """The entry of this key if there is one. Looking does not count as use."""
        with self._lock:
            return self._entries[key].value if key in self._entries else None

    def has(self, key: Hashable, family: Hashable) -> bool:
        """Whether the entry, or one of its family to make it from, is there."""
        with self._lock:
            return key in self._entries or family in self._families

    def asked(self, table: Hashable) -> float:
        """How many look-ups a table has had since it was last read whole."""
        return self._asked.get(table) or 0.0

    def note_asked(self, table: Hashable, lookups: float) -> None:
        self._asked.put(table, self.asked(table) + lookups)

    # Each of these is called with the lock held --------------------------------------------------

    def _used(self, key: Hashable) -> Weighed:
        entry = self._entries[key]
        self._entries.move_to_end(key)
        if entry.family is not None:
            self._families[entry.family].move_to_end(key)
        return entry.value

    def _keep(self, key: Hashable, built: Weighed, family: Hashable) -> None:
        if key in self._entries or size_of(built) > self._limit_bytes:
            return
        self._entries[key] = _Entry(built, built.nbytes, family)
        self._bytes += built.nbytes
        for thing in _shared_by(built):
            self._shared[thing] += 1
            self._bytes += thing.nbytes if self._shared[thing] == 1 else 0
        if family is not None:
            members = self._families.setdefault(family, OrderedDict())
            members[key] = None
            if len(members) > MAX_VERSIONS:
                self._drop(next(iter(members)))
        while self._bytes > self._limit_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key)
        self._bytes -= entry.nbytes
        for thing in _shared_by(entry.value):
            self._shared[thing] -= 1
            if not self._shared[thing]:
                del self._shared[thing]
                self._bytes -= thing.nbytes
        if entry.family is not None:
            members = self._families[entry.family]
            del members[key]
            if not members:
                del self._families[entry.family]


def size_of(entry: Weighed) -> int:
    """The bytes of an entry and of what it shares, whoever else does."""
    return entry.nbytes + sum(thing.nbytes for thing in _shared_by(entry))


def _shared_by(entry: Weighed) -> tuple[Weighed, ...]:
    """What other versions may share with an entry: a room, or things that never change."""
    room = getattr(entry, "room", None)
    assert room is None or isinstance(room, Room), "a room is what versions share"
    return getattr(entry, "shared", ()) if room is None else (room,)
