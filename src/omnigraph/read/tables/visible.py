"""The tables of a view that hides rows: the stored ones, with the visible rows numbered anew.

Hidden rows have no number, so no operator can meet one. Columns, ids and codes are the stored
tables' own, read at the visible rows. Adjacency is built from the stored ends of the edges that are
left, and kept by the conditions it was made with (`visible_rows.py`).
"""

from collections.abc import Iterable
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.lang.schema.catalog import EdgeType, EntityType
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.space import Space
from omnigraph.read.tables.adjacencies import Route, StoredAdjacencies, legs_of, ways_of_step
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.columns import Holds, StoredColumns
from omnigraph.read.tables.visible_rows import Visibility, VisibleKey, VisibleRows
from omnigraph.read.topology.build import Ends, adjacency
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.topology.pairs import PairIndex
from omnigraph.read.values.encoded import Encoded
from omnigraph.read.values.ordering import Codes
from omnigraph.read.where.served import Served

__all__ = ["VisibleAdjacencies", "VisibleColumns"]


@frozen(eq=False)
class _ShownCodes:
    of: Ordinals
    """The codes of all rows that these were taken from."""
    numbers: Ordinals

    @property
    def nbytes(self) -> int:
        return self.numbers.nbytes


class VisibleColumns:
    def __init__(self, stored: StoredColumns, visibility: Visibility, cache: RuntimeCache) -> None:
        self._stored = stored
        self._visibility = visibility
        self._cache = cache

    def nodes(self, types: Iterable[TypeName]) -> Space:
        return self._of_visible(self._stored.nodes(types))

    def edges(self, types: Iterable[TypeName]) -> Space:
        return self._of_visible(self._stored.edges(types))

    def edge(self, name: TypeName) -> EdgeType:
        return self._stored.edge(name)

    def row_count(self, entity: EntityType) -> int:
        rows = self._visibility.rows(entity)
        return self._stored.row_count(entity) if rows is None else rows.count

    def shows_all(self, entity: EntityType) -> bool:
        return self._visibility.shows_all(entity)

    def find(self, entity: EntityType, ids: pa.Array) -> Ordinals:
        found, visible = self._stored.find(entity, ids), self._visibility.rows(entity)
        return found if visible is None else visible.numbers[found]

    def values(self, entity: EntityType, column: str, rows: Ordinals | None) -> pa.Array:
        visible = self._visibility.rows(entity)
        if visible is None:
            return self._stored.values(entity, column, rows)
        if rows is not None:
            return self._stored.values(entity, column, visible.padded[rows])
        key = self._key("visible column", entity, column)
        return self._cache.get(
            key, lambda: self._stored.values(entity, column, visible.stored), family=key.family
        )

    def served(self, entity: EntityType, question: Served, holds: Holds) -> Ordinals | None:
        found, visible = self._stored.served(entity, question, holds), self._visibility.rows(entity)
        if found is None or visible is None:
            return found
        numbers = visible.numbers[found]
        return numbers[numbers >= 0]

    def sample(self, entity: EntityType, column: str, limit_rows: int) -> pa.Array:
        if self._visibility.rows(entity) is None:
            return self._stored.sample(entity, column, limit_rows)
        return self.values(entity, column, np.arange(min(limit_rows, self.row_count(entity))))

    def codes(self, entity: EntityType, name: str) -> Codes:
        codes, visible = self._stored.codes(entity, name), self._visibility.rows(entity)
        return codes if visible is None else self._shown(entity, name, codes, visible)

    def known_values(self, entity: EntityType, name: str) -> Encoded | None:
        known, visible = self._stored.known_values(entity, name), self._visibility.rows(entity)
        if known is None or visible is None:
            return known
        return Encoded(self._shown(entity, name, known.codes, visible), known.values)

    def _shown(self, entity: EntityType, name: str, codes: Codes, visible: VisibleRows) -> Codes:
        """The codes of visible rows. Of an entry that was made anew the numbers may be others."""
        key = self._key("visible codes", entity, name)
        found = self._cache.get(
            key,
            lambda: _ShownCodes(codes.numbers, codes.numbers[visible.stored]),
            family=key.family,
        )
        if found.of is not codes.numbers:
            return Codes(codes.numbers[visible.stored], codes.size)
        return Codes(found.numbers, codes.size)

    def _key(self, kind: str, entity: EntityType, column: str) -> VisibleKey:
        ends = self._visibility.end_types(entity) if isinstance(entity, EdgeType) else ()
        return self._visibility.key(kind, [entity, *ends], column)

    def _of_visible(self, space: Space) -> Space:
        entities = [part.entity for part in space.parts]
        return Space.of([(entity, self.row_count(entity)) for entity in entities])


class VisibleAdjacencies:
    def __init__(
        self,
        stored: StoredAdjacencies,
        columns: VisibleColumns,
        visibility: Visibility,
        cache: RuntimeCache,
        pace: Pace = UNHURRIED,
    ) -> None:
        self._stored = stored
        self._pace = pace
        self._columns = columns
        self._visibility = visibility
        self._cache = cache

    def ends(self, name: TypeName) -> Ends:
        edge = self._columns.edge(name)
        tables: list[EntityType] = [edge, *self._visibility.end_types(edge)]
        if not self._visibility.hides_some(tables):
            return self._stored.ends(name)
        key = self._visibility.key("visible ends", tables)
        return self._cache.get(key, partial(self._made_ends, edge), family=key.family)

    def adjacency(self, route: Route, *, nodes: Ordinals | None = None, hops: int = 1) -> Adjacency:
        tables = self._met(route)
        if not self._visibility.hides_some(tables):
            return self._stored.adjacency(route, nodes=nodes, hops=hops)
        key = self._key("visible adjacency", route)
        return self._cache.get(key, partial(self._made, route), family=key.family)

    def pairs(self, graph: Adjacency, route: Route) -> PairIndex:
        if not self._visibility.hides_some(self._met(route)):
            return self._stored.pairs(graph, route)
        key = self._key("visible pairs", route)
        return self._cache.get(key, partial(PairIndex.of, graph), family=key.family)

    def _met(self, route: Route) -> list[EntityType]:
        """All tables that an adjacency is made from: its edges, their ends, and both spaces."""
        edges = [self._columns.edge(step.edge) for step in route.steps]
        ends = [node for edge in edges for node in self._visibility.end_types(edge)]
        parts = (*route.origin.parts, *route.target.parts)
        return [*edges, *ends, *(part.entity for part in parts)]

    def _key(self, kind: str, route: Route) -> VisibleKey:
        directions = tuple(step.direction for step in route.steps)
        detail = (directions, len(route.origin.parts), route.edges is not None)
        return self._visibility.key(kind, self._met(route), detail)

    def _made(self, route: Route) -> Adjacency:
        legs = []
        for step in route.steps:
            if ways := ways_of_step(step, self._columns.edge(step.edge), route):
                legs += legs_of(ways, self.ends(step.edge))
        height, width, has_edges = route.origin.size, route.target.size, route.edges is not None
        return adjacency(
            legs, height=height, width=width, has_edges=has_edges, look=self._pace.check
        )

    def _made_ends(self, edge: EdgeType) -> Ends:
        ends, own = self._stored.ends(edge.name), self._visibility.rows(edge)
        sides = []
        for rows, node in zip(
            (ends.sources, ends.targets), self._visibility.end_types(edge), strict=True
        ):
            self._pace.check()
            left, there = rows if own is None else rows[own.stored], self._visibility.rows(node)
            sides.append(left if there is None else there.numbers[left].astype(np.int32))
            assert (sides[-1] >= 0).all(), "an edge with a hidden end is hidden"
        return Ends(sides[0], sides[1])
