"""The lock of a deployment: one apply at a time, whoever and wherever they are.

The object says who holds it, since when and for what. It does not run out: what a process that died
has left undone is a person's business, and `force-unlock` is how they say that they looked. A
holder whose lock was taken away is told at its next step, and can't change the ledger either, since
that is swapped on a condition.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from omnigraph.base.errors import ClusterLocked, LockLost, LockMissing, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.cluster.ledger import utc_text
from omnigraph.cluster.place import LOCK, ClusterPlace

__all__ = ["HeldLock", "Lock", "force_unlock", "locked", "read_lock"]

FREE = b"{}\n"


@frozen
class Lock:
    id: str
    owner: str | None
    operation: str
    taken_at: str
    pid: int
    host: str

    @property
    def process(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def is_dead(self) -> bool:
        """True if its process was on this machine, and does not run any more."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            return False
        return False

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "is_dead": self.is_dead}


@frozen
class HeldLock:
    lock: Lock
    place: ClusterPlace

    def confirm(self) -> None:
        """Raise `LockLost` if it is not ours any more."""
        found = read_lock(self.place)
        if found is None:
            raise LockLost(self.lock.id, "somebody took it away (force-unlock)")
        if found.id != self.lock.id:
            raise LockLost(self.lock.id, f"{found.owner or found.process} holds another one now")


@contextmanager
def locked(place: ClusterPlace, *, operation: str, owner: str | None) -> Iterator[HeldLock]:
    """Hold the lock, or raise `ClusterLocked` at once: an apply may take long, and others plan."""
    place.require_conditions()
    held = _take(place, operation, owner)
    try:
        yield held
    except (Exception, KeyboardInterrupt):
        _give_back(held)
        raise
    # Not in a `finally`: a process that is killed gives nothing back.
    _give_back(held)


def read_lock(place: ClusterPlace) -> Lock | None:
    """The lock that somebody holds."""
    found = place.objects.get_tagged(LOCK)
    return None if found is None else _lock_in(place, found[0])


def force_unlock(place: ClusterPlace, lock_id: str) -> Lock:
    """Take a lock away from whoever holds it. Raises `LockMissing` if it is another one."""
    while True:
        found = place.objects.get_tagged(LOCK)
        lock = None if found is None else _lock_in(place, found[0])
        if found is None or lock is None or lock.id != lock_id:
            raise LockMissing(lock_id, lock.id if lock is not None else None)
        if place.objects.swap(LOCK, FREE, expected=found[1]) is not None:
            return lock


def _take(place: ClusterPlace, operation: str, owner: str | None) -> HeldLock:
    clock = place.clock
    ours = Lock(
        id=clock.ulid(),
        owner=owner,
        operation=operation,
        taken_at=utc_text(clock.now_ms()),
        pid=os.getpid(),
        host=socket.gethostname(),
    )
    while True:
        found = place.objects.get_tagged(LOCK)
        there = None if found is None else _lock_in(place, found[0])
        if there is not None and there.id == ours.id:
            return HeldLock(ours, place)  # it had landed, and the answer was lost
        if there is not None:
            raise ClusterLocked(
                lock_id=there.id,
                owner=there.owner,
                process=there.process,
                operation=there.operation,
                taken_at=there.taken_at,
                is_dead=there.is_dead,
            )
        data = json.dumps(asdict(ours)).encode() + b"\n"
        expected = None if found is None else found[1]
        if place.objects.swap(LOCK, data, expected=expected) is not None:
            return HeldLock(ours, place)


def _give_back(held: HeldLock) -> None:
    place = held.place
    found = place.objects.get_tagged(LOCK)
    lock = None if found is None else _lock_in(place, found[0])
    if found is not None and lock is not None and lock.id == held.lock.id:
        place.objects.swap(LOCK, FREE, expected=found[1])


def _lock_in(place: ClusterPlace, data: bytes) -> Lock | None:
    try:
        found = json.loads(data)
        if found == {}:
            return None
        lock = Lock(**found)
        texts = (lock.id, lock.operation, lock.taken_at, lock.host, lock.owner or "")
        if not all(isinstance(each, str) for each in texts) or type(lock.pid) is not int:
            raise TypeError("a process is a number, and all else is text")
        return lock
    except (ValueError, TypeError) as error:
        reason = "it is no lock, so it was changed by hand"
        advice = "remove it if nobody is at work on the cluster"
        raise StorageFailed(
            doing="read", path=place.name_of(LOCK), reason=reason, advice=advice
        ) from error
