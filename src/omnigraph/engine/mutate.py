"""Change: statements run in order over one snapshot, each sees the ones before, one commit follows.

Nothing is written while statements run. `MutationStaging` collects whole rows by id; what is left
at the end, after rows that equal what is already there are dropped, is the edit.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ArgumentInvalid, ConstraintViolated
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey, TypeName
from omnigraph.base.types import Value
from omnigraph.base.violations import Violations
from omnigraph.base.words import amount
from omnigraph.check.rows.validate import Rows, check_rows
from omnigraph.check.sets.in_memory import SqlSession, tables_judged_by
from omnigraph.engine.engine import Engine
from omnigraph.engine.inserts import FROM, TO, Inserts
from omnigraph.engine.permit import Permit
from omnigraph.engine.repeats import earlier, kept_request, repeated
from omnigraph.engine.requests import Mutation
from omnigraph.engine.results import CommitInfo, MutationResult
from omnigraph.engine.written_rows import DeletedIds, WrittenRows
from omnigraph.lang.plan.ir import (
    Assignment,
    Delete,
    InsertEdge,
    InsertNode,
    Literal,
    MutationQuery,
    Now,
    Parameter,
    Predicate,
    Statement,
    Update,
)
from omnigraph.lang.plan.parameters import bind_parameters, require_values
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType
from omnigraph.read.changes.diff import differing
from omnigraph.read.context import UNLIMITED, Budget
from omnigraph.read.values.predicates import constant_of
from omnigraph.read.where.affected import edges_at, rows_with_ids
from omnigraph.read.where.where import Where
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import ROW_ID, ROW_LOCATOR
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, OnConflict, TableEdit, Target, Work, Writer
from omnigraph.write.writer import write

__all__ = ["MutationStaging", "MutationWork", "MutationWriter", "mutate", "prepare_mutation"]


STATEMENTS = "the statements of a mutation"


def mutate(engine: Engine, request: Mutation) -> MutationResult:
    """Run one mutation and publish it as one commit; nothing changed publishes nothing.

    A mutation is a function of the snapshot. Where another writer was quicker it is run again on
    what is there then, as if it had been asked for only now; but `now()` stays what it was.
    """
    engine.gate.allow(request)
    written = write(
        engine.store,
        MutationWriter(engine, request, now_ms=engine.store.clock.now_ms()),
        to=Target(request.branch, if_commit=request.if_commit),
        note=CommitNote(CommitKind.MUTATION, request.actor, request.message),
        faults=engine.faults,
    )
    if written is None:
        commit = earlier(engine.store, request)
        assert commit is not None, "the writer has just found it"
        engine.store.pending.drop(commit.id)
        return repeated(request, commit)
    return MutationResult(
        query_name=written.work.query_name,
        branch=request.branch,
        affected_nodes=written.work.affected_nodes,
        affected_edges=written.work.affected_edges,
        actor_id=request.actor,
        commit=CommitInfo.of(written.commit) if written.commit is not None else None,
    )


@frozen(slots=False, kw_only=True)
class MutationWork(Work):
    """The work of a mutation, and how many distinct nodes and edges it changes."""

    query_name: str
    affected_nodes: int
    affected_edges: int


@frozen(slots=False)
class MutationWriter(Writer[MutationWork]):
    """The query of a request with its parameters, run at any snapshot."""

    engine: Engine
    request: Mutation
    now_ms: int

    waits_first = True

    def is_done(self) -> bool:
        return earlier(self.engine.store, self.request) is not None

    def prepare(self, snapshot: Snapshot) -> MutationWork:
        # Each time anew: the schema may have moved, and what the actor may see of it.
        engine, request = self.engine, self.request
        budget = Budget(timeout_s=request.timeout_s, cancel=request.cancel)
        budget.check(STATEMENTS)
        permit = Permit.of(engine.gate, snapshot, request)
        with engine.trace.step("plan"):
            look = partial(budget.check, STATEMENTS)
            query = engine.plans.compile(request.source, request.name, permit.view.snapshot, look)
        if not isinstance(query, MutationQuery):
            raise ArgumentInvalid(
                argument="query",
                value=query.name,
                rule="this query only reads",
                advice="run it with query",
            )
        parameters = bind_parameters(query, request.params)
        require_values(query, parameters, permit.view.snapshot.catalog, request.source)
        work = prepare_mutation(
            query, permit, parameters, now_ms=self.now_ms, sql=engine.sql, budget=budget
        )
        extra = kept_request(
            request,
            query_name=work.query_name,
            affected_nodes=work.affected_nodes,
            affected_edges=work.affected_edges,
        )
        note = CommitNote(CommitKind.MUTATION, request.actor, request.message, extra=extra)
        return replace(work, note=note)


def prepare_mutation(
    query: MutationQuery,
    permit: Permit,
    parameters: Mapping[str, Value],
    *,
    now_ms: int,
    sql: SqlSession | None = None,
    budget: Budget = UNLIMITED,
) -> MutationWork:
    """Run the statements against a snapshot; raise if the result would break a rule, or may not
    be written."""
    staging = MutationStaging(permit, parameters, now_ms=now_ms, budget=budget)
    for statement in query.statements:
        staging.apply(statement)
    return staging.finish(query.name, sql)


class MutationStaging:
    """Rows written and deleted so far, by table, over the committed ones.

    Statements meet the committed rows that the actor sees, and all that they have written.
    """

    def __init__(
        self,
        permit: Permit,
        parameters: Mapping[str, Value],
        *,
        now_ms: int,
        budget: Budget = UNLIMITED,
    ) -> None:
        self._permit = permit
        self._snapshot = permit.snapshot
        self._parameters = parameters
        self._now_ms = now_ms
        self._budget = budget
        self._read: set[TableKey] = set()
        self._found: dict[TableKey, list[pa.Table]] = {}
        self._inserts = Inserts(permit.snapshot.catalog, now_ms=now_ms)
        self._written: dict[TableKey, WrittenRows] = {}
        self._deleted: dict[TableKey, DeletedIds] = {}
        self._violations = Violations()

    def apply(self, statement: Statement) -> None:
        self._budget.check(STATEMENTS)
        catalog = self._snapshot.catalog
        match statement:
            case InsertNode(type=name, values=values):
                self._insert(catalog.node_by_name[name], self._constants(values))
            case InsertEdge(type=name, source=source, target=target, values=values):
                ends = {FROM: self._constant(source), TO: self._constant(target)}
                self._insert(catalog.edge_by_name[name], self._constants(values) | ends)
            case Update(type=name, is_edge=is_edge, values=values, where=where):
                entity = (catalog.edge_by_name if is_edge else catalog.node_by_name)[name]
                self._update(entity, values, where)
            case Delete(type=name, is_edge=is_edge, where=where):
                entity = (catalog.edge_by_name if is_edge else catalog.node_by_name)[name]
                self._delete(entity, self._matching(entity, where, [ID])[ID].combine_chunks())

    # Statements ----------------------------------------------------------------------------------

    def _insert(self, entity: EntityType, values: Mapping[str, pa.Scalar]) -> None:
        self._permit.require_insertable(entity)
        self._inserts.add(entity, values)
        if self._inserts.is_full:
            self._check_inserts()

    def _check_inserts(self) -> None:
        """Check the rows that were inserted since the last call, and let other statements see
        them."""
        checked = self._inserts.checked()
        for violation in checked.violations:
            self._violations.add(violation)
        for key, rows in checked.rows.items():
            self._written_to(key, rows.schema).put(rows)

    def _update(
        self,
        entity: EntityType,
        values: tuple[Assignment, ...],
        where: tuple[Predicate, ...],
    ) -> None:
        found = self._matching(entity, where, table_schema(entity).names)
        if not found.num_rows:
            return
        properties = {p.name: found[p.column].combine_chunks() for p in entity.properties} | {
            name: pa.repeat(value, found.num_rows)
            for name, value in self._constants(values).items()
        }
        is_edge = isinstance(entity, EdgeType)
        self._put(
            entity,
            Rows(
                found.num_rows,
                properties,
                ids=found[ID].combine_chunks(),
                sources=found[SRC].combine_chunks() if is_edge else None,
                targets=found[DST].combine_chunks() if is_edge else None,
            ),
        )

    def assign(self, name: TypeName, ids: pa.Array, values: Mapping[str, pa.Array]) -> None:
        """Give each node of a type that has one of these ids values of its own."""
        node = self._snapshot.catalog.node_by_name[name]
        found = self._matching(node, (), table_schema(node).names)
        places = pc.index_in(found[ID].combine_chunks(), value_set=ids)
        found, places = found.filter(pc.is_valid(places)), places.drop_null()
        if found.num_rows:
            stored = {p.name: found[p.column].combine_chunks() for p in node.properties}
            given = {property_: column.take(places) for property_, column in values.items()}
            _refuse_nulls(node, given)
            rows = Rows(found.num_rows, stored | given, ids=found[ID].combine_chunks())
            self._put(node, rows)

    def _delete(self, entity: EntityType, ids: pa.Array) -> None:
        if not len(ids):
            return
        self._deleted.setdefault(entity.table_key, DeletedIds()).add(ids)
        if isinstance(entity, NodeType):
            for edge in self._snapshot.catalog.edges:
                if entity.name in (edge.source, edge.target):
                    self._delete(edge, self._incident(edge, entity, ids))

    def _incident(self, edge: EdgeType, node: NodeType, ids: pa.Array) -> pa.Array:
        """The edges that end in one of the nodes. A query that deletes rows writes none."""
        found = [pa.array([], pa.string())]
        for end, name in ((SRC, edge.source), (DST, edge.target)):
            if name == node.name:
                self._read.add(edge.table_key)
                committed = edges_at(self._snapshot, edge, end, ids)
                self._note(edge, committed)
                rows = self._not_deleted(edge, committed.select([ID]))
                found.append(rows[ID].combine_chunks())
        return pc.unique(pa.concat_arrays(found))

    # Rows ----------------------------------------------------------------------------------------

    def _put(self, entity: EntityType, rows: Rows) -> None:
        checked = check_rows(entity, rows, catalog=self._snapshot.catalog, now_ms=self._now_ms)
        self._violations.merge(checked.report())
        fresh = pa.Table.from_batches([checked.batch])
        self._written_to(entity.table_key, fresh.schema).put(fresh)

    def _written_to(self, key: TableKey, schema: pa.Schema) -> WrittenRows:
        return self._written.setdefault(key, WrittenRows(schema))

    def _matching(
        self, entity: EntityType, where: tuple[Predicate, ...], columns: list[str]
    ) -> pa.Table:
        """The columns, and others, of the rows for which the predicates hold."""
        self._check_inserts()
        self._read.add(entity.table_key)
        asked = Where(entity, where, self._parameters, self._now_ms)
        needed = asked.columns(columns)
        found = asked.candidates(self._permit.view, needed)
        rows = asked.matching(self._united(entity, found.select(needed), asked.ids))
        self._note(entity, _only(found, rows[ID].combine_chunks()))
        return rows

    def _note(self, entity: EntityType, committed: pa.Table) -> None:
        """Remember rows that a statement is about, with their places: none is asked for twice."""
        self._found.setdefault(entity.table_key, []).append(committed)

    def _united(self, entity: EntityType, committed: pa.Table, ids: pa.Array | None) -> pa.Table:
        """Of these committed rows, those neither rewritten nor deleted; and the written ones.

        If there are `ids`, no other rows are asked for.
        """
        rows = committed
        if (staged := self._written.get(entity.table_key)) is not None:
            written = staged.table() if ids is None else staged.among(ids)
            rows = _without(rows, written[ID].combine_chunks())
            rows = pa.concat_tables([rows, written.select(rows.column_names).cast(rows.schema)])
        return self._not_deleted(entity, rows)

    def _not_deleted(self, entity: EntityType, rows: pa.Table) -> pa.Table:
        deleted = self._deleted.get(entity.table_key)
        return rows if deleted is None else deleted.without(rows)

    def _constants(self, values: tuple[Assignment, ...]) -> dict[str, pa.Scalar]:
        return {each.property: self._constant(each.value) for each in values}

    def _constant(self, expression: Literal | Parameter | Now) -> pa.Scalar:
        return constant_of(expression, self._parameters, self._now_ms)

    # The end -------------------------------------------------------------------------------------

    def finish(self, query_name: str, sql: SqlSession | None = None) -> MutationWork:
        """The work that is left when rows equal to committed ones are dropped."""
        self._check_inserts()
        self._budget.check(STATEMENTS)
        if self._violations:
            raise ConstraintViolated(self._violations)
        tables: dict[TableKey, TableEdit] = {}
        affected = {NodeType: 0, EdgeType: 0}
        for entity in self._snapshot.catalog.entities:
            if entity.table_key in self._written.keys() | self._deleted.keys():
                edit = self._edit(entity)
                if not edit.is_empty:
                    tables[entity.table_key] = edit
                    affected[type(entity)] += len(edit.rows.ids)
        edits = Edits({key: edit.rows for key, edit in tables.items()})
        self._permit.check_sets(self._as_seen(edits), sql)
        if not self._permit.is_free:
            for entity in self._snapshot.catalog.entities:
                if entity.table_key in tables.keys() | self._written.keys():
                    self._judge(entity, edits.tables.get(entity.table_key))
        self._permit.check_all_sets(edits, sql)
        # A row that equals the committed one is left out, and depends on it all the same.
        reads = self._read | self._written.keys() | tables_judged_by(edits, self._snapshot)
        reads |= self._permit.tables_judged_by(reads | tables.keys())
        return MutationWork(
            tables=tables,
            reads=frozenset(reads),
            on_conflict=OnConflict.PREPARE_AGAIN,
            query_name=query_name,
            affected_nodes=affected[NodeType],
            affected_edges=affected[EdgeType],
        )

    def _as_seen(self, edits: Edits) -> Edits:
        """The edits with the rows that equal hidden ones: for the actor these are not there yet."""
        view, tables = self._permit.view, dict(edits.tables)
        for entity in view.catalog.entities:
            key = entity.table_key
            if view.restriction(entity) is not None and key in self._written:
                stored = self._snapshot.catalog.by_id[entity.id]
                written = self._written[key].table()
                committed = self._committed(stored, written[ID].combine_chunks())
                written = self._permit.with_hidden_values(stored, written, committed)
                fresh = written.filter(differing(written, view.shown(entity, committed)))
                tables[key] = RowEdits(upserts=fresh, deletes=self._deletes(key))
        return Edits({key: rows for key, rows in tables.items() if len(rows.ids)}, edits.reads)

    def _judge(self, entity: EntityType, edits: RowEdits | None) -> None:
        """Raise unless the rows may be written; also where a row equals a hidden one."""
        written = self._rows_written(entity)
        nothing = RowEdits(upserts=table_schema(entity).empty_table())
        self._permit.judge(entity, edits or nothing, touched=written[ID].combine_chunks())

    def _edit(self, entity: EntityType) -> TableEdit:
        base = self._snapshot.tables[entity.table_key].ref
        written, deletes = self._rows_written(entity), self._deletes(entity.table_key)
        if written.num_rows:
            committed = self._committed(entity, written[ID].combine_chunks())
            written = self._permit.with_hidden_values(entity, written, committed)
            written = written.filter(differing(written, committed))
        changes = RowEdits(upserts=written, deletes=deletes)
        # Deletes are of rows that were found.
        found = pa.concat_tables([t.select(ROW_LOCATOR) for t in self._found[entity.table_key]])
        existing = _only(found, changes.ids)
        # Two statements may have found one row.
        _, first = np.unique(existing[ROW_ID].to_numpy(), return_index=True)
        return TableEdit(changes, existing.take(first), base=base)

    def _rows_written(self, entity: EntityType) -> pa.Table:
        staged = self._written.get(entity.table_key)
        return table_schema(entity).empty_table() if staged is None else staged.table()

    def _deletes(self, key: TableKey) -> pa.Array:
        return self._deleted.get(key, DeletedIds()).array()

    def _committed(self, entity: EntityType, ids: pa.Array) -> pa.Table:
        """The committed rows with these ids, whole; those that no update has read are looked up."""
        columns = table_schema(entity).names
        noted = self._found.get(entity.table_key, [])
        whole = [t.select(columns) for t in noted if {*columns} <= {*t.column_names}]
        if whole:
            known = pa.concat_tables(whole)[ID].combine_chunks()
            ids = ids.filter(pc.invert(pc.is_in(ids, value_set=known)))
        if len(ids) or not whole:
            found = rows_with_ids(self._snapshot, entity, ids, columns[1:])
            self._note(entity, found)
            whole.append(found.select(columns))
        return pa.concat_tables(whole)


def _only(rows: pa.Table, ids: pa.Array) -> pa.Table:
    return rows.filter(pc.is_in(rows[ID].combine_chunks(), value_set=ids))


def _without(rows: pa.Table, ids: pa.Array) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows[ID].combine_chunks(), value_set=ids)))


def _refuse_nulls(node: NodeType, given: Mapping[str, pa.Array]) -> None:
    """Raise where a property would take its default for a value that there is not."""
    for name, column in given.items():
        if column.null_count and not node.by_name[name].is_nullable:
            type_, count = node.by_name[name].type, column.null_count
            nodes = f"{amount(count, 'node')} of {node.name} {'has' if count == 1 else 'have'}"
            rule = f"{nodes} no value, and {node.name}.{name} can't be null"
            raise ArgumentInvalid("write_to", name, rule, f"write to a property of type {type_}?")
