"""What a query may ask of the tables of its view.

Rows are numbers: a row's number is its place among the rows that the view shows, in the order of a
full scan. All answers for one view agree on the numbers.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import pyarrow as pa

from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.ir import EdgeStep
from omnigraph.lang.schema.catalog import EdgeType, EntityType
from omnigraph.read.space import Space
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.read.tables.stored import StoredTables
from omnigraph.read.tables.visible import VisibleTables
from omnigraph.read.topology.build import Ends
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.topology.pairs import PairIndex
from omnigraph.read.values.encoded import Encoded
from omnigraph.read.values.ordering import Codes
from omnigraph.read.view import View

__all__ = ["Tables", "tables_of"]


class Tables(Protocol):
    def nodes(self, types: Iterable[TypeName]) -> Space:
        """The rows of these node types, numbered through in the order of the types' names."""

    def edges(self, types: Iterable[TypeName]) -> Space:
        """The rows of these edge types, likewise."""

    def edge(self, name: TypeName) -> EdgeType: ...

    def row_count(self, entity: EntityType) -> int: ...

    def find(self, entity: EntityType, ids: pa.Array) -> Ordinals:
        """The row of each id, or -1."""

    def column(self, entity: EntityType, column: str) -> pa.Array:
        """A whole column, by its physical name."""

    def values(self, entity: EntityType, column: str, rows: Ordinals) -> pa.Array:
        """A column at these rows; NULL gives null."""

    def sample(self, entity: EntityType, column: str, limit_rows: int) -> pa.Array:
        """The first values of a column."""

    def codes(self, entity: EntityType, name: str) -> Codes:
        """A number for each row, equal where the property is; some may not occur."""

    def known_values(self, entity: EntityType, name: str) -> Encoded | None:
        """A property as numbers and their values, where somebody has told the values apart."""

    def ends(self, name: TypeName) -> Ends:
        """Both ends of each edge of a type, as rows of the node tables, in the table's order."""

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
        """Who is one step away, by any of the steps that lead from one space into the other.

        Without `edges` it is a set; with it, edges are kept apart and numbered in that space.
        `nodes` are where a walk of so many hops begins: nothing else need be in it.
        """

    def pairs(
        self, graph: Adjacency, steps: Sequence[EdgeStep], *, origin: Space, target: Space
    ) -> PairIndex:
        """The pairs of an adjacency that `adjacency` gave for these steps, hashed."""


def tables_of(view: View, cache: RuntimeCache, mode: TraversalMode = TraversalMode.AUTO) -> Tables:
    stored = StoredTables(view.snapshot, cache, mode)
    return VisibleTables(view, stored, cache) if view.visible else stored
