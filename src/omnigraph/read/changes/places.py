"""Which rows of one type may differ between two snapshots, before a single value is read.

The snapshots may be commits of any two branches. A row that lies at one place of one file in both
is the same in both. So is a row with one row id that neither line has written since they parted,
wherever it lies. Only the other rows are looked at, and they are matched by id.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.store.changes import DELETE, INSERT, UPDATE
from omnigraph.store.datasets import ROW_ID, Dataset, row_ids_beside, row_set
from omnigraph.store.snapshot import Snapshot

__all__ = ["Places", "places_between", "places_of"]


@frozen(slots=False, eq=False)
class Places:
    """Rows by id, ascending, and the row id of each on both sides: null where it is not there.

    A row that is on both sides may still be equal on both: its values tell.
    """

    id: pa.Array
    was: pa.Array
    now: pa.Array

    def __len__(self) -> int:
        return len(self.id)

    def slice(self, start: int, count: int) -> "Places":
        return Places(*(column.slice(start, count) for column in (self.id, self.was, self.now)))

    def filter(self, mask: pa.Array) -> "Places":
        return Places(*(column.filter(mask) for column in (self.id, self.was, self.now)))

    @property
    def op(self) -> pa.Array:
        """What happened to each row; `UPDATE` where its values still have to tell."""
        is_new = pc.is_null(self.was)
        return pc.if_else(is_new, INSERT, pc.if_else(pc.is_null(self.now), DELETE, UPDATE))

    def after(self, id_: str) -> "Places":
        """Those with a greater id."""
        return self.slice(pc.sum(pc.less_equal(self.id, id_)).as_py() or 0, len(self))


def places_between(base: Snapshot, head: Snapshot, entity: EntityType) -> Places:
    """The rows of a type that do not lie at one place in both. `base` may have another schema."""
    if (earlier := base.catalog.by_id.get(entity.id)) is None:
        return places_of(_nothing(), head.dataset(entity).scan([ID], with_row_id=True))
    if base.tables[earlier.table_key].ref == head.tables[entity.table_key].ref:
        return places_of(_nothing(), _nothing())
    before, after = base.dataset(earlier), head.dataset(entity)
    since = head.parting(entity, before.ref)
    was, old = row_ids_beside(before, after, since=since)
    now, old_there = row_ids_beside(after, before, since=since)
    # A compaction moves rows to other files and leaves their row ids and who wrote them.
    moved = np.intersect1d(old, old_there, assume_unique=True)
    return places_of(
        _with_ids(before, [was, np.setdiff1d(old, moved, assume_unique=True)]),
        _with_ids(after, [now, np.setdiff1d(old_there, moved, assume_unique=True)]),
    )


def _with_ids(dataset: Dataset, row_ids: Sequence[NDArray[np.uint64]]) -> pa.Table:
    return dataset.rows_at(row_set(np.concatenate(row_ids)), [ID])


def places_of(was: pa.Table, now: pa.Table) -> Places:
    """The places of rows that were found on one side and on the other; with `id` and `_rowid`."""
    old, new = was[ID].combine_chunks(), now[ID].combine_chunks()
    ids = pa.concat_arrays([old, new.filter(pc.invert(pc.is_in(new, value_set=old)))])
    ids = ids.take(pc.sort_indices(ids))
    return Places(ids, _looked_up(ids, old, was), _looked_up(ids, new, now))


def _looked_up(ids: pa.Array, known: pa.Array, rows: pa.Table) -> pa.Array:
    return rows[ROW_ID].combine_chunks().take(pc.index_in(ids, value_set=known))


def _nothing() -> pa.Table:
    return pa.table({ID: pa.array([], pa.string()), ROW_ID: pa.array([], pa.uint64())})
