"""What one request may write at the head of a branch: the rows that its actor sees and may change.

A rule of the schema holds for all rows, and an actor is told of a broken one as far as they see it:
first by the rows that they see, as if there were no others, and then by all. Where only hidden rows
stand in the way, the write is denied, always in the same words: whether a row is there, what it
holds and why it may not be written can't be told from them.
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ConstraintViolated, PolicyDenied
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, TableKey
from omnigraph.check.sets.in_memory import SqlSession, check_changes
from omnigraph.engine.gate import Asked, Gate
from omnigraph.engine.guard import Writable
from omnigraph.lang.plan.conditions import ALWAYS, Condition
from omnigraph.lang.schema.catalog import ID, EdgeType, EntityType, Property
from omnigraph.read.changes.diff import differing, unequal
from omnigraph.read.scope import Scope
from omnigraph.read.values.conditions import columns_judged, meets
from omnigraph.read.view import View
from omnigraph.read.where.affected import rows_with_ids
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.snapshot import Snapshot

__all__ = ["Permit"]

NOT_ALL_ROWS = "not all of its rows may be written"


@frozen(eq=False)
class Permit:
    snapshot: Snapshot
    """With all rows, types and properties."""
    view: View
    """What the actor sees of it."""
    writable: Writable | None
    """What they may change; None: everything."""
    request: Asked

    @classmethod
    def of(
        cls,
        gate: Gate,
        snapshot: Snapshot,
        request: Asked,
        branches: tuple[BranchName, ...] | None = None,
    ) -> "Permit":
        """What is seen goes by the rules of the snapshot's branch, or of all these."""
        view = gate.view(snapshot, request, branches)
        return cls(snapshot, view, gate.writable(snapshot, request), request)

    @property
    def is_free(self) -> bool:
        """True if nothing is hidden and everything may be written."""
        return self.view.scope is None and self.writable is None

    def covers(self, entity: EntityType) -> bool:
        """True if all rows of a type are seen, whole, and may be written."""
        return self.sees_whole(entity) and self.may_change(entity)

    def sees_whole(self, entity: EntityType) -> bool:
        """True if all rows of a type are seen, with all their properties."""
        return self.view.scope is None or _shows_all(self.view.scope, entity)

    def may_change(self, entity: EntityType) -> bool:
        """True if any row of a type may be written, whatever it holds."""
        return self.writable is None or self.writable.covers(entity)

    def denial(self) -> PolicyDenied:
        """The refusal of a write, in the words of every such refusal."""
        action, actor = self.request.action, self.request.actor
        return PolicyDenied(action, actor, self.snapshot.branch, reason=NOT_ALL_ROWS)

    # Types and properties ------------------------------------------------------------------------

    def require_insertable(self, entity: EntityType) -> None:
        """Raise for a type whose rows need a value that the actor has no name for."""
        if any(property_.is_required for property_ in self.hidden(entity)):
            raise self.denial()

    def with_hidden_values(
        self, entity: EntityType, rows: pa.Table, committed: pa.Table
    ) -> pa.Table:
        """The rows, where they replace others with the values that these have and hide."""
        hidden = self.hidden(entity)
        if not hidden or not rows.num_rows or not committed.num_rows:
            return rows
        place = pc.index_in(rows[ID].combine_chunks(), value_set=committed[ID].combine_chunks())
        for property_ in hidden:
            column = property_.column
            kept = committed[column].combine_chunks().take(place)
            values = pc.if_else(pc.is_valid(place), kept, rows[column].combine_chunks())
            rows = rows.set_column(rows.schema.get_field_index(column), rows.field(column), values)
        return rows

    def hidden(self, entity: EntityType) -> list[Property]:
        """The properties of a type that the actor does not see."""
        shown = _entity_in(self.view.scope, entity)
        if shown is None:
            return []
        return [p for p in entity.properties if p.name not in shown.by_name]

    # Rows ----------------------------------------------------------------------------------------

    def judge(self, entity: EntityType, edits: RowEdits, touched: pa.Array | None = None) -> None:
        """Raise unless all rows of an edit may be written, as they were and as they will be.

        `touched` are ids of rows that the write looked at beside those it changes.
        """
        if self.covers(entity):
            return
        ids = edits.ids if touched is None else pa.concat_arrays([edits.ids, touched]).unique()
        columns = self.columns_judged(entity)
        before = rows_with_ids(self.snapshot, entity, ids, [c for c in columns if c != ID])
        is_changed = pc.is_in(before[ID], value_set=edits.ids)
        self.judge_images(entity, before.filter(is_changed), edits.upserts)
        self.require_seen(entity, before)

    def columns_judged(self, entity: EntityType) -> list[str]:
        """The columns by which rows of a type are judged, `id` first."""
        fixed = [property_.column for property_ in self._unwritable(entity)]
        wanted = [
            ID,
            *self.view.columns_to_judge(entity),
            *columns_judged(self._rule(entity)),
            *fixed,
        ]
        return list(dict.fromkeys(wanted))

    def judge_images(self, entity: EntityType, before: pa.Table, after: pa.Table) -> None:
        """Raise unless these rows may be written, and may become what they become."""
        rule = self._rule(entity)
        if not (meets(rule, before).all() and meets(rule, after).all()):
            raise self.denial()
        self._require_same(entity, before, after)

    def require_seen(self, entity: EntityType, rows: pa.Table) -> None:
        """Raise unless these committed rows are seen; `columns_judged` are among their columns."""
        if self.view.scope is None or not rows.num_rows:
            return
        is_known = _entity_in(self.view.scope, entity) is not None
        if not is_known or self.view.shown(entity, rows).num_rows < rows.num_rows:
            raise self.denial()

    def _rule(self, entity: EntityType) -> Condition:
        if self.writable is None:
            return ALWAYS
        return self.writable.conditions.get(entity.name, ALWAYS)

    def _unwritable(self, entity: EntityType) -> list[Property]:
        """The properties of a type that the actor may not set."""
        fixed = {} if self.writable is None else self.writable.fixed
        return [p for p in entity.properties if p.name in fixed.get(entity.name, ())]

    def _require_same(self, entity: EntityType, before: pa.Table, after: pa.Table) -> None:
        """Raise where a property is set that may not be: new rows have its default."""
        fixed = self._unwritable(entity)
        if not fixed or not after.num_rows:
            return
        names = [ID, *(p.column for p in fixed)]
        changed = after.select(names).filter(differing(after.select(names), before.select(names)))
        is_new = pc.invert(pc.is_in(changed[ID], value_set=before[ID].combine_chunks()))
        fresh = changed.filter(is_new)
        if fresh.num_rows < changed.num_rows:
            raise self.denial()
        for property_ in fixed:
            column = fresh[property_.column]
            usual = pa.repeat(pa.scalar(property_.default, column.type), fresh.num_rows)
            if pc.any(unequal(column, pa.chunked_array([usual]))).as_py():
                raise self.denial()

    # Sets ----------------------------------------------------------------------------------------

    def check_sets(self, edits: Edits, sql: SqlSession | None) -> None:
        """Raise where the graph would break a rule of the schema."""
        if self.view.scope is not None:
            seen = check_changes(
                self._seen_part(edits), self.view.snapshot, sql, lookup=self.view.rows_among
            )
            if seen:
                raise ConstraintViolated(seen)

    def check_all_sets(self, edits: Edits, sql: SqlSession | None) -> None:
        """Raise where the graph would break a rule, by rows that the actor does not see too."""
        if violations := check_changes(edits, self.snapshot, sql):
            raise ConstraintViolated(violations) if self.view.scope is None else self.denial()

    def _seen_part(self, edits: Edits) -> Edits:
        """Of an edit what is done to types that the actor knows."""
        known = {entity.table_key for entity in self.view.catalog.entities}
        return Edits({key: rows for key, rows in edits.tables.items() if key in known}, edits.reads)

    def tables_judged_by(self, keys: Iterable[TableKey]) -> frozenset[TableKey]:
        """The tables whose rows tell whether rows of these may be written."""
        if self.is_free:
            return frozenset()
        by_key: Mapping[TableKey, EntityType] = {
            entity.table_key: entity for entity in self.snapshot.catalog.entities
        }
        nodes = self.snapshot.catalog.node_by_name
        found = set(keys)
        for entity in (by_key[key] for key in keys):
            if isinstance(entity, EdgeType):
                found |= {nodes[name].table_key for name in (entity.source, entity.target)}
        return frozenset(found)


def _entity_in(scope: Scope | None, entity: EntityType) -> EntityType | None:
    """The type as it is in a scope; None: it is not there, or there is no scope."""
    if scope is None:
        return None
    catalog = scope.catalog
    if isinstance(entity, EdgeType):
        return catalog.edge_by_name.get(entity.name)
    return catalog.node_by_name.get(entity.name)


def _shows_all(scope: Scope, entity: EntityType) -> bool:
    is_whole = entity.name not in scope.restrictions and entity.name not in scope.lacking
    return is_whole and _entity_in(scope, entity) is not None
