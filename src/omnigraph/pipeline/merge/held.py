"""Rows of a large merge that the driver looks at by itself: those in conflict, and those that a
broken rule is about.

They are few: rows are looked up on three sides, and choices settle them as in a merge that fits in
memory. All other rows are in the files that tasks have written.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from omnigraph.base.conflicts import Take
from omnigraph.base.ids import TableKey
from omnigraph.check.sets.in_memory import BrokenTerm
from omnigraph.check.sets.rules import Claim, Degree, End
from omnigraph.lang.schema.catalog import SRC, EntityType
from omnigraph.merge.base import StoredBases, base_rows, edge_ids_at_bases
from omnigraph.merge.conflicts import Found, SideNames, row_conflicts
from omnigraph.merge.schemas import edge_ids_at, rows_as, unknown_to, value_conflicts
from omnigraph.merge.sets import SetConflicts
from omnigraph.merge.table import Pin, TableMerge
from omnigraph.merge.three_way import Sides, sides_of, unchanged
from omnigraph.read.changes.diff import matched
from omnigraph.read.where.affected import rows_with_ids
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import RowEdits
from omnigraph.store.datasets import ROW_LOCATOR
from omnigraph.store.snapshot import Snapshot

__all__ = ["HeldRows"]


class HeldRows:
    def __init__(
        self,
        *,
        bases: StoredBases,
        ours: Snapshot,
        theirs: Snapshot,
        names: SideNames,
        take: Take | None,
    ) -> None:
        """`take` is the side that tasks have let all rows in conflict take."""
        self._bases = bases
        self._ours = ours
        self._theirs = theirs
        self._names = names
        self._take = take
        self._tables: dict[TableKey, TableMerge] = {}
        self._there: dict[TableKey, list[pa.Table]] = {}

    @property
    def count(self) -> int:
        return sum(len(table.sides) for table in self._tables.values())

    @property
    def entities(self) -> list[EntityType]:
        return [table.entity for table in self._tables.values()]

    def ids(self, entity: EntityType) -> pa.Array:
        return self._tables[entity.table_key].sides.ids

    def edits(self, entity: EntityType) -> RowEdits:
        return self._tables[entity.table_key].edits()

    def there(self, entity: EntityType) -> pa.Table:
        """Where our rows lie (`ROW_LOCATOR`)."""
        return pa.concat_tables(self._there[entity.table_key])

    def hold(self, entity: EntityType, ids: Sequence[str]) -> None:
        """Take up those of the rows that theirs has changed."""
        wanted = self._unknown(entity, ids)
        if not len(wanted):
            return
        after = rows_as(self._theirs, entity, wanted)
        unknown = unknown_to(self._theirs, entity)
        joint = base_rows(
            self._bases, entity, wanted, ours=self._ours, theirs=after, unknown=unknown
        )
        changes = matched(joint.rows, after)
        if len(changes):
            three = sides_of(changes, self._our_rows(entity, changes.id), joint.disputed)
            self._add(entity, three)
            if self._take is not None:
                table = self._table(entity, three)
                for id_ in three.ids.filter(pa.array(table.is_unsettled)).to_pylist():
                    self._tables[entity.table_key].pin(Pin(entity, id_, self._take))

    def hold_all_of(self, broken: Iterable[BrokenTerm]) -> None:
        """Take up what theirs has changed of all rows that broken rules are about."""
        wanted: dict[TableKey, tuple[EntityType, list[str]]] = {}

        def want(entity: EntityType, ids: Iterable[str]) -> None:
            wanted.setdefault(entity.table_key, (entity, []))[1].extend(ids)

        for each in broken:
            match each.rule:
                case Claim(entity=entity):
                    want(entity, each.incoming)
                case End(edge=edge, node=node):
                    want(edge, each.incoming)
                    want(node, [each.term])
                case Degree(edge=edge):
                    source = pa.array([each.term], pa.string())
                    want(edge, edge_ids_at_bases(self._bases, edge, SRC, source))
                    want(edge, edge_ids_at(self._theirs, edge, SRC, source))
        for entity, ids in wanted.values():
            self.hold(entity, ids)

    def conflicts_of_rows(self) -> list[Found]:
        tables = self._tables.values()
        return [found for table in tables for found in row_conflicts(table, self._names)]

    def conflicts_of_values(self) -> list[Found]:
        """Rows of an earlier schema that break a rule of ours."""
        if self._theirs.schema_hash == self._ours.schema_hash:
            return []
        return [
            found
            for table in self._tables.values()
            for found in value_conflicts(table, table.edits(), self._ours.catalog)
        ]

    def conflicts_of_sets(self, broken: Sequence[BrokenTerm]) -> list[Found]:
        sets = SetConflicts(self._ours, self._theirs, self._tables, self._names)
        return [*sets.of(broken)]

    def pin(self, pins: Sequence[Pin]) -> bool:
        """Let rows take sides; False if none of them is told anything new."""
        wanted: dict[TableKey, tuple[EntityType, list[str]]] = {}
        for pin in pins:
            wanted.setdefault(pin.entity.table_key, (pin.entity, []))[1].append(pin.id)
        for entity, ids in wanted.values():
            self.hold(entity, ids)
        is_new = False
        for pin in pins:
            if pin.take == "theirs" and len(self._unknown(pin.entity, [pin.id])):
                self._fetch(pin.entity, pin.id)
                is_new = True
            if (table := self._tables.get(pin.entity.table_key)) is not None:
                is_new = table.pin(pin) or is_new
        return is_new

    def _fetch(self, entity: EntityType, id_: str) -> None:
        """Take up a row that theirs did not change, and that is to become theirs all the same."""
        ids = pa.array([id_], pa.string())
        ours, theirs = self._our_rows(entity, ids), rows_as(self._theirs, entity, ids)
        self._add(entity, unchanged(ids, ours, theirs))

    def _add(self, entity: EntityType, sides: Sides) -> None:
        if (table := self._tables.get(entity.table_key)) is None:
            self._tables[entity.table_key] = self._table(entity, sides)
        else:
            table.add(sides)

    def _table(self, entity: EntityType, sides: Sides) -> TableMerge:
        return TableMerge(entity, sides, unknown=unknown_to(self._theirs, entity))

    def _unknown(self, entity: EntityType, ids: Sequence[str]) -> pa.Array:
        table = self._tables.get(entity.table_key)
        place = {} if table is None else table.place
        return pa.array([id_ for id_ in dict.fromkeys(ids) if id_ not in place], pa.string())

    def _our_rows(self, entity: EntityType, ids: pa.Array) -> pa.Table:
        columns = table_schema(entity).names
        found = rows_with_ids(self._ours, entity, ids, columns[1:])
        self._there.setdefault(entity.table_key, []).append(found.select(ROW_LOCATOR))
        return found.select(columns)
