"""What the operators of a plan become on Spark, in words: `explain` shows them.

Nothing of Spark is needed to say it.
"""

from collections.abc import Iterable

from omnigraph.base.ids import TypeName
from omnigraph.base.words import amount
from omnigraph.lang.plan.chain import operators
from omnigraph.lang.plan.ir import (
    Aggregate,
    AntiJoin,
    CountJoin,
    Direction,
    Distinct,
    Expand,
    Filter,
    LeftJoin,
    Limit,
    NodeScan,
    Nothing,
    Op,
    Outer,
    Project,
    SemiJoin,
    Sort,
    TopK,
    Union,
    Unit,
    ValueJoin,
)
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.query.needs import unread
from omnigraph.pipeline.query.refusals import refuse
from omnigraph.pipeline.spark.session import MAX_BROADCAST_ROWS
from omnigraph.read.demand import variables_in
from omnigraph.read.view import View

__all__ = ["notes_of"]

WAYS = {Direction.OUT: 1, Direction.IN: 1, Direction.BOTH: 2}


def notes_of(
    plan: Project, view: View, *, max_broadcast_rows: int = MAX_BROADCAST_ROWS
) -> dict[int, str]:
    """A note for each operator, by its identity. What Spark can't do is refused by name."""
    refuse(plan)
    told = [(op, _note(op, view, max_broadcast_rows)) for op in operators(plan)]
    notes = {id(op): note for op, note in told if note is not None}
    return notes | {id(scan): "not read, its edges name all that matter" for scan in unread(plan)}


def _note(op: Op, view: View, max_broadcast_rows: int) -> str | None:
    match op:
        case Unit() | Outer() | Nothing() | Project() | TopK():
            return None
        case NodeScan(source=source, types=types):
            read = f"{_fragments(types, view)} read by tasks"
            return read if isinstance(source, Unit) else f"{read}, each with each row"
        case Filter():
            return _filter(op)
        case Expand():
            return _expand(op, view, max_broadcast_rows)
        case ValueJoin(tests=tests):
            return "joined by value" if tests else "each with each row"
        case AntiJoin():
            return "left anti join"
        case SemiJoin():
            return "left semi join"
        case CountJoin():
            return "counted, left join"
        case LeftJoin():
            return "left join"
        case Union():
            return "union, distinct"
        case Aggregate(keys=keys):
            return "grouped" if keys else "added up"
        case Distinct():
            return "distinct"
        case Sort():
            return "sorted"
        case Limit():
            return "limit"


def _filter(op: Filter) -> str:
    if len(variables_in(op.predicate)) > 1:
        return "compared by Spark"
    source: Op = op
    while isinstance(source, Filter):
        source = source.source
    is_own = isinstance(source, NodeScan) and variables_in(op.predicate) == {source.variable}
    return "where the table is read" if is_own else "left semi join with its table"


def _expand(op: Expand, view: View, max_broadcast_rows: int) -> str:
    edges = tuple(dict.fromkeys(step.edge for step in op.steps))
    by_name = view.catalog.edge_by_name
    # An edge that is walked either way is two rows.
    rows = sum(
        view.snapshot.dataset(by_name[step.edge]).row_count * WAYS[step.direction]
        for step in op.steps
    )
    # How many rows meet them is known when the query runs.
    how = ", sorted and merged unless few rows meet them"
    if rows <= max_broadcast_rows:
        how = ", sent to all workers"
    if any(_hides_rows(by_name[name], view) for name in edges):
        how = ""
    rounds = f", {amount(op.most_hops, 'round')}" if op.most_hops > 1 else ""
    return f"{_fragments(edges, view)} joined by ids{how}{rounds}"


def _fragments(types: Iterable[TypeName], view: View) -> str:
    catalog = view.catalog
    entities = [catalog.node_by_name.get(name) or catalog.edge_by_name[name] for name in types]
    if any(_hides_rows(entity, view) for entity in entities):
        return "visible rows"
    count = sum(len(view.snapshot.dataset(entity).fragment_ids) for entity in entities)
    return amount(count, "fragment")


def _hides_rows(entity: EntityType, view: View) -> bool:
    """True if the size of the table would tell of rows that the caller does not see."""
    return view.restriction(entity) is not None
