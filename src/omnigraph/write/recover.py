"""Finishing or undoing what a crash left.

Holding a branch's fence and finding a sidecar of it means that its writer is dead, or is us and has
just failed. The manifest is asked first: a note may outlive what it speaks of, and acting on an old
one would undo commits that were acknowledged. Then each table is asked whether *this* transaction
moved it, by its uuid; a version number alone proves nothing.

| the manifest says | the tables say | so |
|---|---|---|
| the commit is there | | done: remove the note |
| another head, or other table versions | | undone before: remove the note |
| the parent is still the head | all moved | publish what was meant |
| | none moved | nothing happened: remove the note, and see that nothing will |
| | some moved, or some of the way | land the rest and publish; if that can't be, restore them |
| | some or all moved, and the writer may be alive | restore them |
| | moved by someone else who has lost too | restore them |
| | moved by a stranger | stop: an operator decides |

A fence that may lapse has a second meaning: the writer may not be dead but only late, its caller
still waiting. So its unpublished write is not finished behind its back: it is undone, and it will
be told so. It can't publish any more, since the manifest's head carries our number; its landings
can still come. They are kept out by a restoration, after which nothing staged before can land, and
one that slips through is undone by the next write (`late_landings`).

Being killed here at any point and run again comes to the same end.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from itertools import chain, takewhile

from omnigraph.base.errors import BranchBusy, BranchMissing, FenceLost, HeadMoved, RecoveryRequired
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.audit import RecoveryAction, RecoveryRecord
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.datasets import LandingRefused, VersionOrigin
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.store.manifest import ManifestState
from omnigraph.store.publish import publish
from omnigraph.store.transactions import DatasetRef
from omnigraph.write.late_landings import is_late_landing, restored, trace
from omnigraph.write.sidecar import (
    Sidecar,
    SidecarTable,
    branches_to_recover,
    drop_orphans,
    has_sidecars,
    sidecars,
)

__all__ = [
    "RECOVERY_ACTOR",
    "Outcome",
    "is_published",
    "recover",
    "recover_all",
    "recover_if_idle",
]

RECOVERY_ACTOR = "omnigraph:recovery"

log = logging.getLogger(__name__)


class Outcome(Enum):
    """How a table is found, beside what its transaction was to do."""

    LANDED = "landed"
    BEGUN = "begun"
    """Of its transactions, which land one after the other, some have landed."""
    NO_MOVEMENT = "no_movement"
    RESTORED = "restored"
    """It had landed, and an earlier recovery has begun to undo it."""
    DISPLACED = "displaced"
    """It has not landed and can't: a restoration, or a writer that has lost too, was first."""
    UNEXPECTED_AT_P1 = "unexpected_at_p1"
    UNEXPECTED_MULTISTEP = "unexpected_multistep"
    INVARIANT_VIOLATION = "invariant_violation"

    @property
    def is_ours(self) -> bool:
        return self not in (
            Outcome.UNEXPECTED_AT_P1,
            Outcome.UNEXPECTED_MULTISTEP,
            Outcome.INVARIANT_VIOLATION,
        )


def recover(store: GraphStore, fenced: FencedBranch) -> ManifestState:
    """Finish or undo every unfinished write of the branch; give the newest state after that."""
    pending = sidecars(store, fenced)
    if any(sidecar.fencing > fenced.number for sidecar in pending):
        raise FenceLost(branch=fenced.branch.name, holder="another writer")
    finder = _Finder(store, fenced, frozenset(sidecar.operation_id for sidecar in pending))
    for sidecar in pending:
        with store.trace.step("recovery"):
            _settle(finder, sidecar)
    return store.state(fenced.branch) if pending else fenced.state


def _settle(finder: "_Finder", sidecar: Sidecar) -> None:
    store, fenced = finder.store, finder.fenced
    try:
        action, outcomes = _finish_or_undo(finder, sidecar)
    except HeadMoved:
        # It was published by a request that we had given up on: now the manifest says so.
        action, outcomes = _finish_or_undo(finder, sidecar)
    _note_down(store, fenced, sidecar, action, outcomes)
    store.objects.delete(sidecar.name)
    log.warning("unfinished %s %s: %s", sidecar.commit.kind.value, sidecar.name, action.value)


def recover_all(store: GraphStore) -> None:
    """Finish or undo every unfinished write, on opening a graph to write it."""
    for branch in branches_to_recover(store):
        with suppress(BranchMissing):  # deleted since, and its unfinished writes with it
            recover_if_idle(store, branch)
    drop_orphans(store)


def recover_if_idle(store: GraphStore, name: BranchName) -> None:
    """Finish or undo the writes of a dead writer; a living one looks after its own."""
    if not has_sidecars(store, store.branches.resolve(name)):
        return
    try:
        with store.fence(name, timeout_s=0) as fenced:
            recover(store, fenced)
    except BranchBusy:
        return


def is_published(store: GraphStore, fenced: FencedBranch, commit: Commit) -> bool:
    """Whether the commit is on the line of its branch."""
    line = store.history().line(fenced.branch.name)
    since = takewhile(lambda published: published.seq >= commit.seq, line)
    return any(published.id == commit.id for published in since)


Outcomes = Mapping[TableKey, Outcome]


@frozen(slots=False)
class _Finder:
    """Tells how tables are found, and whose doing it is."""

    store: GraphStore
    fenced: FencedBranch
    pending: frozenset[str]
    """The operations that have a note here: each of them is finished or undone in its turn."""

    def outcomes(self, sidecar: Sidecar) -> Outcomes:
        return {table.key: self.outcome(table) for table in sidecar.tables}

    def outcome(self, table: SidecarTable) -> Outcome:
        base = table.base
        if self.store.datasets.newest_version(base.path, base.branch) < base.version:
            return Outcome.INVARIANT_VIOLATION
        return self._classify(self.store.datasets.origins_after(base), table)

    def _classify(self, notes: Sequence[VersionOrigin], table: SidecarTable) -> Outcome:
        """What the versions after the one it was staged on tell about its transactions."""
        match list(notes):
            case []:
                return Outcome.NO_MOVEMENT
            case [*all_notes] if all(self._is_explained(note, table) for note in all_notes):
                landed = _landed(table, all_notes)
                if not landed:
                    return Outcome.DISPLACED
                if any(note.restores == table.pinned.version for note in all_notes[landed:]):
                    return Outcome.RESTORED
                return Outcome.LANDED if landed == len(table.transactions) else Outcome.BEGUN
            case [_]:
                return Outcome.UNEXPECTED_AT_P1
            case _:
                return Outcome.UNEXPECTED_MULTISTEP

    def _is_explained(self, note: VersionOrigin, table: SidecarTable) -> bool:
        """Whether a version is this transaction's, a restoration, or of one that has lost too."""
        return (
            note.uuid in {staged.uuid for staged in table.transactions}
            or note.restores == table.pinned.version
            or note.operation_id in self.pending
            or is_late_landing(self.store, self.fenced, note)
        )

    def landed(self, table: SidecarTable) -> list[DatasetRef]:
        """The versions that transactions of a table have made."""
        notes = self.store.datasets.origins_after(table.base)
        made = notes[: _landed(table, notes)]
        return [replace(table.base, version=note.version) for note in made]


def _landed(table: SidecarTable, notes: Sequence[VersionOrigin]) -> int:
    """How many of the transactions of a table have landed, one after the other."""
    both = zip(table.transactions, notes, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].uuid == pair[1].uuid, both))


def _finish_or_undo(finder: _Finder, sidecar: Sidecar) -> tuple[RecoveryAction, Outcomes]:
    store, fenced = finder.store, finder.fenced
    state = store.state(fenced.branch)
    # The note goes once this is done, so nobody would ask again whether the head is durable.
    store.datasets.secure(DatasetRef(MANIFEST, state.branch, state.version))
    if is_published(store, fenced, sidecar.commit):
        return RecoveryAction.ROLLED_FORWARD, {}
    if _is_stale(sidecar, state):
        return RecoveryAction.ROLLED_BACK, {}
    _drop_torn_versions(store, sidecar, state)
    outcomes = finder.outcomes(sidecar)
    _stop_unless_ours(sidecar, outcomes)
    found = set(outcomes.values())
    if found <= {Outcome.NO_MOVEMENT, Outcome.DISPLACED}:
        if fenced.hold.may_lapse:
            _keep_out(store, fenced, sidecar)
        return RecoveryAction.ROLLED_BACK, outcomes
    can_finish = found <= {Outcome.LANDED, Outcome.BEGUN, Outcome.NO_MOVEMENT}
    if can_finish and not _may_be_alive(sidecar, fenced) and _finish(finder, sidecar, state):
        return RecoveryAction.ROLLED_FORWARD, outcomes
    _undo(finder, sidecar, state)
    return RecoveryAction.ROLLED_BACK, outcomes


def _may_be_alive(sidecar: Sidecar, fenced: FencedBranch) -> bool:
    """Whether another writer wrote the note, which may not know yet that the fence is ours."""
    return fenced.hold.may_lapse and sidecar.fencing < fenced.number


def _is_stale(sidecar: Sidecar, state: ManifestState) -> bool:
    """Whether the graph has moved on since: the write was undone and only its note is left."""
    names = {key: entry.ref for key, entry in state.tables.items()}
    return state.head != sidecar.commit.parent or any(
        names.get(table.key) != table.pinned for table in sidecar.tables
    )


def _stop_unless_ours(sidecar: Sidecar, outcomes: Outcomes) -> None:
    strange = {key: outcome for key, outcome in outcomes.items() if not outcome.is_ours}
    if strange:
        reason = ", ".join(f"{key} is {outcome.value}" for key, outcome in strange.items())
        raise RecoveryRequired(sidecar=sidecar.name, reason=reason)


def _finish(finder: _Finder, sidecar: Sidecar, state: ManifestState) -> bool:
    """Land what has not landed and publish; False if it can't be done any more."""
    datasets = finder.store.datasets
    landed = {table.key: finder.landed(table) for table in sidecar.tables}
    missing = [s for table in sidecar.tables for s in table.transactions[len(landed[table.key]) :]]
    if not all(map(datasets.has_files_of, missing)):
        return False
    for ref in chain.from_iterable(landed.values()):
        datasets.secure(ref)
    try:
        for staged in missing:
            datasets.land(staged)
    except LandingRefused:
        # Its writer may have come back and landed it before us: then it is done all the same.
        if set(finder.outcomes(sidecar).values()) != {Outcome.LANDED}:
            return False
    publish(
        finder.store.manifest,
        finder.fenced,
        onto=state,
        commit=sidecar.commit,
        merged=sidecar.merged,
        now_ms=finder.store.clock.now_ms(),
    )
    return True


def _keep_out(store: GraphStore, fenced: FencedBranch, sidecar: Sidecar) -> None:
    """Make sure that what has not landed never will.

    The manifest goes on naming the version before: a restoration of it holds the same.
    """
    for table in sidecar.tables:
        if not table.is_new_fork:
            _restored(store, fenced, sidecar, table)


def _undo(finder: _Finder, sidecar: Sidecar, state: ManifestState) -> None:
    """Restore every table that moved, and publish once so that the manifest names what is newest.

    A fork that no manifest names is left alone: the next writer makes another. Under a fence that
    may lapse, a table that did not move is restored too, or it still might.
    """
    store, fenced = finder.store, finder.fenced
    moved = [
        table
        for table in sidecar.tables
        if not table.is_new_fork
        and (fenced.hold.may_lapse or finder.outcome(table) is not Outcome.NO_MOVEMENT)
    ]
    if not moved:
        return
    changes = tuple(
        TableChange(t.key, _restored(store, fenced, sidecar, t), state.tables[t.key].row_count)
        for t in moved
    )
    undone = Commit(
        id=CommitId(store.clock.ulid()),
        parent=state.head,
        branch=fenced.branch.name,
        seq=state.recent[-1].seq + 1,
        kind=CommitKind.RECOVERY,
        created_at_ms=store.clock.now_ms(),
        schema_hash=Commit.from_row(state.recent[-1]).schema_hash,
        changes=changes,
        actor=RECOVERY_ACTOR,
        message=f"undo {sidecar.commit.id}, which could not be finished",
        extra={f"to_version:{table.key}": str(table.pinned.version) for table in moved},
    )
    publish(store.manifest, fenced, onto=state, commit=undone, now_ms=undone.created_at_ms)


def _restored(
    store: GraphStore, fenced: FencedBranch, sidecar: Sidecar, table: SidecarTable
) -> DatasetRef:
    properties = trace(fenced, sidecar.operation_id, table.key)
    return restored(store, fenced, table.pinned, since=table.base, properties=properties)


def _drop_torn_versions(store: GraphStore, sidecar: Sidecar, state: ManifestState) -> None:
    """Remove version files that a power cut tore while this write was made.

    Only once the manifest has said that the write was never published: what a commit names stays,
    whatever becomes of its file.
    """
    for table in sidecar.tables:
        for staged in reversed(table.transactions):
            base = staged.base
            store.datasets.drop_torn(base.path, base.branch, base.version + 1)
    store.datasets.drop_torn(MANIFEST, state.branch, state.version + 1)


def _note_down(
    store: GraphStore,
    fenced: FencedBranch,
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
            branch=fenced.branch.name,
            commit_id=sidecar.commit.id,
            recovered_at_ms=store.clock.now_ms(),
            outcomes={key: outcome.value for key, outcome in outcomes.items()},
        )
    )
