"""Files without a commit: the work of a write as transactions that have not landed.

Staging moves nothing that a reader can see. Dying here costs disk: files, and perhaps a fork, that
nothing names. That is why a table is forked here and not later: the files of a branch's first
write must lie in the fork.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId, TableKey
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.store.arrow import table_schema
from omnigraph.store.commits import Commit, TableChange
from omnigraph.store.datasets import EditCounts
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.layout import table_path
from omnigraph.store.manifest import CommitRow
from omnigraph.store.snapshot import Snapshot, TableEntry
from omnigraph.store.transactions import (
    Append,
    DatasetRef,
    Operation,
    Overwrite,
    StagedTransaction,
)
from omnigraph.write.late_landings import newest_like, trace
from omnigraph.write.work import (
    CommitNote,
    Replacement,
    Reshape,
    StagedFiles,
    TableEdit,
    TableWork,
    Upkeep,
    Work,
)

__all__ = ["Staged", "StagedTable", "at_once", "stage"]

A = TypeVar("A")
B = TypeVar("B")

# Tables wait for the disk, not for the processor.
MAX_PARALLEL_TABLES = 8


@frozen
class StagedTable:
    key: TableKey
    """As the manifest names it now; the change has the key that it gets."""
    pinned: DatasetRef
    """The version that the manifest names now. The first transaction starts there, at a restoration
    of it, or at a fork of it."""
    transactions: tuple[StagedTransaction, ...]
    """Each starts where the one before it ends."""
    change: TableChange


@frozen(slots=False)
class Staged:
    """Everything is written and nothing has moved."""

    fenced: FencedBranch
    operation_id: str
    commit: Commit
    tables: tuple[StagedTable, ...]
    merged: tuple[CommitRow, ...]
    """The commits that come with a merge."""


def stage(
    store: GraphStore, fenced: FencedBranch, work: Work, *, onto: Snapshot, note: CommitNote
) -> Staged | None:
    """Write what `work` asks for as the successor of `onto`; None if it turns out to be nothing."""
    operation_id = store.clock.ulid()

    def stage_one(key: TableKey) -> StagedTable | None:
        properties = trace(fenced, operation_id, key)
        table = _stage_table(store, fenced, key, work.tables[key], onto.tables[key], properties)
        return _renamed(table, work.renamed.get(key, key)) if table is not None else None

    tables = at_once(stage_one, sorted(k for k, table in work.tables.items() if not table.is_empty))
    staged = [table for table in tables if table is not None]
    schema_hash = work.schema_hash or onto.schema_hash
    changes_schema = schema_hash != onto.schema_hash or work.created or work.dropped
    moved = {table.key for table in staged}
    only_renamed = (
        TableChange(new, onto.tables[old].ref, onto.tables[old].row_count)
        for old, new in sorted(work.renamed.items())
        if old not in moved
    )
    is_needed = changes_schema or note.merged_parent is not None or work.is_recorded
    if not staged and not is_needed:
        return None
    merged = (
        store.history().missing_on(fenced.branch.name, note.merged_parent)
        if note.merged_parent is not None
        else ()
    )
    created = at_once(partial(_create_table, store), work.created)
    commit = Commit(
        id=CommitId(store.clock.ulid()),
        parent=onto.commit.id,
        branch=fenced.branch.name,
        seq=onto.commit.seq + 1,
        kind=note.kind,
        created_at_ms=store.clock.now_ms(),
        schema_hash=schema_hash,
        changes=(*(table.change for table in staged), *only_renamed, *created),
        dropped=tuple(sorted({*work.dropped, *work.renamed})),
        actor=note.actor,
        message=note.message,
        merged_parent=note.merged_parent,
        extra=note.extra,
    )
    return Staged(fenced, operation_id, commit, tuple(staged), merged)


def at_once(run: Callable[[A], B], values: Sequence[A]) -> list[B]:
    """The results, in order, of what mostly waits for the disk."""
    if len(values) < 2:
        return [run(value) for value in values]
    with ThreadPoolExecutor(min(MAX_PARALLEL_TABLES, len(values))) as pool:
        return list(pool.map(run, values))


def _own_line(
    store: GraphStore, fenced: FencedBranch, ref: DatasetRef, *, properties: dict[str, str]
) -> DatasetRef:
    """The same rows as `ref`, which the manifest names, on a line that only this branch moves."""
    if not fenced.branch.owns(ref):
        return store.datasets.fork(ref, store.branches.fresh_fork(fenced.branch))
    return newest_like(store, fenced, ref, properties=properties)


def _stage_table(
    store: GraphStore,
    fenced: FencedBranch,
    key: TableKey,
    work: TableWork,
    entry: TableEntry,
    properties: dict[str, str],
) -> StagedTable | None:
    assert work.base in (None, entry.ref), f"made for {work.base}, to land on {entry.ref}"
    base = _own_line(store, fenced, entry.ref, properties=properties)
    if isinstance(work, Upkeep | Reshape):
        assert base.branch == entry.ref.branch, "its files lie on a line that is not the branch's"
    operations, counts = _operations(store, base, work, rows_before=entry.row_count)
    if counts == EditCounts() and not isinstance(work, Upkeep | Reshape):
        return None
    change = TableChange(
        key=key,
        ref=DatasetRef(base.path, base.branch, base.version + len(operations)),
        row_count=entry.row_count + counts.inserted - counts.deleted,
        inserted=counts.inserted,
        updated=counts.updated,
        deleted=counts.deleted,
    )
    transactions = tuple(
        store.datasets.stage(replace(base, version=base.version + number), operation, properties)
        for number, operation in enumerate(operations)
    )
    return StagedTable(key, pinned=entry.ref, transactions=transactions, change=change)


def _renamed(table: StagedTable, key: TableKey) -> StagedTable:
    return replace(table, change=replace(table.change, key=key))


def _create_table(store: GraphStore, entity: EntityType) -> TableChange:
    """An empty table that no commit names yet, in a place of its own.

    Its type may have been dropped before, or two branches may each add one of its name: then the
    tables are different ones, and their places must be too.
    """
    path = f"{table_path(entity)}.{store.clock.ulid()}"
    ref = store.datasets.create(path, table_schema(entity))
    return TableChange(entity.table_key, ref, row_count=0)


def _operations(
    store: GraphStore, base: DatasetRef, work: TableWork, *, rows_before: int
) -> tuple[tuple[Operation, ...], EditCounts]:
    """The operations that do the work on a table, and how many rows they touch.

    `base` is the version that the work fits, a fork or a restoration of it: the same files.
    """
    match work:
        case TableEdit(rows=rows, existing=existing):
            edit, counts = store.datasets.stage_edit(base, rows.upserts, existing)
            return (edit,), counts
        case StagedFiles(mode="append", row_count=new):
            return (Append(_adopted(store, work, base)),), EditCounts(inserted=new)
        case StagedFiles(row_count=new):
            overwrite = Overwrite(_adopted(store, work, base))
            return (overwrite,), EditCounts(inserted=new, deleted=rows_before)
        case Replacement(addresses=replaced, deleted=gone, inserted=new):
            fragments = _adopted(store, work, base)
            addresses = np.concatenate([replaced, gone])
            update = store.datasets.stage_replacement(base, fragments, addresses)
            counts = EditCounts(inserted=new, updated=len(replaced), deleted=len(gone))
            return (update,), counts
        case Upkeep(operations=operations):
            return operations, EditCounts()
        case Reshape(operation=operation):
            return (operation,), EditCounts()


def _adopted(
    store: GraphStore, files: StagedFiles | Replacement, base: DatasetRef
) -> tuple[str, ...]:
    if files.written_at != store.datasets.location(base.path, base.branch):
        store.datasets.adopt(files.fragments, written_at=files.written_at, ref=base)
    return files.fragments
