"""The files that tasks write for one commit, and what becomes of them however the commit ends."""

from typing import TYPE_CHECKING

from omnigraph.base.errors import StorageFailed
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import Replacement, Work

if TYPE_CHECKING:
    from omnigraph.pipeline.staging.area import Ending, StagingArea

__all__ = ["CommitFiles"]


class CommitFiles:
    """A staging area without a name, made when the first file is to be written."""

    def __init__(self, store: GraphStore, branch: BranchName, *kinds: CommitKind) -> None:
        """`kinds` are those that the commit may be of."""
        self._store = store
        self._branch = branch
        self._kinds = kinds
        self._seen: CommitId | None = None
        self._area: StagingArea | None = None

    def area(self, seen: Snapshot) -> "StagingArea":
        """Where files go; `seen` is the head for which they are written."""
        # Small writes do without the pipeline.
        from omnigraph.pipeline.staging.area import StagingArea

        self._seen = self._seen or seen.commit.id
        if self._area is None:
            self._area = StagingArea(self._store)
        return self._area

    def end(self, work: Work, commit: Commit | None) -> None:
        """It is over: files that the commit does not name go. None: there is no commit."""
        from omnigraph.pipeline.staging.area import Ending

        if commit is None:
            self._close(Ending.NOTHING)
            return
        datasets = self._store.datasets
        where = {c.key: datasets.location(c.ref.path, c.ref.branch) for c in commit.changes}
        # A table that was forked for the commit got copies of the files.
        published = {
            fragment
            for key, table in work.tables.items()
            if isinstance(table, Replacement) and table.written_at == where.get(key)
            for fragment in table.fragments
        }
        self._close(Ending.PUBLISHED, published)

    def fail(self) -> None:
        """Leave nothing behind, unless the commit is or may yet be published."""
        if self._area is None or self._seen is None:
            return
        from omnigraph.pipeline.staging.area import Ending
        from omnigraph.pipeline.staging.record import is_none_ours

        try:
            is_nothing = is_none_ours(
                self._store, self._branch, lambda c: c.kind in self._kinds, since=self._seen
            )
        except StorageFailed:
            is_nothing = False
        self._close(Ending.NOTHING if is_nothing else Ending.UNKNOWN)

    def _close(self, ending: "Ending", published: set[str] | frozenset[str] = frozenset()) -> None:
        if self._area is not None:
            self._area.close(ending, published=published)
