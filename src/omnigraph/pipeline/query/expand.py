"""Traversals on Spark: edges are pairs of ends, and a hop is a join with them.

Without an edge variable the targets of an origin are a set, so pairs are distinct before they are
joined. Several hops are rounds over (origin, target, depth): each round walks on from the targets
that the round before has found, and keeps the least depth of a target. That is one plan, in which
no part stands twice, and it needs no look at the rows between.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import functions as sql

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.ir import Direction, EdgeStep, Expand
from omnigraph.lang.schema.catalog import EdgeType
from omnigraph.pipeline.query.counts import added, multiplied
from omnigraph.pipeline.query.rows import Rows, Types, key_of, tagged, type_of
from omnigraph.pipeline.query.tables import Tables, united
from omnigraph.read.demand import Demand

__all__ = ["expand"]

FEW = 4
"""To look for the edges of one origin of so many is cheaper than to send all edges round."""


@frozen(slots=False)
class Pairs:
    """The columns of a frame in which an edge, or a walk, is a row."""

    frame: Any
    most: int
    origin: str
    target: str
    edge: str | None = None


def expand(rows: Rows, op: Expand, demand: Demand, tables: Tables) -> Rows:
    rows = _folded(rows, op, demand, tables)
    origins, targets = rows.types[op.origin], op.target_types
    if op.is_target_bound:
        targets = rows.types[op.target]
    edge_types = tuple(dict.fromkeys(step.edge for step in op.steps))
    with_edge = op.edge_variable is not None
    if op.most_hops == 1:
        found = _hop(op.steps, origins, targets, edge_types, tables, with_edge=with_edge)
        found = _only_types(found, op, targets, tables)
        if not with_edge:
            if _are_few(rows, op, origins, tables) and not tables.is_small(found.most):
                rows = tables.shared(rows)
                found = _only_from(rows, op, found, tables)
            found = _distinct(found, tables)
    else:
        rows = tables.shared(rows)
        found = _only_types(_walked(rows, op, origins, targets, tables), op, targets, tables)
    return _joined(rows, op, found, targets, edge_types, demand, tables)


def _are_few(rows: Rows, op: Expand, origins: Types, tables: Tables) -> bool:
    """True if the origins are a small part of all entities that edges may begin in."""
    return tables.is_small(rows.most) and rows.most <= tables.row_count(origins) // FEW


def _folded(rows: Rows, op: Expand, demand: Demand, tables: Tables) -> Rows:
    """Many rows that differ only in what nobody looks at any more, as one row with a weight."""
    wanted = demand.live | rows.held | {op.origin, op.target}
    kept = {v: types for v, types in rows.types.items() if v in wanted}
    is_worth_it = rows.joins > 0 and not tables.is_small(rows.most)
    if not (demand.allows_weights and is_worth_it and len(kept) < len(rows.types)):
        return rows
    attached = {(v, name): column for (v, name), column in rows.attached.items() if v in kept}
    weight = tables.fresh("w")
    each = sql.count(sql.lit(1)) if rows.weight is None else added(sql.col(rows.weight))
    keys = [*map(key_of, kept), *attached.values()]
    frame = rows.frame.groupBy(*keys).agg(each.alias(weight))
    return rows.over(frame, types=kept, attached=attached, weight=weight)


def _joined(
    rows: Rows,
    op: Expand,
    found: Pairs,
    targets: Types,
    edge_types: Types,
    demand: Demand,
    tables: Tables,
) -> Rows:
    pairs = [(key_of(op.origin), found.origin)]
    if op.is_target_bound:
        pairs.append((key_of(op.target), found.target))
        if op.edge_variable is None:
            frame = tables.join(rows, found.frame, pairs, "left_semi", most=found.most)
            return rows.over(frame)
    new = {v for v in (op.edge_variable, None if op.is_target_bound else op.target) if v}
    if demand.allows_weights and not new & demand.live:
        return _weighed(rows, found, pairs, tables)
    frame, most = _met(rows, found.frame, pairs, found.most, tables)
    bound = {}
    if not op.is_target_bound:
        bound[op.target] = targets
        frame = frame.withColumn(key_of(op.target), sql.col(found.target))
    if op.edge_variable is not None and found.edge is not None:
        bound[op.edge_variable] = edge_types
        frame = frame.withColumn(key_of(op.edge_variable), sql.col(found.edge))
    frame = frame.drop(found.origin, found.target, *([found.edge] if found.edge else []))
    return rows.bind(frame, bound, most=most)


def _weighed(rows: Rows, found: Pairs, pairs: Sequence[tuple[str, str]], tables: Tables) -> Rows:
    """The rows with how many targets each has: nobody asks which these are."""
    counted, weight = tables.fresh("n"), tables.fresh("w")
    there = [name for _, name in pairs]
    counts = found.frame.groupBy(*there).agg(sql.count(sql.lit(1)).alias(counted))
    frame, most = _met(rows, counts, pairs, found.most, tables)
    product = sql.col(counted)
    if rows.weight is not None:
        product = multiplied(sql.col(rows.weight), product)
    gone = [*there, counted, *([rows.weight] if rows.weight else [])]
    frame = frame.withColumn(weight, product).drop(*gone)
    return rows.over(frame, weight=weight, most=min(most, rows.most))


def _met(
    rows: Rows, found: Any, pairs: Sequence[tuple[str, str]], most: int, tables: Tables
) -> tuple[Any, int]:
    """The rows with what begins there, and how many there are at most.

    Every edge begins in an entity that is there. So beside all entities nothing is looked up.
    """
    if rows.whole is not None and len(pairs) == 1:
        ((here, there),) = pairs
        return found.withColumn(here, sql.col(there)), most
    return tables.join(rows, found, pairs, "inner", most=most), rows.most * most


# Edges --------------------------------------------------------------------------------------------


def _hop(
    steps: Sequence[EdgeStep],
    origins: Types,
    targets: Types,
    edge_types: Types,
    tables: Tables,
    *,
    with_edge: bool,
) -> Pairs:
    """All ways to take the steps, from entities of these types to entities of those."""
    origin, target = tables.fresh("o"), tables.fresh("t")
    edge_id = tables.fresh("e") if with_edge else None
    frames, most = [], 0
    for step in steps:
        edge = tables.entity(step.edge)
        assert isinstance(edge, EdgeType), "steps go over edges"
        for is_forward in _ways(step.direction):
            here, there = edge.source, edge.target
            if not is_forward:
                here, there = there, here
            if here not in origins or there not in targets:
                continue
            names = {"origin": origin, "target": target}
            if not is_forward:
                names = {"origin": target, "target": origin}
            frame = tables.ends(edge, edge_id=edge_id, **names)
            if not is_forward and step.direction is Direction.BOTH and with_edge:
                # A loop is one edge, whichever way it is walked.
                frame = frame.where(f"{origin} != {target}")
            frames.append(
                _tagged(
                    frame,
                    {
                        origin: (here, origins),
                        target: (there, targets),
                        **({edge_id: (step.edge, edge_types)} if edge_id is not None else {}),
                    },
                )
            )
            most += tables.row_count((step.edge,))
    if not frames:
        edge = tables.entity(steps[0].edge)
        assert isinstance(edge, EdgeType)
        empty = tables.ends(edge, origin=origin, target=target, edge_id=edge_id).limit(0)
        return Pairs(empty, 0, origin, target, edge_id)
    return Pairs(united(frames), most, origin, target, edge_id)


def _ways(direction: Direction) -> tuple[bool, ...]:
    match direction:
        case Direction.OUT:
            return (True,)
        case Direction.IN:
            return (False,)
        case Direction.BOTH:
            return (True, False)


def _tagged(frame: Any, columns: dict[str, tuple[TypeName, Types]]) -> Any:
    return frame.select(
        *(
            (sql.col(name) if len(types) == 1 else tagged(sql.col(name), type_)).alias(name)
            for name, (type_, types) in columns.items()
        )
    )


def _distinct(found: Pairs, tables: Tables) -> Pairs:
    frame = found.frame
    if not tables.is_small(found.most):
        # By origin, as the join wants it: so the pairs are sent round once.
        frame = frame.repartition(found.origin)
    return Pairs(frame.distinct(), found.most, found.origin, found.target)


def _only_from(rows: Rows, op: Expand, found: Pairs, tables: Tables) -> Pairs:
    """The pairs of few origins: the others are not sent round to be compared."""
    key = tables.fresh("k")
    origins = rows.frame.select(sql.col(key_of(op.origin)).alias(key))
    pairs = Rows(found.frame, found.most)
    kept = tables.join(pairs, origins, [(found.origin, key)], "left_semi", most=rows.most)
    return replace(found, frame=kept)


def _only_types(found: Pairs, op: Expand, targets: Types, tables: Tables) -> Pairs:
    """Without targets of types that the plan excludes here."""
    wanted = [name for name in targets if name in op.target_types]
    if len(wanted) == len(targets):
        return found
    if len(targets) == 1:
        return Pairs(found.frame.limit(0), 0, found.origin, found.target, found.edge)
    kept = found.frame.where(type_of(found.target).isin(*wanted))
    return Pairs(kept, found.most, found.origin, found.target, found.edge)


# Several hops -------------------------------------------------------------------------------------


def _walked(rows: Rows, op: Expand, origins: Types, targets: Types, tables: Tables) -> Pairs:
    """The targets of each origin whose first depth is within the hops."""
    types = _types_met(op, origins, targets, tables)
    hops = _distinct(_hop(op.steps, types, types, (), tables, with_edge=False), tables)
    origin, target, depth = (tables.fresh(name) for name in ("o", "t", "d"))
    start = _as_types(sql.col(key_of(op.origin)), origins, types)
    begun = rows.frame.select(start.alias(origin)).where(sql.col(origin).isNotNull()).distinct()
    reached = Rows(
        begun.select(origin, sql.col(origin).alias(target), sql.lit(0).alias(depth)), rows.most
    )
    nodes = tables.row_count(types)
    for round_ in range(1, op.most_hops + 1):
        reached = _round(reached, hops, (origin, target, depth), round_, nodes, tables)
    found = reached.frame.where(sql.col(depth) >= max(1, op.least_hops)).select(origin, target)
    if op.least_hops <= 1:
        # The origin is a target of its own only by a loop.
        loops = hops.frame.where(sql.col(hops.origin) == sql.col(hops.target))
        found = found.union(loops.select(hops.origin, hops.target))
    return _as_named(found, reached.most + hops.most, origin, target, (types, origins, targets))


def _round(
    reached: Rows,
    hops: Pairs,
    names: tuple[str, str, str],
    round_: int,
    nodes: int,
    tables: Tables,
) -> Rows:
    """Walk on from what the round before has found; what is reached twice keeps its depth."""
    origin, target, depth = names
    # Only the newest targets walk on. The others have a key that no node has: as nulls they would
    # all come to one worker.
    key, is_newest = tables.fresh("f"), sql.col(depth) == round_ - 1
    frontier = sql.when(is_newest, sql.col(target)).otherwise(
        sql.concat(sql.lit("\x01"), sql.col(target))
    )
    walking = reached.over(reached.frame.select(origin, target, depth, frontier.alias(key)))
    frame = tables.join(walking, hops.frame, [(key, hops.origin)], "left", most=hops.most)
    here = sql.struct(sql.col(target).alias("t"), sql.col(depth).alias("d"))
    there = sql.struct(sql.col(hops.target).alias("t"), sql.lit(round_).alias("d"))
    walks = is_newest & sql.col(hops.target).isNotNull()
    both = sql.when(walks, sql.array(here, there)).otherwise(sql.array(here))
    step = tables.fresh("s")
    frame = frame.select(origin, sql.explode(both).alias(step))
    frame = frame.select(
        origin, sql.col(f"{step}.t").alias(target), sql.col(f"{step}.d").alias(depth)
    )
    frame = frame.groupBy(origin, target).agg(sql.min(depth).alias(depth))
    most = min(reached.most * (1 + hops.most), reached.most * max(1, nodes))
    return Rows(frame, most)


def _types_met(op: Expand, origins: Types, targets: Types, tables: Tables) -> Types:
    """All types that a walk can begin in, pass or end in."""
    met = {*origins, *targets}
    for step in op.steps:
        edge = tables.entity(step.edge)
        assert isinstance(edge, EdgeType), "steps go over edges"
        met |= {edge.source, edge.target}
    return tuple(sorted(met))


def _as_types(column: Any, was: Types, now: Types) -> Any:
    """A column of a variable of some types, as one that may have more."""
    return tagged(column, was[0]) if len(was) == 1 < len(now) else column


def _as_named(
    found: Any, most: int, origin: str, target: str, types: tuple[Types, Types, Types]
) -> Pairs:
    """Walks as the variables have their ends: without a tag where there is one type."""
    met, origins, targets = types
    if len(met) == 1:
        return Pairs(found, most, origin, target)

    def untagged(name: str, wanted: Types) -> Any:
        if len(wanted) > 1:
            return sql.col(name)
        return sql.expr(f"substring(`{name}`, instr(`{name}`, ':') + 1)").alias(name)

    of_targets = type_of(target).isin(*targets)
    of_origins = type_of(origin).isin(*origins)
    found = found.where(of_targets & of_origins)
    return Pairs(
        found.select(untagged(origin, origins), untagged(target, targets)), most, origin, target
    )
