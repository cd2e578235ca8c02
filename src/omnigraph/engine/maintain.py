"""Maintain: the same rows in fewer files, under indexes that answer for all of them.

Compaction and indexing are two commits, since an index can only be built over files that are there.
Neither changes an answer, so each is made again where another writer was quicker. The history of
the branch is no table: it is written together by a swap of the manifest, without a commit.
"""

from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import Optimize
from omnigraph.engine.results import CommitInfo, OptimizeResult
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.write.recover import recover
from omnigraph.write.upkeep import Compaction, Indexing
from omnigraph.write.work import CommitNote, Target, Work, Writer
from omnigraph.write.writer import write

__all__ = ["optimize"]


def optimize(engine: Engine, request: Optimize) -> OptimizeResult:
    """Compact the tables that the branch has written, then index what no index covers."""
    engine.gate.allow(request)
    store = engine.store

    def commits(writer: Writer[Work], kind: CommitKind) -> list[Commit]:
        note = CommitNote(kind, request.actor, request.message)
        written = write(store, writer, to=Target(request.branch), note=note, faults=engine.faults)
        return [written.commit] if written is not None and written.commit is not None else []

    compacted = commits(Compaction(store), CommitKind.OPTIMIZE)
    indexed = commits(Indexing(store), CommitKind.INDEX)
    with store.fence(request.branch) as fenced:
        gathered = store.manifest.gather(recover(store, fenced), name=request.branch)
    return OptimizeResult(
        branch=request.branch,
        compacted=tuple(change.key for commit in compacted for change in commit.changes),
        indexed=tuple(change.key for commit in indexed for change in commit.changes),
        commits=tuple(CommitInfo.of(commit) for commit in (*compacted, *indexed)),
        history_files=gathered,
    )
