"""What reading needs of a snapshot's tables, through the cache: columns, ids, adjacency.

A row's number is its place in a full scan of the table at the snapshot's version. Lance scans one
version in one order, so columns read at different times line up.
"""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.errors import GraphMoved, StorageError
from omnigraph.base.ids import TableKey, TypeName
from omnigraph.lang.plan.ir import Direction, EdgeStep
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType
from omnigraph.read.space import Space
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cache_keys import (
    AdjacencyKey,
    Before,
    EndsKey,
    Moved,
    Numbers,
    edges_before,
    laid_out,
)
from omnigraph.read.tables.chunked_column import ChunkedColumn
from omnigraph.read.tables.cold_lookups import ColdLookups, TraversalMode, ways_of
from omnigraph.read.tables.disk import LEAST_KEPT_BYTES, Kept
from omnigraph.read.tables.renumbering import Renumbering, renumbering_between
from omnigraph.read.topology import build
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.topology.follow import WORTH_FOLLOWING, Delta, follow
from omnigraph.read.topology.ids import LIMIT_SHORT_OFFSETS_BYTES, IdIndex
from omnigraph.read.topology.pairs import PairIndex
from omnigraph.read.values.encoded import Encoded
from omnigraph.read.values.ordering import Codes
from omnigraph.store.datasets import Dataset, DatasetRef, Fragment
from omnigraph.store.snapshot import Snapshot

__all__ = ["StoredTables"]

# What an earlier version may answer, whose files are another branch's.
UNREADABLE = (StorageError, GraphMoved)


class StoredTables:
    """All rows of one snapshot, through the cache that outlives it."""

    def __init__(
        self,
        snapshot: Snapshot,
        cache: RuntimeCache,
        mode: TraversalMode = TraversalMode.AUTO,
    ) -> None:
        self._snapshot = snapshot
        self._cache = cache
        self._lookups = ColdLookups(snapshot, cache, mode)
        self._fresh_ends: dict[tuple[TableKey, tuple[int, ...] | None], build.Ends] = {}

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
        ref = self.ref(entity)

        def build(earlier: tuple[Hashable, IdIndex] | None) -> IdIndex:
            if earlier is None and (kept := self._kept(f"ids {ref.path}")) is not None:
                (was,) = kept.refs
                earlier = (("ids", was), IdIndex.of_arrays(kept.arrays))
                if was == ref:
                    return earlier[1]
            moves = self._moves_since(entity, earlier)
            if earlier is not None and moves is not None:
                fresh = self._scan(entity, [ID], moves)[0] if moves.new_pieces else None
                return earlier[1].followed(moves.kept, fresh)
            index = IdIndex(self.column(entity, ID))
            self._keep(f"ids {ref.path}", (ref,), index)
            return index

        return self._cache.follow(("ids", ref), ("ids", ref.path), build)

    def column(self, entity: EntityType, column: str) -> pa.Array:
        """A whole column, by its physical name."""
        return self._chunked(entity, column).whole

    def _chunked(self, entity: EntityType, column: str) -> ChunkedColumn:
        ref = self.ref(entity)

        def build(earlier: tuple[Hashable, ChunkedColumn] | None) -> ChunkedColumn:
            moves = self._moves_since(entity, earlier)
            if earlier is None or moves is None:
                return ChunkedColumn.of(*self._scan(entity, [column]))
            left = earlier[1] if moves.kept is None else earlier[1].only(moves.kept)
            if not moves.new_pieces:
                return left
            (fresh,) = self._scan(entity, [column], moves)
            if left.nbytes + fresh.nbytes > LIMIT_SHORT_OFFSETS_BYTES:
                return ChunkedColumn.of(*self._scan(entity, [column]))
            return left.followed_by(fresh)

        return self._cache.follow(("column", ref, column), ("column", ref.path, column), build)

    def find(self, entity: EntityType, ids: pa.Array) -> Ordinals:
        """The row of each id, or -1: through the index, or by looking up a few in a cold table."""
        ref = self.ref(entity)
        is_cold = not self._cache.has(("ids", ref), ("ids", ref.path))
        is_cold = is_cold and not self._is_on_disk(f"ids {ref.path}")
        if is_cold and self._lookups.is_worth_it(entity, len(ids), column=ID):
            return self._lookups.find(entity, ids)
        return self.ids(entity).find(ids)

    def values(self, entity: EntityType, column: str, rows: Ordinals) -> pa.Array:
        """A column at these rows; NULL gives null."""
        ref = self.ref(entity)
        is_cold = not self._cache.has(("column", ref, column), ("column", ref.path, column))
        if (
            is_cold
            and len(rows)
            and (rows >= 0).all()
            and self._lookups.is_worth_it(entity, len(rows))
        ):
            return self._lookups.values(entity, column, rows)
        return self._chunked(entity, column).take(rows)

    def sample(self, entity: EntityType, column: str, limit_rows: int) -> pa.Array:
        """The first values of a column. The column is not kept: most of it was not read."""
        return self._snapshot.dataset(entity).head(column, limit_rows=limit_rows)

    def codes(self, entity: EntityType, name: str) -> Codes:
        """A number for each row, equal where the property is."""
        return self._encoded(entity, name).codes

    def known_values(self, entity: EntityType, name: str) -> Encoded | None:
        """A property as numbers and their values, where somebody has told the values apart."""
        ref, column = self.ref(entity), entity.by_name[name].column
        if not self._cache.has(("codes", ref, column), ("codes", ref.path, column)):
            return None
        encoded = self._encoded(entity, name)
        return encoded if encoded.values is not None else None

    def _encoded(self, entity: EntityType, name: str) -> Encoded:
        ref, column = self.ref(entity), entity.by_name[name].column

        def build(earlier: tuple[Hashable, Encoded] | None) -> Encoded:
            moves = self._moves_since(entity, earlier)
            if earlier is not None and moves is not None:
                followed = earlier[1].followed(
                    moves.kept,
                    lambda: self._scan(entity, [column], moves)[0] if moves.new_pieces else None,
                )
                if followed is not None:
                    return followed
            return Encoded.of(self.column(entity, column))

        key, family = ("codes", ref, column), ("codes", ref.path, column)
        return self._cache.follow(key, family, build)

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
        key = self._adjacency_key(steps, origin, target, has_edges=edges is not None)
        is_cold = not self._cache.has(key, key.family) and not self._is_on_disk(str(key.family))
        if is_cold and nodes is not None and self._is_near(steps, nodes, hops):
            return self._lookups.near(
                steps,
                nodes,
                origin=origin,
                target=target,
                hops=hops,
                edges=edges,
                numbers=self.find,
                ids=lambda entity, rows: self.values(entity, ID, rows),
            )

        def build_or_follow(earlier: tuple[Hashable, Adjacency] | None) -> Adjacency:
            if earlier is None and (kept := self._kept(str(key.family))) is not None:
                earlier = (key.at(kept.refs), Adjacency.of_arrays(kept.arrays))
                if earlier[0] == key:
                    return earlier[1]
            if earlier is not None:
                was, graph = earlier
                assert isinstance(was, AdjacencyKey)
                followed = self._followed(
                    was, graph, steps, origin=origin, target=target, edges=edges
                )
                if followed is not None:
                    return followed
            graph = build.adjacency(
                [leg for step in steps for leg in self.legs(step, origin, target, edges)],
                height=origin.size,
                width=target.size,
                has_edges=edges is not None,
            )
            self._keep(str(key.family), key.refs, graph)
            return graph

        return self._cache.follow(key, key.family, build_or_follow)

    def pairs(
        self, graph: Adjacency, steps: Sequence[EdgeStep], *, origin: Space, target: Space
    ) -> PairIndex:
        """The pairs of an adjacency that `adjacency` gave for these steps, hashed.

        They are kept if it is: what was looked up for a few nodes is not.
        """
        key = self._adjacency_key(steps, origin, target, has_edges=graph.edges is not None)
        if self._cache.peek(key) is not graph:
            return PairIndex.of(graph)

        def build(earlier: tuple[Hashable, PairIndex] | None) -> PairIndex:
            followed = None if earlier is None else earlier[1].followed(graph)
            return PairIndex.of(graph) if followed is None else followed

        return self._cache.follow(("pairs", key), ("pairs", key.family), build)

    def _adjacency_key(
        self, steps: Sequence[EdgeStep], origin: Space, target: Space, *, has_edges: bool
    ) -> AdjacencyKey:
        return AdjacencyKey(
            edges=tuple(self.ref(self.edge(step.edge)) for step in steps),
            directions=tuple(step.direction for step in steps),
            origin=tuple(self.ref(part.entity) for part in origin.parts),
            target=tuple(self.ref(part.entity) for part in target.parts),
            has_edges=has_edges,
        )

    def ends(self, name: TypeName) -> build.Ends:
        """Both ends of each edge of a table, as rows of the node tables, in the table's order."""
        return self._ends(self.edge(name))

    def _is_near(self, steps: Sequence[EdgeStep], nodes: Ordinals, hops: int) -> bool:
        """Whether all that a walk is likely to meet is few enough to look up."""
        looked_in = [
            (self.edge(step.edge), column) for step in steps for column in _near(step.direction)
        ]
        degree, rows = 0.0, 0
        for edge, column in looked_in:
            source, target = self.end_types(edge)
            degree += self._some_rows(edge) / self._some_rows(source if column == SRC else target)
            rows += self._some_rows(source) + self._some_rows(target)
        met = float(len(nodes))
        for _ in range(hops):
            # Held down: powers of a degree pass all bounds within some hundred hops.
            met = min(met * max(degree, 1.0), float(max(rows, len(nodes))))
        return all(self._lookups.is_worth_it(e, met, column=column) for e, column in looked_in)

    def _some_rows(self, entity: EntityType) -> int:
        return max(1, self.row_count(entity))

    def legs(
        self,
        step: EdgeStep,
        origin: Space,
        target: Space,
        edges: Space | None = None,
        ends: build.Ends | None = None,
        *,
        first_edge: int = 0,
    ) -> list[build.Leg]:
        """The edges of a step, each way it goes; `ends` are those from `first_edge` on."""
        edge = self.edge(step.edge)
        edge_part = edges.part_of(edge.table_key) if edges is not None else None
        legs = []
        for way in ways_of(step.direction):
            here, there = (
                (edge.target, edge.source) if way is Direction.IN else (edge.source, edge.target)
            )
            start = origin.part_of(self._node_key(here))
            stop = target.part_of(self._node_key(there))
            if start is None or stop is None:
                continue
            legs.append(
                build.Leg(
                    ends=ends if ends is not None else self._ends(edge),
                    is_reversed=way is Direction.IN,
                    origin_start=start.start,
                    target_start=stop.start,
                    edge_start=first_edge + (edge_part.start if edge_part is not None else 0),
                    skips_loops=step.direction is Direction.BOTH and way is Direction.IN,
                )
            )
        return legs

    def _ends(self, edge: EdgeType) -> build.Ends:
        key = self._ends_key(edge)

        def build_or_follow(earlier: tuple[Hashable, build.Ends] | None) -> build.Ends:
            if earlier is not None:
                was, ends = earlier
                assert isinstance(was, EndsKey)
                moves = self._moves(edge, was.edge)
                numbers = [
                    self._numbers_since(node, ref)
                    for node, ref in zip(
                        self.end_types(edge), (was.source, was.target), strict=True
                    )
                ]
                if moves is not None and None not in numbers:
                    source_numbers, target_numbers = (n.numbers for n in numbers if n is not None)
                    return build.follow_ends(
                        ends,
                        kept=moves.kept,
                        source_numbers=source_numbers,
                        target_numbers=target_numbers,
                        fresh=self._numbered(edge, moves),
                    )
            return self._numbered(edge)

        return self._cache.follow(key, key.family, build_or_follow)

    def _ends_key(self, edge: EdgeType) -> EndsKey:
        return EndsKey(self.ref(edge), *(self.ref(node) for node in self.end_types(edge)))

    def _numbered(self, edge: EdgeType, moves: Renumbering | None = None) -> build.Ends:
        """The ends of all edges, or of those that the moves brought."""
        pieces = (edge.table_key, None if moves is None else moves.new_pieces)
        if moves is not None and pieces in self._fresh_ends:
            return self._fresh_ends[pieces]
        source, target = self.end_types(edge)
        ends = build.number_ends(
            *self._scan(edge, [SRC, DST], moves),
            source_ids=self.ids(source),
            target_ids=self.ids(target),
        )
        if moves is not None:
            # Each direction of a walk asks for them, and so do the ends of all edges.
            self._fresh_ends[pieces] = ends
        return ends

    def end_types(self, edge: EdgeType) -> tuple[NodeType, NodeType]:
        by_name = self._snapshot.catalog.node_by_name
        return by_name[edge.source], by_name[edge.target]

    # Following earlier versions ------------------------------------------------------------------

    def _followed(
        self,
        was: AdjacencyKey,
        graph: Adjacency,
        steps: Sequence[EdgeStep],
        *,
        origin: Space,
        target: Space,
        edges: Space | None,
    ) -> Adjacency | None:
        """An earlier adjacency brought up to date, if that is less work than building it anew."""
        before = [self._space_before(origin, was.origin), self._space_before(target, was.target)]
        moves = [
            self._moves(self.edge(step.edge), ref)
            for step, ref in zip(steps, was.edges, strict=True)
        ]
        if None in before or None in moves:
            return None
        changed = sum(m.new_count + m.old_count - m.kept_count for m in moves if m is not None)
        if changed * WORTH_FOLLOWING > int(graph.counts.sum()):
            return None
        known = [m for m in moves if m is not None]
        origin_numbers, target_numbers = (b.numbers for b in before if b is not None)
        edits = self._came_and_went(was, steps, known, origin=origin, target=target, edges=edges)
        if edits is None:
            return None
        added, gone = edits
        tables = [self.edge(step.edge).table_key for step in steps]
        delta = Delta(
            origin_numbers=origin_numbers,
            target_numbers=target_numbers,
            edge_numbers=None
            if edges is None
            else edges_before(edges, dict(zip(tables, known, strict=True))).numbers,
            added=added,
            gone=gone,
        )

        def whole() -> list[build.Leg]:
            return [leg for step in steps for leg in self.legs(step, origin, target)]

        return follow(graph, delta, whole, height=origin.size, width=target.size)

    def _came_and_went(
        self,
        was: AdjacencyKey,
        steps: Sequence[EdgeStep],
        moves: Sequence[Renumbering],
        *,
        origin: Space,
        target: Space,
        edges: Space | None,
    ) -> tuple[list[build.Leg], list[build.Leg]] | None:
        """The edges that are new; and, for a set, those that are gone; None: they can't be read."""
        added: list[build.Leg] = []
        gone: list[build.Leg] = []
        then = {
            part.entity.table_key: ref
            for space, refs in ((origin, was.origin), (target, was.target))
            for part, ref in zip(space.parts, refs, strict=True)
        }
        for step, ref, move in zip(steps, was.edges, moves, strict=True):
            edge = self.edge(step.edge)
            if move.new_pieces:
                fresh = self._numbered(edge, move)
                added += self.legs(
                    step, origin, target, edges, ends=fresh, first_edge=move.kept_count
                )
            source, target_node = (node.table_key for node in self.end_types(edge))
            if edges is None and source in then and target_node in then:
                if move.kept is not None:
                    lost = self._lost(edge, EndsKey(ref, then[source], then[target_node]), move)
                    if lost is None:
                        return None
                    gone += self.legs(step, origin, target, ends=lost)
                self._keep_up_ends(edge)
        return added, gone

    def _keep_up_ends(self, edge: EdgeType) -> None:
        """The next version will ask for the ends of what it lost; but they are not built for it."""
        key = self._ends_key(edge)
        if self._cache.has(key, key.family):
            self._ends(edge)

    def _lost(self, edge: EdgeType, was: EndsKey, moves: Renumbering) -> build.Ends | None:
        """The ends of the edges that are gone, as rows of today; -1 where the node went too.

        None: they can't be read any more.
        """
        known = self._cache.peek(was)
        nodes = zip(self.end_types(edge), (was.source, was.target), strict=True)
        if isinstance(known, build.Ends):
            gone = moves.gone
            ends = [known.sources[gone], known.targets[gone]]
            numbers = [self._numbers_since(node, ref) for node, ref in nodes]
            if None not in numbers:
                moved = [
                    end if n is None or n.numbers is None else n.numbers[end].astype(np.int32)
                    for end, n in zip(ends, numbers, strict=True)
                ]
                return build.Ends(moved[0], moved[1])
        rows = self._rows_before(was.edge, moves.gone, [SRC, DST])
        if rows is None:
            return None
        texts = zip((SRC, DST), self.end_types(edge), strict=True)
        sources, targets = (self.ids(node).find(_one_array(rows[name])) for name, node in texts)
        return build.Ends(sources.astype(np.int32), targets.astype(np.int32))

    def _space_before(self, space: Space, refs: Sequence[DatasetRef]) -> Before | None:
        """Where the rows of a space are now that it had when its tables were at these versions."""
        entities = [part.entity for part in space.parts]
        found = [self._numbers_since(e, ref) for e, ref in zip(entities, refs, strict=True)]
        if None in found:
            return None
        return laid_out(space, [n for n in found if n is not None])

    def _numbers_since(self, node: EntityType, ref: DatasetRef) -> Numbers | None:
        """The row that each row of an earlier version is now: an update moves a row to the end."""
        moves = self._moves(node, ref)
        if moves is None:
            return None
        numbers = moves.renumbered()
        if numbers is not None and moves.new_count:
            gone = moves.gone
            rows = self._rows_before(ref, gone, [ID])
            if rows is None:
                return None
            numbers[gone] = self.ids(node).find(_one_array(rows[ID]))
        return Numbers(moves.old_count, numbers)

    def _rows_before(
        self, ref: DatasetRef, rows: Ordinals, columns: Sequence[str]
    ) -> pa.Table | None:
        """Rows of an earlier version, if it is still there.

        It goes with its branch, or in a clean-up, at any moment and by any process. Then nothing
        can be made from it, and what was asked for is read anew.
        """
        try:
            return self._snapshot.other_version(ref).take(rows, columns)
        except UNREADABLE:
            return None

    # On disk -------------------------------------------------------------------------------------

    def _is_on_disk(self, family: str) -> bool:
        return self._cache.disk is not None and self._cache.disk.has(family)

    def _kept(self, family: str) -> "_Found | None":
        """What a process wrote last, if the tables it read are still what they were."""
        disk = self._cache.disk
        kept = None if disk is None else disk.last(family)
        if kept is None:
            return None
        try:
            refs = tuple(DatasetRef(*ref) for ref in kept.origin["refs"])
            is_same = kept.origin["contents"] == [self._contents(ref) for ref in refs]
        except (KeyError, TypeError, *UNREADABLE):
            return None
        return _Found(refs, kept.arrays) if is_same else None

    def _keep(self, family: str, refs: Sequence[DatasetRef], entry: IdIndex | Adjacency) -> None:
        disk = self._cache.disk
        if disk is not None and entry.nbytes >= LEAST_KEPT_BYTES:
            names = [[ref.path, ref.branch, ref.version] for ref in refs]
            origin = {"refs": names, "contents": [self._contents(ref) for ref in refs]}
            disk.keep(family, Kept(origin, entry.to_arrays()))

    def _contents(self, ref: DatasetRef) -> str:
        """What a version holds, physically: numbers are used again, names of files are not."""
        pieces = repr(self._snapshot.other_version(ref).fragments)
        return hashlib.sha256(pieces.encode()).hexdigest()

    def _moves_since(
        self, entity: EntityType, earlier: tuple[Hashable, Any] | None
    ) -> Renumbering | None:
        """The moves since the version in an entry's key, its second part."""
        if earlier is None:
            return None
        key = earlier[0]
        assert isinstance(key, tuple)
        return self._moves(entity, key[1])

    def _moves(self, entity: EntityType, since: DatasetRef) -> Renumbering | None:
        now = self.ref(entity)

        def find() -> Moved:
            try:
                old = self._snapshot.other_version(since)
                new = self._snapshot.dataset(entity)
                return Moved(renumbering_between(old, new, addresses=self._addresses))
            except UNREADABLE:
                return Moved(None)  # as in `_rows_before`

        return self._cache.get(("moves", since, now), find, family=("moves", now.path)).moves

    def _addresses(self, dataset: Dataset, piece: Fragment) -> NDArray[np.uint64]:
        """The addresses of the rows of a fragment, as far as their offsets go."""
        if not piece.has_deletions:
            return np.arange(piece.rows, dtype=np.uint64)
        key = ("addresses", piece.files, piece.deletions)
        family = ("addresses", piece.files)
        return self._cache.get(key, lambda: dataset.addresses(piece.id), family=family)

    def _node_key(self, name: TypeName) -> TableKey:
        return self._snapshot.catalog.node_by_name[name].table_key

    def _space(self, entities: Sequence[EntityType]) -> Space:
        tables = self._snapshot.tables
        return Space.of([(e, tables[e.table_key].row_count) for e in entities])

    def ref(self, entity: EntityType) -> DatasetRef:
        return self._snapshot.tables[entity.table_key].ref

    def row_count(self, entity: EntityType) -> int:
        return self._snapshot.tables[entity.table_key].row_count

    def _scan(
        self, entity: EntityType, columns: Sequence[str], moves: Renumbering | None = None
    ) -> list[pa.Array]:
        """Whole columns, or of the rows that the moves brought."""
        pieces = moves.new_pieces if moves is not None else None
        count = self.row_count(entity)
        table = self._snapshot.dataset(entity).scan(columns, fragment_ids=pieces)
        assert table.num_rows == (count if moves is None else moves.new_count)
        return [_one_array(table[name]) for name in columns]


class _Found(NamedTuple):
    refs: tuple[DatasetRef, ...]
    arrays: Mapping[str, NDArray[Any]]


def _near(direction: Direction) -> tuple[str, ...]:
    """The columns that hold the end a walk begins at."""
    both = {Direction.OUT: (SRC,), Direction.IN: (DST,)}
    return both.get(direction, (SRC, DST))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    # 32-bit offsets reach over 2 GiB of text.
    if pa.types.is_string(column.type) and column.nbytes > LIMIT_SHORT_OFFSETS_BYTES:
        column = column.cast(pa.large_string())
    return column.combine_chunks()
