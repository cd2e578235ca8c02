"""Set checks of a small write, in process: DuckDB answers the questions.

The rows that come are in memory; of those that the graph has, only rows that could matter are read:
rows with a tuple, an end or an id that the write names. The cost follows the write, not the graph.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violations
from omnigraph.check.sets.questions import (
    Query,
    all_violations,
    first_violations,
    rows_at_fault,
)
from omnigraph.check.sets.relations import RELATIONS, extract, terms_of
from omnigraph.check.sets.rules import (
    IDS,
    NO_TYPES,
    Claim,
    Degree,
    End,
    Part,
    Reading,
    SetRule,
    TableEffect,
    TypeNames,
    plan_readings,
    tables_read,
)
from omnigraph.check.sets.violations import SetViolation, report
from omnigraph.lang.schema.catalog import ID, SRC, EntityType, NodeType
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits
from omnigraph.store.snapshot import Snapshot

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "BrokenTerm",
    "IncomingRows",
    "LookUp",
    "RowsInMemory",
    "SqlSession",
    "check_changes",
    "tables_judged_by",
]

NO_IDS = pa.array([], pa.string())


CONNECTIONS_A_DATABASE = 500
"""DuckDB keeps some kibibytes of every closed connection, as long as its database lives."""


class SqlSession:
    """A DuckDB in memory, made when it is first needed; keep one where checks come often.

    To make one takes longer than all the questions of a small change together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None
        self._connections_left = 0

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """A connection that sees nothing of any other; threads may use theirs side by side."""
        with self._lock:
            if self._database is None or not self._connections_left:
                import duckdb  # half as long to import as all of ours, and readers never ask

                # A database that is replaced lives until the last of its connections is closed.
                self._database = duckdb.connect()
                self._connections_left = CONNECTIONS_A_DATABASE
            self._connections_left -= 1
            return self._database.cursor()


@frozen(slots=False, eq=False)
class IncomingRows:
    """The rows that a write brings to one table, and the ids it deletes there."""

    rows: pa.Table
    deletes: pa.Array = field(default_factory=lambda: NO_IDS)
    must_be_new: bool = False
    """An id that is there already breaks a rule; otherwise the row that has it is replaced."""
    places: np.ndarray | None = None
    """The places of the rows that a violation names; None: they are counted from 0."""


@frozen(slots=False)
class BrokenTerm:
    """A term that breaks a rule, and all rows that have it: together they break the rule."""

    rule: SetRule
    term: str
    """The text of a unique tuple, the id of a missing node, the id of a source."""
    message: str
    incoming: tuple[str, ...]
    """Ids of rows that the write brings: of the rule's type, or of its edges."""
    kept: tuple[str, ...]
    """Ids of rows that the graph has and that stay as they are."""


class LookUp(Protocol):
    """Finds the committed rows of a type with one of these values in a column."""

    def __call__(
        self, entity: EntityType, column: str, values: pa.Array, columns: Sequence[str]
    ) -> pa.Table: ...


@frozen(slots=False, eq=False)
class RowsInMemory:
    """The set checks (`protocol.SetChecks`) of rows in memory."""

    incoming: Mapping[TableKey, IncomingRows]
    snapshot: Snapshot
    sql: SqlSession = field(default_factory=SqlSession)
    lookup: LookUp | None = None
    """None: all rows of the snapshot count; else those that it finds."""

    @property
    def reads(self) -> frozenset[TableKey]:
        return tables_read(self.snapshot.catalog, self._effects)

    def violations(self, *, rejected: TypeNames = NO_TYPES) -> list[SetViolation]:
        readings = plan_readings(self.snapshot.catalog, self._effects, rejected=rejected)
        with self._shown(readings, one_by_one=False) as query:
            return [] if query is None else first_violations(readings, query)

    def at_fault(self, *, limit_rows: int) -> list[SetViolation]:
        readings = plan_readings(self.snapshot.catalog, self._effects)
        with self._shown(readings, one_by_one=True) as query:
            if query is None:
                return []
            return rows_at_fault(readings, query, limit_rows=limit_rows)

    def broken_terms(self) -> list[BrokenTerm]:
        """Everything that is wrong, with the rows on both sides of it."""
        readings = plan_readings(self.snapshot.catalog, self._effects)
        with self._shown(readings, one_by_one=False) as query:
            found = [] if query is None else all_violations(readings, query)
        image = self._image
        terms: dict[int, list[str]] = {}
        for rule, term, _ in found:
            terms.setdefault(rule.number, []).append(term)
        rows = {
            (reading.rule.number, reading.part): image.ids_by_term(reading, terms[rule_number])
            for reading in readings
            if reading.tells_terms and (rule_number := reading.rule.number) in terms
        }
        none: dict[str, list[str]] = {}
        return [
            BrokenTerm(
                rule,
                term,
                violation.violation.message,
                *(tuple(rows.get((rule.number, part), none).get(term, ())) for part in Part),
            )
            for rule, term, violation in found
        ]

    @property
    def _image(self) -> "_Image":
        return _Image(self.incoming, self.snapshot, self.lookup)

    @property
    def _effects(self) -> dict[TableKey, TableEffect]:
        return {
            key: TableEffect(
                adds=table.rows.num_rows > 0,
                removes=len(table.deletes) > 0,
                ids_may_clash=table.must_be_new,
            )
            for key, table in self.incoming.items()
        }

    @contextmanager
    def _shown(self, readings: Sequence[Reading], *, one_by_one: bool) -> Iterator[Query | None]:
        """DuckDB with the relations under their names; None if they can't break any rule."""
        relations = self._relations(readings, one_by_one=one_by_one)
        # That there are nodes breaks no rule by itself.
        if not any(rows.num_rows for name, rows in relations.items() if name != IDS):
            yield None
            return
        with self.sql.connect() as connection:
            for name, rows in relations.items():
                connection.register(name, rows)

            def query(sql: str) -> list[dict[str, Any]]:
                rows: list[dict[str, Any]] = connection.sql(sql).to_arrow_table().to_pylist()
                return rows

            yield query

    def _relations(self, readings: Sequence[Reading], *, one_by_one: bool) -> dict[str, pa.Table]:
        image = self._image
        relations = {name: [schema.empty_table()] for name, schema in RELATIONS.items()}
        for reading in readings:
            rows, places = image.rows(reading)
            keys = extract(reading, rows, places, one_by_one=one_by_one)
            relations[reading.relation].append(keys)
        return {name: pa.concat_tables(parts) for name, parts in relations.items()}


def check_changes(
    changes: Edits,
    snapshot: Snapshot,
    sql: SqlSession | None = None,
    *,
    lookup: LookUp | None = None,
) -> Violations:
    """The rules that the graph would violate after the change. Row checks have passed already.

    With `lookup` the rows that it finds are all that the graph has.
    """
    checks = RowsInMemory(_incoming(changes), snapshot, sql or SqlSession(), lookup)
    return report([_named(violation, changes) for violation in checks.violations()])


def tables_judged_by(changes: Edits, snapshot: Snapshot) -> frozenset[TableKey]:
    """The tables whose kept rows decide whether the change is allowed."""
    return RowsInMemory(_incoming(changes), snapshot).reads


def _incoming(changes: Edits) -> dict[TableKey, IncomingRows]:
    tables = changes.tables.items()
    return {key: IncomingRows(table.upserts, table.deletes) for key, table in tables}


def _named(found: SetViolation, changes: Edits) -> SetViolation:
    """The violation with the id of the row at fault, where only its place was known."""
    violation = found.violation
    if violation.entity_id is not None or found.place is None:
        return found
    row = changes.tables[found.entity.table_key].upserts[ID][found.place].as_py()
    return replace(found, violation=replace(violation, entity_id=row))


class _Image:
    """The graph as the write would leave it, as far as a reading asks."""

    def __init__(
        self,
        incoming: Mapping[TableKey, IncomingRows],
        snapshot: Snapshot,
        lookup: LookUp | None,
    ) -> None:
        self._incoming = incoming
        self._snapshot = snapshot
        self._lookup = lookup

    def rows(self, reading: Reading) -> tuple[pa.Table, np.ndarray]:
        """The rows of a reading, and their places."""
        match reading.part:
            case Part.INCOMING:
                rows = self._rows(reading.entity).select(reading.columns)
                return rows, self._places(reading.entity)
            case Part.KEPT:
                rows = self._kept(reading)
                return rows, np.arange(rows.num_rows)

    def ids_by_term(self, reading: Reading, terms: Sequence[str]) -> dict[str, list[str]]:
        """The ids of the rows of a reading that have one of these terms, in order."""
        kept = reading.part is Part.KEPT
        rows = self._kept_whole(reading) if kept else self._rows(reading.entity)
        found = pa.table({"term": terms_of(reading, rows), ID: rows[ID]})
        found = found.filter(pc.is_in(found["term"], value_set=pa.array(terms, pa.string())))
        ids: dict[str, list[str]] = {}
        for row in found.sort_by(ID).to_pylist():
            ids.setdefault(row["term"], []).append(row[ID])
        return ids

    def _kept(self, reading: Reading) -> pa.Table:
        """Committed rows that stay, of those that the write could get in touch with."""
        return self._kept_whole(reading).select(reading.columns)

    def _kept_whole(self, reading: Reading) -> pa.Table:
        column, values = self._in_touch(reading)
        rows = self._committed(reading.entity, {ID, *reading.columns}, column, values)
        gone = self._ids_gone(reading.entity)
        return rows.filter(pc.invert(pc.is_in(rows[ID], value_set=gone)))

    def _in_touch(self, reading: Reading) -> tuple[str, pa.Array]:
        """A column of the table, and the values in it that the write is about."""
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
        changed = self._ids_gone(rule.edge)
        before = self._committed(rule.edge, {ID, SRC}, ID, changed)[SRC].combine_chunks()
        now = self._values(rule.edge, SRC)
        return pa.concat_arrays([before, now, self._values(rule.source, ID)]).unique()

    def _committed(
        self, entity: EntityType, columns: set[str], column: str, values: pa.Array
    ) -> pa.Table:
        if not len(values):
            return table_schema(entity).empty_table()
        if self._lookup is not None:
            return self._lookup(entity, column, values, sorted(columns))
        return self._snapshot.dataset(entity).rows_among(column, values, sorted(columns))

    def _rows(self, entity: EntityType) -> pa.Table:
        incoming = self._incoming.get(entity.table_key)
        return table_schema(entity).empty_table() if incoming is None else incoming.rows

    def _places(self, entity: EntityType) -> np.ndarray:
        incoming = self._incoming.get(entity.table_key)
        if incoming is None or incoming.places is None:
            return np.arange(self._rows(entity).num_rows)
        return incoming.places

    def _deletes(self, entity: EntityType) -> pa.Array:
        incoming = self._incoming.get(entity.table_key)
        return NO_IDS if incoming is None else incoming.deletes

    def _values(self, entity: EntityType, column: str) -> pa.Array:
        return self._rows(entity)[column].combine_chunks().drop_null().unique()

    def _ids_gone(self, entity: EntityType) -> pa.Array:
        """Ids of committed rows that are replaced or deleted, if they are there."""
        incoming = self._incoming.get(entity.table_key)
        if incoming is None or incoming.must_be_new:
            return NO_IDS
        return pa.concat_arrays([self._values(entity, ID), incoming.deletes])
