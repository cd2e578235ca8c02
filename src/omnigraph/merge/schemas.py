"""A side with an earlier schema than ours: its rows as our schema has them.

Types and properties are matched by their stable ids. What our schema has no more is left out. What
it has anew has what rows were filled with when it came, or is null; in a row that both sides have,
it has what ours has.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.conflicts import Take
from omnigraph.base.ids import TableKey
from omnigraph.check.rows.validate import Checked, Rows, check_rows
from omnigraph.lang.schema.catalog import DST, ID, SRC, Catalog, EdgeType, EntityType
from omnigraph.merge.conflicts import Found, conflict_of, images_at
from omnigraph.merge.table import Pin, TableMerge
from omnigraph.read.changes.diff import matched
from omnigraph.read.where.affected import edges_at, rows_with_ids
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import INSERT, UPDATE, Changes, RowChanges, RowEdits
from omnigraph.store.history import CommitLog
from omnigraph.store.lifting import lifted, new_columns
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "checked_rows",
    "edge_ids_at",
    "has_had_schema",
    "left_out",
    "left_out_of_rows",
    "lifted_changes",
    "rows_as",
    "unknown_to",
    "value_conflicts",
]


def has_had_schema(history: CommitLog, ours: Snapshot, schema_hash: str) -> bool:
    """True if our branch has the schema, or had it before."""
    if schema_hash == ours.schema_hash:
        return True
    return any(commit.schema_hash == schema_hash for commit in history.line_of(ours.commit.id))


def lifted_changes(changes: Changes, from_: Catalog, to: Catalog) -> Changes:
    """Changes of rows as they are in another schema; those that it can't tell are left out."""
    tables: dict[TableKey, RowChanges] = {}
    for entity in from_.entities:
        rows, now = changes.tables.get(entity.table_key), to.by_id.get(entity.id)
        if rows is None or now is None:
            continue
        before, after = (
            lifted(pa.Table.from_struct_array(images.drop_null()), entity, now)
            for images in (rows.before, rows.after)
        )
        if len(found := matched(before, after)):
            tables[now.table_key] = found
    return Changes(tables)


def left_out(since_each: Sequence[Changes], from_: Catalog, to: Catalog) -> dict[str, int]:
    """What another schema has no place for: by type, or type and property, how many rows of the
    changes have something there. A row counts if it has changed since each of the bases."""
    found: dict[str, int] = {}
    for entity in from_.entities:
        tables = [changes.tables.get(entity.table_key) for changes in since_each]
        rows = [table for table in tables if table is not None]
        if len(rows) == len(tables):
            found |= left_out_of_rows(rows, entity, to.by_id.get(entity.id))
    return found


def left_out_of_rows(
    since_each: Sequence[RowChanges], from_entity: EntityType, to_entity: EntityType | None
) -> dict[str, int]:
    """The same of one type; without `to_entity`, the other schema does not have it."""
    if to_entity is None:
        found = {str(from_entity.name): [rows.id for rows in since_each]}
    else:
        kept = {p.id for p in to_entity.properties}
        found = {
            f"{from_entity.name}.{p.name}": [_changed_in(rows, p.column) for rows in since_each]
            for p in from_entity.properties
            if p.id not in kept
        }
    counts = {name: len(reduce(_common, ids)) for name, ids in found.items()}
    return {name: count for name, count in counts.items() if count}


def _common(ids: pa.Array, others: pa.Array) -> pa.Array:
    return ids.filter(pc.is_in(ids, value_set=others))


def _changed_in(rows: RowChanges, column: str) -> pa.Array:
    """The ids of rows that have another value in a column, or come with one."""
    before, after = (
        pa.Table.from_struct_array(images.drop_null()).select([ID, column])
        for images in (rows.before, rows.after)
    )
    found = matched(before, after)
    has_come = pc.and_(pc.equal(found.op, INSERT), found.after.field(column).is_valid())
    return found.id.filter(pc.or_(pc.equal(found.op, UPDATE), has_come))


def unknown_to(theirs: Snapshot, entity: EntityType) -> tuple[str, ...]:
    """The columns of our type that theirs does not have."""
    was = theirs.catalog.by_id.get(entity.id)
    return () if was is None else new_columns(was, entity)


def rows_as(snapshot: Snapshot, entity: EntityType, ids: pa.Array) -> pa.Table:
    """Whole rows with these ids, as the table of `entity` holds them."""
    was = snapshot.catalog.by_id.get(entity.id)
    if was is None:
        return table_schema(entity).empty_table()
    columns = table_schema(was).names
    rows = rows_with_ids(snapshot, was, ids, columns[1:]).select(columns)
    return lifted(rows, was, entity)


def edge_ids_at(snapshot: Snapshot, edge: EdgeType, end: str, ids: pa.Array) -> list[str]:
    """The ids of the edges with one of these nodes at this end."""
    was = snapshot.catalog.by_id.get(edge.id)
    if not isinstance(was, EdgeType):
        return []
    found: list[str] = edges_at(snapshot, was, end, ids)[ID].to_pylist()
    return found


def value_conflicts(table: TableMerge, edits: RowEdits, catalog: Catalog) -> Iterator[Found]:
    """Rows that come and break a rule that their own schema did not have."""
    entity, rows = table.entity, edits.upserts
    checked = checked_rows(entity, rows, catalog)
    for place, violation in checked.each():
        id_ = rows[ID][place].as_py()
        name, rows_of = violation.property_name, images_at(entity, table.sides, table.place[id_])
        conflict = conflict_of(
            "value_constraint_violation",
            entity,
            id_,
            rows_of,
            () if name is None else (name,),
            violation.message,
        )
        takes: tuple[Take, Take] = ("ours", "theirs")
        pins = {take: [Pin(entity, id_, take)] for take in takes}
        yield Found(conflict, pins, is_of_rows=False)


def checked_rows(entity: EntityType, rows: pa.Table, catalog: Catalog) -> Checked:
    """What the rules of our schema say of lifted rows."""
    return check_rows(entity, _as_they_come(entity, rows), catalog=catalog, now_ms=0)


def _as_they_come(entity: EntityType, rows: pa.Table) -> Rows:
    is_edge = isinstance(entity, EdgeType)
    return Rows(
        rows.num_rows,
        {p.name: rows[p.column].combine_chunks() for p in entity.properties},
        ids=rows[ID].combine_chunks(),
        sources=rows[SRC].combine_chunks() if is_edge else None,
        targets=rows[DST].combine_chunks() if is_edge else None,
    )
