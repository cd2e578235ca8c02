"""What reading needs of a snapshot's tables, through the cache: columns, ids, adjacency.

A row's number is its place in a full scan of the table at the snapshot's version. Lance scans one
version in one order, so columns read at different times line up.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from omnigraph.base.ids import TableKey, TypeName
from omnigraph.lang.plan.ir import Direction, EdgeStep
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType
from omnigraph.read.ordering import Codes, encode
from omnigraph.read.space import Space
from omnigraph.read.topology import build
from omnigraph.read.topology.cache import RuntimeCache
from omnigraph.read.topology.csr import Adjacency
from omnigraph.read.topology.ids import IdIndex
from omnigraph.store.datasets import DatasetRef
from omnigraph.store.snapshot import Snapshot

__all__ = ["Tables"]

LIMIT_SHORT_OFFSETS_BYTES = 2**31 - 1


class Tables:
    """One snapshot and the cache that outlives it."""

    def __init__(self, snapshot: Snapshot, cache: RuntimeCache) -> None:
        self._snapshot = snapshot
        self._cache = cache

    def nodes(self, types: Iterable[TypeName]) -> Space:
        """The rows of these node types, numbered through in the order of the types' names."""
        by_name = self._snapshot.catalog.node_by_name
        return self._space([by_name[name] for name in sorted(set(types))])

    def edges(self, types: Iterable[TypeName]) -> Space:
        return self._space([self.edge(name) for name in sorted(set(types))])

    def edge(self, name: TypeName) -> EdgeType:
        return self._snapshot.catalog.edge_by_name[name]

    def ids(self, entity: EntityType) -> IdIndex:
        """From ids to rows."""
        key = ("ids", self._ref(entity))
        return self._cache.get(key, lambda: IdIndex(self.column(entity, ID)))

    def column(self, entity: EntityType, column: str) -> pa.Array:
        """A whole column, by its physical name."""
        key = ("column", self._ref(entity), column)
        return self._cache.get(key, lambda: self._scan(entity, [column])[0])

    def codes(self, entity: EntityType, name: str) -> Codes:
        """A number for each row, equal where the property is."""
        column = entity.by_name[name].column
        key = ("codes", self._ref(entity), column)
        return self._cache.get(key, lambda: encode(self.column(entity, column)))

    def adjacency(
        self, steps: Sequence[EdgeStep], *, origin: Space, target: Space, edges: Space | None
    ) -> Adjacency:
        """Who is one step away, by any of the steps that lead from one space into the other.

        Without `edges` it is a set; with it, edges are kept apart and numbered in that space.
        """
        key = (
            "adjacency",
            tuple((self._ref(self.edge(step.edge)), step.direction) for step in steps),
            tuple(self._ref(part.entity) for part in origin.parts),
            tuple(self._ref(part.entity) for part in target.parts),
            edges is not None,
        )
        return self._cache.get(
            key,
            lambda: build.adjacency(
                [leg for step in steps for leg in self._legs(step, origin, target, edges)],
                height=origin.size,
                width=target.size,
                has_edges=edges is not None,
            ),
        )

    def _legs(
        self, step: EdgeStep, origin: Space, target: Space, edges: Space | None
    ) -> list[build.Leg]:
        edge = self.edge(step.edge)
        edge_part = edges.part_of(edge.table_key) if edges is not None else None
        legs = []
        for way in _ways(step.direction):
            here, there = (
                (edge.target, edge.source) if way is Direction.IN else (edge.source, edge.target)
            )
            start = origin.part_of(self._node_key(here))
            stop = target.part_of(self._node_key(there))
            if start is None or stop is None:
                continue
            legs.append(
                build.Leg(
                    ends=self._ends(edge),
                    is_reversed=way is Direction.IN,
                    origin_start=start.start,
                    target_start=stop.start,
                    edge_start=edge_part.start if edge_part is not None else 0,
                    skips_loops=step.direction is Direction.BOTH and way is Direction.IN,
                )
            )
        return legs

    def _ends(self, edge: EdgeType) -> build.Ends:
        source = self._snapshot.catalog.node_by_name[edge.source]
        target = self._snapshot.catalog.node_by_name[edge.target]
        return self._cache.get(
            ("ends", self._ref(edge), self._ref(source), self._ref(target)),
            lambda: build.number_ends(
                *self._scan(edge, [SRC, DST]),
                source_ids=self.ids(source),
                target_ids=self.ids(target),
            ),
        )

    def _node_key(self, name: TypeName) -> TableKey:
        return self._snapshot.catalog.node_by_name[name].table_key

    def _space(self, entities: Sequence[EntityType]) -> Space:
        tables = self._snapshot.tables
        return Space.of([(e, tables[e.table_key].row_count) for e in entities])

    def _ref(self, entity: EntityType) -> DatasetRef:
        return self._snapshot.tables[entity.table_key].ref

    def _scan(self, entity: EntityType, columns: Sequence[str]) -> list[pa.Array]:
        table = self._snapshot.dataset(entity).scan(columns)
        assert table.num_rows == self._snapshot.tables[entity.table_key].row_count
        return [_one_array(table[name]) for name in columns]


def _ways(direction: Direction) -> tuple[Direction, ...]:
    both = (Direction.OUT, Direction.IN)
    return both if direction is Direction.BOTH else (direction,)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    # 32-bit offsets reach over 2 GiB of text.
    if pa.types.is_string(column.type) and column.nbytes > LIMIT_SHORT_OFFSETS_BYTES:
        column = column.cast(pa.large_string())
    return column.combine_chunks()
