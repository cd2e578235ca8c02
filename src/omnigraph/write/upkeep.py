"""Upkeep: the same rows in fewer files, and indexes that answer for all of them.

No answer depends on it, only how long one takes. A branch looks after the tables that it has
written itself: one that it only inherited lies on its source's line, and to tidy it here would fork
it for nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from omnigraph.base.ids import TableKey
from omnigraph.base.types import EnumOf, Scalar
from omnigraph.lang.schema.catalog import (
    DST,
    ID,
    SRC,
    EdgeType,
    EntityType,
    Index,
    Property,
    Unique,
)
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import CreateIndex, DatasetRef, Rewrite
from omnigraph.write.work import OnConflict, TableWork, Upkeep, Work, Writer

__all__ = ["Compaction", "Indexing", "compact_scattered", "indexed_columns"]

# While others wait behind its fence, a writer compacts fragments of up to this many rows. Larger
# ones wait for `optimize`.
MAX_SMALL_FRAGMENT_ROWS = 16_384

# Beyond this a fragment gains nothing by being larger.
MAX_FRAGMENT_ROWS = 1_048_576

NOTHING = Work({}, reads=frozenset(), on_conflict=OnConflict.PREPARE_AGAIN)


def compact_scattered(store: GraphStore, snapshot: Snapshot, written: Iterable[TableKey]) -> Work:
    """Fewer fragments for those of the tables just written that have too many small ones."""
    just_written = set(written)

    def compact(entity: EntityType, ref: DatasetRef) -> Rewrite | None:
        if entity.table_key not in just_written:
            return None
        small = snapshot.dataset(entity).small_fragments(MAX_SMALL_FRAGMENT_ROWS)
        if small <= store.limits.max_small_fragments:
            return None
        return store.datasets.stage_compaction(
            ref, fewer_than_rows=MAX_SMALL_FRAGMENT_ROWS, drops_deleted=False
        )

    return _of_own_tables(store, snapshot, compact)


class Compaction(Writer[Work]):
    """Every table in as few fragments as are useful, without rows that are long deleted."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._before = NOTHING

    def prepare(self, snapshot: Snapshot) -> Work:
        self._before = _of_own_tables(self._store, snapshot, self._compact, self._before)
        return self._before

    def _compact(self, _: EntityType, ref: DatasetRef) -> Rewrite | None:
        datasets = self._store.datasets
        return datasets.stage_compaction(ref, fewer_than_rows=MAX_FRAGMENT_ROWS, drops_deleted=True)


class Indexing(Writer[Work]):
    """A BTREE over every row's identity, on edges over both ends, and over what is declared."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._before = NOTHING

    def prepare(self, snapshot: Snapshot) -> Work:
        self._before = _of_own_tables(self._store, snapshot, self._index, self._before)
        return self._before

    def _index(self, entity: EntityType, ref: DatasetRef) -> CreateIndex | None:
        return self._store.datasets.stage_indexes(ref, indexed_columns(entity))


def _of_own_tables(
    store: GraphStore,
    snapshot: Snapshot,
    stage: Callable[[EntityType, DatasetRef], Rewrite | CreateIndex | None],
    before: Work = NOTHING,
) -> Work:
    """The work on the tables that the branch has written itself.

    `before` was prepared at an earlier snapshot: its work on tables that have not moved is kept, or
    other writers would wait while it is done again.
    """
    branch = store.branches.resolve(snapshot.branch)
    tables: dict[TableKey, TableWork] = {}
    for entity in snapshot.catalog.entities:
        key = entity.table_key
        ref = snapshot.tables[key].ref
        if (known := before.tables.get(key)) is not None and known.base == ref:
            tables[key] = known
        elif branch.owns(ref) and (operation := stage(entity, ref)) is not None:
            tables[key] = Upkeep(ref, operation)
    return replace(NOTHING, tables=tables)


def indexed_columns(entity: EntityType) -> tuple[str, ...]:
    """Identity and ends, and what the schema declares as unique or as worth an index."""
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    declared = [
        entity.by_name[name]
        for constraint in entity.constraints
        if isinstance(constraint, Unique | Index)
        for name in constraint.properties
        if name in entity.by_name
    ]
    fit = (property_.column for property_ in declared if _can_be_sorted(property_))
    return tuple(dict.fromkeys((ID, *ends, *fit)))


def _can_be_sorted(property_: Property) -> bool:
    return property_.type is not Scalar.BLOB and isinstance(property_.type, Scalar | EnumOf)
