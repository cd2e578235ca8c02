"""The tables of a view, as a query asks them: columns, adjacency, and search.

Rows are numbers: a row's number is its position among the rows that the view shows, in the order of
a full scan. All answers for one view agree on the numbers.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import pyarrow as pa

from omnigraph.base.ids import TypeName
from omnigraph.lang.schema.catalog import EdgeType, EntityType
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.search.ranked import TextIndex, VectorIndex
from omnigraph.read.space import Space
from omnigraph.read.tables.adjacencies import Route, StoredAdjacencies
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import ColdLookups, TraversalMode
from omnigraph.read.tables.columns import StoredColumns
from omnigraph.read.tables.disk_copies import DiskCopies
from omnigraph.read.tables.searches import StoredSearches, VisibleSearches
from omnigraph.read.tables.versions import Versions
from omnigraph.read.tables.visible import VisibleAdjacencies, VisibleColumns
from omnigraph.read.tables.visible_rows import Visibility
from omnigraph.read.topology.build import Ends
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.topology.pairs import PairIndex
from omnigraph.read.values.encoded import Encoded
from omnigraph.read.values.ordering import Codes
from omnigraph.read.view import View
from omnigraph.read.where.served import Served

__all__ = ["Adjacencies", "Columns", "Searches", "Tables", "tables_of"]


class Columns(Protocol):
    def nodes(self, types: Iterable[TypeName]) -> Space:
        """The rows of these node types, numbered through in the order of the types' names."""

    def edges(self, types: Iterable[TypeName]) -> Space:
        """The rows of these edge types, likewise."""

    def edge(self, name: TypeName) -> EdgeType: ...

    def row_count(self, entity: EntityType) -> int: ...

    def shows_all(self, entity: EntityType) -> bool:
        """False: rows or properties may be hidden, and nothing is told of how rows are stored."""

    def find(self, entity: EntityType, ids: pa.Array) -> Ordinals:
        """The row of each id, or -1."""

    def values(self, entity: EntityType, column: str, rows: Ordinals | None) -> pa.Array:
        """A column, by its physical name, at these rows or all; NULL gives null."""

    def served(
        self, entity: EntityType, question: Served, holds: Callable[[pa.Table], pa.Table]
    ) -> Ordinals | None:
        """The rows that an index finds and that `holds` leaves, in order; None: it is not asked."""

    def sample(self, entity: EntityType, column: str, limit_rows: int) -> pa.Array:
        """The first values of a column."""

    def codes(self, entity: EntityType, name: str) -> Codes:
        """A number for each row, equal where the property is; some may not occur."""

    def known_values(self, entity: EntityType, name: str) -> Encoded | None:
        """A property as numbers and their values, where somebody has told the values apart."""


class Adjacencies(Protocol):
    def ends(self, name: TypeName) -> Ends:
        """Both ends of each edge of a type, as rows of the node tables, in the table's order."""

    def adjacency(self, route: Route, *, nodes: Ordinals | None = None, hops: int = 1) -> Adjacency:
        """The nodes that are one step away from each node.

        `nodes` are where a walk of so many hops begins: nothing else need be in it.
        """

    def pairs(self, graph: Adjacency, route: Route) -> PairIndex:
        """The pairs of an adjacency that `adjacency` gave for the route, hashed."""


class Searches(Protocol):
    def text(self, entity: EntityType, column: str) -> TextIndex:
        """The words of a text column, by its physical name."""

    def vectors(self, entity: EntityType, column: str) -> VectorIndex:
        """The vectors of a column, likewise."""


class Tables(NamedTuple):
    columns: Columns
    adjacencies: Adjacencies
    searches: Searches


def tables_of(
    view: View,
    cache: RuntimeCache,
    mode: TraversalMode = TraversalMode.AUTO,
    pace: Pace = UNHURRIED,
) -> Tables:
    versions = Versions(view.snapshot, cache, pace)
    copies, lookups = DiskCopies(versions, cache.disk), ColdLookups(view.snapshot, cache, mode)
    lacking = frozenset[TypeName]() if view.scope is None else view.scope.lacking
    columns = StoredColumns(versions, cache, copies, lookups, lacking, pace)
    adjacencies = StoredAdjacencies(versions, cache, copies, lookups, columns, pace)
    searches = StoredSearches(versions, cache, copies, pace)
    if not view.hides_rows:
        return Tables(columns, adjacencies, searches)
    visibility = Visibility(view, cache, columns, adjacencies, pace)
    shown = VisibleColumns(columns, visibility, cache)
    return Tables(
        shown,
        VisibleAdjacencies(adjacencies, shown, visibility, cache, pace),
        VisibleSearches(searches, visibility, cache),
    )
