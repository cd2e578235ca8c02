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
from numpy.typing import NDArray

from omnigraph.base.ids import CommitId, TableKey
from omnigraph.store.changes import ChangeSet, TableChanges
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.datasets import EditCounts
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
from omnigraph.write.strays import newest_like, trace

__all__ = [
    "Maintenance",
    "Replacement",
    "Staged",
    "StagedFiles",
    "StagedFragments",
    "StagedTable",
    "Upkeep",
    "Work",
    "WriteNote",
    "at_once",
    "stage",
]

A = TypeVar("A")
B = TypeVar("B")

# Tables wait for the disk, not for the processor.
PARALLEL_TABLES = 8


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

    base: DatasetRef
    """The version it was made from, on a line of the branch's own."""
    operation: Rewrite | CreateIndex

    @property
    def is_empty(self) -> bool:
        return False


@dataclass(frozen=True)
class Maintenance:
    """Work that no reader can tell from none, but by the time it takes."""

    tables: Mapping[TableKey, Upkeep]
    reads: frozenset[TableKey] | None = frozenset()


Work = ChangeSet | StagedFragments | Maintenance


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


def stage(
    store: GraphStore, held: FencedBranch, work: Work, *, onto: Snapshot, note: WriteNote
) -> Staged | None:
    """Write what `work` asks for as the successor of `onto`; None if it turns out to be nothing."""
    operation_id = store.clock.ulid()
    asked: Mapping[TableKey, TableChanges | StagedFiles | Replacement | Upkeep] = {**work.tables}

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
    changes: TableChanges | StagedFiles | Replacement | Upkeep,
    entry: TableEntry,
    operation_id: str,
) -> StagedTable | None:
    traced = trace(held, operation_id, key)
    base = _own_line(store, held, entry.ref, traced=traced)
    operation, counts, row_count = _operation(store, base, changes, entry.row_count)
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
    changes: TableChanges | StagedFiles | Replacement | Upkeep,
    rows_before: int,
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
        case Replacement(made_for=made_for, addresses=addresses, inserted=new):
            assert made_for.path == base.path, f"made for {made_for}, to land on {base}"
            fragments = _adopted(store, changes, base)
            update = store.datasets.stage_replacement(base, fragments, addresses)
            counts = EditCounts(inserted=new, updated=len(addresses))
            return update, counts, rows_before + new
        case Upkeep(base=made_from, operation=upkeep):
            # It may land on a restoration of what it was made from: the same files.
            is_same_line = (made_from.path, made_from.branch) == (base.path, base.branch)
            assert is_same_line, f"made from {made_from}, to land on {base}"
            return upkeep, EditCounts(), rows_before


def _adopted(
    store: GraphStore, files: StagedFiles | Replacement, base: DatasetRef
) -> tuple[str, ...]:
    if files.written_at != store.datasets.uri(base.path, base.branch):
        store.datasets.adopt(files.fragments, written_at=files.written_at, ref=base)
    return files.fragments
