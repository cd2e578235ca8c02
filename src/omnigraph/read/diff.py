"""What a snapshot changed since an earlier one of its own line: the edit that leads from one to the
other, in graph words.

The cost follows the size of the change: Lance knows for each row the version that last wrote it,
so only those rows are read. A row rewritten with equal values is no change.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import ChangeSet, TableChanges
from omnigraph.store.snapshot import Snapshot

__all__ = ["changes_since", "differing"]


def changes_since(base: Snapshot, head: Snapshot) -> ChangeSet:
    """The edit that turns `base` into `head`; `head` descends from `base` and has its schema."""
    assert base.schema_hash == head.schema_hash, "snapshots of two schemas have no row-wise diff"
    tables: dict[TableKey, TableChanges] = {}
    for entity in head.catalog.entities:
        if base.dataset(entity).ref != head.dataset(entity).ref:
            changes = _table_changes(base, head, entity)
            if not changes.is_empty:
                tables[entity.table_key] = changes
    return ChangeSet(tables)


def _table_changes(base: Snapshot, head: Snapshot, entity: EntityType) -> TableChanges:
    before, after = base.dataset(entity), head.dataset(entity)
    columns = table_schema(entity).names
    written = after.rows_written_after(before.ref.version, columns)
    ids = written[ID].combine_chunks()
    old = before.rows_of(ids, columns[1:]).select(columns)
    inserted = written.num_rows - old.num_rows
    if before.row_count + inserted == after.row_count:
        deletes = pa.array([], pa.string())
    else:
        kept = after.scan([ID])[ID].combine_chunks()
        were = before.scan([ID])[ID].combine_chunks()
        deletes = were.filter(pc.invert(pc.is_in(were, value_set=kept)))
    return TableChanges(upserts=written.filter(differing(written, old)), deletes=deletes)


def differing(rows: pa.Table, old: pa.Table) -> pa.Array:
    """Which rows have no equal row of the same id in `old`."""
    place = pc.index_in(rows[ID].combine_chunks(), value_set=old[ID].combine_chunks())
    known = pc.is_valid(place)
    aligned = old.take(place.fill_null(0)) if old.num_rows else rows
    differs = pc.invert(known)
    for name in rows.column_names[1:]:
        differs = pc.or_(differs, _unequal(rows[name], aligned[name]))
    return differs


def _unequal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
    """Null differs from every value and equals null; lists compare element by element."""
    left, right = left.combine_chunks(), right.combine_chunks()
    if pa.types.is_nested(left.type):
        return _unequal_lists(left, right)
    return _unequal_values(left, right)


def _unequal_values(left: pa.Array, right: pa.Array) -> pa.Array:
    one_null = pc.xor(pc.is_null(left), pc.is_null(right))
    return pc.or_(one_null, pc.not_equal(left, right).fill_null(fill_value=False))


def _unequal_lists(left: pa.Array, right: pa.Array) -> pa.Array:
    lengths = pc.list_value_length(left), pc.list_value_length(right)
    # Of lists of one length the elements stand side by side, row after row.
    alike = pc.equal(*lengths).fill_null(fill_value=False)
    ours, theirs = left.filter(alike), right.filter(alike)
    unequal = _unequal_values(pc.list_flatten(ours), pc.list_flatten(theirs))
    differs = _unequal_values(*lengths).to_numpy(zero_copy_only=False).copy()
    rows = np.flatnonzero(alike.to_numpy(zero_copy_only=False))
    differs[rows[pc.list_parent_indices(ours).filter(unequal).to_numpy()]] = True
    return pa.array(differs)
