"""What lies between two snapshots: every row that differs, as it was and as it is.

All of it is in memory at once: what a merge needs. `compare` reads the same a page at a time, as a
caller may see it. A row rewritten with equal values is no change.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ChangeDiffRefused
from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.read.changes.places import places_between
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import DELETE, INSERT, UPDATE, Changes, RowChanges
from omnigraph.store.datasets import Dataset, row_set
from omnigraph.store.snapshot import Snapshot

__all__ = ["changes_between", "differing", "matched", "unequal"]


def changes_between(base: Snapshot, head: Snapshot) -> Changes:
    """The rows that differ from `base` to `head`; of two schemas it raises `ChangeDiffRefused`."""
    if base.schema_hash != head.schema_hash:
        raise ChangeDiffRefused(reason="schema_boundary", graph_commit_id=head.commit.id)
    tables: dict[TableKey, RowChanges] = {}
    for entity in head.catalog.entities:
        changes = _row_changes(base, head, entity)
        if changes is not None:
            tables[entity.table_key] = changes
    return Changes(tables)


def _row_changes(base: Snapshot, head: Snapshot, entity: EntityType) -> RowChanges | None:
    places = places_between(base, head, entity)
    if not len(places):
        return None
    old = _whole(base.dataset(entity), entity, places.was)
    changes = matched(old, _whole(head.dataset(entity), entity, places.now))
    return changes if len(changes) else None


def _whole(dataset: Dataset, entity: EntityType, row_ids: pa.Array) -> pa.Table:
    columns = table_schema(entity).names
    return dataset.rows_at(row_set(row_ids.drop_null().to_numpy()), columns).select(columns)


def matched(old: pa.Table, new: pa.Table) -> RowChanges:
    """The changes from old rows to new ones, matched by id; equal rows are left out."""
    deleted = old.filter(pc.invert(_is_among(old, new)))
    put = new.filter(differing(new, old))
    ids = pa.concat_arrays([deleted[ID].combine_chunks(), put[ID].combine_chunks()])
    ids = ids.take(pc.sort_indices(ids))
    was = pc.index_in(ids, value_set=old[ID].combine_chunks())
    now = pc.index_in(ids, value_set=put[ID].combine_chunks())
    op = pc.if_else(pc.is_null(was), INSERT, pc.if_else(pc.is_null(now), DELETE, UPDATE))
    return RowChanges(ids, op, before=_structs(old).take(was), after=_structs(put).take(now))


def _structs(rows: pa.Table) -> pa.Array:
    return rows.to_struct_array().combine_chunks()


def _is_among(rows: pa.Table, others: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(rows[ID], value_set=others[ID].combine_chunks())


def differing(rows: pa.Table, old: pa.Table) -> pa.Array:
    """Which rows have no equal row of the same id in `old`."""
    place = pc.index_in(rows[ID].combine_chunks(), value_set=old[ID].combine_chunks())
    known = pc.is_valid(place)
    aligned = old.take(place.fill_null(0)) if old.num_rows else rows
    differs = pc.invert(known)
    for name in rows.column_names[1:]:
        differs = pc.or_(differs, unequal(rows[name], aligned[name]))
    return differs


def unequal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
    """Null differs from every value and equals null; lists compare element by element."""
    left, right = left.combine_chunks(), right.combine_chunks()
    if pa.types.is_nested(left.type):
        return _unequal_lists(left, right)
    return _unequal_values(left, right)


def _unequal_values(left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.types.is_floating(left.type):
        # By their bits: 0 is not -0, and what is no number is what it was.
        bits = {4: pa.uint32(), 8: pa.uint64()}[left.type.bit_width // 8]
        left, right = left.view(bits), right.view(bits)
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
