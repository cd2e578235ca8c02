"""The writer's fence in a bucket: a lease, taken and renewed by conditional puts.

One object per fence says who holds it, until when, and its number. Two rules matter:

- The time is for progress only. A holder that stood still past it may believe that it still holds
  the fence, and no clock can keep it from acting. What keeps its acts from counting is the number:
  the manifest's head carries that of the newest owner, and an owner with a lower one can't publish.
- The number grows only when a lease is taken from a holder that did not give it back. A holder
  that gave it back does nothing more, so its successor need not guard against it.

The object of a branch is never removed: its number must not begin again. The one of a fence that
does not last is removed by a holder that has just made sure of it.
"""

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from urllib.parse import quote

from omnigraph.base.clock import Clock
from omnigraph.base.errors import BranchBusy, FenceLost, StorageFailed, StoreUnfit
from omnigraph.base.frozen import frozen
from omnigraph.store.fence import Hold
from omnigraph.store.layout import LOCKS
from omnigraph.store.objects import SwappableObjects
from omnigraph.store.waiting import this_process, tries

__all__ = ["LEASE_S", "PROBE", "Lease", "LeaseFences"]

# How long the next writer waits for one that was killed, at most.
LEASE_S = 15.0
RENEWALS_PER_LEASE = 3
# In the last fifth of its time a holder asks before it acts. So far may two clocks differ before
# someone loses time; nobody loses more than that.
DOUBT_SHARE = 5

# How long to sleep between tries, each of which is a request. A commit takes several times as long.
PAUSE_S = 0.05

PROBE = f"{LOCKS}/probe"
# What no object has: tags are hashes of contents, or numbers.
ANOTHER_TAG = '"ffffffffffffffffffffffffffffffff"'

log = logging.getLogger(__name__)


@frozen
class LeaseRecord:
    """What the object says."""

    number: int
    owner: str | None
    """One holding of the fence; None: it was given back."""
    holder: str
    """Who that is, for people."""
    expires_at_ms: int

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


class LeaseFences:
    """The fences of one graph in a bucket."""

    def __init__(
        self, objects: SwappableObjects, clock: Clock, *, address: str, lease_s: float = LEASE_S
    ) -> None:
        self._objects = objects
        self._clock = clock
        self._address = address
        self._lease_ms = round(1000 * lease_s)

    def require(self) -> None:
        """Make the store refuse two puts that it must refuse.

        The object stays, so from the second time on each of the two is one request.
        """
        is_new = self._objects.put_if_absent(PROBE, b"there")
        if is_new and self._objects.put_if_absent(PROBE, b"there twice"):
            ignored = "If-None-Match"
        elif self._objects.swap(PROBE, b"swapped", expected=ANOTHER_TAG) is not None:
            ignored = "If-Match"
        else:
            return
        self._objects.delete(PROBE)
        raise StoreUnfit(
            self._address, f"it ignores {ignored}, so concurrent writers would overwrite each other"
        )

    @contextmanager
    def hold(
        self, name: str, *, timeout_s: float, at_least: int = 0, is_lasting: bool = True
    ) -> Iterator[Hold]:
        lease = self._take(name, at_least, timeout_s=timeout_s)
        end = lease.give_back if is_lasting else lease.remove
        try:
            with _renewed(lease, every_s=self._lease_ms / 1000 / RENEWALS_PER_LEASE):
                yield lease
        except Exception:
            end()
            raise
        # Not in a `finally`: a process that is killed or interrupted gives nothing back. The next
        # owner then guards against writes that may still be on their way.
        end()

    def _take(self, name: str, at_least: int, *, timeout_s: float) -> "Lease":
        owner = self._clock.ulid()
        holder = "another process"
        for _ in tries(timeout_s, pause_s=PAUSE_S):
            taken = self._try_take(name, owner, at_least)
            if isinstance(taken, Lease):
                return taken
            holder = taken.holder
        raise BranchBusy(branch=name, holder=holder, waited_s=timeout_s)

    def _try_take(self, name: str, owner: str, at_least: int) -> "Lease | LeaseRecord":
        """The lease; or what it says, if its holder may still be at work."""
        while True:
            now_ms = self._clock.now_ms()
            match _read(self._objects, name):
                case None:
                    number, expected = at_least, None
                case (record, tag) if record.owner == owner:
                    return self._lease(name, record, tag)  # it had landed, and the answer was lost
                case (record, tag) if record.owner is None:
                    number, expected = max(record.number, at_least), tag
                case (record, tag) if record.expires_at_ms <= now_ms:
                    number, expected = max(record.number, at_least) + 1, tag
                case (record, _):
                    return record
            record = LeaseRecord(number, owner, this_process(), now_ms + self._lease_ms)
            landed = self._objects.swap(_object_of(name), record.to_bytes(), expected=expected)
            if landed is not None:
                return self._lease(name, record, landed)

    def _lease(self, name: str, record: LeaseRecord, tag: str) -> "Lease":
        return Lease(self._objects, self._clock, name, record, tag, lease_ms=self._lease_ms)


class Lease:
    """A fence that is ours for as long as it is renewed, and perhaps no longer than that."""

    may_lapse = True

    def __init__(
        self,
        objects: SwappableObjects,
        clock: Clock,
        name: str,
        record: LeaseRecord,
        tag: str,
        *,
        lease_ms: int,
    ) -> None:
        self._objects = objects
        self._clock = clock
        self._name = name
        self._record, self._tag = record, tag
        self._lease_ms = lease_ms
        self._lock = threading.Lock()
        self._lost_to: str | None = None

    @property
    def number(self) -> int:
        return self._record.number

    def check(self) -> None:
        doubt_ms = self._record.expires_at_ms - self._lease_ms // DOUBT_SHARE
        if self._lost_to is not None or self._clock.now_ms() >= doubt_ms:
            self.confirm()

    def confirm(self) -> None:
        """Renew it, which only its owner can."""
        with self._lock:
            if self._lost_to is not None:
                raise FenceLost(branch=self._name, holder=self._lost_to)
            record = replace(self._record, expires_at_ms=self._clock.now_ms() + self._lease_ms)
            tag = self._objects.swap(_object_of(self._name), record.to_bytes(), expected=self._tag)
            self._record, self._tag = (record, tag) if tag is not None else self._as_it_stands()

    def give_back(self) -> None:
        with self._lock:
            free = replace(self._record, owner=None, expires_at_ms=0)
            try:
                self._objects.swap(_object_of(self._name), free.to_bytes(), expected=self._tag)
            except StorageFailed as failure:
                log.warning(
                    "could not give back the lease of %s, it will expire: %s", self._name, failure
                )

    def remove(self) -> None:
        """Leave nothing of the lease, unless it is another's by now."""
        try:
            self.confirm()
            self._objects.delete(_object_of(self._name))
        except FenceLost:
            pass
        except StorageFailed as failure:
            log.warning(
                "could not give back the lease of %s, it will expire: %s", self._name, failure
            )

    def _as_it_stands(self) -> tuple[LeaseRecord, str]:
        """After a put was refused: our own, if one before it landed and its answer was lost."""
        found = _read(self._objects, self._name)
        if found is not None and found[0].owner == self._record.owner:
            return found
        self._lost_to = found[0].holder if found is not None else "a process that deleted the lease"
        raise FenceLost(branch=self._name, holder=self._lost_to)


@contextmanager
def _renewed(lease: Lease, *, every_s: float) -> Iterator[None]:
    """Keep a lease from running out, in a thread of its own."""
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(every_s):
            try:
                lease.confirm()
            except FenceLost:
                return  # its holder is told at its next check
            except StorageFailed as failure:
                log.warning("could not renew a lease: %s", failure)

    thread = threading.Thread(target=renew, name="omnigraph-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _object_of(name: str) -> str:
    return f"{LOCKS}/{quote(name, safe='')}"


def _read(objects: SwappableObjects, name: str) -> tuple[LeaseRecord, str] | None:
    if (found := objects.get_tagged(_object_of(name))) is None:
        return None
    data, tag = found
    try:
        return LeaseRecord(**json.loads(data)), tag
    except (ValueError, TypeError) as error:
        raise StorageFailed(doing="read lease", path=_object_of(name), reason=str(error)) from error
