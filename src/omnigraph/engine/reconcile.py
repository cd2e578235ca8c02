"""Reconcile: tables whose indexes lag or whose files are too many are brought up to date, politely.

For the background of a server, and for the end of a large load. Nobody waits for it and it fails
nobody: it passes over a branch that a writer is at work on, it builds before it takes the fence,
and a table that others have moved meanwhile is left for the next time. When it runs, and in which
thread, is the caller's business (`surfaces/server/upkeep.py`).
"""

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from omnigraph.base.errors import BranchBusy, OmnigraphError, ReadOnly
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.index_jobs import index_jobs, takes_spark
from omnigraph.engine.results import CommitInfo
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import Dataset
from omnigraph.write.upkeep import UPKEEP_ACTOR, Tidying
from omnigraph.write.work import CommitNote, Target
from omnigraph.write.writer import write

__all__ = ["Reconciler", "Watcher"]

log = logging.getLogger(__name__)


class Watcher(Protocol):
    """Is told what a reconciler has done."""

    def made(self, commit: CommitInfo) -> None: ...

    def failed(self, branch: BranchName, failure: OmnigraphError) -> None: ...


class _Logging:
    def made(self, commit: CommitInfo) -> None:
        log.info("%s has a commit of the kind %s", commit.graph_branch, commit.kind)

    def failed(self, branch: BranchName, failure: OmnigraphError) -> None:
        log.warning("the tables of %s stay as they are: %s", branch, failure)


class Reconciler:
    """Looks after the tables of one graph."""

    def __init__(
        self,
        engine: Engine,
        *,
        in_background: bool = False,
        may_begin: Callable[[], bool] = lambda: True,
        watcher: Watcher | None = None,
    ) -> None:
        """In the background it compacts too, and starts no Spark: a table that takes it is left to
        `optimize`. `may_begin` is asked before each table, and may wait; False: it is given up for
        this time.
        """
        if engine.gate.is_read_only:
            raise ReadOnly(engine.gate.uri)
        self._engine = engine
        self._in_background = in_background
        self._may_begin = may_begin
        self._watcher = watcher or _Logging()
        self._done: dict[BranchName, CommitId] = {}
        """The heads at which there was nothing to do."""

    def run_once(self, stop: threading.Event | None = None) -> tuple[CommitInfo, ...]:
        """Look at every branch once; the commits that this took.

        `stop` ends it between two branches.
        """
        branches = [branch.name for branch in self._engine.store.branches.list()]
        self._done = {name: head for name, head in self._done.items() if name in branches}
        made = []
        for name in branches:
            if stop is not None and stop.is_set():
                break
            made.append(self.run_on(name))
        return tuple(commit for commit in made if commit is not None)

    def run_on(self, branch: BranchName) -> CommitInfo | None:
        """Bring the tables of one branch up to date; None: there was nothing to do, or no time."""
        store, is_cut_short = self._engine.store, False

        def may_begin(dataset: Dataset) -> bool:
            nonlocal is_cut_short
            if self._in_background and takes_spark(self._engine, dataset):
                return False
            is_cut_short = is_cut_short or not self._may_begin()
            return not is_cut_short

        try:
            head = store.snapshot(branch).commit.id
            if self._done.get(branch) == head or self._is_busy(branch):
                return None
            written = write(
                store,
                Tidying(
                    store,
                    index_jobs(self._engine),
                    compacts=self._in_background,
                    may_begin=may_begin,
                ),
                to=Target(branch),
                note=CommitNote(CommitKind.INDEX, UPKEEP_ACTOR),
                faults=self._engine.faults,
            )
        except OmnigraphError as failure:
            # Whatever it is: a user's write that meets it will be told.
            self._watcher.failed(branch, failure)
            return None
        assert written is not None, "an upkeep is never done before"
        if written.commit is None:
            if not is_cut_short:
                self._done[branch] = head
            return None
        commit = CommitInfo.of(written.commit)
        self._watcher.made(commit)
        return commit

    def _is_busy(self, branch: BranchName) -> bool:
        """Whether a writer is at work, in this process or in another."""
        try:
            with self._engine.store.fence(branch, timeout_s=0):
                return False
        except BranchBusy:
            return True
