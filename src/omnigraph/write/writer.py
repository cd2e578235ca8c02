"""The whole write protocol, in order. Every change of a graph comes this way.

Each step takes what only the step before returns, so a wrong order does not type-check. A failure
before arming leaves nothing to undo. A failure after it is finished or undone by the same recovery
that a crash would get, at once and under the same fence.
"""

import logging
from contextlib import nullcontext
from itertools import takewhile
from typing import Generic, TypeVar

from omnigraph.base.errors import (
    BranchMissing,
    EarlierWritePublished,
    FenceLost,
    HeadMoved,
    OmnigraphError,
    OutcomePending,
    PreconditionFailed,
    ReadSetMoved,
    SchemaMoved,
    StorageError,
)
from omnigraph.base.failpoints import NEVER, Failpoint, Faults
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.datasets import LandingRefused
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.manifest import ManifestState
from omnigraph.store.pending import Pending
from omnigraph.store.publish import publish
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.land import Armed, Landed, arm, disarm, land
from omnigraph.write.recover import is_published, recover, recover_if_idle
from omnigraph.write.stage import stage
from omnigraph.write.upkeep import UPKEEP_ACTOR, compact_scattered
from omnigraph.write.work import CommitNote, OnConflict, Target, Work, Writer

__all__ = ["UPKEEP_ACTOR", "Written", "finish_pending", "require_head", "write"]

W = TypeVar("W", bound=Work)

log = logging.getLogger(__name__)


@frozen
class Written(Generic[W]):
    """What a write came to."""

    work: W
    """As it was prepared last: what was carried out."""
    commit: Commit | None
    """As it was published; None: there was nothing to do."""


def write(
    store: GraphStore,
    writer: Writer[W],
    *,
    to: Target,
    note: CommitNote,
    faults: Faults = NEVER,
) -> Written[W] | None:
    """Make the work that `writer` prepares the next commit, or leave no trace a reader can see.

    None: the writer found that its commit is already there.
    """
    with store.trace.step("commit"):
        return _write(store, writer, to, note, faults)


def _write(
    store: GraphStore, writer: Writer[W], to: Target, note: CommitNote, faults: Faults
) -> Written[W] | None:
    branch = to.branch
    if not writer.waits_first:
        recover_if_idle(store, branch)  # else what it heals would look like a conflict to us
    with store.turn(branch) if writer.waits_first else nullcontext() as turn:
        if writer.is_done():
            return None
        seen = to.seen or store.snapshot(branch)
        require_head(store, seen, to.if_commit)
        with store.trace.step("prepare"):
            work = writer.prepare(seen)  # reads, checks, heavy files; nothing moves
        with store.fence(branch, turn=turn) as fenced:  # across processes
            state = recover(store, fenced)  # a sidecar under our fence has no living owner
            if writer.is_done():
                return None
            _refuse_second_try(store, fenced, note.actor)
            now = store.snapshot_of(branch, state)
            require_head(store, now, to.if_commit)
            moved = _moved(store, work, seen, now)
            if moved and work.on_conflict is OnConflict.RAISE:
                has_schema = seen.schema_hash == now.schema_hash
                raise (ReadSetMoved if has_schema else SchemaMoved)(branch=branch, tables=moved)
            if moved or not work.fits(now):
                with store.trace.step("prepare"):
                    work = writer.prepare(now)  # under the fence: what it sees can't move again
            made = _carry_out(store, fenced, work, onto=now, note=note, faults=faults)
            if made is not None:
                with store.trace.step("compact"):
                    _tidy_up(store, fenced, made, faults=faults)
            return Written(work, made.commit if made is not None else None)


def _carry_out(
    store: GraphStore,
    fenced: FencedBranch,
    work: Work,
    *,
    onto: Snapshot,
    note: CommitNote,
    faults: Faults,
) -> Snapshot | None:
    """From work to a visible commit, behind the fence: the head that it has made."""
    with store.trace.step("stage"):
        staged = stage(store, fenced, work, onto=onto, note=work.note or note)
    if staged is None:
        return None
    faults.reach(Failpoint.AFTER_STAGE)  # dying here costs only disk
    armed = arm(store, staged)
    faults.reach(Failpoint.AFTER_ARM)  # from here on recover.py owns a crash
    try:
        with store.trace.step("land"):
            landed = land(store, armed, faults)
        faults.reach(Failpoint.AFTER_LAND_ALL)  # datasets moved; no reader can see it
        with store.trace.step("publish"):
            state = _publish(store, landed)
    except (LandingRefused, FenceLost, HeadMoved, StorageError) as failure:
        state = _finished_or_raised(store, armed, failure)
    except (Exception, KeyboardInterrupt):
        # Finished or undone before the caller hears of it. Left to the next writer, a change that
        # nobody can see would appear later, beside the caller's second try.
        try:
            fenced.hold.confirm()
            recover(store, fenced)
        except OmnigraphError:
            _remember(store, armed)
        raise
    faults.reach(Failpoint.AFTER_PUBLISH)  # visible, whole
    disarm(store, armed)
    faults.reach(Failpoint.AFTER_DISARM)
    return store.snapshot_of(fenced.branch.name, state)


def _tidy_up(store: GraphStore, fenced: FencedBranch, now: Snapshot, *, faults: Faults) -> None:
    """Compact what the newest commit has scattered too far, as a commit of its own."""
    if now.commit.kind.keeps_rows:
        return
    try:
        work = compact_scattered(store, now, (change.key for change in now.commit.changes))
        note = CommitNote(CommitKind.OPTIMIZE, UPKEEP_ACTOR)
        _carry_out(store, fenced, work, onto=now, note=note, faults=faults)
    except OmnigraphError as failure:
        # What was asked for is done and visible; the next writer of the table tries again.
        log.warning("%s stays scattered: %s", fenced.branch.name, failure)


def _publish(store: GraphStore, landed: Landed) -> ManifestState:
    # Looked at now and not when the fence was taken: a swap of what is long gone may land.
    onto = store.state(landed.fenced.branch)
    return publish(
        store.manifest,
        landed.fenced,
        onto=onto,
        commit=landed.sidecar.commit,
        merged=landed.sidecar.merged,
        now_ms=store.clock.now_ms(),
    )


def require_head(store: GraphStore, snapshot: Snapshot, expected: CommitId | None) -> None:
    """The branch must hold what it held at `expected`: commits that kept all rows may follow."""
    if expected is None:
        return
    for commit in store.history().line(snapshot.branch):
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
        return tuple(sorted({**seen.tables, **now.tables}))
    depends = now.tables.keys() if work.reads is None else work.reads | work.changed
    moved = {key for key in depends if seen.tables[key].ref != now.tables[key].ref}
    if moved:
        line = store.history().line(now.branch)
        since = takewhile(lambda commit: commit.id != seen.commit.id, line)
        written = {c.key for commit in since if not commit.kind.keeps_rows for c in commit.changes}
        moved &= written
    return tuple(sorted(moved))


def _finished_or_raised(
    store: GraphStore, armed: Armed, failure: LandingRefused | FenceLost | HeadMoved | StorageError
) -> ManifestState:
    """Have recovery finish or undo an armed write that failed; raise unless it is finished."""
    fenced, commit = armed.fenced, armed.sidecar.commit
    try:
        # A writer that has lost the fence touches nothing: to restore would be to destroy.
        fenced.hold.confirm()
        recover(store, fenced)
    except FenceLost as lost:
        if _may_have_a_note(store, armed):
            reason = f"{lost}, and has not finished or undone it yet"
            raise _pending(store, armed, reason) from lost
        failure = lost
    except StorageError as unhealed:
        if not _is_visible(store, armed):
            raise _pending(store, armed, str(unhealed)) from failure
        # Only the note stays, for the next writer to remove.
        log.warning("%s: %s", armed.sidecar.name, unhealed)
    try:
        if is_published(store, fenced, commit):
            return store.state(fenced.branch)
    except StorageError as unread:
        raise _pending(store, armed, str(unread)) from failure
    if isinstance(failure, LandingRefused):
        moved = (t.key for t in armed.sidecar.tables if t.pinned.path == failure.path)
        raise ReadSetMoved(branch=fenced.branch.name, tables=tuple(moved)) from failure
    raise failure


def _may_have_a_note(store: GraphStore, armed: Armed) -> bool:
    try:
        return store.objects.exists(armed.sidecar.name)
    except StorageError:
        return True


def _is_visible(store: GraphStore, armed: Armed) -> bool:
    try:
        return is_published(store, armed.fenced, armed.sidecar.commit)
    except StorageError:
        return False


def _pending(store: GraphStore, armed: Armed, reason: str) -> OutcomePending:
    _remember(store, armed)
    commit = armed.sidecar.commit
    return OutcomePending(branch=commit.branch, commit_id=commit.id, reason=reason)


def _remember(store: GraphStore, armed: Armed) -> None:
    """Remember a write whose outcome is open; of upkeep it does not matter to anybody."""
    if not armed.sidecar.commit.kind.keeps_rows:
        store.pending.add(Pending(armed.sidecar.commit, armed.sidecar.name))


def _refuse_second_try(store: GraphStore, fenced: FencedBranch, actor: str | None) -> None:
    """Raise if the last write of this caller was published although it ended in an error.

    The caller has not looked at the branch since, so this write may be a second try of that one.
    """
    for pending in store.pending.by(fenced.branch.name, actor):
        store.pending.drop(pending.commit.id)
        if is_published(store, fenced, pending.commit):
            commit = pending.commit
            raise EarlierWritePublished(branch=commit.branch, commit_id=commit.id)


def finish_pending(store: GraphStore, branch: BranchName | None, actor: str | None) -> None:
    """Before this caller looks at a branch, or at any: finish or undo their failed writes.

    Raises `OutcomePending` if that is not possible yet.
    """
    for pending in store.pending.open_for(branch, actor):
        commit = pending.commit
        try:
            recover_if_idle(store, commit.branch)
            is_open = store.objects.exists(pending.sidecar)
        except BranchMissing:
            is_open = False  # the unfinished writes of a deleted branch are gone with it
        except StorageError as failure:
            raise OutcomePending(commit.branch, commit.id, str(failure)) from failure
        if is_open:
            reason = "another writer is finishing or undoing it"
            raise OutcomePending(commit.branch, commit.id, reason)
        store.pending.drop(commit.id)
