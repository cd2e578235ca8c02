"""The writers of merges and reverts: both bring changes of another side to the head of a branch."""

import json
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal, Protocol

from omnigraph.base.conflicts import Conflict
from omnigraph.base.errors import MergeConflicts, SchemasApart
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.check.sets.in_memory import SqlSession
from omnigraph.merge.base import StoredBases, bases_of, changes_since
from omnigraph.merge.choices import Choices, choices_of
from omnigraph.merge.conflicts import SideNames
from omnigraph.merge.joining import PlainBases
from omnigraph.merge.merging import Merged, Merging, counted
from omnigraph.merge.schemas import has_had_schema
from omnigraph.read.changes.diff import changes_between
from omnigraph.store.changes import Changes
from omnigraph.store.commits import (
    MERGED_LOAD_IDS,
    REVERTED,
    ROWS_OF,
    Commit,
    CommitKind,
    undone_by_reverts,
)
from omnigraph.store.datasets import EditCounts
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.history import CommitLog
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, OnConflict, Replay, TableWork, Work, Writer

__all__ = [
    "MergeInFiles",
    "MergeOutcome",
    "MergeWork",
    "MergeWriter",
    "RevertOutcome",
    "RevertWriter",
]

MergeOutcome = Literal["already_up_to_date", "fast_forward", "merged"]
RevertOutcome = Literal["reverted", "nothing_to_revert"]


@frozen(slots=False, kw_only=True)
class MergeWork(Work):
    """The work of a merge or a revert, and what can be said of it before it is done."""

    onto: Commit
    """The head that it was prepared for."""
    outcome: MergeOutcome | RevertOutcome
    changes: Changes | None
    """Of the branch that takes them. None: the rows are in files, too many to hold."""
    counts: Mapping[TableKey, EditCounts]
    """Of those changes."""
    conflicts: tuple[Conflict, ...] = ()
    """Those that no choice has settled."""
    more_conflicts: int = 0
    """How many there are beside those listed."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Types and properties that our schema has no more, and how many rows had changed there."""
    refusal: str | None = None
    """Of a preview: why the rows may not be written by who asks."""


class MergeInFiles(Protocol):
    """Merges what does not fit in memory."""

    def __call__(
        self,
        bases: StoredBases,
        ours: Snapshot,
        theirs: Snapshot,
        *,
        names: SideNames,
        choices: Choices,
    ) -> Merged | None:
        """What the changes from the bases to theirs do to ours; None if they fit in memory."""


@frozen(slots=False, kw_only=True)
class _Bringing(Writer[MergeWork]):
    """What merges and reverts have in common."""

    store: GraphStore
    sql: SqlSession
    branch: BranchName
    note: CommitNote
    resolve: object = None
    tells_conflicts: bool = False
    """Conflicts are part of the work; otherwise they are raised."""
    in_files: MergeInFiles = field(default=lambda *_, **__: None, repr=False)
    source: str
    """What is brought, as messages call it: a branch, or the id of a commit."""

    def _merged(self, bases: StoredBases, ours: Snapshot, theirs: Snapshot, called: str) -> Merged:
        history = self.store.history()
        schemas = {theirs.schema_hash, *(base.schema_hash for base in bases.latest)}
        if not all(has_had_schema(history, ours, schema) for schema in schemas):
            raise SchemasApart(source=self.source, target=self.branch, commit=theirs.commit.id)
        names, choices = SideNames(ours=self.branch, theirs=called), choices_of(self.resolve)
        merged = self.in_files(bases, ours, theirs, names=names, choices=choices)
        if merged is None:
            since = changes_since(bases, ours, theirs)
            merging = Merging(
                ours,
                theirs,
                since.changes,
                disputed=since.disputed,
                names=names,
                sql=self.sql,
            )
            merged = replace(merging.finish(choices), left_out=since.left_out)
        if (merged.conflicts or merged.more_conflicts) and not self.tells_conflicts:
            raise MergeConflicts(
                source=self.source,
                target=self.branch,
                conflicts=merged.conflicts,
                more=merged.more_conflicts,
            )
        return merged


@frozen(slots=False, kw_only=True)
class MergeWriter(_Bringing):
    """Brings what a branch changed since the merge base, with whatever head it finds."""

    theirs: Snapshot

    def prepare(self, snapshot: Snapshot) -> MergeWork:
        history, theirs = self.store.history(), self.theirs
        if history.ancestor_like(theirs.commit.id, of=snapshot.commit.id) is not None:
            choices_of(self.resolve).require_all_used()
            return MergeWork(
                tables={},
                reads=None,
                on_conflict=OnConflict.PREPARE_AGAIN,
                onto=snapshot.commit,
                outcome="already_up_to_date",
                changes=Changes({}),
                counts={},
            )
        base = history.ancestor_like(snapshot.commit.id, of=theirs.commit.id)
        if base is not None:
            return self._fast_forward(history, base, snapshot)
        return self._three_way(history, snapshot)

    def _fast_forward(self, history: CommitLog, base: Commit, ours: Snapshot) -> MergeWork:
        """Ours shows the rows of an ancestor of theirs, so it comes to show those of theirs."""
        if self.theirs.schema_hash != ours.schema_hash:
            raise SchemasApart(source=self.source, target=self.branch, commit=self.theirs.commit.id)
        # Where the rows of the base went with its branch: ours are the same.
        before = self.store.snapshot_at(base.id) if self.store.has_rows_of(base) else ours
        tables, changes, counts = self._replayed(before, ours)
        return MergeWork(
            tables=tables,
            # Every table: it would not be one if the branch had anything of its own.
            reads=None,
            on_conflict=OnConflict.PREPARE_AGAIN,
            note=self._note(history, ours, is_fast_forward=True),
            onto=ours.commit,
            outcome="fast_forward",
            changes=changes,
            counts=counts,
        )

    def _replayed(
        self, base: Snapshot, ours: Snapshot
    ) -> tuple[Mapping[TableKey, TableWork], Changes | None, Mapping[TableKey, EditCounts]]:
        """All that theirs changed, done to ours, which shows the rows of the base."""
        names, choices = SideNames(self.branch, self.source), choices_of(self.resolve)
        merged = self.in_files(PlainBases((base,)), ours, self.theirs, names=names, choices=choices)
        if merged is not None:
            assert not merged.conflicts, "ours has changed nothing that could stand against theirs"
            return merged.tables, None, merged.counts
        choices.require_all_used()
        changes = changes_between(base, self.theirs)
        return Replay(changes.edits).prepare(ours).tables, changes, counted(changes)

    def _three_way(self, history: CommitLog, ours: Snapshot) -> MergeWork:
        theirs = self.theirs
        bases = bases_of(self.store, ours, theirs)
        merged = self._merged(bases, ours, theirs, theirs.branch)
        return MergeWork(
            tables=merged.tables,
            reads=merged.reads,
            on_conflict=OnConflict.PREPARE_AGAIN,
            note=self._note(history, ours, is_fast_forward=False),
            onto=ours.commit,
            outcome="merged",
            changes=merged.changes,
            counts=merged.counts,
            conflicts=merged.conflicts,
            more_conflicts=merged.more_conflicts,
            left_out=merged.left_out,
        )

    def _note(self, history: CommitLog, ours: Snapshot, *, is_fast_forward: bool) -> CommitNote:
        theirs = self.theirs.commit.id
        known = history.ancestors(ours.commit.id)
        new = [history.get(id_) for id_ in history.ancestors(theirs) - known]
        undone = undone_by_reverts(new)
        load_ids = sorted(
            {load_id for commit in new if commit.id not in undone for load_id in commit.load_ids}
        )
        extra: dict[str, str] = {}
        if is_fast_forward:
            extra[ROWS_OF] = history.origin_of_rows(theirs)
        if load_ids:
            extra[MERGED_LOAD_IDS] = json.dumps(load_ids)
        return replace(self.note, merged_parent=theirs, extra=extra)


@frozen(slots=False, kw_only=True)
class RevertWriter(_Bringing):
    """Brings what lies between a commit and the one before it, backwards."""

    commit: Commit

    def prepare(self, snapshot: Snapshot) -> MergeWork:
        assert self.commit.parent is not None, "the first commit of a graph is not reverted"
        base = self.store.snapshot_at(self.commit.id)
        theirs = self.store.snapshot_at(self.commit.parent)
        merged = self._merged(
            PlainBases((base,)), snapshot, theirs, f"the commit before {self.commit.id}"
        )
        frees_name = self._frees_name(snapshot)
        is_nothing = not merged.tables and not merged.conflicts and not frees_name
        return MergeWork(
            tables=merged.tables,
            reads=merged.reads,
            on_conflict=OnConflict.PREPARE_AGAIN,
            note=replace(self.note, kind=CommitKind.REVERT, extra={REVERTED: self.commit.id}),
            onto=snapshot.commit,
            outcome="nothing_to_revert" if is_nothing else "reverted",
            changes=merged.changes,
            counts=merged.counts,
            conflicts=merged.conflicts,
            more_conflicts=merged.more_conflicts,
            left_out=merged.left_out,
            # Its name can be loaded again, also where no row of the load is left.
            is_recorded=frees_name,
        )

    def _frees_name(self, snapshot: Snapshot) -> bool:
        """Whether the revert changes which names of loads the branch has seen."""
        history, origin = self.store.history(), self.commit
        while (reverted := origin.extra.get(REVERTED)) is not None:
            origin = history.get(CommitId(reverted))
        if not origin.load_ids:
            return False
        known = map(history.get, history.ancestors(snapshot.commit.id))
        return self.commit.id not in undone_by_reverts(known)
