"""Do the rows that there are keep the rules that a schema adds?

Only rules that are new are asked, and only of the tables that they are about, a batch at a time:
the cost follows those tables, and memory does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import PropertyId
from omnigraph.base.violations import Violations
from omnigraph.check.rows.validate import Rows, check_rows
from omnigraph.check.sets.in_tables import NewRule, violations_in_tables
from omnigraph.check.sets.rules import Claim, Degree
from omnigraph.check.sets.violations import SetViolation, report
from omnigraph.lang.schema.catalog import (
    ID,
    Cardinality,
    Catalog,
    Check,
    EdgeType,
    EntityType,
    NodeType,
    Range,
    Unique,
)
from omnigraph.lang.schema.migrate.plan import null_questions
from omnigraph.lang.schema.migrate.steps import Facts, Step
from omnigraph.store.arrays import one_array
from omnigraph.store.arrow import table_schema
from omnigraph.store.lifting import lifted
from omnigraph.store.snapshot import Snapshot

__all__ = ["broken_rules", "facts_of"]

BATCH_BYTES = 32 * 2**20

MAX_NAMED_ROWS = 5
"""Rows with a null that a refusal names."""


def facts_of(snapshot: Snapshot, desired: Catalog) -> Facts:
    """What the planner must know of the rows: where there are any, and where a null is in the way.

    Of columns only those are looked at that are to become required.
    """
    rows = {e.id: snapshot.tables[e.table_key].row_count for e in snapshot.catalog.entities}
    nulls: dict[PropertyId, tuple[str, ...]] = {}
    for entity, property_ in null_questions(snapshot.catalog, desired):
        if rows[entity.id]:
            dataset = snapshot.dataset(entity)
            if found := dataset.ids_without(property_.column, limit_rows=MAX_NAMED_ROWS):
                nulls[property_.id] = tuple(found)
    return Facts(frozenset(id_ for id_, number in rows.items() if number), nulls)


def broken_rules(
    snapshot: Snapshot, desired: Catalog, steps: Sequence[Step], *, now_ms: int
) -> Violations:
    """The rules that the steps add and that rows of the snapshot break, with the first of them."""
    rows = _RowsAsDesired(snapshot, desired)
    violations = Violations()
    rules: list[NewRule] = []
    number = count()
    for step in steps:
        if step.type_id is None:
            continue
        entity = desired.by_id.get(step.type_id)
        match step.kind, step.constraint:
            case "add_constraint", Range() | Check() as constraint:
                assert entity is not None
                violations.merge(_checked(rows, entity, constraint, desired, now_ms=now_ms))
            case "add_constraint", Unique(properties=properties):
                assert entity is not None
                rules.append(Claim(next(number), entity, properties))
            case ("add_constraint", Cardinality()) | ("add_type", _):
                if isinstance(entity, EdgeType) and not entity.cardinality.is_free:
                    least, most = entity.cardinality.least, entity.cardinality.most
                    source = desired.node_by_name[entity.source]
                    rules.append(Degree(next(number), entity, source, least, most))
            case _:
                pass  # it adds no rule
    found = violations_in_tables(rules, rows.batches)
    violations.merge(report([rows.named(violation) for violation in found]))
    return violations


@frozen(slots=False)
class _RowsAsDesired:
    """The rows of a snapshot, as the tables of another schema would have them."""

    snapshot: Snapshot
    desired: Catalog

    def batches(self, entity: EntityType, columns: Sequence[str]) -> Iterator[pa.Table]:
        """These columns of all rows of a type, a batch at a time; of a new type none."""
        old = self.snapshot.catalog.by_id.get(entity.id)
        if old is None:
            return
        wanted = {p.id for p in entity.properties if p.column in columns}
        before, after = _only(old, wanted), _only(entity, wanted)
        dataset = self.snapshot.dataset(old)
        stored = table_schema(before).names
        for batch in dataset.bounded_batches(stored, limit_bytes=BATCH_BYTES):
            yield lifted(pa.Table.from_batches([batch]), before, after)

    def named(self, found: SetViolation) -> SetViolation:
        """The violation with the id of the row at fault, where only its place was known."""
        violation = found.violation
        old = self.snapshot.catalog.by_id.get(found.entity.id)
        if violation.entity_id is not None or found.place is None or old is None:
            return found
        [row] = self.snapshot.dataset(old).take(np.array([found.place]), [ID])[ID].to_pylist()
        return replace(found, violation=replace(violation, entity_id=row))


def _only(entity: EntityType, properties: set[PropertyId]) -> EntityType:
    kept = tuple(p for p in entity.properties if p.id in properties)
    return replace(entity, properties=kept)


def _checked(
    rows: _RowsAsDesired,
    entity: EntityType,
    constraint: Range | Check,
    catalog: Catalog,
    *,
    now_ms: int,
) -> Violations:
    """One rule about one property, put to every row of its type."""
    property_ = entity.by_name[constraint.property]
    # For a rule about one value, keys and ends mean nothing.
    alone = NodeType(entity.id, entity.name, (property_,), constraints=(constraint,))
    violations = Violations()
    for batch in rows.batches(entity, [property_.column]):
        values = {property_.name: one_array(batch[property_.column])}
        incoming = Rows(batch.num_rows, values, ids=one_array(batch[ID]))
        checked = check_rows(alone, incoming, catalog=catalog, now_ms=now_ms)
        violations.merge(checked.report())
    return violations
