"""Nodes and edges of some edge types, as a view shows them, for the kernels of this folder.

The nodes are all of the types that the edges join, with edges or without: they are numbered through
these types, so equal ids in two types are two nodes. Adjacency is that of queries, from the same
cache. Answers come in the order of types and ids, whatever the order of the tables.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.ir import Direction, EdgeStep
from omnigraph.lang.schema.catalog import ID, EdgeType
from omnigraph.read.analytics.algorithms import NodeKey
from omnigraph.read.analytics.links import Floats, Links, Numbers
from omnigraph.read.analytics.named_nodes import ids_named, number_of
from omnigraph.read.analytics.named_types import (
    check_total,
    check_weights,
    node_types_of,
    weight_of,
)
from omnigraph.read.context import Budget
from omnigraph.read.space import Part, Space
from omnigraph.read.tables.adjacencies import Route
from omnigraph.read.tables.tables import Tables
from omnigraph.read.topology.csr import Ranges

__all__ = ["Network", "Way"]

Way = Literal["out", "in", "both"]

COLUMNS_OF_AN_ENTRY = 3
"""Numbers that a run holds for each entry of an adjacency: its weight, and copies on the way."""


@frozen(slots=False)
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
        ids = ids_named(keys)
        places = {id_: place for place, id_ in enumerate(ids)}
        column, find = pa.array(ids, pa.string()), self.tables.columns.find
        parts = {part.entity.name: part for part in self.nodes.parts}
        rows = {name: find(part.entity, column) for name, part in parts.items() if part.size}

        def number(type_: TypeName, id_: str) -> int | None:
            if type_ not in rows or id_ not in places:
                return None
            row = int(rows[type_][places[id_]])
            return None if row < 0 else parts[type_].start + row

        found = [number_of(key, argument, list(parts), number) for key in keys]
        return np.array(found, dtype=np.int64)

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
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            lowest = float(values.min()) if len(values) and not column.null_count else 0.0
            check_weights(edge.name, self.weight, nulls=column.null_count, lowest=lowest)
            found.append(values)
        weights = np.concatenate(found)
        with np.errstate(over="ignore"):
            check_total(self.weight, float(weights.sum()))
        return weights
