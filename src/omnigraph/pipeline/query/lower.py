"""A plan becomes a frame: the walk that says which operation follows which.

It reads like `read/run.py`, which runs the same plan over columns of row numbers. Nothing runs
here: the frame is lazy, and Spark is asked when somebody looks at it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import NotOnSpark
from omnigraph.base.frozen import frozen
from omnigraph.base.types import Value
from omnigraph.lang.plan.chain import chain
from omnigraph.lang.plan.ir import (
    Aggregate,
    AggregateFunction,
    AggregateOf,
    AntiJoin,
    Column,
    CountJoin,
    Distinct,
    EntityOf,
    Expand,
    Filter,
    LeftJoin,
    Limit,
    NodeScan,
    Nothing,
    Op,
    Outer,
    Parameter,
    Predicate,
    Project,
    SemiJoin,
    Sort,
    TopK,
    Union,
    Unit,
    ValueJoin,
)
from omnigraph.pipeline.query import blocks
from omnigraph.pipeline.query.expand import expand
from omnigraph.pipeline.query.filters import by_variable, keep, value_join
from omnigraph.pipeline.query.needs import is_whole, needed_by
from omnigraph.pipeline.query.refusals import refuse
from omnigraph.pipeline.query.rows import Rows
from omnigraph.pipeline.query.shape import Shaped, grouped, in_order, shaped, shown
from omnigraph.pipeline.query.tables import Tables
from omnigraph.pipeline.spark.session import MAX_BROADCAST_ROWS, Spark
from omnigraph.read.demand import (
    Demand,
    counts_rows,
    demand_of_aggregate,
    outer_variables,
    variables_in,
    variables_of_columns,
)
from omnigraph.read.view import View

__all__ = ["QueryFrame", "joins_of", "query_frame"]

NOTHING = Demand(frozenset(), allows_weights=True)
"""Of a sub-pattern that only has to exist or be counted, no variable is wanted."""

MAX_CUT = 2**31 - 1
"""The last row at which Spark can cut an answer, as a limit and an offset together say."""


@frozen(slots=False)
class QueryFrame:
    frame: Any
    schema: pa.Schema
    """The columns as an answer of ours has them; Spark carries some in other types."""


def query_frame(
    spark: Spark,
    plan: Project,
    view: View,
    parameters: Mapping[str, Value],
    *,
    now_ms: int,
    max_broadcast_rows: int = MAX_BROADCAST_ROWS,
    check: Callable[[], None] = lambda: None,
) -> QueryFrame:
    """The answer of a plan as a frame. What Spark can't do is refused by name first.

    Of a long plan some rows are made here: `check` is asked meanwhile, and ends it if it raises.
    """
    refuse(plan)
    tables = Tables(spark, view, parameters, now_ms, max_broadcast_rows, needed_by(plan), check)
    with spark.failures("planning a query"):
        whole = _Walk(tables).answer(plan)
        columns = [shown(column, whole, tables) for column in plan.columns]
        frame = whole.rows.frame.select(*(c.column.alias(c.name) for c in columns))
    return QueryFrame(frame, pa.schema([(c.name, c.kind) for c in columns]))


@frozen(slots=False)
class _Walk:
    tables: Tables

    def answer(self, plan: Project) -> Shaped:
        return self._shaped(plan.source, plan.columns)

    def _shaped(self, op: Op, columns: tuple[Column, ...]) -> Shaped:
        match op:
            case Limit(source=source, count=count, offset=offset):
                whole = self._shaped(source, columns)
                if not isinstance(source, Sort):
                    whole = in_order(whole, None, self.tables)
                return self._limited(whole, count, offset)
            case Sort(source=source):
                keys = tuple(Column("", key.expression) for key in op.keys)
                ties = tuple(Column("", EntityOf(v)) for v in op.ties)
                whole = self._shaped(source, (*columns, *keys, *ties))
                return in_order(whole, op, self.tables)
            case Aggregate(source=source):
                return grouped(self._rows(source, _demand(op), None), op, self.tables)
            case Distinct(source=source):
                below = Demand(variables_of_columns(op.columns), allows_weights=True)
                return grouped(self._rows(source, below, None), op, self.tables)
            case _:
                rows = self._rows(op, Demand(variables_of_columns(columns)), None)
                # An entity is sorted by its id, and only where it is shown by its properties.
                shown_or_sorted = [
                    c.expression
                    for c in columns
                    if c.name or not isinstance(c.expression, EntityOf)
                ]
                return shaped(rows, shown_or_sorted, self.tables)

    def _limited(
        self, whole: Shaped, count: int | Parameter | None, offset: int | Parameter
    ) -> Shaped:
        start, frame, most = self._bound(offset), whole.rows.frame, whole.rows.most
        stop = None if count is None else start + self._bound(count)
        if start > MAX_CUT:
            _require_all(most, start, f"`offset {start}`")
            frame = frame.limit(0)
        elif start:
            frame = frame.offset(start)
        if stop is not None and stop <= MAX_CUT:
            frame = frame.limit(stop - start)
        elif stop is not None:
            _require_all(most, stop, f"`limit {stop - start}`")
        return Shaped(whole.rows.over(frame), whole.made)

    def _bound(self, bound: int | Parameter) -> int:
        value = bound if isinstance(bound, int) else self.tables.parameters[bound.name]
        assert isinstance(value, int), "a bound is checked when parameters are"
        return value

    def _rows(self, op: Op, demand: Demand, outer: Rows | None) -> Rows:
        """The rows of a pattern. `outer` is where a sub-pattern begins."""
        rows = self._found(op, demand, outer)
        return replace(rows, joins=rows.joins + _joins(op))

    def _found(self, op: Op, demand: Demand, outer: Rows | None) -> Rows:
        tables = self.tables
        match op:
            case Unit():
                return tables.unit()
            case Outer():
                assert outer is not None, "a sub-pattern begins inside another"
                return outer
            case Nothing(source=source):
                below = self._rows(source, demand, outer)
                return below.over(below.frame.limit(0), most=0)
            case NodeScan():
                return self._scanned(op, (), demand, outer)
            case Filter():
                return self._filtered(op, demand, outer)
            case ValueJoin(source=source, pattern=pattern, tests=tests):
                here = frozenset(v for test in tests for v in variables_in(test.left))
                there = frozenset(v for test in tests for v in variables_in(test.right))
                rows = self._rows(source, demand.plus(here), outer)
                others = self._rows(pattern, Demand(demand.live | there), None)
                return value_join(rows, others, op, tables)
            case Expand(source=source):
                return expand(
                    self._rows(source, _below_expand(op, demand), outer), op, demand, tables
                )
            case AntiJoin() | SemiJoin() | CountJoin() | LeftJoin():
                return self._joined(op, demand, outer)
            case Union():
                return self._united(op, demand, outer)
            case TopK() | Aggregate() | Distinct() | Sort() | Limit() | Project():
                raise AssertionError(f"{type(op).__name__} is refused, or shapes the answer")

    def _scanned(
        self, op: NodeScan, predicates: tuple[Predicate, ...], demand: Demand, outer: Rows | None
    ) -> Rows:
        found = self.tables.bound(op.variable, op.types, predicates)
        if isinstance(op.source, Unit):
            is_all = not predicates and is_whole(op, self.tables.needed)
            return replace(found, whole=op.variable if is_all else None)
        rows = self._rows(op.source, demand.minus(op.variable), outer)
        frame = self.tables.join(rows, found.frame, [], "inner", most=found.most)
        attached = {**rows.attached, **found.attached}
        return rows.bind(frame, found.types, most=rows.most * found.most, attached=attached)

    def _filtered(self, op: Filter, demand: Demand, outer: Rows | None) -> Rows:
        """Filters that stand above each other, as one; above a scan they are part of it."""
        source: Op = op
        predicates: list[Predicate] = []
        while isinstance(source, Filter):
            predicates.append(source.predicate)
            source = source.source
        for predicate in predicates:
            demand = demand.plus(variables_in(predicate))
        if isinstance(source, NodeScan):
            own = by_variable(predicates).get(source.variable, ())
            rows = self._scanned(source, own, demand, outer)
            return keep(rows, [p for p in predicates if p not in own], self.tables)
        return keep(self._rows(source, demand, outer), predicates, self.tables)

    def _joined(
        self,
        op: AntiJoin | SemiJoin | CountJoin | LeftJoin,
        demand: Demand,
        outer: Rows | None,
    ) -> Rows:
        used, tables = outer_variables(op.pattern), self.tables
        made = op.variables if isinstance(op, LeftJoin) else ()
        rows = self._rows(op.source, demand.minus(*made).plus(used), outer)
        rows = tables.shared(rows)
        begun = blocks.begin(rows, used, tables)
        if isinstance(op, LeftJoin):
            wanted = Demand(demand.live & frozenset(made), demand.allows_weights)
            matched = self._rows(op.pattern, wanted, begun)
            return blocks.left_join(rows, begun, matched, op, tables)
        matched = self._rows(op.pattern, NOTHING, begun)
        if isinstance(op, CountJoin):
            return blocks.count_join(rows, begun, matched, op, tables)
        return blocks.exist_join(rows, begun, matched, op, tables)

    def _united(self, op: Union, demand: Demand, outer: Rows | None) -> Rows:
        used = frozenset(v for block in op.blocks for v in outer_variables(block))
        rows = self._rows(op.source, demand.minus(*op.variables).plus(used), outer)
        rows = self.tables.shared(rows)
        # All variables are wanted, also those nobody looks at above: rows are a set over them.
        wanted = Demand(frozenset(op.variables), allows_weights=True)
        return blocks.union(
            rows, op, used, lambda block, begun: self._rows(block, wanted, begun), self.tables
        )


def _require_all(most: int, cut: int, what: str) -> None:
    """Where there are fewer rows than Spark can count to, a cut behind them takes none away."""
    if most > cut:
        raise NotOnSpark(f"{what}: behind row {MAX_CUT}")


def joins_of(plan: Project) -> int:
    """About how many joins a plan takes."""
    return sum(_joins(op) for op in chain(plan))


def _joins(op: Op) -> int:
    """How many joins an operator adds, about."""
    match op:
        case Expand(most_hops=most_hops):
            return most_hops
        case AntiJoin() | SemiJoin() | CountJoin() | LeftJoin() | ValueJoin():
            return 1 + sum(map(_joins, chain(op.pattern)))
        case Union(blocks=parts):
            return 1 + sum(_joins(each) for part in parts for each in chain(part))
        case Filter():
            return 1
        case _:
            return 0


def _below_expand(op: Expand, demand: Demand) -> Demand:
    if op.is_target_bound:
        return demand.minus(op.edge_variable).plus((op.origin, op.target))
    return demand.minus(op.edge_variable, op.target).plus((op.origin,))


def _demand(op: Aggregate) -> Demand:
    """As in process; but rows are not folded below a function that would have to unfold them."""
    return Demand(demand_of_aggregate(op).live, all(map(_takes_weights, op.aggregates)))


def _takes_weights(column: Column) -> bool:
    made = column.expression
    assert isinstance(made, AggregateOf), "only aggregates are aggregated"
    is_extreme = made.function in (AggregateFunction.MIN, AggregateFunction.MAX)
    return counts_rows(made) or made.is_distinct or is_extreme
