"""Another schema for a graph: plan it, check the rows that there are, and make it one commit.

The steps are all taken or none is: tables that come, go or change their columns move with the
schema in one publish. Older commits, and branches until they are changed themselves, keep the
schema that they have.

One change of a schema runs at a time, across processes. Its lock is the fence over the names of
branches, taken before the fence of main: no branch comes or goes between the question which
branches there are and the commit. Nothing marks the graph while it runs, so that a process that
dies leaves nothing to remove. Two changes planned at one head can't both be published: the commit
is made only if no row and no schema has changed since it was planned.
"""

import json
from dataclasses import replace

from omnigraph.base.errors import (
    BranchesInTheWay,
    ConstraintViolated,
    MigrationRefused,
    PolicyInTheWay,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName, TableKey
from omnigraph.check.migration import broken_rules, facts_of
from omnigraph.engine.engine import Engine
from omnigraph.engine.gate import Gate
from omnigraph.engine.requests import SchemaApply, SchemaPlan
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.schema_results import SchemaChange
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.migrate.plan import plan_migration
from omnigraph.lang.schema.migrate.steps import MigrationPlan
from omnigraph.lang.schema.text.key_order import with_key_order
from omnigraph.store.arrow import table_schema
from omnigraph.store.commits import DROPS, CommitKind
from omnigraph.store.fence import Hold
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.lifting import column_fills
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, OnConflict, Reshape, TableWork, Target, Work, Writer
from omnigraph.write.writer import write

__all__ = ["SchemaWork", "SchemaWriter", "schema_apply", "schema_plan"]


def schema_plan(engine: Engine, request: SchemaPlan) -> SchemaChange:
    """The steps from the schema of a commit to another, and what stands in their way."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        snapshot = view.snapshot
        engine.gate.require_whole_sight(snapshot, request)
        desired = compile_schema(request.source, view.catalog)
        plan = _plan(snapshot, desired, allow_data_loss=request.allow_data_loss)
        broken = None
        rules: tuple[str, ...] = ()
        if not plan.refusals:
            rules = engine.gate.rules_that_would_not_fit(desired)
            now_ms = engine.store.clock.now_ms()
            broken = broken_rules(snapshot, desired, plan.steps, now_ms=now_ms) or None
    others: tuple[BranchName, ...] = ()
    if request.branch == MAIN and request.moment is None and _needs_to_be_alone(plan):
        others = tuple(b.name for b in engine.store.branches.list() if b.name != MAIN)
    return SchemaChange(
        plan.steps,
        plan.refusals,
        violations=broken,
        branches_in_the_way=others,
        rules_in_the_way=rules,
    )


def schema_apply(engine: Engine, request: SchemaApply) -> SchemaChange:
    """Take every step to another schema in one commit; a schema that means the same makes none."""
    engine.gate.allow(request)
    engine.gate.require_whole_sight(engine.store.snapshot(request.branch), request)
    with engine.store.fence_over_names() as hold:
        others = tuple(each.name for each in engine.store.branches.list() if each.name != MAIN)
        note = CommitNote(CommitKind.SCHEMA, request.actor, request.message)
        written = write(
            engine.store,
            SchemaWriter(engine.store, engine.gate, request, others, hold, note),
            to=Target(request.branch, if_commit=request.if_commit),
            note=note,
            faults=engine.faults,
        )
    assert written is not None, "a change of a schema is never there already"
    commit = written.commit
    plan = written.work.plan
    return SchemaChange(plan.steps, commit=CommitInfo.of(commit) if commit else None)


@frozen(slots=False, kw_only=True)
class SchemaWork(Work):
    plan: MigrationPlan


@frozen(slots=False)
class SchemaWriter(Writer[SchemaWork]):
    store: GraphStore
    gate: Gate
    request: SchemaApply
    others: tuple[BranchName, ...]
    """The branches beside main. None comes or goes while this is written."""
    hold: Hold
    note: CommitNote

    def is_done(self) -> bool:
        """Never; but behind main's fence no branch may have come since they were counted."""
        self.hold.confirm()
        return False

    def prepare(self, snapshot: Snapshot) -> SchemaWork:
        """Plan and check; write the files of columns that come."""
        accepted, source = snapshot.catalog, self.request.source
        desired = compile_schema(source, accepted)
        plan = _plan(snapshot, desired, allow_data_loss=self.request.allow_data_loss)
        if plan.refusals:
            raise MigrationRefused(tuple(refusal.to_json() for refusal in plan.refusals))
        if rules := self.gate.rules_that_would_not_fit(desired):
            raise PolicyInTheWay(rules)
        self._require_alone(plan)
        if broken := broken_rules(snapshot, desired, plan.steps, now_ms=self.store.clock.now_ms()):
            raise ConstraintViolated(broken)
        if plan.is_empty:
            return SchemaWork({}, frozenset(), OnConflict.RAISE, plan=plan)
        stays = {e.id for e in desired.entities}
        return SchemaWork(
            self._reshapes(snapshot, desired),
            reads=None,
            on_conflict=OnConflict.RAISE,
            # Who makes a graph of this text must get rows with the same ids.
            schema_hash=self.store.schemas.put(desired, with_key_order(source, desired)),
            created=tuple(e for e in desired.entities if e.id not in accepted.by_id),
            dropped=frozenset(e.table_key for e in accepted.entities if e.id not in stays),
            renamed=_renamed(accepted, desired),
            note=replace(self.note, extra=_drops(plan)),
            plan=plan,
        )

    def _require_alone(self, plan: MigrationPlan) -> None:
        """A branch with rows by the old rules could bring them in again, or would lose them."""
        if self.others and (steps := _needs_to_be_alone(plan)):
            raise BranchesInTheWay(branches=self.others, steps=steps)

    def _reshapes(self, snapshot: Snapshot, desired: Catalog) -> dict[TableKey, TableWork]:
        tables: dict[TableKey, TableWork] = {}
        for entity in desired.entities:
            if (old := snapshot.catalog.by_id.get(entity.id)) is not None:
                ref = snapshot.tables[old.table_key].ref
                columns, fills = table_schema(entity), column_fills(old, entity)
                reshape = self.store.datasets.stage_reshape(ref, columns, fills)
                if reshape is not None:
                    tables[old.table_key] = Reshape(ref, reshape)
        return tables


def _plan(snapshot: Snapshot, desired: Catalog, *, allow_data_loss: bool) -> MigrationPlan:
    facts = facts_of(snapshot, desired)
    return plan_migration(snapshot.catalog, desired, facts, allow_data_loss=allow_data_loss)


def _needs_to_be_alone(plan: MigrationPlan) -> tuple[str, ...]:
    """The steps that are taken only while there is no branch beside main."""
    return tuple(step.message for step in plan.steps if not step.is_additive)


def _drops(plan: MigrationPlan) -> dict[str, str]:
    """What the plan drops, and how: a cleanup must know what it may take from older commits."""
    dropped = {step.name: step.mode for step in plan.steps if step.mode is not None}
    return {DROPS: json.dumps(dropped)} if dropped else {}


def _renamed(accepted: Catalog, desired: Catalog) -> dict[TableKey, TableKey]:
    return {
        accepted.by_id[e.id].table_key: e.table_key
        for e in desired.entities
        if e.id in accepted.by_id and accepted.by_id[e.id].table_key != e.table_key
    }
