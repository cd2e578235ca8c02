"""Set checks of a small change, in process: DuckDB asks the questions of `rules`.

The change is in memory; of what the graph holds, only rows that could matter are read: those with a
tuple, an end or an id that the change names. The cost follows the change, not the graph.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violations
from omnigraph.lang.schema.catalog import ID, SRC, EntityType, NodeType
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import ChangeSet, TableChanges
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.rules import (
    RELATIONS,
    Claim,
    Degree,
    End,
    Part,
    Reading,
    Touch,
    breaches,
    extract,
    plan_readings,
    report,
)

__all__ = ["check_changes", "tables_judged_by"]

# Past this many values a list in a predicate costs more than reading the column.
VALUES_IN_PREDICATE = 10_000


def check_changes(changes: ChangeSet, snapshot: Snapshot) -> Violations:
    """What the graph would violate after the change. Row checks have passed already."""
    import duckdb  # half as long to import as all of ours, and readers never ask

    readings = _readings(changes, snapshot)
    if not readings:
        return Violations()
    image = _Image(changes.tables, snapshot)
    relations = {name: [schema.empty_table()] for name, schema in RELATIONS.items()}
    for reading in readings:
        rows = image.incoming(reading) if reading.part is Part.INCOMING else image.kept(reading)
        relations[reading.relation].append(extract(reading, rows, 0))
    with duckdb.connect() as connection:
        for name, parts in relations.items():
            connection.register(name, pa.concat_tables(parts))

        def query(sql: str) -> list[dict[str, Any]]:
            rows: list[dict[str, Any]] = connection.sql(sql).to_arrow_table().to_pylist()
            return rows

        return report(breaches(readings, query))


def tables_judged_by(changes: ChangeSet, snapshot: Snapshot) -> frozenset[TableKey]:
    """The tables whose kept rows decide whether the change is allowed."""
    readings = _readings(changes, snapshot)
    return frozenset(r.entity.table_key for r in readings if r.part is Part.KEPT)


def _readings(changes: ChangeSet, snapshot: Snapshot) -> list[Reading]:
    return plan_readings(
        snapshot.catalog, {key: _touch(table) for key, table in changes.tables.items()}
    )


def _touch(table: TableChanges) -> Touch:
    # Ids never clash here: an upsert replaces the row that has its id.
    return Touch(
        adds=table.upserts.num_rows > 0, removes=len(table.deletes) > 0, ids_may_clash=False
    )


class _Image:
    """The graph as the change would leave it, as far as a reading asks."""

    def __init__(self, changes: Mapping[TableKey, TableChanges], snapshot: Snapshot) -> None:
        self._changes = changes
        self._snapshot = snapshot

    def incoming(self, reading: Reading) -> pa.Table:
        return self._upserts(reading.entity).select(reading.columns)

    def kept(self, reading: Reading) -> pa.Table:
        """Committed rows that stay, of those that the change could get in touch with."""
        column, values = self._in_touch(reading)
        rows = self._committed(reading.entity, {ID, *reading.columns}, column, values)
        gone = self._ids_changed(reading.entity)
        return rows.filter(pc.invert(pc.is_in(rows[ID], value_set=gone))).select(reading.columns)

    def _in_touch(self, reading: Reading) -> tuple[str, pa.Array]:
        """A column of the table, and the values in it that the change is about."""
        match reading.rule:
            case Claim(entity=entity):
                column = reading.columns[0]
                return column, self._values(entity, column)
            case End(edge=edge, column=column, node=node):
                if isinstance(reading.entity, NodeType):
                    return ID, self._values(edge, column)
                return column, self._deletes(node)
            case Degree() as rule:
                return reading.columns[0], self._sources(rule)

    def _sources(self, rule: Degree) -> pa.Array:
        """Nodes that gain or lose edges, or that are new."""
        changed = self._ids_changed(rule.edge)
        before = self._committed(rule.edge, {ID, SRC}, ID, changed)[SRC].combine_chunks()
        now = self._values(rule.edge, SRC)
        return pa.concat_arrays([before, now, self._values(rule.source, ID)]).unique()

    def _committed(
        self, entity: EntityType, columns: set[str], column: str, values: pa.Array
    ) -> pa.Table:
        if not len(values):
            return table_schema(entity).empty_table()
        is_short = len(values) <= VALUES_IN_PREDICATE
        among = pc.field(column).isin(values) if is_short else None
        rows = self._snapshot.dataset(entity).scan(sorted({*columns, column}), predicate=among)
        return rows if is_short else rows.filter(pc.is_in(rows[column], value_set=values))

    def _upserts(self, entity: EntityType) -> pa.Table:
        changes = self._changes.get(entity.table_key)
        return table_schema(entity).empty_table() if changes is None else changes.upserts

    def _deletes(self, entity: EntityType) -> pa.Array:
        changes = self._changes.get(entity.table_key)
        return pa.array([], pa.string()) if changes is None else changes.deletes

    def _values(self, entity: EntityType, column: str) -> pa.Array:
        return self._upserts(entity)[column].combine_chunks().drop_null().unique()

    def _ids_changed(self, entity: EntityType) -> pa.Array:
        return pa.concat_arrays([self._values(entity, ID), self._deletes(entity)])
