"""Walks a plan over one view of a snapshot, from the first row to the last.

Demand goes down, rows come up: an operator asks its source only for the variables that it or
somebody above it looks at. The walk decides which operator runs on what; `operators/` does the
work and knows nothing of the tree.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import EmbedTimeout
from omnigraph.base.types import Value
from omnigraph.lang.plan.explain import describe
from omnigraph.lang.plan.ir import (
    Aggregate,
    AntiJoin,
    CountJoin,
    Distinct,
    Expand,
    Filter,
    LeftJoin,
    Limit,
    NodeScan,
    Nothing,
    Op,
    Outer,
    Parameter,
    Project,
    ReadQuery,
    SemiJoin,
    Sort,
    TopK,
    Union,
    Unit,
    ValueJoin,
)
from omnigraph.lang.plan.rankings import fusions_shown
from omnigraph.read.answer import Answer
from omnigraph.read.context import Budget, Context
from omnigraph.read.demand import (
    Demand,
    demand_of_aggregate,
    outer_variables,
    variables_in,
    variables_of_columns,
)
from omnigraph.read.expressions import column, evaluate
from omnigraph.read.frame import Frame
from omnigraph.read.operators import joins
from omnigraph.read.operators.aggregate import aggregate
from omnigraph.read.operators.batches import in_batches
from omnigraph.read.operators.expand import expand
from omnigraph.read.operators.extremes import extreme_by_outer, extreme_test
from omnigraph.read.operators.filter import keep
from omnigraph.read.operators.group import distinct_rows
from omnigraph.read.operators.project import project
from omnigraph.read.operators.rank import fuse, only_ranked, top
from omnigraph.read.operators.scan import scan
from omnigraph.read.operators.sort import foremost, sort
from omnigraph.read.operators.value_join import value_join
from omnigraph.read.pace import Pace
from omnigraph.read.profile import Profile
from omnigraph.read.query_vectors import QueryVectors, TextEmbedder, query_vectors
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.compare import compare
from omnigraph.read.view import View

__all__ = ["run"]

NOTHING = Demand(frozenset(), allows_weights=True)
"""Of a sub-pattern that only has to exist or be counted, no variable is wanted."""


def run(
    query: ReadQuery,
    view: View,
    parameters: Mapping[str, Value],
    *,
    cache: RuntimeCache,
    now_ms: int,
    budget: Budget | None = None,
    profile: Profile | None = None,
    mode: TraversalMode = TraversalMode.AUTO,
    embedder: TextEmbedder | None = None,
) -> Answer:
    """The answer of the query, its columns named as `query.result`.

    `profile` is told what every operator did, `embedder` asked for the vectors of texts.
    """
    plan, budget = query.plan, budget or Budget()
    pace = Pace(lambda: budget.check("making what the query needs"), cache.limits.max_chunk_rows)
    tables = tables_of(view, cache, mode, pace)
    context = Context(
        tables.columns,
        tables.adjacencies,
        tables.searches,
        parameters,
        _query_vectors(plan, view, parameters, embedder, budget),
        now_ms,
        budget,
        cache.limits,
        profile,
        fusions_shown(plan),
    )
    wanted = Demand(variables_of_columns(plan.columns))
    if profile is None:
        return project(_answer(plan.source, wanted, context), plan, context)
    return profile.measure_answer(
        plan, lambda: project(_answer(plan.source, wanted, context), plan, context)
    )


def _query_vectors(
    plan: Project,
    view: View,
    parameters: Mapping[str, Value],
    embedder: TextEmbedder | None,
    budget: Budget,
) -> QueryVectors:
    try:
        return query_vectors(plan, view.catalog, parameters, embedder, budget.left_s)
    except EmbedTimeout:
        budget.check("embedding the text to search for")
        raise


def _watched(op: Op, context: Context, work: Callable[[], Frame]) -> Frame:
    """Do the work of an operator if there is time left, and note what it did if anyone asked.

    Time is asked for again afterwards: an answer that comes too late is refused like any other.
    """
    if context.budget.is_spent:
        context.budget.check(describe(op))
    frame = work() if context.profile is None else context.profile.measure(op, work)
    if context.budget.is_spent:
        context.budget.check(describe(op))
    return frame


def _answer(op: Op, demand: Demand, context: Context) -> Frame:
    """The rows of an operator that shapes the answer, or of the pattern below."""
    return _watched(op, context, lambda: _shaped(op, demand, context))


def _shaped(op: Op, demand: Demand, context: Context) -> Frame:
    match op:
        case Limit():
            return _limited(op, demand, context)
        case Sort():
            return _sorted(op, demand, context)
        case Aggregate(source=source):
            return aggregate(_rows(source, demand_of_aggregate(op), None, context), op, context)
        case Distinct(source=source, columns=columns):
            below = Demand(variables_of_columns(columns), allows_weights=True)
            return distinct_rows(columns, _matched(source, below, context), context)
        case _:
            return _matched(op, demand, context)


def _matched(pattern: Op, demand: Demand, context: Context) -> Frame:
    """All rows of the pattern, and what the answer shows that depends on all of them."""
    frame = _rows(pattern, demand, None, context)
    fuse(frame, context.fusions, context)
    return frame


def _sorted(op: Sort, demand: Demand, context: Context, *, first: int | None = None) -> Frame:
    keys = frozenset(v for key in op.keys for v in variables_in(key.expression))
    frame = _answer(op.source, demand.plus(keys).plus(op.ties), context)
    return sort(only_ranked(frame, op.keys, first, context), op, context, first=first)


def _limited(op: Limit, demand: Demand, context: Context) -> Frame:
    source, offset = op.source, _rows_asked(op.offset, context)
    most = None if op.count is None else offset + _rows_asked(op.count, context)
    if isinstance(source, Sort):
        order = source
        frame = _watched(order, context, lambda: _sorted(order, demand, context, first=most))
    else:
        frame = _answer(source, demand, context)
    stop = frame.count if most is None else min(frame.count, most)
    if not isinstance(source, Sort) and (offset or stop < frame.count):
        frame = foremost(frame, stop, context)
    return frame.take(np.arange(min(offset, stop), stop))


def _rows_asked(bound: int | Parameter, context: Context) -> int:
    value = bound if isinstance(bound, int) else context.parameters[bound.name]
    assert isinstance(value, int), "a bound is checked when parameters are"
    return value


def _rows(op: Op, demand: Demand, outer: Frame | None, context: Context) -> Frame:
    """The rows of a pattern. `outer` is where a sub-pattern begins."""
    return _watched(op, context, lambda: _found(op, demand, outer, context))


def _found(op: Op, demand: Demand, outer: Frame | None, context: Context) -> Frame:
    match op:
        case Unit():
            return Frame(count=1)
        case Outer():
            assert outer is not None, "a sub-pattern begins inside another"
            return outer
        case Nothing(source=source):
            return _rows(source, demand, outer, context).take(np.empty(0, dtype=np.int64))
        case NodeScan(source=source, variable=variable):
            below = _rows(source, demand.minus(variable), outer, context)
            return scan(below, op, demand, context)
        case ValueJoin(source=source, pattern=pattern, tests=tests):
            here = frozenset(v for test in tests for v in variables_in(test.left))
            there = frozenset(v for test in tests for v in variables_in(test.right))
            frame = _rows(source, demand.plus(here), outer, context)
            others = _rows(pattern, Demand(demand.live | there), None, context)
            return value_join(frame, others, op, demand, context)
        case Filter(source=source, predicate=predicate):
            below = _rows(source, demand.plus(variables_in(predicate)), outer, context)
            return keep(below, op, demand, context)
        case Expand(source=source):
            below = _rows(source, _below_expand(op, demand), outer, context)
            return expand(below, op, demand, context)
        case AntiJoin() | SemiJoin() | CountJoin() | LeftJoin() | Union():
            return _joined(op, demand, outer, context)
        case TopK(source=source, variable=variable):
            return top(_rows(source, demand.plus((variable,)), outer, context), op, demand, context)
        case Aggregate() | Distinct() | Sort() | Limit() | Project():
            raise AssertionError("the answer is shaped after the pattern, not inside it")


def _below_expand(op: Expand, demand: Demand) -> Demand:
    if op.is_target_bound:
        return demand.minus(op.edge_variable).plus((op.origin, op.target))
    return demand.minus(op.edge_variable, op.target).plus((op.origin,))


def _joined(
    op: AntiJoin | SemiJoin | CountJoin | LeftJoin | Union,
    demand: Demand,
    outer: Frame | None,
    context: Context,
) -> Frame:
    """Rows of a pattern that a sub-pattern restricts or extends."""
    if isinstance(op, Union):
        return _union(op, demand, outer, context)
    if isinstance(op, AntiJoin | SemiJoin):
        found = _compared_with_extreme(op, demand, outer, context)
        if found is not None:
            return found
    used = outer_variables(op.pattern)
    made = op.variables if isinstance(op, LeftJoin) else ()
    frame = _rows(op.source, demand.minus(*made).plus(used), outer, context)
    begun = joins.begin(frame, used, context)
    if isinstance(op, LeftJoin):
        wanted = Demand(demand.live & frozenset(made), demand.allows_weights)
        matched = _block(op.pattern, wanted, begun.frame, context, "optional")
        return joins.left_join(frame.only(demand.live), begun, matched, made, context)
    counts = _match_counts(op.pattern, begun.frame, context)[begun.rows]
    frame = frame.only(demand.live)
    match op:
        case AntiJoin():
            return frame.filter(counts == 0)
        case SemiJoin():
            return frame.filter(counts > 0)
        case CountJoin(op=comparison, bound=bound):
            return joins.count_join(frame, counts, comparison, evaluate(bound, frame, context))


def _match_counts(pattern: Op, begun: Frame, context: Context) -> Ordinals:
    """How many rows the pattern of a block has for each row that it begins with."""

    def count(batch: Frame, context: Context) -> Ordinals:
        return joins.match_counts(batch, _rows(pattern, NOTHING, batch, context))

    return np.concatenate([counts for _, counts in in_batches(begun, context, count)])


def _block(pattern: Op, demand: Demand, begun: Frame, context: Context, step: str) -> Frame:
    """The rows of a block for all rows that it begins with."""
    batches = in_batches(
        begun, context, lambda batch, within: _rows(pattern, demand, batch, within)
    )
    return joins.stacked(batches, context, step)


def _compared_with_extreme(
    op: AntiJoin | SemiJoin, demand: Demand, outer: Frame | None, context: Context
) -> Frame | None:
    """Rows for which some value of a block compares, or none does, found by its greatest or least.

    None if the block does not end in one such comparison.
    """
    test = extreme_test(op.pattern)
    if test is None:
        return None
    inner, compare_ = test.rest, test.compare
    frame = _rows(op.source, demand.plus(outer_variables(op.pattern)), outer, context)
    begun = joins.begin(frame, test.used, context)
    wanted = Demand(variables_in(compare_.right), allows_weights=True)

    def extreme(batch: Frame, context: Context) -> pa.Array:
        matched = _rows(inner, wanted, batch, context)
        return extreme_by_outer(matched, batch.count, compare_, context)

    extremes = [found for _, found in in_batches(begun.frame, context, extreme)]
    best = pa.concat_arrays(extremes).take(pa.array(begun.rows))
    holds = compare(compare_.op, column(compare_.left, frame, context), best, frame.count)
    kept = frame.only(demand.live)
    return kept.filter(~holds if isinstance(op, AntiJoin) else holds)


def _union(op: Union, demand: Demand, outer: Frame | None, context: Context) -> Frame:
    used = frozenset(v for block in op.blocks for v in outer_variables(block))
    frame = _rows(op.source, demand.minus(*op.variables).plus(used), outer, context)
    # All variables are wanted, also those nobody looks at above: rows are a set over them.
    wanted = Demand(frozenset(op.variables), allows_weights=True)
    begun = joins.begin_each(frame)
    blocks = [_block(block, wanted, begun, context, "or") for block in op.blocks]
    return joins.union(frame, blocks, op.variables, context).only(demand.live)
