"""A merge under way: the tables that theirs changed, the conflicts that are left, and the edits.

Choices settle conflicts round by round. To settle one may bring up another: a row that comes back
may claim a value that has been given away since. A row that was told which side to take is never
told again, so there is an end to it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.conflicts import Conflict
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.check.sets.in_memory import IncomingRows, RowsInMemory, SqlSession
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.merge.choices import Choices
from omnigraph.merge.conflicts import Found, SideNames, row_conflicts
from omnigraph.merge.schemas import rows_as, unknown_to, value_conflicts
from omnigraph.merge.sets import SetConflicts
from omnigraph.merge.table import Pin, TableMerge
from omnigraph.merge.three_way import Sides, sides_of, unchanged
from omnigraph.read.changes.diff import matched
from omnigraph.read.where.affected import rows_with_ids
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import DELETE, INSERT, UPDATE, Changes, RowChanges, RowEdits
from omnigraph.store.datasets import ROW_LOCATOR, EditCounts
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import TableEdit, TableWork

__all__ = ["Merged", "Merging", "counted", "told_once"]


@frozen(slots=False, eq=False)
class Merged:
    """What a merge comes to."""

    tables: Mapping[TableKey, TableWork]
    changes: Changes | None
    """From ours to the merged rows; rows in conflict are as they are on ours. None: the rows are in
    files, too many to hold."""
    counts: Mapping[TableKey, EditCounts]
    """Of those changes."""
    conflicts: tuple[Conflict, ...]
    reads: frozenset[TableKey]
    """The tables whose rows have decided."""
    more_conflicts: int = 0
    """How many there are beside those listed."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Types and properties that our schema has no more, and how many rows had changed there."""


class Merging:
    def __init__(
        self,
        ours: Snapshot,
        theirs: Snapshot,
        changes: Changes,
        *,
        disputed: Mapping[TableKey, pa.Array] | None = None,
        names: SideNames,
        sql: SqlSession,
    ) -> None:
        """`changes` are those of theirs since the base; `disputed` are ids of rows that several
        bases dispute."""
        self._ours = ours
        self._theirs = theirs
        self._names = names
        self._sql = sql
        self._found: dict[TableKey, list[pa.Table]] = {}
        self._tables: dict[TableKey, TableMerge] = {}
        for entity in ours.catalog.entities:
            if (rows := changes.tables.get(entity.table_key)) is not None:
                ours_now = self._our_rows(entity, rows.id)
                sides = sides_of(rows, ours_now, (disputed or {}).get(entity.table_key))
                self._tables[entity.table_key] = self._table(entity, sides)

    def finish(self, choices: Choices) -> Merged:
        """Apply the choices until they settle nothing more."""
        while True:
            found = self._conflicts()
            if not self._pin(choices.pins(found)):
                break
        choices.require_all_used()
        # Nothing of a conflict is brought before it is settled: rows in it are as ours has them.
        self._pin([pin for f in found if not f.is_of_rows for pin in f.effects["ours"]])
        edits = self._edits()
        changes = Changes({key: self._changes(key, rows) for key, rows in edits.items()})
        return Merged(
            tables={key: self._located(key, rows) for key, rows in edits.items()},
            changes=changes,
            counts=counted(changes),
            conflicts=tuple(sorted((f.conflict for f in found), key=lambda c: c.order())),
            reads=self._checks(edits).reads | self._tables.keys(),
        )

    # Conflicts -----------------------------------------------------------------------------------

    def _conflicts(self) -> list[Found]:
        of_rows = [
            found for table in self._tables.values() for found in row_conflicts(table, self._names)
        ]
        edits = self._edits()
        broken = self._checks(edits).broken_terms()
        of_sets = SetConflicts(self._ours, self._theirs, self._tables, self._names).of(broken)
        return [*told_once(of_rows, of_sets), *self._of_values(edits)]

    def _of_values(self, edits: dict[TableKey, RowEdits]) -> Iterator[Found]:
        """Rows of one schema obey its rules. Those of an earlier one may break a rule of ours."""
        if self._theirs.schema_hash != self._ours.schema_hash:
            for key, rows in edits.items():
                yield from value_conflicts(self._tables[key], rows, self._ours.catalog)

    def _checks(self, edits: dict[TableKey, RowEdits]) -> RowsInMemory:
        incoming = {key: IncomingRows(rows.upserts, rows.deletes) for key, rows in edits.items()}
        return RowsInMemory(incoming, self._ours, self._sql)

    def _pin(self, pins: Sequence[Pin]) -> bool:
        """Let rows take sides; False if none of them is told anything new."""
        is_new = self._fetch(pin for pin in pins if pin.take == "theirs")
        for pin in pins:
            if (table := self._tables.get(pin.entity.table_key)) is not None:
                is_new = table.pin(pin) or is_new
        return is_new

    def _fetch(self, pins: Iterable[Pin]) -> bool:
        """Take up rows that theirs did not change, and that are to become theirs all the same."""
        wanted: dict[TableKey, tuple[EntityType, dict[str, None]]] = {}
        for pin in pins:
            table = self._tables.get(pin.entity.table_key)
            if table is None or pin.id not in table.place:
                wanted.setdefault(pin.entity.table_key, (pin.entity, {}))[1][pin.id] = None
        for key, (entity, more) in wanted.items():
            ids = pa.array(list(more), pa.string())
            ours = self._our_rows(entity, ids)
            if key not in self._tables:
                none = matched(table_schema(entity).empty_table(), ours.slice(0, 0))
                self._tables[key] = self._table(entity, sides_of(none, ours.slice(0, 0)))
            self._tables[key].add(unchanged(ids, ours, rows_as(self._theirs, entity, ids)))
        return bool(wanted)

    # Rows ----------------------------------------------------------------------------------------

    def _table(self, entity: EntityType, sides: Sides) -> TableMerge:
        return TableMerge(entity, sides, unknown=unknown_to(self._theirs, entity))

    def _our_rows(self, entity: EntityType, ids: pa.Array) -> pa.Table:
        columns = table_schema(entity).names
        found = rows_with_ids(self._ours, entity, ids, columns[1:])
        self._found.setdefault(entity.table_key, []).append(found)
        return found.select(columns)

    def _edits(self) -> dict[TableKey, RowEdits]:
        edits = {key: table.edits() for key, table in self._tables.items()}
        return {key: rows for key, rows in edits.items() if not rows.is_empty}

    def _located(self, key: TableKey, rows: RowEdits) -> TableEdit:
        existing = self._existing(key, rows).select(ROW_LOCATOR)
        return TableEdit(rows, existing, base=self._ours.tables[key].ref)

    def _changes(self, key: TableKey, rows: RowEdits) -> RowChanges:
        columns = rows.upserts.column_names
        return matched(self._existing(key, rows).select(columns), rows.upserts)

    def _existing(self, key: TableKey, rows: RowEdits) -> pa.Table:
        found = pa.concat_tables(self._found[key])
        return found.filter(pc.is_in(found[ID], value_set=rows.ids))


def told_once(of_rows: Sequence[Found], of_sets: Iterable[Found]) -> list[Found]:
    """The conflicts of both kinds. An edge that may go anyway is not also told to lack a node."""
    unsure = {_entity(f) for f in of_rows if f.conflict.kind == "delete_vs_update"}
    return [*of_rows, *(f for f in of_sets if _entity(f) not in unsure)]


def _entity(found: Found) -> tuple[str, str]:
    return found.conflict.type_name, found.conflict.entity_id


def counted(changes: Changes) -> dict[TableKey, EditCounts]:
    """How many rows of each table are inserted, updated and deleted."""
    return {
        key: EditCounts(
            *(pc.sum(pc.equal(rows.op, op)).as_py() or 0 for op in (INSERT, UPDATE, DELETE))
        )
        for key, rows in changes.tables.items()
    }
