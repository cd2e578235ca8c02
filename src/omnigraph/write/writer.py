"""The whole write protocol, in order. Every change of a graph comes this way.

Each step takes what only the step before returns, so a wrong order does not type-check. Whatever
fails before arming leaves nothing to undo; whatever fails after it is settled by the same recovery
that a crash would get, at once and under the same fence.
"""

from collections.abc import Callable, Mapping
from enum import Enum

from omnigraph.base.errors import (
    HeadMoved,
    PreconditionFailed,
    ReadSetMoved,
    StorageError,
    StorageFailed,
)
from omnigraph.base.failpoints import NEVER, Failpoint, Faults
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import LandingRefused
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.publish import publish
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.land import Landed, arm, disarm, land
from omnigraph.write.recover import recover, recover_if_idle
from omnigraph.write.stage import Work, WriteNote, stage

__all__ = ["OnConflict", "write"]


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
    on_conflict: OnConflict = OnConflict.RAISE,
    faults: Faults = NEVER,
) -> CommitId | None:
    """Make what `prepare` finds the next commit on `branch`, or leave no trace a reader can see.

    None: there was nothing to do. `if_commit` makes the write conditional on the branch's head.
    """
    note = WriteNote(kind, actor, message, merged_parent, extra)
    recover_if_idle(store, branch)  # else what it heals would look like a conflict to us
    seen = store.snapshot(branch)
    _require_head(seen, if_commit)
    work = prepare(seen)  # reads, checks, heavy files; nothing moves
    with store.fence(branch) as held:  # across processes
        recover(store, held)  # a sidecar under our fence has no living owner
        now = store.snapshot(branch)
        _require_head(now, if_commit)
        if moved := _moved(work, seen, now):
            if on_conflict is OnConflict.RAISE:
                raise ReadSetMoved(branch=branch, tables=moved)
            work = prepare(now)  # under the fence: what it sees now can't move again
        staged = stage(store, held, work, onto=now, note=note)
        if staged is None:
            return None
        faults.reach(Failpoint.AFTER_STAGE)  # dying here costs only disk
        armed = arm(store, staged)
        faults.reach(Failpoint.AFTER_ARM)  # from here on recover.py owns a crash
        try:
            landed = land(store, armed, faults)
            faults.reach(Failpoint.AFTER_LAND_ALL)  # datasets moved; no reader can see it
            _publish(store, landed)
        except (LandingRefused, HeadMoved, StorageError) as failure:
            recover(store, held)
            if store.snapshot(branch).commit.id != staged.commit.id:
                raise _typed(failure) from failure
        faults.reach(Failpoint.AFTER_PUBLISH)  # visible, whole
        disarm(store, armed)
        faults.reach(Failpoint.AFTER_DISARM)
        return staged.commit.id


def _publish(store: GraphStore, landed: Landed) -> None:
    branch = landed.held.branch
    publish(store.manifest, branch, onto=store.state(branch), commit=landed.sidecar.commit)


def _require_head(snapshot: Snapshot, expected: CommitId | None) -> None:
    if expected is not None and snapshot.commit.id != expected:
        raise PreconditionFailed(
            branch=snapshot.branch, expected=expected, actual=snapshot.commit.id
        )


def _moved(work: Work, seen: Snapshot, now: Snapshot) -> tuple[TableKey, ...]:
    """The tables the work depends on that are not what they were when it was prepared.

    Another head alone is no conflict: writers of different tables never get in each other's way.
    """
    if seen.schema_hash != now.schema_hash:
        return tuple(sorted(now.tables))
    depends = now.tables.keys() if work.reads is None else work.tables.keys() | work.reads
    return tuple(sorted(key for key in depends if seen.tables[key].ref != now.tables[key].ref))


def _typed(failure: LandingRefused | HeadMoved | StorageError) -> HeadMoved | StorageError:
    if isinstance(failure, LandingRefused):
        return StorageFailed(doing="move", path=failure.path, reason=failure.reason)
    return failure
