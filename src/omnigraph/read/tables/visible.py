"""The tables of a view that hides rows: the stored ones, with the visible rows numbered anew.

Hidden rows have no number, so no operator can meet one. Columns, ids and codes are the stored
tables' own, read at the visible rows. Adjacency is built from the stored ends of the edges that are
left. Masks and adjacency are cached beside the stored arrays, under keys that hold the conditions
they were made with: views with the same conditions share them, and no view sees another's.

The rows of a restricted type are judged all at once, so its condition's columns are read whole.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.ir import EdgeStep
from omnigraph.lang.schema.catalog import EdgeType, EntityType
from omnigraph.read.space import NULL, Space
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.stored import StoredTables
from omnigraph.read.topology.build import Ends, adjacency
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.topology.pairs import PairIndex
from omnigraph.read.values.compare import Mask
from omnigraph.read.values.encoded import Encoded
from omnigraph.read.values.ordering import Codes
from omnigraph.read.values.rows import columns_in, mask_of
from omnigraph.read.view import Restriction, View
from omnigraph.store.datasets import DatasetRef

__all__ = ["VisibleRows", "VisibleTables"]


@dataclass(frozen=True, slots=True)
class VisibleRows:
    """The rows of a table that a view shows."""

    stored: Ordinals
    """The stored row of each visible one, ascending."""
    numbers: Ordinals
    """The visible row of each stored one, NULL where it is hidden; one more, of no row."""

    @classmethod
    def of(cls, is_visible: Mask) -> "VisibleRows":
        stored = np.flatnonzero(is_visible)
        # NULL as an index is the last place: no row stays no row.
        numbers = np.full(len(is_visible) + 1, NULL, dtype=np.int64)
        numbers[stored] = np.arange(len(stored))
        return cls(stored, numbers)

    @property
    def count(self) -> int:
        return len(self.stored)

    @property
    def hides_none(self) -> bool:
        return len(self.stored) + 1 == len(self.numbers)

    @property
    def nbytes(self) -> int:
        return self.stored.nbytes + self.numbers.nbytes

    def stored_at(self, rows: Ordinals) -> Ordinals:
        """The stored rows of visible ones; NULL stays NULL."""
        return np.append(self.stored, NULL)[rows]


class _Key(NamedTuple):
    """What an entry was made from: versions of tables, and the conditions on each."""

    kind: str
    tables: tuple[tuple[DatasetRef, Restriction | None], ...]
    detail: Hashable = None

    @property
    def family(self) -> Hashable:
        """The same of other versions."""
        tables = tuple((ref.path, restriction) for ref, restriction in self.tables)
        return self.kind, tables, self.detail


class VisibleTables:
    def __init__(self, view: View, stored: StoredTables, cache: RuntimeCache) -> None:
        self._view = view
        self._stored = stored
        self._cache = cache

    def nodes(self, types: Iterable[TypeName]) -> Space:
        return self._shrunk(self._stored.nodes(types))

    def edges(self, types: Iterable[TypeName]) -> Space:
        return self._shrunk(self._stored.edges(types))

    def edge(self, name: TypeName) -> EdgeType:
        return self._stored.edge(name)

    def row_count(self, entity: EntityType) -> int:
        rows = self._rows(entity)
        return self._stored.row_count(entity) if rows is None else rows.count

    def find(self, entity: EntityType, ids: pa.Array) -> Ordinals:
        found, rows = self._stored.find(entity, ids), self._rows(entity)
        return found if rows is None else rows.numbers[found]

    def column(self, entity: EntityType, column: str) -> pa.Array:
        rows = self._rows(entity)
        if rows is None:
            return self._stored.column(entity, column)
        return self._stored.values(entity, column, rows.stored)

    def values(self, entity: EntityType, column: str, rows: Ordinals) -> pa.Array:
        visible = self._rows(entity)
        return self._stored.values(
            entity, column, rows if visible is None else visible.stored_at(rows)
        )

    def sample(self, entity: EntityType, column: str, limit_rows: int) -> pa.Array:
        if self._rows(entity) is None:
            return self._stored.sample(entity, column, limit_rows)
        return self.values(entity, column, np.arange(min(limit_rows, self.row_count(entity))))

    def codes(self, entity: EntityType, name: str) -> Codes:
        codes, rows = self._stored.codes(entity, name), self._rows(entity)
        return codes if rows is None else Codes(codes.numbers[rows.stored], codes.size)

    def known_values(self, entity: EntityType, name: str) -> Encoded | None:
        known, rows = self._stored.known_values(entity, name), self._rows(entity)
        if known is None or rows is None:
            return known
        return Encoded(Codes(known.codes.numbers[rows.stored], known.codes.size), known.values)

    # Edges ---------------------------------------------------------------------------------------

    def ends(self, name: TypeName) -> Ends:
        edge = self.edge(name)
        tables: list[EntityType] = [edge, *self._stored.end_types(edge)]
        if not self._hides_some(tables):
            return self._stored.ends(name)
        key = self._key("visible ends", tables)
        return self._cache.get(key, lambda: self._made_ends(edge), family=key.family)

    def adjacency(
        self,
        steps: Sequence[EdgeStep],
        *,
        origin: Space,
        target: Space,
        edges: Space | None,
        nodes: Ordinals | None = None,
        hops: int = 1,
    ) -> Adjacency:
        tables = self._met(steps, origin, target)
        if not self._hides_some(tables):
            return self._stored.adjacency(
                steps, origin=origin, target=target, edges=edges, nodes=nodes, hops=hops
            )

        def made() -> Adjacency:
            legs = [
                leg
                for step in steps
                for leg in self._stored.legs(step, origin, target, edges, self.ends(step.edge))
            ]
            has_edges = edges is not None
            return adjacency(legs, height=origin.size, width=target.size, has_edges=has_edges)

        key = self._adjacency_key(steps, origin, target, has_edges=edges is not None)
        return self._cache.get(key, made, family=key.family)

    def pairs(
        self, graph: Adjacency, steps: Sequence[EdgeStep], *, origin: Space, target: Space
    ) -> PairIndex:
        if not self._hides_some(self._met(steps, origin, target)):
            return self._stored.pairs(graph, steps, origin=origin, target=target)
        key = self._adjacency_key(steps, origin, target, has_edges=graph.edges is not None)
        key = key._replace(kind="visible pairs")
        return self._cache.get(key, lambda: PairIndex.of(graph), family=key.family)

    def _met(self, steps: Sequence[EdgeStep], origin: Space, target: Space) -> list[EntityType]:
        """All tables that an adjacency is made from: its edges, their ends, and both spaces."""
        edges = [self.edge(step.edge) for step in steps]
        ends = [node for edge in edges for node in self._stored.end_types(edge)]
        return [*edges, *ends, *(part.entity for part in (*origin.parts, *target.parts))]

    def _adjacency_key(
        self, steps: Sequence[EdgeStep], origin: Space, target: Space, *, has_edges: bool
    ) -> _Key:
        directions = tuple(step.direction for step in steps)
        detail = (directions, len(origin.parts), has_edges)
        return self._key("visible adjacency", self._met(steps, origin, target), detail)

    def _made_ends(self, edge: EdgeType) -> Ends:
        ends, own = self._stored.ends(edge.name), self._rows(edge)
        sides = []
        for rows, node in zip(
            (ends.sources, ends.targets), self._stored.end_types(edge), strict=True
        ):
            left, there = rows if own is None else rows[own.stored], self._rows(node)
            sides.append(left if there is None else there.numbers[left].astype(np.int32))
            assert (sides[-1] >= 0).all(), "an edge with a hidden end is hidden"
        return Ends(sides[0], sides[1])

    # Which rows are shown ------------------------------------------------------------------------

    def _shrunk(self, space: Space) -> Space:
        entities = [part.entity for part in space.parts]
        return Space.of([(entity, self.row_count(entity)) for entity in entities])

    def _hides_some(self, entities: Iterable[EntityType]) -> bool:
        return any(self._rows(entity) is not None for entity in entities)

    def _rows(self, entity: EntityType) -> VisibleRows | None:
        """The visible rows of a type; None: all of them, under the numbers they have stored."""
        restriction = self._view.restriction(entity)
        if restriction is None:
            return None
        ends = self._stored.end_types(entity) if isinstance(entity, EdgeType) else ()
        key = self._key("visible rows", [entity, *ends])
        rows = self._cache.get(
            key, lambda: VisibleRows.of(self._judged(entity, restriction)), family=key.family
        )
        return None if rows.hides_none else rows

    def _judged(self, entity: EntityType, restriction: Restriction) -> Mask:
        is_visible = np.ones(self._stored.row_count(entity), dtype=np.bool_)
        if restriction.own:
            columns = columns_in(restriction.own, entity)
            rows = pa.table({name: self._stored.column(entity, name) for name in columns})
            is_visible &= mask_of(rows, restriction.own, entity, parameters={}, now_ms=0)
        if isinstance(entity, EdgeType) and (restriction.source or restriction.target):
            ends = self._stored.ends(entity.name)
            for rows_of_end, node in zip(
                (ends.sources, ends.targets), self._stored.end_types(entity), strict=True
            ):
                if (nodes := self._rows(node)) is not None:
                    is_visible &= nodes.numbers[rows_of_end] != NULL
        return is_visible

    def _key(self, kind: str, entities: Sequence[EntityType], detail: Hashable = None) -> _Key:
        tables = [(self._stored.ref(e), self._view.restriction(e)) for e in entities]
        return _Key(kind, tuple(tables), detail)
