"""Maintain: the same rows in fewer files, under indexes that answer for all of them.

Compaction and indexing are two commits, since an index can only be built over files that are there.
Neither changes an answer, so each is made again where another writer was quicker.
"""

from omnigraph.base.failpoints import Faults
from omnigraph.base.ids import BranchName
from omnigraph.engine.results import CommitInfo, OptimizeResult
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.upkeep import Compaction, Indexing
from omnigraph.write.work import CommitNote, Target, Work, Writer
from omnigraph.write.writer import write

__all__ = ["optimize"]


def optimize(
    store: GraphStore, *, branch: BranchName, actor: str | None, faults: Faults
) -> OptimizeResult:
    """Compact the tables that the branch has written, then index what no index covers."""

    def commits(writer: Writer[Work], kind: CommitKind) -> list[Commit]:
        note = CommitNote(kind, actor)
        written = write(store, writer, to=Target(branch), note=note, faults=faults)
        return [written.commit] if written is not None and written.commit is not None else []

    compacted = commits(Compaction(store), CommitKind.OPTIMIZE)
    indexed = commits(Indexing(store), CommitKind.INDEX)
    return OptimizeResult(
        branch=branch,
        compacted=tuple(change.key for commit in compacted for change in commit.changes),
        indexed=tuple(change.key for commit in indexed for change in commit.changes),
        commits=tuple(CommitInfo.of(commit) for commit in (*compacted, *indexed)),
    )
