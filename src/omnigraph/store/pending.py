"""Writes of this process that failed after they were armed, and whose outcome is still open."""

import threading

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName
from omnigraph.store.commits import Commit

__all__ = ["Pending", "PendingWrites"]

# Each is a failed write whose caller has not come back to the branch yet.
MAX_PENDING = 1_024


@frozen
class Pending:
    """A commit that recovery may yet publish, and the note that recovery will find."""

    commit: Commit
    sidecar: str


class PendingWrites:
    """These writes, by the branch that they were for. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writes: tuple[Pending, ...] = ()

    def add(self, pending: Pending) -> None:
        with self._lock:
            self._writes = (*self._writes, pending)[-MAX_PENDING:]

    def of(self, branch: BranchName | None, actor: str | None) -> tuple[Pending, ...]:
        """The writes of an actor to a branch; None stands for every branch, or every actor."""
        # Every read asks, and nearly always there is nothing.
        return self._writes and tuple(
            each
            for each in self._writes
            if branch in (None, each.commit.branch) and actor in (None, each.commit.actor)
        )

    def drop(self, pending: Pending) -> None:
        """Forget a write whose caller has heard what became of it."""
        with self._lock:
            self._writes = tuple(each for each in self._writes if each is not pending)
