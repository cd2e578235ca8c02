"""A second opinion: what a plan means, in plain Python, as slow as it is obvious.

Nothing here shares code with `omnigraph.read`. A row is a dict from variables to entities, an
entity is a dict of its own, and every rule is written the way the language document says it.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from omnigraph.base.types import Scalar, VectorOf
from omnigraph.lang.plan import ir
from omnigraph.lang.query.check.uses import used_in
from omnigraph.lang.schema.catalog import Catalog, EntityType
from tests.reference.naive_ranking import NaiveRanking, Scores, no_vector

Row = dict[str, "Entity | None"]
Answer = list[dict[str, Any]]


@dataclass(frozen=True)
class Entity:
    """Equal ids in different types are different entities."""

    type: str
    id: str
    values: Mapping[str, Any] = field(compare=False)
    src: str = field(default="", compare=False)
    dst: str = field(default="", compare=False)


@dataclass(frozen=True)
class PlainGraph:
    """Rows by type; an edge's `src` and `dst` are ids of its end types."""

    catalog: Catalog
    nodes: Mapping[str, list[Entity]]
    edges: Mapping[str, list[Entity]]


@dataclass(frozen=True)
class Naive:
    graph: PlainGraph
    parameters: Mapping[str, Any] = field(default_factory=dict)
    now_ms: int = 0
    embed: Callable[[str], list[float]] = no_vector
    scored: dict[ir.Expression, Scores] = field(default_factory=dict)
    """What was ranked so far; a fusion depends on which rows there were then."""

    @cached_property
    def ranking(self) -> NaiveRanking:
        return NaiveRanking(self.graph, self.parameters, self.embed)

    def answer(self, plan: ir.Project) -> Answer:
        self.fuse(plan)
        made = self.shaped(plan.source)
        types = dict(variable_types(plan.source, self.graph.catalog))
        return [
            {column.name: self.value(column.expression, row, types) for column in plan.columns}
            for row in made
        ]

    def fuse(self, plan: ir.Project) -> None:
        """What the answer shows of fusions is worked out over all rows of the pattern."""
        op, shown = plan.source, [*plan.columns]
        while isinstance(op, ir.Limit | ir.Sort | ir.Aggregate | ir.Distinct):
            shown += op.columns if isinstance(op, ir.Distinct) else ()
            op = op.source
        fusions = {c.expression for c in shown if isinstance(c.expression, ir.Rrf)}
        rows = list(self.rows(op, {})) if fusions else []
        for fusion in fusions:
            candidates = (row[fusion.left.field.variable] for row in rows)
            self.scored[fusion] = self.ranking.scores(fusion, candidates, None)

    # What shapes the answer. A row below it may hold made columns, under their names.

    def shaped(self, op: ir.Op, first: int | None = None) -> list[Any]:
        """`first`: how many of its rows are asked for, where that means anything."""
        match op:
            case ir.Limit(source=source, count=count, offset=offset):
                start, most = self.bound(offset), self.bound(count)
                stop = None if most is None else (start or 0) + most
                return self.shaped(source, stop)[start:stop]
            case ir.Sort():
                return self.sorted(op, first)
            case ir.Aggregate():
                return self.aggregated(op)
            case ir.Distinct(source=source, columns=columns):
                types = dict(variable_types(source, self.graph.catalog))
                seen: dict[Any, Any] = {}
                for row in self.rows(source, {}):
                    made = {c.name: self.value(c.expression, row, types) for c in columns}
                    seen.setdefault(frozen(made), Made(made))
                return list(seen.values())
            case _:
                return list(self.rows(op, {}))

    def bound(self, given: int | ir.Parameter | None) -> int | None:
        return int(self.parameters[given.name]) if isinstance(given, ir.Parameter) else given

    def sorted(self, op: ir.Sort, first: int | None) -> list[Any]:
        rows = self.only_ranked(op, self.shaped(op.source), first)
        types = dict(variable_types(op.source, self.graph.catalog))
        # Sorting is stable, so the least important key goes first.
        if rows and isinstance(rows[0], Made):
            for name in reversed(rows[0]):
                rows.sort(key=lambda row: order_of(row[name]))
        for variable in reversed(op.ties):
            rows.sort(key=lambda row: order_of(row[variable]))
        for key in reversed(op.keys):
            rows.sort(
                key=lambda row: order_of(self.value(key.expression, row, types)),
                # Of a ranking it says whether the worst come first.
                reverse=key.is_descending != isinstance(key.expression, ir.Bm25 | ir.Rrf),
            )
        return rows

    def only_ranked(self, op: ir.Sort, rows: list[Any], first: int | None) -> list[Any]:
        """A row that a ranking among the keys does not rank has no place in the order."""
        for key in reversed(op.keys):
            ranking = key.expression
            if isinstance(ranking, ir.Nearest | ir.Bm25 | ir.Rrf):
                (variable,) = set(used_in(ranking))
                is_foremost = key is op.keys[0] and not key.is_descending
                candidates = [row[variable] for row in rows]
                scores = self.ranking.scores(ranking, candidates, first if is_foremost else None)
                self.scored[ranking] = scores
                rows = [row for row in rows if row[variable] in scores]
        return rows

    def aggregated(self, op: ir.Aggregate) -> list[Any]:
        types = dict(variable_types(op.source, self.graph.catalog))
        groups: dict[Any, tuple[dict[str, Any], list[Row]]] = {}
        if not op.keys:
            groups[()] = ({}, [])
        for row in self.rows(op.source, {}):
            keys = {c.name: self.value(c.expression, row, types) for c in op.keys}
            groups.setdefault(frozen(keys) if op.keys else (), (keys, []))[1].append(row)
        return [
            Made(
                keys
                | {
                    c.name: self.aggregate(c.expression, rows, types)
                    for c in op.aggregates
                    if isinstance(c.expression, ir.AggregateOf)
                }
            )
            for keys, rows in groups.values()
        ]

    def aggregate(self, made: ir.AggregateOf, rows: list[Row], types: Any) -> Any:
        if isinstance(made.argument, ir.EntityOf):
            bound = [e for row in rows if (e := row[made.argument.variable]) is not None]
            if made.is_distinct:
                bound = list(dict.fromkeys(bound))
            return len(bound)
        values = [self.value(made.argument, row, types) for row in rows]
        values = sorted((value for value in values if value is not None), key=order_of)
        if made.is_distinct:
            values = list({frozen(value): value for value in values}.values())
        match made.function:
            case ir.AggregateFunction.COUNT:
                return len(values)
            case ir.AggregateFunction.COLLECT:
                return values
            case ir.AggregateFunction.SUM:
                return sum(values) if values else None
            case ir.AggregateFunction.AVG:
                return sum(values) / len(values) if values else None
            case ir.AggregateFunction.MIN:
                return values[0] if values else None
            case ir.AggregateFunction.MAX:
                return values[-1] if values else None

    # Patterns.

    def rows(self, op: ir.Op, outer: Row) -> Iterator[Row]:
        """The rows of a pattern; `outer` is the row that a sub-pattern begins with."""
        match op:
            case ir.Unit():
                yield {}
            case ir.Outer(variables=variables):
                yield {variable: outer[variable] for variable in variables}
            case ir.NodeScan(source=source, variable=variable, types=types):
                for row in self.rows(source, outer):
                    for type_ in types:
                        for node in self.graph.nodes[type_]:
                            yield row | {variable: node}
            case ir.Expand(source=source):
                for row in self.rows(source, outer):
                    yield from self.expanded(op, row)
            case ir.Filter(source=source, predicate=predicate):
                yield from (r for r in self.rows(source, outer) if self.holds(predicate, r))
            case ir.AntiJoin(source=source, pattern=pattern):
                yield from (r for r in self.rows(source, outer) if not self.count(pattern, r))
            case ir.SemiJoin(source=source, pattern=pattern):
                yield from (r for r in self.rows(source, outer) if self.count(pattern, r))
            case ir.CountJoin(source=source, pattern=pattern, op=comparison, bound=bound):
                for row in self.rows(source, outer):
                    if compared(comparison, self.count(pattern, row), self.value(bound, row, {})):
                        yield row
            case ir.LeftJoin(source=source, pattern=pattern, variables=variables):
                for row in self.rows(source, outer):
                    matches = list(self.rows(pattern, row)) or [dict.fromkeys(variables)]
                    for match in matches:
                        yield row | {variable: match[variable] for variable in variables}
            case ir.Union(source=source, blocks=blocks, variables=variables):
                for row in self.rows(source, outer):
                    found = (match for block in blocks for match in self.rows(block, row))
                    kept = dict.fromkeys(tuple(match[v] for v in variables) for match in found)
                    for values in kept:
                        yield row | dict(zip(variables, values, strict=True))
            case ir.TopK(source=source, variable=variable, ranking=ranking, k=k):
                rows = list(self.rows(source, outer))
                kept = self.value(k, {}, {})
                scores = self.ranking.scores(ranking, (row[variable] for row in rows), kept)
                best = self.ranking.in_order(ranking, scores)[:kept]
                self.scored[ir.ScoreOf(variable)] = {entity: scores[entity] for entity in best}
                yield from (row for row in rows if row[variable] in best)
            case _:
                raise AssertionError(f"{type(op).__name__} is not part of a pattern")

    def count(self, pattern: ir.Op, row: Row) -> int:
        return sum(1 for _ in self.rows(pattern, row))

    def expanded(self, op: ir.Expand, row: Row) -> Iterator[Row]:
        origin = row[op.origin]
        if origin is None:
            return
        found: list[tuple[Row, Entity]] = [({}, node) for node in self.reached(op, origin)]
        if op.edge_variable is not None:
            found = [({op.edge_variable: edge}, node) for edge, node in self.edges(op, origin)]
        for extra, node in found:
            if node.type not in op.target_types:
                continue
            if not op.is_target_bound:
                yield row | extra | {op.target: node}
            elif row[op.target] == node:
                yield row | extra

    def reached(self, op: ir.Expand, origin: Entity) -> list[Entity]:
        """Nodes whose first depth is within the hops; the origin only by a loop on itself."""
        found, visited, frontier = [], {origin}, [origin]
        for depth in range(1, op.most_hops + 1):
            following = list(
                dict.fromkeys(node for near in frontier for _, node in self.edges(op, near))
            )
            if depth == 1 and origin in following and op.least_hops <= 1:
                found.append(origin)
            frontier = [node for node in following if node not in visited]
            visited |= set(frontier)
            if depth >= op.least_hops:
                found += frontier
        return found

    def edges(self, op: ir.Expand, node: Entity) -> Iterator[tuple[Entity, Entity]]:
        """Each edge that leads away from the node, once, with where it leads."""
        for step in op.steps:
            type_ = self.graph.catalog.edge_by_name[step.edge]
            for edge in self.graph.edges[step.edge]:
                is_out = (type_.source, edge.src) == (node.type, node.id)
                is_in = (type_.target, edge.dst) == (node.type, node.id)
                if is_out and step.direction is not ir.Direction.IN:
                    yield edge, self.node(type_.target, edge.dst)
                elif is_in and step.direction is not ir.Direction.OUT:
                    yield edge, self.node(type_.source, edge.src)

    def node(self, type_: str, id_: str) -> Entity:
        (node,) = (node for node in self.graph.nodes[type_] if node.id == id_)
        return node

    # Predicates and expressions.

    def holds(self, predicate: ir.Predicate, row: Row) -> bool:
        match predicate:
            case ir.Compare(op=op, left=left, right=right):
                return compared(op, self.value(left, row, {}), self.value(right, row, {}))
            case ir.Membership(left=left, options=options):
                value, given = self.value(left, row, {}), self.value(options, row, {})
                return value is not None and value in (given or ())
            case ir.NullTest(operand=ir.EntityOf(variable=variable), is_negated=is_negated):
                return (row[variable] is None) != is_negated
            case ir.NullTest(operand=operand, is_negated=is_negated):
                return (self.value(operand, row, {}) is None) != is_negated
            case ir.TextMatch(field=field_):
                return self.ranking.matches(predicate, row[field_.variable])

    def value(self, expression: ir.Expression, row: Any, types: Any) -> Any:
        match expression:
            case ir.Literal(value=value):
                return value
            case ir.Parameter(name=name):
                return self.parameters[name]
            case ir.Now(type=type_):
                now = datetime.datetime.fromtimestamp(self.now_ms / 1000, datetime.UTC)
                return now.date() if type_ is Scalar.DATE else now
            case ir.PropertyOf(variable=variable, name=name):
                entity = row[variable]
                return None if entity is None else entity.values.get(name)
            case ir.IdentityOf(variable=variable):
                return None if row[variable] is None else row[variable].id
            case ir.EntityOf(variable=variable):
                entity = row[variable]
                return None if entity is None else self.shown(entity, types[variable])
            case ir.ColumnOf(name=name):
                return row[name]
            case ir.Nearest() | ir.Bm25() | ir.Rrf() | ir.ScoreOf():
                (variable,) = set(used_in(expression))
                return self.score(expression, row[variable])
            case _:
                raise AssertionError(f"{type(expression).__name__} has no plain meaning here")

    def score(self, expression: ir.Ranking | ir.ScoreOf, entity: Entity | None) -> float | None:
        if entity is None:
            return None
        if expression not in self.scored:
            assert isinstance(expression, ir.Nearest | ir.Bm25)
            return self.ranking.scores(expression, [entity], None).get(entity)
        return self.scored[expression].get(entity)

    def shown(self, entity: Entity, types: Iterable[str]) -> "Shown":
        """`id`, then every property that a type of the variable has and that can be shown."""
        catalog = self.graph.catalog
        every: dict[str, EntityType] = {**catalog.node_by_name, **catalog.edge_by_name}
        names = {
            p.name
            for type_ in types
            for p in every[type_].properties
            if p.type is not Scalar.BLOB and not isinstance(p.type, VectorOf)
        }
        has_own_id = all("id" in every[type_].by_name for type_ in types)
        id_ = entity.values["id"] if has_own_id else entity.id
        return Shown(
            entity, {"id": id_} | {n: entity.values.get(n) for n in sorted(names - {"id"})}
        )


class Shown(dict[str, Any]):
    """An entity as the answer shows it, and still the entity for grouping and sorting."""

    def __init__(self, entity: Entity, shown: dict[str, Any]) -> None:
        super().__init__(shown)
        self.entity = entity


class Made(dict[str, Any]):
    """A row that a grouping made: its columns, in order."""


def compared(op: ir.CompareOp, left: Any, right: Any) -> bool:
    """Python compares integers with floats exactly, and texts by code point: so do we."""
    if left is None or right is None:
        return False
    match op:
        case ir.CompareOp.EQ:
            return bool(left == right)
        case ir.CompareOp.NE:
            return bool(left != right)
        case ir.CompareOp.LT:
            return bool(left < right)
        case ir.CompareOp.LE:
            return bool(left <= right)
        case ir.CompareOp.GT:
            return bool(left > right)
        case ir.CompareOp.GE:
            return bool(left >= right)
        case ir.CompareOp.CONTAINS:
            return right in left
        case ir.CompareOp.STARTS_WITH:
            return bool(left.startswith(right))


def order_of(value: Any) -> Any:
    """Null is smallest; entities go by id, then type; lists by their items."""
    if value is None:
        return (0,)
    if isinstance(value, Entity):
        return (1, value.id, value.type)
    if isinstance(value, Shown):
        return order_of(value.entity)
    if isinstance(value, list | tuple):
        return (1, [order_of(item) for item in value])
    return (1, value)


def frozen(value: Any) -> Any:
    """A hashable stand-in: equal where the values are, and null equal to itself only."""
    if isinstance(value, Shown):
        return value.entity
    if isinstance(value, dict):
        return tuple((name, frozen(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    return value


def variable_types(op: ir.Op, catalog: Catalog) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every variable of a pattern with the types it can have, those of `or` blocks together."""
    match op:
        case ir.Unit() | ir.Outer():
            return
        case ir.NodeScan(variable=variable, types=types):
            yield variable, types
        case ir.Expand(target=target, target_types=types, steps=steps):
            if not op.is_target_bound:
                yield target, types
            if op.edge_variable is not None:
                yield op.edge_variable, tuple(step.edge for step in steps)
        case ir.LeftJoin(pattern=pattern):
            yield from variable_types(pattern, catalog)
        case ir.Union(blocks=blocks, variables=variables):
            together = [dict(variable_types(block, catalog)) for block in blocks]
            for variable in variables:
                yield variable, tuple({t: None for block in together for t in block[variable]})
        case _:
            pass
    yield from variable_types(op.source, catalog)
