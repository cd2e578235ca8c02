"""Writes of this process that failed after they were armed, and whose outcome is still open."""

import threading

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId
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
    """These writes. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writes: tuple[Pending, ...] = ()

    def add(self, pending: Pending) -> None:
        with self._lock:
            self._writes = (*self._writes, pending)[-MAX_PENDING:]

    def by(self, branch: BranchName, actor: str | None) -> tuple[Pending, ...]:
        """The writes of this actor to a branch."""
        return self._writes and tuple(
            each for each in self.open_for(branch, actor) if each.commit.actor == actor
        )

    def open_for(self, branch: BranchName | None, actor: str | None) -> tuple[Pending, ...]:
        """The writes that have to be finished or undone before this actor looks at a branch.

        Without a branch these are the writes to any, and a look without an actor is one for all.
        """
        # Every read asks, and nearly always there is nothing.
        return self._writes and tuple(
            each
            for each in self._writes
            if branch in (None, each.commit.branch) and actor in (None, each.commit.actor)
        )

    def drop(self, commit: CommitId) -> None:
        """Forget a write whose caller has heard what became of it."""
        with self._lock:
            self._writes = tuple(each for each in self._writes if each.commit.id != commit)
