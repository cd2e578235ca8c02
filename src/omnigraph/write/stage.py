"""Files without a commit: what a write wants, as transactions that have not landed.

Staging moves nothing that a reader can see. Dying here costs disk: files, and perhaps a fork, that
nothing names. That is why a table is forked here and not later: the files of a branch's first
write must lie in the fork.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from omnigraph.base.errors import RecoveryRequired
from omnigraph.base.ids import CommitId, TableKey
from omnigraph.store.branches import Branch
from omnigraph.store.changes import ChangeSet, TableChanges
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.datasets import EditCounts
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.snapshot import Snapshot, TableEntry
from omnigraph.store.transactions import (
    Append,
    DatasetRef,
    Operation,
    Overwrite,
    StagedTransaction,
)

__all__ = [
    "Staged",
    "StagedFiles",
    "StagedFragments",
    "StagedTable",
    "Work",
    "WriteNote",
    "stage",
]


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """Rows of one table that `datasets.write_fragments` has already written."""

    mode: Literal["append", "overwrite"]
    fragments: tuple[str, ...]
    row_count: int
    written_at: str
    """The `uri` they were written with: `Snapshot.staging_uri`."""

    @property
    def is_empty(self) -> bool:
        # To overwrite with nothing empties the table: that is something.
        return self.mode == "append" and not self.fragments


@dataclass(frozen=True)
class StagedFragments:
    """A bulk load: files from Spark, for any number of tables."""

    tables: Mapping[TableKey, StagedFiles]
    reads: frozenset[TableKey] | None = None
    """What the load depends on beside the tables it fills; None: on every table."""


Work = ChangeSet | StagedFragments


@dataclass(frozen=True, slots=True)
class WriteNote:
    """What the commit will say of itself."""

    kind: CommitKind
    actor: str | None = None
    message: str | None = None
    merged_parent: CommitId | None = None
    extra: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class StagedTable:
    pinned: DatasetRef
    """What the manifest names now. The transaction starts there, or at a fork of it."""
    transaction: StagedTransaction
    change: TableChange


@dataclass(frozen=True)
class Staged:
    """Everything is written and nothing has moved."""

    held: FencedBranch
    operation_id: str
    commit: Commit
    tables: tuple[StagedTable, ...]


def stage(
    store: GraphStore, held: FencedBranch, work: Work, *, onto: Snapshot, note: WriteNote
) -> Staged | None:
    """Write what `work` asks for as the successor of `onto`; None if it turns out to be nothing."""
    operation_id = store.clock.ulid()
    asked: Mapping[TableKey, TableChanges | StagedFiles] = {**work.tables}
    tables = (
        _stage_table(store, held.branch, key, asked[key], onto.tables[key], operation_id)
        for key in sorted(asked)
        if not asked[key].is_empty
    )
    staged = [table for table in tables if table is not None]
    if not staged and note.merged_parent is None:
        return None
    commit = Commit(
        id=CommitId(store.clock.ulid()),
        parent=onto.commit.id,
        branch=held.branch.name,
        seq=onto.commit.seq + 1,
        kind=note.kind,
        created_at_ms=store.clock.now_ms(),
        schema_hash=onto.schema_hash,
        changes=tuple(table.change for table in staged),
        actor=note.actor,
        message=note.message,
        merged_parent=note.merged_parent,
        extra=note.extra or {},
    )
    return Staged(held, operation_id, commit, tuple(staged))


def _own_line(store: GraphStore, branch: Branch, entry: TableEntry) -> DatasetRef:
    """The table at its pinned version, on a line that only this branch moves."""
    ref = entry.ref
    if not branch.owns(ref):
        return store.datasets.fork(ref, store.branches.fresh_fork(branch))
    newest = store.datasets.newest_version(ref.path, ref.branch)
    if newest != ref.version:
        # To go on would build on rows that no commit names, and publish them with ours.
        reason = f"{ref.path} stands at version {newest} and the manifest names {ref.version}"
        raise RecoveryRequired(sidecar="no sidecar", reason=reason)
    return ref


def _stage_table(
    store: GraphStore,
    branch: Branch,
    key: TableKey,
    changes: TableChanges | StagedFiles,
    entry: TableEntry,
    operation_id: str,
) -> StagedTable | None:
    base = _own_line(store, branch, entry)
    operation, counts, row_count = _operation(store, base, changes, entry.row_count)
    if counts == EditCounts():
        return None
    change = TableChange(
        key=key,
        ref=DatasetRef(base.path, base.branch, base.version + 1),
        row_count=row_count,
        inserted=counts.inserted,
        updated=counts.updated,
        deleted=counts.deleted,
    )
    properties = {"operation_id": operation_id, "table_key": key}
    transaction = store.datasets.stage(base, operation, properties)
    return StagedTable(pinned=entry.ref, transaction=transaction, change=change)


def _operation(
    store: GraphStore, base: DatasetRef, changes: TableChanges | StagedFiles, rows_before: int
) -> tuple[Operation, EditCounts, int]:
    """What to do to a table, how many rows it touches, and how many there are afterwards."""
    match changes:
        case TableChanges(upserts=upserts, deletes=deletes):
            update, counts = store.datasets.stage_edit(base, upserts, deletes)
            return update, counts, rows_before + counts.inserted - counts.deleted
        case StagedFiles(mode="append", row_count=new):
            append = Append(_adopted(store, changes, base))
            return append, EditCounts(inserted=new), rows_before + new
        case StagedFiles(row_count=new):
            overwrite = Overwrite(_adopted(store, changes, base))
            return overwrite, EditCounts(inserted=new, deleted=rows_before), new


def _adopted(store: GraphStore, files: StagedFiles, base: DatasetRef) -> tuple[str, ...]:
    if files.written_at != store.datasets.uri(base.path, base.branch):
        store.datasets.adopt(files.fragments, written_at=files.written_at, ref=base)
    return files.fragments
