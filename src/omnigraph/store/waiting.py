"""How writers wait for each other: in a queue within a process, by asking again across processes.

Writers of one handle stand in a queue: first come, first served. A fence can't do that for
processes: neither a kernel's lock nor a lease knows who waits for it. There a writer asks again and
again, and the longer it has waited the more often it asks, so that nobody is passed over for long.
"""

import os
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from omnigraph.base.errors import BranchBusy
from omnigraph.base.frozen import frozen

__all__ = ["Queues", "Turn", "this_process", "tries"]

# A writer that has waited for so many pauses asks twice as often as one that has just come, and
# one that has waited far longer asks at most so many times as often.
PAUSES_TO_TWICE = 20
MAX_TIMES_AS_OFTEN = 10


def this_process() -> str:
    """How others name us when they wait for us."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def tries(timeout_s: float, *, pause_s: float) -> Iterator[None]:
    """Come round each time it is worth another try, the first time at once, until time is up.

    `pause_s` is about how long one who has just come sleeps in between. Sleeps differ at random: of
    those who wait equally long, everyone has the same chance.
    """
    began_s = time.monotonic()
    while True:
        yield
        waited_s = time.monotonic() - began_s
        if waited_s >= timeout_s:
            return
        how_often = min(1 + waited_s / (PAUSES_TO_TWICE * pause_s), MAX_TIMES_AS_OFTEN)
        sleep_s = random.uniform(0.5, 1.5) * pause_s / how_often
        time.sleep(min(sleep_s, timeout_s - waited_s))


@frozen
class Turn:
    """The right to be the one of this handle that goes for a fence; only `Queues` gives one."""

    name: str
    timeout_s: float
    """How long its holder is willing to wait while nothing moves."""
    left_s: float
    """How much of that is left for the fence."""


class Queues:
    """The queues of one handle, one for each name that is waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[str, _Queue] = {}

    @contextmanager
    def turn(self, name: str, *, timeout_s: float) -> Iterator[Turn]:
        """Wait until all who came before are gone. 0 seconds: go in if nobody is there.

        A queue that moves is waited for however long it is: `timeout_s` begins again whenever one
        of those before is done. One of them who gives up does not count, or many who wait for a
        process that is stuck would each give up long after the other.
        """
        mine, joined_s, is_done = threading.Event(), time.monotonic(), False
        try:
            queue = self._join(name, mine)
            while not mine.wait(queue.left_s(joined_s, timeout_s)):
                if not queue.left_s(joined_s, timeout_s):
                    raise BranchBusy(branch=name, holder=this_process(), waited_s=timeout_s)
            is_done = True
            yield Turn(name, timeout_s, queue.left_s(joined_s, timeout_s))
        except BranchBusy:
            is_done = False
            raise
        finally:
            # However it ends, and also for one who gives up in the middle of the queue.
            self._leave(name, mine, is_done=is_done)

    def _join(self, name: str, mine: threading.Event) -> "_Queue":
        with self._lock:
            queue = self._queues.setdefault(name, _Queue())
            queue.waiting.append(mine)
            queue.waiting[0].set()
            return queue

    def _leave(self, name: str, mine: threading.Event, *, is_done: bool) -> None:
        with self._lock:
            if (queue := self._queues.get(name)) is None:
                return
            if is_done:
                queue.moved_s = time.monotonic()
            if mine in queue.waiting:
                queue.waiting.remove(mine)
            if queue.waiting:
                queue.waiting[0].set()
            else:
                del self._queues[name]


@dataclass(eq=False)
class _Queue:
    waiting: deque[threading.Event] = field(default_factory=deque)
    """In the order of arrival. The first one's is set: it has its turn."""
    moved_s: float = 0.0
    """When one of them was done, by the monotonic clock."""

    def left_s(self, joined_s: float, timeout_s: float) -> float:
        """How much longer one who came then waits if nothing moves."""
        return max(0.0, max(joined_s, self.moved_s) + timeout_s - time.monotonic())
