"""From one variable to another over edges.

Nearly every form comes down to runs of positions in an adjacency, one run per row: all neighbours
of the origin, or the entries between origin and target where both are bound. More than one hop
first works out who reaches whom, as an adjacency of its own, and goes on as if it were one hop.
Where every edge of a table is wanted an adjacency is of no help: the rows are the table's own, in
its order, and what its edges hold need not be gathered.
"""

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.ir import Direction, Expand
from omnigraph.read.context import Context
from omnigraph.read.demand import Demand
from omnigraph.read.frame import Binding, Frame
from omnigraph.read.operators.count_paths import flow_into_targets, weigh
from omnigraph.read.space import NULL, Space
from omnigraph.read.tables.adjacencies import Route
from omnigraph.read.topology.csr import Adjacency, Ordinals, Ranges, Stored
from omnigraph.read.topology.pairs import MAX_ENTRIES_PER_PAIR
from omnigraph.read.topology.reach import reach, reach_counts
from omnigraph.read.values.ordering import distinct

__all__ = ["expand"]


@frozen
class _Hop:
    graph: Adjacency
    heads: Ordinals | None
    """The row of the adjacency that each row of the frame begins at; None: 0, 1, 2, …"""
    route: Route


def expand(frame: Frame, op: Expand, demand: Demand, context: Context) -> Frame:
    frame = _with_bound_ends(frame, op)
    if frame.count == 0:
        return _nowhere(frame.only(demand.live), op, demand, context)
    wants_target = op.target in demand.live and not op.is_target_bound
    wants_edge = op.edge_variable in demand.live
    if wants_edge and (table := _whole_table(frame, op, demand, context)) is not None:
        return _every_edge(frame, op, table, demand, context)
    is_counted = demand.allows_weights and not wants_target and not wants_edge
    if is_counted and op.most_hops > 1 and not op.is_target_bound:
        counts = _reach_counts(frame.bindings[op.origin], op, context)
        return weigh(frame.only(demand.live), counts, step=_described(op, context))
    hop = _hop(frame, op, context)
    if op.is_target_bound:
        frame, ranges = _closed(frame, op, hop, context)
    else:
        ranges = hop.graph.ranges(hop.heads)
    if is_counted:
        return weigh(frame.only(demand.live), ranges.counts, step=_described(op, context))
    if demand.allows_weights and wants_target and not wants_edge:
        others = frame.only(demand.live)
        if not others.bindings and others.outer is None:
            return _flow(frame, op, hop, context)
    return _rows(frame, op, hop, ranges, demand, context)


def _nowhere(frame: Frame, op: Expand, demand: Demand, context: Context) -> Frame:
    """From no rows to no rows, without a look at an edge.

    Only wanted variables are bound, as where there are rows: batches of one block bind the same.
    """
    if op.target in demand.live and not op.is_target_bound:
        frame = frame.bind(op.target, Binding.none(context.columns.nodes(op.target_types)))
    if op.edge_variable is not None and op.edge_variable in demand.live:
        edges = context.columns.edges(step.edge for step in op.steps)
        frame = frame.bind(op.edge_variable, Binding.none(edges))
    return frame


@frozen
class _Table:
    """Edges that all begin where a row of the frame is."""

    edges: Space
    origin_start: int
    targets: Space
    target_start: int
    direction: Direction


def _whole_table(frame: Frame, op: Expand, demand: Demand, context: Context) -> _Table | None:
    """The edges of one type, walked from all nodes there are; None: it asks for others.

    An edge that is walked both ways is one row with a weight, so nobody may look at its ends.
    """
    origin = frame.bindings[op.origin]
    is_alone = frame.columns == 1 and origin.is_whole
    if not is_alone or op.is_target_bound or len(op.steps) > 1:
        return None
    (step,) = op.steps
    if step.direction is Direction.BOTH and (
        not demand.allows_weights or demand.live & {op.origin, op.target}
    ):
        return None
    edge, targets = context.columns.edge(step.edge), context.columns.nodes(op.target_types)
    ends = (edge.source, edge.target)
    here, there = ends[::-1] if step.direction is Direction.IN else ends
    start, stop = origin.space.part_named(here), targets.part_named(there)
    if start is None or stop is None:
        return None
    edges = context.columns.edges([step.edge])
    return _Table(edges, start.start, targets, stop.start, step.direction)


def _every_edge(frame: Frame, op: Expand, table: _Table, demand: Demand, context: Context) -> Frame:
    assert op.edge_variable is not None
    count, wanted = table.edges.size, demand.live & {op.origin, op.target}
    step = _described(op, context)
    context.budget.admit(rows=count, columns=len(wanted) + 1, step=step, beside=frame)
    made = Frame(count, {op.edge_variable: Binding(table.edges, None)})
    if not wanted and table.direction is not Direction.BOTH:
        return made
    ends = context.adjacencies.ends(op.steps[0].edge)
    both = (ends.sources, ends.targets)
    if table.direction is Direction.BOTH:
        # A loop is the same edge from either end, and comes once.
        weights = np.where(ends.sources == ends.targets, 1, 2).astype(np.int64, copy=False)
        return Frame(count, made.bindings, weights)
    origins, targets = both[::-1] if table.direction is Direction.IN else both
    if op.origin in wanted:
        space = frame.bindings[op.origin].space
        made = made.bind(op.origin, Binding(space, _wide(origins, table.origin_start)))
    if op.target in wanted:
        made = made.bind(op.target, Binding(table.targets, _wide(targets, table.target_start)))
    return made


def _wide(rows: Stored, start: int) -> Ordinals:
    numbers: Ordinals = rows.astype(np.int64)
    if start:
        numbers += start
    return numbers


def _flow(frame: Frame, op: Expand, hop: _Hop, context: Context) -> Frame:
    """Nothing but the target is wanted: the rows become the targets, with weights."""
    targets, weights = flow_into_targets(
        hop.graph, hop.heads, frame.weights, step=_described(op, context)
    )
    return Frame(len(targets), {op.target: Binding(hop.route.target, targets)}, weights)


def _rows(
    frame: Frame, op: Expand, hop: _Hop, ranges: Ranges, demand: Demand, context: Context
) -> Frame:
    """A row for each entry of each run."""
    kept = frame.only(demand.live)
    if op.is_target_bound and op.edge_variable is None:
        return kept
    step = _described(op, context)
    context.budget.admit(rows=ranges.total, columns=kept.columns + 2, step=step, beside=frame)
    budget, rows = context.budget, ranges.rows()
    budget.check(step)
    made = kept.take(rows)
    budget.check(step)
    is_everything = hop.heads is None and not op.is_target_bound and hop.graph.room is None
    positions = slice(None) if is_everything else ranges.positions()
    budget.check(step)
    if op.target in demand.live and not op.is_target_bound:
        targets = hop.graph.neighbours[positions].astype(np.int64)
        made = made.bind(op.target, Binding(hop.route.target, targets))
    if op.edge_variable is not None and op.edge_variable in demand.live:
        assert hop.route.edges is not None
        assert hop.graph.edges is not None
        budget.check(step)
        edges = hop.graph.edges[positions].astype(np.int64)
        made = made.bind(op.edge_variable, Binding(hop.route.edges, edges))
    return made


def _closed(frame: Frame, op: Expand, hop: _Hop, context: Context) -> tuple[Frame, Ranges]:
    """The rows whose two ends are joined, and the entries between them."""
    heads = np.arange(frame.count) if hop.heads is None else hop.heads
    target = frame.bindings[op.target]
    if op.most_hops > 1 or frame.count * MAX_ENTRIES_PER_PAIR < len(hop.graph.neighbours):
        ranges = hop.graph.ranges_between(heads, target.rows)
        rows = np.flatnonzero(ranges.counts)
        return frame.take(rows), Ranges(ranges.lows[rows], ranges.counts[rows])
    pairs = context.adjacencies.pairs(hop.graph, hop.route)
    rows, ranges = pairs.matches(
        heads, target.rows, check=context.pace(_described(op, context)).check
    )
    return frame.take(rows), ranges


def _hop(frame: Frame, op: Expand, context: Context) -> _Hop:
    origin = frame.bindings[op.origin]
    if op.is_target_bound:
        targets = frame.bindings[op.target].space
    else:
        targets = context.columns.nodes(op.target_types)
    if op.most_hops > 1:
        reached, heads = _reached(origin, targets, op, context)
        return _Hop(reached, heads, Route(op.steps, origin.space, targets))
    edges = None
    if op.edge_variable is not None:
        edges = context.columns.edges(step.edge for step in op.steps)
    route = Route(op.steps, origin.space, targets, edges)
    graph = context.adjacencies.adjacency(route, nodes=origin.ordinals)
    return _Hop(graph, origin.ordinals, route)


def _reached(
    origin: Binding, targets: Space, op: Expand, context: Context
) -> tuple[Adjacency, Ordinals]:
    """The nodes within the bounds of each distinct origin; and each row's origin."""
    walk = _walk(origin, op, context)

    def admit(pairs: int) -> None:
        context.budget.admit(rows=pairs, columns=2, step=_described(op, context))

    counts, nodes = reach(
        walk.graph,
        walk.starts,
        least=op.least_hops,
        most=op.most_hops,
        admit=admit,
        limits=context.limits.walks,
    )
    if walk.space.keys == targets.keys:
        return Adjacency.of_runs(counts, nodes, width=targets.size), walk.heads
    nodes = walk.space.translate(nodes, targets)
    wanted = nodes != NULL
    rows = np.repeat(np.arange(len(counts)), counts)[wanted]
    reached = Adjacency.of_pairs(rows, nodes[wanted], height=len(counts), width=targets.size)
    return reached, walk.heads


def _reach_counts(origin: Binding, op: Expand, context: Context) -> Ordinals:
    """How many targets each row reaches within the bounds, without a list of them."""
    walk, targets = _walk(origin, op, context), context.columns.nodes(op.target_types)

    def admit(pairs: int) -> None:
        context.budget.admit(rows=pairs, columns=2, step=_described(op, context))

    is_wanted = None
    if walk.space.keys != targets.keys:
        is_wanted = walk.space.translate(np.arange(walk.space.size), targets) != NULL
    counts = reach_counts(
        walk.graph,
        walk.starts,
        least=op.least_hops,
        most=op.most_hops,
        admit=admit,
        is_wanted=is_wanted,
        limits=context.limits.walks,
    )
    return counts[walk.heads]


@frozen
class _Walk:
    """Where a walk of more than one hop may go, and where it begins."""

    space: Space
    graph: Adjacency
    starts: Ordinals
    """The distinct origins."""
    heads: Ordinals
    """Which of them each row of the frame begins at."""


def _walk(origin: Binding, op: Expand, context: Context) -> _Walk:
    space = _walked(origin, op, context)
    if origin.is_whole:
        origins = heads = np.arange(origin.space.size)
    else:
        origins, heads = distinct(origin.rows, origin.space.size)
    starts = origin.space.translate(origins, space)
    graph = context.adjacencies.adjacency(
        Route(op.steps, space, space),
        nodes=None if origin.is_whole else starts,
        hops=op.most_hops,
    )
    return _Walk(space, graph, starts, heads)


def _walked(origin: Binding, op: Expand, context: Context) -> Space:
    """All node types that a walk over the steps can be at, on the way too."""
    types = [part.entity.name for part in origin.space.parts]
    for step in op.steps:
        edge = context.columns.edge(step.edge)
        types += [edge.source, edge.target]
    return context.columns.nodes(types)


def _with_bound_ends(frame: Frame, op: Expand) -> Frame:
    """Without rows that bind nothing where the hop begins or must end: they reach nothing."""
    frame = _with_bound(frame, op.origin)
    return _with_bound(frame, op.target) if op.is_target_bound else frame


def _with_bound(frame: Frame, variable: VariableName) -> Frame:
    binding = frame.bindings[variable]
    bound = binding.bound()
    if bound is None:
        return frame
    kept = frame.filter(bound)
    return kept.bind(variable, Binding(binding.space, kept.bindings[variable].ordinals))


def _described(op: Expand, context: Context) -> str:
    edges = "|".join(context.columns.edge(step.edge).query_name for step in op.steps)
    hops = "" if op.most_hops == 1 else f"{{{op.least_hops},{op.most_hops}}}"
    return f"${op.origin} {edges}{hops} ${op.target}"
