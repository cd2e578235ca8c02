"""Set checks of a small write, in process: DuckDB asks the questions of `rules`.

What is written is in memory; of what the graph holds, only rows that could matter are read: those
with a tuple, an end or an id that the write names. The cost follows the write, not the graph.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violations
from omnigraph.check.sets.fault_queries import Query, blamed, certain, questions
from omnigraph.check.sets.rules import (
    IDS,
    RELATIONS,
    Breach,
    Claim,
    Degree,
    End,
    Part,
    Reading,
    Touch,
    breaches,
    extract_at,
    plan_readings,
    report,
)
from omnigraph.lang.schema.catalog import ID, SRC, EntityType, NodeType
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import ChangeSet
from omnigraph.store.snapshot import Snapshot

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "Arriving",
    "Asking",
    "Judgement",
    "check_changes",
    "judge",
    "rows_at_fault",
    "tables_judged_by",
]

NO_IDS = pa.array([], pa.string())


@dataclass(frozen=True)
class Arriving:
    """What a write brings to one table."""

    rows: pa.Table
    deletes: pa.Array = field(default_factory=lambda: NO_IDS)
    must_be_new: bool = False
    """An id that is there already is a breach; otherwise the row that has it is replaced."""


@dataclass(frozen=True)
class Judgement:
    breaches: Sequence[Breach]
    reads: frozenset[TableKey]
    """The tables whose kept rows have decided."""


class Asking:
    """A DuckDB in memory for the questions, made when first needed, kept by whoever asks often.

    To make one takes longer than all the questions of a small change together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """A connection that sees nothing of any other; threads may ask side by side."""
        with self._lock:
            if self._database is None:
                import duckdb  # half as long to import as all of ours, and readers never ask

                self._database = duckdb.connect()
            return self._database.cursor()


def check_changes(
    changes: ChangeSet, snapshot: Snapshot, asking: Asking | None = None
) -> Violations:
    """What the graph would violate after the change. Row checks have passed already."""
    found = judge(_arriving(changes), snapshot, asking).breaches
    return report([_named(breach, changes) for breach in found])


def judge(
    arriving: Mapping[TableKey, Arriving],
    snapshot: Snapshot,
    asking: Asking | None = None,
    *,
    rejected: frozenset[str | None] = frozenset(),
) -> Judgement:
    """The rules that arriving rows break together with those that stay.

    The place in a breach is that of a row among those that arrive in its table. Of the types in
    `rejected` more rows came than arrive: what these might have put right is not asked.
    """
    readings = certain(_readings(arriving, snapshot), rejected=rejected)
    if not readings:
        return Judgement((), frozenset())
    relations = _relations(arriving, snapshot, readings, each=False)
    if not _say_anything(relations):
        return Judgement((), _kept_tables(readings))
    with _shown(relations, asking) as query:
        return Judgement(breaches(readings, query), _kept_tables(readings))


def rows_at_fault(
    arriving: Mapping[TableKey, Arriving],
    snapshot: Snapshot,
    asking: Asking | None = None,
    *,
    limit_rows: int,
) -> list[Breach]:
    """All arriving rows at fault for what is wrong first, or at least so many; none: all is well.

    See `blame`.
    """
    readings = _readings(arriving, snapshot)
    if not readings:
        return []
    relations = _relations(arriving, snapshot, readings, each=True)
    if not _say_anything(relations):
        return []
    with _shown(relations, asking) as query:
        return blamed(questions(readings), query, limit_rows=limit_rows)


def _relations(
    arriving: Mapping[TableKey, Arriving],
    snapshot: Snapshot,
    readings: Sequence[Reading],
    *,
    each: bool,
) -> dict[str, pa.Table]:
    """What the readings say, by the names of the relations."""
    image = _Image(arriving, snapshot)
    relations = {name: [schema.empty_table()] for name, schema in RELATIONS.items()}
    for reading in readings:
        rows = image.incoming(reading) if reading.part is Part.INCOMING else image.kept(reading)
        said = extract_at(reading, rows, np.arange(rows.num_rows), each=each)
        relations[reading.relation].append(said)
    return {name: pa.concat_tables(parts) for name, parts in relations.items()}


def _say_anything(relations: Mapping[str, pa.Table]) -> bool:
    """Whether there is a question to ask: that there are nodes breaks no rule by itself."""
    return any(rows.num_rows for name, rows in relations.items() if name != IDS)


@contextmanager
def _shown(relations: Mapping[str, pa.Table], asking: Asking | None) -> Iterator[Query]:
    """DuckDB with the relations under their names."""
    with (asking or Asking()).connect() as connection:
        for name, rows in relations.items():
            connection.register(name, rows)

        def query(sql: str) -> list[dict[str, Any]]:
            rows: list[dict[str, Any]] = connection.sql(sql).to_arrow_table().to_pylist()
            return rows

        yield query


def tables_judged_by(changes: ChangeSet, snapshot: Snapshot) -> frozenset[TableKey]:
    """The tables whose kept rows decide whether the change is allowed."""
    return _kept_tables(_readings(_arriving(changes), snapshot))


def _arriving(changes: ChangeSet) -> dict[TableKey, Arriving]:
    return {key: Arriving(table.upserts, table.deletes) for key, table in changes.tables.items()}


def _readings(arriving: Mapping[TableKey, Arriving], snapshot: Snapshot) -> list[Reading]:
    return plan_readings(snapshot.catalog, {key: _touch(table) for key, table in arriving.items()})


def _kept_tables(readings: Sequence[Reading]) -> frozenset[TableKey]:
    return frozenset(r.entity.table_key for r in readings if r.part is Part.KEPT)


def _touch(table: Arriving) -> Touch:
    return Touch(
        adds=table.rows.num_rows > 0,
        removes=len(table.deletes) > 0,
        ids_may_clash=table.must_be_new,
    )


def _named(breach: Breach, changes: ChangeSet) -> Breach:
    """A breach that says which row is to blame, where only its place was known."""
    violation = breach.violation
    if violation.entity_id is not None or breach.place is None:
        return breach
    row = changes.tables[breach.entity.table_key].upserts[ID][breach.place].as_py()
    return replace(breach, violation=replace(violation, entity_id=row))


class _Image:
    """The graph as the write would leave it, as far as a reading asks."""

    def __init__(self, arriving: Mapping[TableKey, Arriving], snapshot: Snapshot) -> None:
        self._arriving = arriving
        self._snapshot = snapshot

    def incoming(self, reading: Reading) -> pa.Table:
        return self._rows(reading.entity).select(reading.columns)

    def kept(self, reading: Reading) -> pa.Table:
        """Committed rows that stay, of those that the write could get in touch with."""
        column, values = self._in_touch(reading)
        rows = self._committed(reading.entity, {ID, *reading.columns}, column, values)
        gone = self._ids_gone(reading.entity)
        return rows.filter(pc.invert(pc.is_in(rows[ID], value_set=gone))).select(reading.columns)

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
        return self._snapshot.dataset(entity).rows_among(column, values, sorted(columns))

    def _rows(self, entity: EntityType) -> pa.Table:
        arriving = self._arriving.get(entity.table_key)
        return table_schema(entity).empty_table() if arriving is None else arriving.rows

    def _deletes(self, entity: EntityType) -> pa.Array:
        arriving = self._arriving.get(entity.table_key)
        return NO_IDS if arriving is None else arriving.deletes

    def _values(self, entity: EntityType, column: str) -> pa.Array:
        return self._rows(entity)[column].combine_chunks().drop_null().unique()

    def _ids_gone(self, entity: EntityType) -> pa.Array:
        """Ids of committed rows that are replaced or deleted, if they are there."""
        arriving = self._arriving.get(entity.table_key)
        if arriving is None or arriving.must_be_new:
            return NO_IDS
        return pa.concat_arrays([self._values(entity, ID), arriving.deletes])
