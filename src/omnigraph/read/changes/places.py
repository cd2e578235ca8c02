"""Which rows of one type may differ between two snapshots, before a single value is read.

The snapshots may be commits of any two branches. A row that lies at one place of one file in both
is the same in both, so only the other rows are looked at, and they are matched by id. Version
numbers count on each line for itself: they tell which rows were written since only where one
version was made from the other.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.store.changes import DELETE, INSERT, UPDATE
from omnigraph.store.datasets import ROW_ID, WRITTEN_AT, rows_beside
from omnigraph.store.snapshot import Snapshot

__all__ = ["Places", "places_between", "places_of"]


@dataclass(frozen=True, eq=False)
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
    """The rows of a type that do not lie at one place in both."""
    key = entity.table_key
    if base.tables[key].ref == head.tables[key].ref:
        return places_of(_nothing(), _nothing())
    before, after = base.dataset(entity), head.dataset(entity)
    was, now = rows_beside(before, after), rows_beside(after, before)
    # A compaction moves rows to other files and leaves the version that wrote them.
    if head.continues(entity, before.ref):
        now, was = _written_since(now, was, before.ref.version)
    elif base.continues(entity, after.ref):
        was, now = _written_since(was, now, after.ref.version)
    return places_of(was, now)


def places_of(was: pa.Table, now: pa.Table) -> Places:
    """The places of rows that were found on one side and on the other; with `id` and `_rowid`."""
    old, new = was[ID].combine_chunks(), now[ID].combine_chunks()
    ids = pa.concat_arrays([old, new.filter(pc.invert(pc.is_in(new, value_set=old)))])
    ids = ids.take(pc.sort_indices(ids))
    return Places(ids, _looked_up(ids, old, was), _looked_up(ids, new, now))


def _looked_up(ids: pa.Array, known: pa.Array, rows: pa.Table) -> pa.Array:
    return rows[ROW_ID].combine_chunks().take(pc.index_in(ids, value_set=known))


def _written_since(later: pa.Table, earlier: pa.Table, version: int) -> tuple[pa.Table, pa.Table]:
    """Of the later rows those written since, and of the earlier ones those they replace and those
    that are gone."""
    written = later.filter(pc.greater(later[WRITTEN_AT], version))
    is_there = pc.is_in(earlier[ID], value_set=later[ID].combine_chunks())
    is_replaced = pc.is_in(earlier[ID], value_set=written[ID].combine_chunks())
    return written, earlier.filter(pc.or_(pc.invert(is_there), is_replaced))


def _nothing() -> pa.Table:
    return pa.table({ID: pa.array([], pa.string()), ROW_ID: pa.array([], pa.uint64())})
