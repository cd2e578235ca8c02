"""Merges that do not fit in memory: who runs them, and what becomes of their files."""

from typing import TYPE_CHECKING

from omnigraph.base.errors import ReadOnly
from omnigraph.base.ids import BranchName
from omnigraph.engine.choose_runner import WorkSize, choose_runner
from omnigraph.engine.commit_files import CommitFiles
from omnigraph.engine.engine import Engine
from omnigraph.merge.base import StoredBases
from omnigraph.merge.choices import Choices
from omnigraph.merge.conflicts import SideNames
from omnigraph.merge.merging import Merged
from omnigraph.read.changes.locate import bytes_touched
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import Work

if TYPE_CHECKING:
    from omnigraph.pipeline.merge.large import LargeMerge
    from omnigraph.pipeline.runner import Runner
    from omnigraph.pipeline.staging.area import TaskArea

__all__ = ["MergeFiles"]


class MergeFiles:
    """Merges by tasks above a bound, and owns the files that these write (`MergeInFiles`)."""

    def __init__(self, engine: Engine, branch: BranchName, actor: str | None) -> None:
        self._engine = engine
        self._actor = actor
        self._files = CommitFiles(engine.store, branch, CommitKind.MERGE, CommitKind.REVERT)
        self._large: LargeMerge | None = None

    def __call__(
        self,
        bases: StoredBases,
        ours: Snapshot,
        theirs: Snapshot,
        *,
        names: SideNames,
        choices: Choices,
    ) -> Merged | None:
        """What the changes from the bases to theirs do to ours; None if they fit in memory."""
        limits = self._engine.settings.load_limits
        touched = sum(bytes_touched(base, theirs) for base in bases.latest)
        if touched <= limits.max_merged_bytes:
            return None
        if self._engine.gate.is_read_only:
            raise ReadOnly(self._engine.gate.uri)  # even a preview writes files of so many rows
        # Reading and small merges do without the pipeline.
        from omnigraph.pipeline.merge.large import LargeMerge

        if self._large is None:
            self._large = LargeMerge(self._runner(touched), self._task_area(ours), limits)
        return self._large.merge(bases, ours, theirs, names=names, choices=choices)

    def _task_area(self, ours: Snapshot) -> "TaskArea":
        area = self._files.area(ours)
        area.open({"kind": CommitKind.MERGE.value, "branch": ours.branch}, name=None)
        assert area.for_tasks is not None, "an open area takes receipts"
        return area.for_tasks

    def _runner(self, touched_bytes: int) -> "Runner":
        from omnigraph.pipeline.local import InProcess

        settings = self._engine.settings
        work = WorkSize(touched_bytes, settings.load_limits.max_local_merge_bytes)
        may_start = self._engine.gate.allows_spark(self._actor)
        choice = choose_runner(settings, lambda: work, may_start_spark=may_start)
        if choice.engine == "local":
            return InProcess(settings.load_limits)
        return self._engine.spark_for(self._actor)

    def end(self, work: Work, commit: Commit | None) -> None:
        """The merge is over: files that its commit does not name go. None: there is no commit."""
        self._files.end(work, commit)

    def fail(self) -> None:
        """Leave nothing behind, unless the merge is or may yet be published."""
        self._files.fail()
