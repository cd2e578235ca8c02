"""Merge: what a branch changed since it left becomes one commit on the branch it goes into.

The change is replayed on the target's own datasets. The target never names files that lie on the
source's forks, so the source can go at any time.
"""

import json

from omnigraph.base.errors import Unsupported
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import Merge
from omnigraph.engine.results import CommitInfo, MergeResult
from omnigraph.read.changes.diff import changes_between
from omnigraph.store.commits import MERGED_LOAD_IDS, ROWS_OF, CommitKind
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write

__all__ = ["merge"]


def merge(engine: Engine, request: Merge) -> MergeResult:
    """Bring a branch into another, no row of which may have changed since the source left it."""
    engine.gate.allow(request)
    store, source, target = engine.store, request.source, request.branch
    theirs = store.snapshot(source)
    ours = store.snapshot(target)
    history = store.history()
    if history.ancestor_like(theirs.commit.id, of=ours.commit.id) is not None:
        return MergeResult(source, target, "already_up_to_date", None)
    base = history.ancestor_like(ours.commit.id, of=theirs.commit.id)
    if base is None:
        raise Unsupported(
            what=f"merging {source} into {target}, which has commits that {source} has not,",
            instead=f"make a new branch from {target} and repeat the changes there",
        )

    has_base = store.has_rows_of(base)
    known = history.ancestors(ours.commit.id)
    new = (history.get(id_) for id_ in history.ancestors(theirs.commit.id) - known)
    load_ids = sorted({load_id for commit in new for load_id in commit.load_ids})
    extra: dict[str, str] = {ROWS_OF: history.origin_of_rows(theirs.commit.id)}
    if load_ids:
        extra[MERGED_LOAD_IDS] = json.dumps(load_ids)

    written = write(
        store,
        # Where the rows of the base went with its branch: those of the target are the same.
        Replay(changes_between(store.snapshot_at(base.id) if has_base else ours, theirs).edits),
        to=Target(target, seen=ours),
        note=CommitNote(
            CommitKind.MERGE,
            request.actor,
            message=request.message or f"merge {source}",
            merged_parent=theirs.commit.id,
            extra=extra,
        ),
        faults=engine.faults,
    )
    assert written is not None and written.commit is not None, "a merge is a commit in any case"
    return MergeResult(source, target, "fast_forward", CommitInfo.of(written.commit))
