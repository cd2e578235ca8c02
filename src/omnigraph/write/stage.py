"""Files without a commit: what a write wants, as transactions that have not landed.

Staging moves nothing that a reader can see. Dying here costs disk: files, and perhaps a fork, that
nothing names. That is why a table is forked here and not later: the files of a branch's first
write must lie in the fork.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.ids import CommitId, TableKey
from omnigraph.store.changes import ChangeSet, TableChanges
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.datasets import PLACE, EditCounts
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.snapshot import Snapshot, TableEntry
from omnigraph.store.transactions import (
    Append,
    CreateIndex,
    DatasetRef,
    Operation,
    Overwrite,
    Rewrite,
    StagedTransaction,
)
from omnigraph.write.late_landings import newest_like, trace

__all__ = [
    "Edits",
    "Maintenance",
    "Replacement",
    "Staged",
    "StagedFiles",
    "StagedFragments",
    "StagedTable",
    "TableEdit",
    "Upkeep",
    "Work",
    "WriteNote",
    "at_once",
    "locate",
    "stage",
]

A = TypeVar("A")
B = TypeVar("B")

# Tables wait for the disk, not for the processor.
PARALLEL_TABLES = 8


@dataclass(frozen=True, eq=False)
class TableEdit:
    """What a change does to one table, and where it finds the rows that it replaces or deletes."""

    changes: TableChanges
    there: pa.Table
    """The places (`datasets.PLACE`) of those of the changed ids that the table holds."""
    made_for: DatasetRef
    """The version that the places are about."""

    @property
    def is_empty(self) -> bool:
        return self.changes.is_empty


@dataclass(frozen=True)
class Edits:
    """A mutation, a small merge: rows in memory, for any number of tables."""

    tables: Mapping[TableKey, TableEdit]
    reads: frozenset[TableKey] | None = None
    """What the edit depends on beside the tables it changes; None: on every table."""


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


@dataclass(frozen=True, eq=False)
class Replacement:
    """Rows of one table in files already, some of them in the place of rows that are there."""

    made_for: DatasetRef
    """The version that the addresses are about."""
    fragments: tuple[str, ...]
    """Rows that replace others come first and name their row ids."""
    addresses: NDArray[np.uint64]
    """Where the rows lie that are replaced."""
    inserted: int
    written_at: str
    """The `uri` they were written with: `Snapshot.staging_uri`."""

    @property
    def is_empty(self) -> bool:
        return not self.fragments


@dataclass(frozen=True)
class StagedFragments:
    """A bulk load: files from its tasks, for any number of tables."""

    tables: Mapping[TableKey, StagedFiles | Replacement]
    reads: frozenset[TableKey] | None = None
    """What the load depends on beside the tables it fills; None: on every table."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Other files for the same rows of one table: a compaction, or an index."""

    made_for: DatasetRef
    """The version that the files are of, on a line of the branch's own."""
    operation: Rewrite | CreateIndex

    @property
    def is_empty(self) -> bool:
        return False


@dataclass(frozen=True)
class Maintenance:
    """Work that no reader can tell from none, but by the time it takes."""

    tables: Mapping[TableKey, Upkeep]
    reads: frozenset[TableKey] | None = frozenset()


Work = Edits | StagedFragments | Maintenance
TableWork = TableEdit | StagedFiles | Replacement | Upkeep


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
    """What the manifest names now. The transaction starts there, at a restoration of it, or at a
    fork of it."""
    transaction: StagedTransaction
    change: TableChange


@dataclass(frozen=True)
class Staged:
    """Everything is written and nothing has moved."""

    held: FencedBranch
    operation_id: str
    commit: Commit
    tables: tuple[StagedTable, ...]


def locate(changes: ChangeSet, snapshot: Snapshot) -> Edits:
    """Look up in a snapshot the rows that a change is about, where whoever made it has not."""
    tables = {}
    for entity in snapshot.catalog.entities:
        if (table := changes.tables.get(entity.table_key)) is not None:
            dataset = snapshot.dataset(entity)
            there = dataset.rows_of(table.ids).select(PLACE)
            tables[entity.table_key] = TableEdit(table, there, made_for=dataset.ref)
    return Edits(tables, changes.reads)


def stage(
    store: GraphStore, held: FencedBranch, work: Work, *, onto: Snapshot, note: WriteNote
) -> Staged | None:
    """Write what `work` asks for as the successor of `onto`; None if it turns out to be nothing."""
    operation_id = store.clock.ulid()
    asked: Mapping[TableKey, TableWork] = {**work.tables}

    def stage_one(key: TableKey) -> StagedTable | None:
        return _stage_table(store, held, key, asked[key], onto.tables[key], operation_id)

    tables = at_once(stage_one, [key for key in sorted(asked) if not asked[key].is_empty])
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


def at_once(run: Callable[[A], B], values: Sequence[A]) -> list[B]:
    """The results, in order, of what mostly waits for the disk."""
    if len(values) < 2:
        return [run(value) for value in values]
    with ThreadPoolExecutor(min(PARALLEL_TABLES, len(values))) as pool:
        return list(pool.map(run, values))


def _own_line(
    store: GraphStore, held: FencedBranch, ref: DatasetRef, *, traced: dict[str, str]
) -> DatasetRef:
    """What the manifest names of a table, on a line that only this branch moves."""
    if not held.branch.owns(ref):
        return store.datasets.fork(ref, store.branches.fresh_fork(held.branch))
    return newest_like(store, held, ref, traced=traced)


def _stage_table(
    store: GraphStore,
    held: FencedBranch,
    key: TableKey,
    changes: TableWork,
    entry: TableEntry,
    operation_id: str,
) -> StagedTable | None:
    traced = trace(held, operation_id, key)
    base = _own_line(store, held, entry.ref, traced=traced)
    operation, counts, row_count = _operation(store, base, changes, entry)
    if counts == EditCounts() and not isinstance(changes, Upkeep):
        return None
    change = TableChange(
        key=key,
        ref=DatasetRef(base.path, base.branch, base.version + 1),
        row_count=row_count,
        inserted=counts.inserted,
        updated=counts.updated,
        deleted=counts.deleted,
    )
    transaction = store.datasets.stage(base, operation, traced)
    return StagedTable(pinned=entry.ref, transaction=transaction, change=change)


def _operation(
    store: GraphStore,
    base: DatasetRef,
    changes: TableWork,
    entry: TableEntry,
) -> tuple[Operation, EditCounts, int]:
    """What to do to a table, how many rows it touches, and how many there are afterwards.

    `base` is what the entry pins, a fork or a restoration of it: the same files.
    """
    rows_before = entry.row_count
    match changes:
        case TableEdit(changes=edit, there=there, made_for=made_for):
            assert made_for == entry.ref, f"made for {made_for}, to land on {entry.ref}"
            update, counts = store.datasets.stage_edit(base, edit.upserts, there)
            return update, counts, rows_before + counts.inserted - counts.deleted
        case StagedFiles(mode="append", row_count=new):
            append = Append(_adopted(store, changes, base))
            return append, EditCounts(inserted=new), rows_before + new
        case StagedFiles(row_count=new):
            overwrite = Overwrite(_adopted(store, changes, base))
            return overwrite, EditCounts(inserted=new, deleted=rows_before), new
        case Replacement(made_for=made_for, addresses=addresses, inserted=new):
            assert made_for == entry.ref, f"made for {made_for}, to land on {entry.ref}"
            fragments = _adopted(store, changes, base)
            update = store.datasets.stage_replacement(base, fragments, addresses)
            counts = EditCounts(inserted=new, updated=len(addresses))
            return update, counts, rows_before + new
        case Upkeep(made_for=made_for, operation=upkeep):
            assert made_for == entry.ref, f"made for {made_for}, to land on {entry.ref}"
            return upkeep, EditCounts(), rows_before


def _adopted(
    store: GraphStore, files: StagedFiles | Replacement, base: DatasetRef
) -> tuple[str, ...]:
    if files.written_at != store.datasets.uri(base.path, base.branch):
        store.datasets.adopt(files.fragments, written_at=files.written_at, ref=base)
    return files.fragments
