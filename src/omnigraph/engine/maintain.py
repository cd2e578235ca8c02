"""Maintain: the same rows in fewer files, under indexes that answer for all of them.

It is one commit. No answer changes, so it is made again where another writer was quicker. The
history of the branch is no table: it is written together by a swap of the manifest, without a
commit.
"""

from omnigraph.base.ids import TableKey
from omnigraph.engine.engine import Engine
from omnigraph.engine.index_jobs import index_jobs
from omnigraph.engine.requests import Optimize
from omnigraph.engine.results import CommitInfo, OptimizeResult
from omnigraph.store.commits import CommitKind
from omnigraph.store.transactions import CreateIndex, Rewrite
from omnigraph.write.recover import recover
from omnigraph.write.upkeep import Optimizing
from omnigraph.write.work import CommitNote, Target, Upkeep
from omnigraph.write.writer import write

__all__ = ["optimize"]


def optimize(engine: Engine, request: Optimize) -> OptimizeResult:
    """Compact and index the tables that the branch has written."""
    engine.gate.allow(request)
    store = engine.store
    note = CommitNote(CommitKind.OPTIMIZE, request.actor, request.message)
    to = Target(request.branch)
    written = write(
        store, Optimizing(store, index_jobs(engine)), to=to, note=note, faults=engine.faults
    )
    assert written is not None, "an upkeep is never done before"
    with store.fence(request.branch) as fenced:
        gathered = store.manifest.gather(recover(store, fenced), name=request.branch)
    tables = {key: w.operations for key, w in written.work.tables.items() if isinstance(w, Upkeep)}

    def touched_by(kind: type[Rewrite | CreateIndex]) -> tuple[TableKey, ...]:
        return tuple(
            sorted(k for k, ops in tables.items() if any(isinstance(o, kind) for o in ops))
        )

    return OptimizeResult(
        branch=request.branch,
        compacted=touched_by(Rewrite),
        indexed=touched_by(CreateIndex),
        commit=CommitInfo.of(written.commit) if written.commit is not None else None,
        history_files=gathered,
    )
