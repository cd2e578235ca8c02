"""Finishing or undoing what a crash left.

Holding a branch's fence and finding a sidecar of it means that its writer is dead, or is us and has
just failed. The manifest is asked first: a note may outlive what it speaks of, and acting on an old
one would undo commits that were acknowledged. Then each table is asked whether *this* transaction
moved it, by its uuid; a version number alone proves nothing.

| the manifest says | the tables say | so |
|---|---|---|
| the commit is there | | done: remove the note |
| another head, or other table versions | | settled before: remove the note |
| the parent is still the head | all moved | publish what was meant |
| | none moved | nothing happened: remove the note |
| | some moved | land the rest and publish; if that can't be, restore the moved ones |
| | moved by someone else | stop: an operator decides |

Being killed here at any point and run again comes to the same end.
"""

import logging
from collections.abc import Mapping, Sequence
from enum import Enum

from omnigraph.base.errors import BranchBusy, RecoveryRequired
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.audit import RecoveryAction, RecoveryRecord
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.datasets import LandingRefused, VersionNote
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.store.manifest import ManifestState
from omnigraph.store.publish import publish
from omnigraph.store.transactions import DatasetRef, Restore
from omnigraph.write.sidecar import (
    Sidecar,
    SidecarTable,
    branches_to_recover,
    has_sidecars,
    sidecars,
)

__all__ = ["RECOVERY_ACTOR", "Outcome", "recover", "recover_all", "recover_if_idle"]

RECOVERY_ACTOR = "omnigraph:recovery"

log = logging.getLogger(__name__)


class Outcome(Enum):
    """How a table is found, beside what its transaction was to do."""

    LANDED = "landed"
    NO_MOVEMENT = "no_movement"
    RESTORED = "restored"
    """It had landed, and an earlier recovery has begun to undo it."""
    UNEXPECTED_AT_P1 = "unexpected_at_p1"
    UNEXPECTED_MULTISTEP = "unexpected_multistep"
    INVARIANT_VIOLATION = "invariant_violation"

    @property
    def is_ours(self) -> bool:
        return self in (Outcome.LANDED, Outcome.NO_MOVEMENT, Outcome.RESTORED)


def recover(store: GraphStore, held: FencedBranch) -> None:
    """Settle every unfinished write of the branch."""
    for sidecar in sidecars(store, held):
        _drop_torn_versions(store, held, sidecar)
        action, outcomes = _settle(store, held, sidecar)
        _note_down(store, held, sidecar, action, outcomes)
        store.objects.delete(sidecar.name)
        log.warning("unfinished %s %s: %s", sidecar.commit.kind.value, sidecar.name, action.value)


def recover_all(store: GraphStore) -> None:
    """Settle every unfinished write, on opening a graph to write it."""
    for branch in branches_to_recover(store):
        recover_if_idle(store, branch)


def recover_if_idle(store: GraphStore, name: BranchName) -> None:
    """Settle what a dead writer left on the branch; a living one will look after its own."""
    if not has_sidecars(store, store.branches.resolve(name)):
        return
    try:
        with store.fence(name, timeout_s=0) as held:
            recover(store, held)
    except BranchBusy:
        return


Outcomes = Mapping[TableKey, Outcome]


def _settle(
    store: GraphStore, held: FencedBranch, sidecar: Sidecar
) -> tuple[RecoveryAction, Outcomes]:
    state = store.state(held.branch)
    if any(row.id == sidecar.commit.id for row in store.manifest.commits(state)):
        return RecoveryAction.ROLLED_FORWARD, {}
    if _is_stale(sidecar, state):
        return RecoveryAction.ROLLED_BACK, {}
    outcomes = {table.key: _outcome(store, table) for table in sidecar.tables}
    _stop_unless_ours(sidecar, outcomes)
    found = set(outcomes.values())
    if found == {Outcome.NO_MOVEMENT}:
        return RecoveryAction.ROLLED_BACK, outcomes
    if Outcome.RESTORED not in found and _finish(store, held, sidecar, outcomes, state):
        return RecoveryAction.ROLLED_FORWARD, outcomes
    _undo(store, held, sidecar, state)
    return RecoveryAction.ROLLED_BACK, outcomes


def _is_stale(sidecar: Sidecar, state: ManifestState) -> bool:
    """Whether the graph has moved on since: then the note was settled and only not removed."""
    names = {key: entry.ref for key, entry in state.tables.items()}
    return state.head != sidecar.commit.parent or any(
        names.get(table.key) != table.pinned for table in sidecar.tables
    )


def _outcome(store: GraphStore, table: SidecarTable) -> Outcome:
    base = table.transaction.base
    if store.datasets.newest_version(base.path, base.branch) < base.version:
        return Outcome.INVARIANT_VIOLATION
    return _classify(store.datasets.notes_after(base), table)


def _classify(notes: Sequence[VersionNote], table: SidecarTable) -> Outcome:
    """What the versions after the pinned one tell about a transaction."""
    match list(notes):
        case []:
            return Outcome.NO_MOVEMENT
        case [first] if first.uuid == table.transaction.uuid:
            return Outcome.LANDED
        case [_]:
            return Outcome.UNEXPECTED_AT_P1
        case [first, *later] if first.uuid == table.transaction.uuid and all(
            note.restores == table.pinned.version for note in later
        ):
            return Outcome.RESTORED
        case _:
            return Outcome.UNEXPECTED_MULTISTEP


def _stop_unless_ours(sidecar: Sidecar, outcomes: Outcomes) -> None:
    strange = {key: outcome for key, outcome in outcomes.items() if not outcome.is_ours}
    if strange:
        reason = ", ".join(f"{key} is {outcome.value}" for key, outcome in strange.items())
        raise RecoveryRequired(sidecar=sidecar.name, reason=reason)


def _finish(
    store: GraphStore,
    held: FencedBranch,
    sidecar: Sidecar,
    outcomes: Outcomes,
    state: ManifestState,
) -> bool:
    """Land what has not landed and publish; False if it can't be done any more."""
    missing = [t for t in sidecar.tables if outcomes[t.key] is Outcome.NO_MOVEMENT]
    if not all(store.datasets.has_files_of(table.transaction) for table in missing):
        return False
    try:
        for table in missing:
            store.datasets.land(table.transaction)
    except LandingRefused:
        return False
    publish(store.manifest, held.branch, onto=state, commit=sidecar.commit)
    return True


def _undo(store: GraphStore, held: FencedBranch, sidecar: Sidecar, state: ManifestState) -> None:
    """Restore every table that moved, and publish once so that the manifest names what is newest.

    A fork that no manifest names is left alone: the next writer makes another.
    """
    moved = [
        table
        for table in sidecar.tables
        if not table.is_new_fork and _outcome(store, table) is not Outcome.NO_MOVEMENT
    ]
    if not moved:
        return
    changes = tuple(
        TableChange(t.key, _restored(store, t, sidecar), state.tables[t.key].row_count)
        for t in moved
    )
    undone = Commit(
        id=CommitId(store.clock.ulid()),
        parent=state.head,
        branch=held.branch.name,
        seq=state.recent[-1].seq + 1,
        kind=CommitKind.RECOVERY,
        created_at_ms=store.clock.now_ms(),
        schema_hash=sidecar.commit.schema_hash,
        changes=changes,
        actor=RECOVERY_ACTOR,
        message=f"undo {sidecar.commit.id}, which could not be finished",
        extra={f"to_version:{table.key}": str(table.pinned.version) for table in moved},
    )
    publish(store.manifest, held.branch, onto=state, commit=undone)


def _restored(store: GraphStore, table: SidecarTable, sidecar: Sidecar) -> DatasetRef:
    base = table.transaction.base
    newest = DatasetRef(
        base.path, base.branch, store.datasets.newest_version(base.path, base.branch)
    )
    if _outcome(store, table) is Outcome.RESTORED:
        return newest
    properties = {"operation_id": sidecar.operation_id, "table_key": table.key}
    restore = store.datasets.stage(newest, Restore(table.pinned.version), properties)
    return store.datasets.land(restore)


def _drop_torn_versions(store: GraphStore, held: FencedBranch, sidecar: Sidecar) -> None:
    """Remove version files that a power cut tore. A note still here means: never acknowledged."""
    for table in sidecar.tables:
        base = table.transaction.base
        store.datasets.drop_torn(base.path, base.branch, base.version + 1)
    state = store.state(held.branch)
    store.datasets.drop_torn(MANIFEST, state.branch, state.version + 1)


def _note_down(
    store: GraphStore,
    held: FencedBranch,
    sidecar: Sidecar,
    action: RecoveryAction,
    outcomes: Outcomes,
) -> None:
    if store.audit.has(sidecar.operation_id):
        return
    store.audit.add(
        RecoveryRecord(
            operation_id=sidecar.operation_id,
            action=action,
            kind=sidecar.commit.kind.value,
            actor=sidecar.commit.actor,
            branch=held.branch.name,
            commit_id=sidecar.commit.id,
            recovered_at_ms=store.clock.now_ms(),
            outcomes={key: outcome.value for key, outcome in outcomes.items()},
        )
    )
