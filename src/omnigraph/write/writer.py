"""The whole write protocol, in order. Every change of a graph comes this way.

Each step takes what only the step before returns, so a wrong order does not type-check. Whatever
fails before arming leaves nothing to undo; whatever fails after it is settled by the same recovery
that a crash would get, at once and under the same fence.
"""

import logging
from collections.abc import Callable, Mapping
from enum import Enum
from itertools import takewhile

from omnigraph.base.errors import (
    FenceLost,
    HeadMoved,
    OmnigraphError,
    PreconditionFailed,
    ReadSetMoved,
    StorageError,
    StorageFailed,
)
from omnigraph.base.failpoints import NEVER, Failpoint, Faults
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.datasets import LandingRefused
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.publish import publish
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.land import Armed, Landed, arm, disarm, land
from omnigraph.write.recover import is_published, recover, recover_if_idle
from omnigraph.write.stage import StagedFiles, Work, WriteNote, stage
from omnigraph.write.upkeep import compact_scattered

__all__ = ["UPKEEP_ACTOR", "OnConflict", "write"]

UPKEEP_ACTOR = "omnigraph:upkeep"

log = logging.getLogger(__name__)


class OnConflict(Enum):
    """What to do when a table that the preparation saw has changed since."""

    PREPARE_AGAIN = "prepare_again"
    """Inserts, loads that append or merge: prepare once more, with everyone else kept out."""
    RAISE = "raise"
    """Updates, deletes, overwriting loads, merges: what was decided may no longer be meant."""


def write(
    store: GraphStore,
    prepare: Callable[[Snapshot], Work],
    *,
    branch: BranchName,
    kind: CommitKind,
    actor: str | None = None,
    message: str | None = None,
    merged_parent: CommitId | None = None,
    extra: Mapping[str, str] | None = None,
    if_commit: CommitId | None = None,
    unless: Callable[[], bool] | None = None,
    on_conflict: OnConflict = OnConflict.RAISE,
    faults: Faults = NEVER,
) -> CommitId | None:
    """Make what `prepare` finds the next commit on `branch`, or leave no trace a reader can see.

    None: there was nothing to do. `if_commit` makes the write conditional on the branch's head.
    `unless` says whether this was done already. It is asked before anything is prepared, and again
    with everyone else kept out.
    """
    note = WriteNote(kind, actor, message, merged_parent, extra)
    recover_if_idle(store, branch)  # else what it heals would look like a conflict to us
    if unless is not None and unless():
        return None
    seen = store.snapshot(branch)
    _require_head(store, seen, if_commit)
    work = prepare(seen)  # reads, checks, heavy files; nothing moves
    with store.fence(branch) as held:  # across processes
        recover(store, held)  # a sidecar under our fence has no living owner
        if unless is not None and unless():
            return None
        now = store.snapshot(branch)
        _require_head(store, now, if_commit)
        moved = _moved(store, work, seen, now)
        if moved and on_conflict is OnConflict.RAISE:
            raise ReadSetMoved(branch=branch, tables=moved)
        if moved or not _is_made_for(work, now):
            work = prepare(now)  # under the fence: what it sees now can't move again
        commit = _carry_out(store, held, work, onto=now, note=note, faults=faults)
        if commit is not None:
            _tidy_up(store, held, commit, faults=faults)
        return commit.id if commit is not None else None


def _carry_out(
    store: GraphStore,
    held: FencedBranch,
    work: Work,
    *,
    onto: Snapshot,
    note: WriteNote,
    faults: Faults,
) -> Commit | None:
    """From work to a visible commit, behind the fence."""
    staged = stage(store, held, work, onto=onto, note=note)
    if staged is None:
        return None
    faults.reach(Failpoint.AFTER_STAGE)  # dying here costs only disk
    armed = arm(store, staged)
    faults.reach(Failpoint.AFTER_ARM)  # from here on recover.py owns a crash
    try:
        landed = land(store, armed, faults)
        faults.reach(Failpoint.AFTER_LAND_ALL)  # datasets moved; no reader can see it
        _publish(store, landed)
    except (LandingRefused, FenceLost, HeadMoved, StorageError) as failure:
        _settle(store, armed, failure)
    faults.reach(Failpoint.AFTER_PUBLISH)  # visible, whole
    disarm(store, armed)
    faults.reach(Failpoint.AFTER_DISARM)
    return staged.commit


def _tidy_up(store: GraphStore, held: FencedBranch, commit: Commit, *, faults: Faults) -> None:
    """Compact what the commit has scattered too far, as a commit of its own."""
    if commit.kind.keeps_rows:
        return
    try:
        now = store.snapshot(held.branch.name)
        work = compact_scattered(store, now, (change.key for change in commit.changes))
        note = WriteNote(CommitKind.OPTIMIZE, UPKEEP_ACTOR)
        _carry_out(store, held, work, onto=now, note=note, faults=faults)
    except OmnigraphError as failure:
        # What was asked for is done and visible; the next writer of the table tries again.
        log.warning("%s stays scattered: %s", held.branch.name, failure)


def _publish(store: GraphStore, landed: Landed) -> None:
    onto = store.state(landed.held.branch)
    publish(store.manifest, landed.held, onto=onto, commit=landed.sidecar.commit)


def _require_head(store: GraphStore, snapshot: Snapshot, expected: CommitId | None) -> None:
    """The branch must hold what it held at `expected`: commits that kept all rows may follow."""
    if expected is None:
        return
    for commit in store.line(snapshot.branch):
        if commit.id == expected:
            return
        if not commit.kind.keeps_rows:
            break
    raise PreconditionFailed(branch=snapshot.branch, expected=expected, actual=snapshot.commit.id)


def _moved(store: GraphStore, work: Work, seen: Snapshot, now: Snapshot) -> tuple[TableKey, ...]:
    """The tables the work depends on that are not what they were when it was prepared.

    Another head alone is no conflict: writers of different tables never get in each other's way.
    Nor is a compaction: it moves no row.
    """
    if seen.schema_hash != now.schema_hash:
        return tuple(sorted(now.tables))
    depends = now.tables.keys() if work.reads is None else work.tables.keys() | work.reads
    moved = {key for key in depends if seen.tables[key].ref != now.tables[key].ref}
    if moved:
        since = takewhile(lambda commit: commit.id != seen.commit.id, store.line(now.branch))
        written = {c.key for commit in since if not commit.kind.keeps_rows for c in commit.changes}
        moved &= written
    return tuple(sorted(moved))


def _is_made_for(work: Work, now: Snapshot) -> bool:
    """Whether rows lie where the work says: a compaction puts them elsewhere."""
    return all(
        isinstance(table, StagedFiles) or table.made_for == now.tables[key].ref
        for key, table in work.tables.items()
    )


def _settle(
    store: GraphStore, armed: Armed, failure: LandingRefused | FenceLost | HeadMoved | StorageError
) -> None:
    """Have recovery finish or undo an armed write that failed; raise unless it is finished."""
    held, commit = armed.held, armed.sidecar.commit
    try:
        # Whoever has lost the fence touches nothing: to restore would be to destroy.
        held.hold.confirm()
        recover(store, held)
    except FenceLost as lost:
        if store.objects.exists(armed.sidecar.name):
            reason = f"{lost}, and has not settled it yet"
            raise StorageFailed(doing="finish", path=armed.sidecar.name, reason=reason) from lost
        failure = lost
    if is_published(store, held, commit.id):
        return
    if isinstance(failure, LandingRefused):
        moved = (t.key for t in armed.sidecar.tables if t.pinned.path == failure.path)
        raise ReadSetMoved(branch=held.branch.name, tables=tuple(moved)) from failure
    raise failure
