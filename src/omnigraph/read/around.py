"""What is around a node: its edges by type, and the nodes within some hops of it, either way.

Edges are walked in both directions, level by level; a node stands at the distance at which it is
reached first. Levels are arrays of row numbers, so that a node with a million neighbours costs some
megabytes; values are read for the nodes and edges that are asked for, and for no others.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar, VectorOf
from omnigraph.lang.plan.ir import Direction, EdgeStep
from omnigraph.lang.schema.catalog import ID, Catalog, EdgeType, EntityType
from omnigraph.read.context import Budget
from omnigraph.read.tables.adjacencies import Route
from omnigraph.read.tables.tables import Tables
from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.arrays import with_short_floats

__all__ = ["Around", "EdgeCount", "Level", "Reached"]

Level = Mapping[TypeName, Ordinals]
"""Nodes by type, as ascending row numbers; no type without a node."""

STEP = "walk around"


@frozen
class EdgeCount:
    edge: TypeName
    direction: Direction
    count: int


@frozen
class Reached:
    """Edges of one type, and the rows at their two ends."""

    edge: EdgeType
    rows: Ordinals
    sources: Ordinals
    targets: Ordinals

    def first(self, most: int) -> "Reached":
        return Reached(self.edge, self.rows[:most], self.sources[:most], self.targets[:most])


@frozen
class Around:
    catalog: Catalog
    tables: Tables
    budget: Budget
    edges: frozenset[TypeName] | None = None
    """Edge types that are walked; None: all of them."""
    direction: Direction | None = None
    """Edges are walked this way only; None: both ways."""

    def find(self, entity: EntityType, id_: str) -> int | None:
        """The row of a node; None: there is none with this id."""
        (row,) = self.tables.columns.find(entity, pa.array([id_], pa.string()))
        return int(row) if row >= 0 else None

    def counts(self, type_: TypeName, row: int) -> list[EdgeCount]:
        """How many edges of each type there are at a node, for each direction that has any."""
        found = []
        for edge, direction in self._steps_from({type_: np.array([row])}):
            _, edges = self._walk(edge, direction, np.array([row]))
            if len(edges):
                found.append(EdgeCount(edge.name, direction, len(edges)))
        return found

    def levels(self, type_: TypeName, row: int, depth: int) -> Iterator[Level]:
        """The nodes at distance 1, 2, … of a node."""
        level: Level = {type_: np.array([row], dtype=np.int64)}
        seen = dict(level)
        for _ in range(depth):
            reached: dict[TypeName, list[Ordinals]] = {}
            for edge, direction in self._steps_from(level):
                here, there = _ends(edge, direction)
                nodes, _ = self._walk(edge, direction, level[here])
                reached.setdefault(there, []).append(nodes)
            level = {}
            for name in sorted(reached):
                new = np.unique(np.concatenate(reached[name]))
                if name in seen:
                    new = np.setdiff1d(new, seen[name], assume_unique=True)
                if len(new):
                    level[name] = new
                    seen[name] = np.union1d(seen[name], new) if name in seen else new
            yield level

    def edges_between(self, before: Level, nodes: Level) -> Iterator[Reached]:
        """The edges, of either direction, between these nodes and those of the level before."""
        for edge, direction in self._steps_from(nodes, is_back=True):
            here, there = _ends(edge, direction)
            if there not in before:
                continue
            origins = nodes[here]
            route_nodes, edges, starts = self._walk_with_starts(edge, direction, origins)
            inside = np.isin(route_nodes, before[there])
            ends = (starts[inside], route_nodes[inside])
            sources, targets = ends if direction is Direction.OUT else ends[::-1]
            if inside.any():
                yield Reached(edge, edges[inside], sources, targets)

    def ids(self, entity: EntityType, rows: Ordinals) -> list[str]:
        ids: list[str] = self.tables.columns.values(entity, ID, rows).to_pylist()
        return ids

    def properties(self, entity: EntityType, rows: Ordinals) -> list[dict[str, Any]]:
        """The properties of rows by name, without blobs and vectors."""
        shown = [
            p
            for p in entity.properties
            if p.type is not Scalar.BLOB and not isinstance(p.type, VectorOf)
        ]
        if not shown:
            return [{} for _ in rows]
        values = [self.tables.columns.values(entity, p.column, rows) for p in shown]
        table = pa.table(values, names=[p.name for p in shown])
        found: list[dict[str, Any]] = with_short_floats(table).to_pylist()
        return found

    def _steps_from(
        self, level: Level, *, is_back: bool = False
    ) -> Iterator[tuple[EdgeType, Direction]]:
        """The edges that are walked from a level; `is_back`: to where they were walked from."""
        only = self.direction
        if is_back and only is not None:
            only = Direction.IN if only is Direction.OUT else Direction.OUT
        for edge in self.catalog.edges:
            self.budget.check(STEP)
            if self.edges is not None and edge.name not in self.edges:
                continue
            for direction, end in ((Direction.OUT, edge.source), (Direction.IN, edge.target)):
                if end in level and only in (None, direction):
                    yield edge, direction

    def _walk(
        self, edge: EdgeType, direction: Direction, origins: Ordinals
    ) -> tuple[Ordinals, Ordinals]:
        """The nodes that edges lead to, and the edges."""
        nodes, edges, _ = self._walk_with_starts(edge, direction, origins)
        return nodes, edges

    def _walk_with_starts(
        self, edge: EdgeType, direction: Direction, origins: Ordinals
    ) -> tuple[Ordinals, Ordinals, Ordinals]:
        columns, adjacencies, _ = self.tables
        here, there = _ends(edge, direction)
        route = Route(
            (EdgeStep(edge.name, direction),),
            columns.nodes([here]),
            columns.nodes([there]),
            columns.edges([edge.name]),
        )
        graph = adjacencies.adjacency(route, nodes=origins)
        ranges = graph.ranges(origins)
        self.budget.admit(rows=ranges.total, columns=3, step=STEP)
        positions = ranges.positions()
        assert graph.edges is not None, "edges were asked for"
        nodes = graph.neighbours[positions].astype(np.int64)
        edges = graph.edges[positions].astype(np.int64)
        return nodes, edges, origins[ranges.rows()]


def _ends(edge: EdgeType, direction: Direction) -> tuple[TypeName, TypeName]:
    """The types that an edge leads from and to, walked this way."""
    ends = (edge.source, edge.target)
    return ends if direction is Direction.OUT else ends[::-1]
