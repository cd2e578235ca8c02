"""Nodes and edges of some edge types, as a view shows them, for the kernels of this folder.

The nodes are all of the types that the edges join, with edges or without: they are numbered through
these types, so equal ids in two types are two nodes. Adjacency is that of queries, from the same
cache. Answers come in the order of types and ids, whatever the order of the tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ArgumentInvalid, EntityMissing, NameMissing
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar
from omnigraph.base.words import amount, is_whole
from omnigraph.lang.plan.ir import Direction, EdgeStep
from omnigraph.lang.schema.catalog import ID, Catalog, EdgeType, Property
from omnigraph.read.analytics.algorithms import NodeKey
from omnigraph.read.analytics.links import Floats, Links, Numbers
from omnigraph.read.context import Budget
from omnigraph.read.space import Part, Space
from omnigraph.read.tables.adjacencies import Route
from omnigraph.read.tables.tables import Tables
from omnigraph.read.topology.csr import Ranges

__all__ = ["Network", "Way", "edge_types_of", "node_types_of", "weight_of"]

Way = Literal["out", "in", "both"]

COLUMNS_OF_AN_ENTRY = 3
"""Numbers that a run holds for each entry of an adjacency: its weight, and copies on the way."""


def edge_types_of(catalog: Catalog, names: Sequence[str] | None) -> tuple[EdgeType, ...]:
    """The edge types of these names, by name and each once; None: all that there are."""
    if names is None:
        if not catalog.edges:
            rule = "the schema has no edge type, so there is nothing to follow"
            raise ArgumentInvalid("edge", None, rule, "omnigraph schema show prints the schema")
        return catalog.edges
    found = {}
    for name in sorted(set(names)):
        edge = catalog.edge_by_name.get(name)
        if edge is None:
            raise NameMissing(what="edge type", name=name, known=tuple(catalog.edge_by_name))
        found[name] = edge
    return tuple(found.values())


def node_types_of(edges: Sequence[EdgeType]) -> list[TypeName]:
    """The node types that edges join, by name."""
    return sorted({end for edge in edges for end in (edge.source, edge.target)})


def weight_of(edge: EdgeType, name: str) -> Property:
    """The property of an edge type that is its weight."""
    found = edge.by_name.get(name)
    if found is None:
        raise NameMissing(
            what=f"property of {edge.name}", name=name, known=tuple(p.name for p in _numbers(edge))
        )
    if found not in _numbers(edge):
        raise ArgumentInvalid(
            "weight", name, f"{edge.name}.{name} is a {found.type}, and a weight is a number"
        )
    return found


def _numbers(edge: EdgeType) -> list[Property]:
    return [p for p in edge.properties if isinstance(p.type, Scalar) and p.type.is_numeric]


@dataclass(frozen=True)
class Network:
    tables: Tables
    edges: tuple[EdgeType, ...]
    weight: str | None
    budget: Budget
    step: str
    """What errors about time and memory call the run."""

    @cached_property
    def nodes(self) -> Space:
        return self.tables.columns.nodes(node_types_of(self.edges))

    @cached_property
    def edge_space(self) -> Space:
        return self.tables.columns.edges([edge.name for edge in self.edges])

    # Nodes ----------------------------------------------------------------------------------------

    @cached_property
    def order(self) -> Numbers:
        """The nodes by type and id."""
        self.budget.check(self.step)
        places = [
            pc.sort_indices(self._ids(part)).to_numpy().astype(np.int64) + part.start
            for part in self.nodes.parts
        ]
        return np.concatenate([np.empty(0, np.int64), *places])

    @cached_property
    def ranks(self) -> Numbers:
        """Where each node stands in the order."""
        ranks = np.empty(self.nodes.size, dtype=np.int64)
        ranks[self.order] = np.arange(self.nodes.size)
        return ranks

    def names(self, numbers: Numbers) -> tuple[pa.Array, pa.Array]:
        """The types and the ids of nodes."""
        types = pa.array([part.entity.name for part in self.nodes.parts], pa.string())
        stops = np.array([part.stop for part in self.nodes.parts], dtype=np.int64)
        of_type = np.searchsorted(stops, numbers, side="right")
        all_ids = [self._ids(part) for part in self.nodes.parts]
        ids = pa.chunked_array(all_ids, pa.string()).take(pa.array(numbers, pa.int64()))
        return types.take(pa.array(of_type, pa.int64())), ids.combine_chunks()

    def find(self, keys: Sequence[NodeKey], argument: str) -> Numbers:
        """The number of each node that a caller names."""
        ids = pa.array([key.id if is_whole(key.id) else None for key in keys], pa.string())
        find = self.tables.columns.find
        rows = {part.start: find(part.entity, ids) for part in self.nodes.parts if part.size}
        return np.array(
            [self._number(key, argument, rows, place) for place, key in enumerate(keys)],
            dtype=np.int64,
        )

    def _number(self, key: NodeKey, argument: str, rows: dict[int, Numbers], place: int) -> int:
        parts = [p for p in self.nodes.parts if key.type_name in (None, p.entity.name)]
        if not parts:
            known = tuple(part.entity.name for part in self.nodes.parts)
            raise NameMissing(what="node type at these edges", name=str(key.type_name), known=known)
        found = [part for part in parts if part.size and rows[part.start][place] >= 0]
        if len(found) == 1:
            return found[0].start + int(rows[found[0].start][place])
        names = [str(part.entity.name) for part in found or parts]
        if found:
            rule = f"{' and '.join(names)} each have a node with this id"
            raise ArgumentInvalid(argument, key.id, rule, f"name its type: {names[0]}:{key.id}")
        named, colon, id_ = key.id.partition(":")
        if key.type_name is None and colon and any(p.entity.name == named for p in parts):
            return int(self.find([NodeKey(id_, named)], argument)[0])
        raise EntityMissing(type_name=" or ".join(names), entity_id=key.id)

    def _ids(self, part: Part) -> pa.Array:
        return self.tables.columns.values(part.entity, ID, None)

    # Edges ----------------------------------------------------------------------------------------

    def links(self, way: Way, *, is_set: bool) -> Links:
        """The neighbours of each node. Of a set parallel edges are one; else each has its weight.

        With `both` an edge leads either way, and a loop is one entry.
        """
        entries = self.edge_space.size * (2 if way == "both" else 1)
        self.budget.admit(rows=entries, columns=COLUMNS_OF_AN_ENTRY, step=self.step)
        edges = None if is_set else self.edge_space
        graph = self.tables.adjacencies.adjacency(
            Route(self._steps(way), self.nodes, self.nodes, edges)
        )
        weights = None
        if not is_set and self.weight is not None:
            assert graph.edges is not None, "edges were asked for"
            every = graph.edges
            if graph.room is not None:
                every = every[Ranges(graph.lows, graph.counts).positions()]
            weights = self.weights[every]
        return Links.of(graph.counts, graph.all_neighbours, weights)

    def _steps(self, way: Way) -> tuple[EdgeStep, ...]:
        steps: list[EdgeStep] = []
        for edge in self.edges:
            if way != "both":
                directions = [Direction.OUT if way == "out" else Direction.IN]
            elif edge.source == edge.target:
                directions = [Direction.BOTH]
            else:
                # Loops are told by their row numbers, which two types may have in common.
                directions = [Direction.OUT, Direction.IN]
            steps += [EdgeStep(edge.name, direction) for direction in directions]
        return tuple(steps)

    def degrees(self, way: Literal["out", "in"]) -> Numbers | Floats:
        """How many edges leave each node, or reach it; with a weight, what they weigh."""
        weights = None if self.weight is None else self.weights
        found: Any = np.zeros(self.nodes.size, np.int64 if weights is None else np.float64)
        for edge, numbered in zip(self.edges, self.edge_space.parts, strict=True):
            self.budget.check(self.step)
            ends = self.tables.adjacencies.ends(edge.name)
            at = ends.sources if way == "out" else ends.targets
            part = self.nodes.part_named(edge.source if way == "out" else edge.target)
            assert part is not None, "both ends are among the nodes"
            weighed = None if weights is None else weights[numbered.start : numbered.stop]
            counted = np.bincount(at, weights=weighed, minlength=part.size)
            found[part.start : part.stop] += counted
        counts: Numbers | Floats = found
        return counts

    @cached_property
    def weights(self) -> Floats:
        """The weight of each edge, in the order of the edge space."""
        assert self.weight is not None, "there is one"
        found = [np.empty(0)]
        for edge, part in zip(self.edges, self.edge_space.parts, strict=True):
            self.budget.check(self.step)
            property_ = weight_of(edge, self.weight)
            column = self.tables.columns.values(part.entity, property_.column, None)
            if column.null_count:
                missing = amount(column.null_count, "edge")
                raise ArgumentInvalid(
                    "weight",
                    self.weight,
                    f"{missing} of {edge.name} {'has' if column.null_count == 1 else 'have'} "
                    "no value of it",
                    "give each edge one, or leave out weight",
                )
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            if len(values) and not (values.min() >= 0 and np.isfinite(values.max())):
                rule = f"edges of {edge.name} have values below 0: the lowest is {values.min():g}"
                raise ArgumentInvalid("weight", self.weight, rule, "a weight is 0 or more")
            found.append(values)
        return np.concatenate(found)
