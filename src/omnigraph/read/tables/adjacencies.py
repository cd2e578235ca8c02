"""Adjacency over all rows of a snapshot: built, followed from version to version, or looked up.

A commit that changes few edges changes few runs of the adjacency before it (`topology/follow.py`).
A walk from a few nodes of a graph that nobody has read yet looks up its neighbourhood instead.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.ir import Direction, EdgeStep
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.space import Space
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cache_keys import AdjacencyKey, EndsKey, edges_before
from omnigraph.read.tables.cold_lookups import ColdLookups, ways_of
from omnigraph.read.tables.columns import StoredColumns
from omnigraph.read.tables.disk_copies import DiskCopies
from omnigraph.read.tables.edge_ends import EdgeEnds
from omnigraph.read.tables.renumbering import Renumbering
from omnigraph.read.tables.versions import Versions
from omnigraph.read.topology import build
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.topology.follow import Delta, follow
from omnigraph.read.topology.pairs import PairIndex

__all__ = ["Route", "StoredAdjacencies", "legs_of", "ways_of_step"]


class Route(NamedTuple):
    """Any of the steps, from one space into the other."""

    steps: Sequence[EdgeStep]
    origin: Space
    target: Space
    edges: Space | None = None
    """With it, edges are kept apart and numbered in that space; without, it is a set of pairs."""


class StoredAdjacencies:
    def __init__(
        self,
        versions: Versions,
        cache: RuntimeCache,
        copies: DiskCopies,
        lookups: ColdLookups,
        columns: StoredColumns,
        pace: Pace = UNHURRIED,
    ) -> None:
        self._versions = versions
        self._cache = cache
        self._copies = copies
        self._lookups = lookups
        self._columns = columns
        self._pace = pace
        self._ends = EdgeEnds(versions, cache, columns, pace)

    def ends(self, name: TypeName) -> build.Ends:
        """Both ends of each edge of a type, as rows of the node tables, in the table's order."""
        return self._ends.of(self._columns.edge(name))

    def adjacency(self, route: Route, *, nodes: Ordinals | None = None, hops: int = 1) -> Adjacency:
        """The nodes that are one step away from each node.

        `nodes` are where a walk of so many hops begins: nothing else need be in it.
        """
        key = self._key(route)
        known = self._cache.used(key)
        if known is not None:
            assert isinstance(known, Adjacency)
            return known
        is_cold = not self._cache.has(key, key.family) and not self._copies.has(key.disk_family)
        if is_cold and nodes is not None and self._is_near(route.steps, nodes, hops):
            return self._looked_up(route, nodes, hops)
        return self._cache.follow(key, key.family, lambda earlier: self._made(route, key, earlier))

    def pairs(self, graph: Adjacency, route: Route) -> PairIndex:
        """The pairs of an adjacency that `adjacency` gave for the route, hashed.

        They are kept if it is: what was looked up for a few nodes is not.
        """
        key = self._key(route)
        if self._cache.peek(key) is not graph:
            return PairIndex.of(graph)
        return self._cache.follow(
            ("pairs", key), ("pairs", key.family), lambda earlier: _made_pairs(graph, earlier)
        )

    def _key(self, route: Route) -> AdjacencyKey:
        ref = self._versions.ref
        return AdjacencyKey(
            edges=tuple([ref(self._columns.edge(step.edge)) for step in route.steps]),
            directions=tuple([step.direction for step in route.steps]),
            origin=tuple([ref(part.entity) for part in route.origin.parts]),
            target=tuple([ref(part.entity) for part in route.target.parts]),
            has_edges=route.edges is not None,
        )

    # Looked up -----------------------------------------------------------------------------------

    def _looked_up(self, route: Route, nodes: Ordinals, hops: int) -> Adjacency:
        return self._lookups.near(
            route.steps,
            nodes,
            origin=route.origin,
            target=route.target,
            hops=hops,
            edges=route.edges,
            numbers=self._columns.find,
            ids=lambda entity, rows: self._columns.values(entity, ID, rows),
        )

    def _is_near(self, steps: Sequence[EdgeStep], nodes: Ordinals, hops: int) -> bool:
        """Whether all that a walk is likely to meet is few enough to look up."""
        looked_in = [
            (self._columns.edge(step.edge), column)
            for step in steps
            for column in _columns_at_origin(step.direction)
        ]
        degree, rows = 0.0, 0
        for edge, column in looked_in:
            source, target = self._ends.types(edge)
            degree += self._some_rows(edge) / self._some_rows(source if column == SRC else target)
            rows += self._some_rows(source) + self._some_rows(target)
        met = float(len(nodes))
        for _ in range(hops):
            # Held down: powers of a degree pass all bounds within some hundred hops.
            met = min(met * max(degree, 1.0), float(max(rows, len(nodes))))
        return all(self._lookups.is_worth_it(e, met, column=column) for e, column in looked_in)

    def _some_rows(self, entity: EntityType) -> int:
        return max(1, self._versions.row_count(entity))

    # Built or followed ---------------------------------------------------------------------------

    def _made(
        self, route: Route, key: AdjacencyKey, earlier: tuple[AdjacencyKey, Adjacency] | None
    ) -> Adjacency:
        if earlier is None and (copy := self._copies.last(key.disk_family)) is not None:
            earlier = key.at(copy.refs), Adjacency.of_arrays(copy.arrays)
            if earlier[0] == key:
                return earlier[1]
        followed = None if earlier is None else self._followed(route, *earlier)
        if followed is not None:
            return followed
        graph = build.adjacency(
            self._legs(route),
            height=route.origin.size,
            width=route.target.size,
            has_edges=route.edges is not None,
            look=self._pace.check,
        )
        self._copies.keep(key.disk_family, key.refs, graph)
        return graph

    def _legs(self, route: Route) -> list[build.Leg]:
        """All edges of the route, each way it goes."""
        legs: list[build.Leg] = []
        for step in route.steps:
            if ways := ways_of_step(step, self._columns.edge(step.edge), route):
                legs += legs_of(ways, self.ends(step.edge))
        return legs

    def _followed(self, route: Route, was: AdjacencyKey, graph: Adjacency) -> Adjacency | None:
        """An earlier adjacency brought up to date, if that is less work than building it anew."""
        origin = self._ends.space_before(route.origin, was.origin)
        target = self._ends.space_before(route.target, was.target)
        since = self._edges_since(route, was)
        if origin is None or target is None or since is None:
            return None
        changed = sum(s.new_count + s.old_count - s.kept_count for s in since)
        if changed * self._cache.limits.min_edges_per_change > int(graph.counts.sum()):
            return None
        gone = self._gone(route, was, since)
        if gone is None:
            return None
        tables = [self._columns.edge(step.edge).table_key for step in route.steps]
        edge_numbers = None
        if route.edges is not None:
            edge_numbers = edges_before(route.edges, dict(zip(tables, since, strict=True))).numbers
        delta = Delta(
            origin_numbers=origin.numbers,
            target_numbers=target.numbers,
            edge_numbers=edge_numbers,
            added=self._added(route, since),
            gone=gone,
        )
        whole = partial(self._legs, route._replace(edges=None))
        return follow(graph, delta, whole, height=route.origin.size, width=route.target.size)

    def _edges_since(self, route: Route, was: AdjacencyKey) -> list[Renumbering] | None:
        """How the edges of each step have moved; None: of some it can't be told."""
        found = [
            self._versions.since(self._columns.edge(step.edge), ref)
            for step, ref in zip(route.steps, was.edges, strict=True)
        ]
        known = [since for since in found if since is not None]
        return known if len(known) == len(found) else None

    def _added(self, route: Route, since: Sequence[Renumbering]) -> list[build.Leg]:
        """The edges that are new."""
        added: list[build.Leg] = []
        for step, moved in zip(route.steps, since, strict=True):
            edge = self._columns.edge(step.edge)
            if moved.new_fragments:
                ways, ends = ways_of_step(step, edge, route), self._ends.new(edge, moved)
                added += legs_of(ways, ends, first_edge=moved.kept_count)
        return added

    def _gone(
        self, route: Route, was: AdjacencyKey, since: Sequence[Renumbering]
    ) -> list[build.Leg] | None:
        """Of a set, the edges that are gone; None: they can't be read any more."""
        if route.edges is not None:
            return []
        gone: list[build.Leg] = []
        then = {
            part.entity.table_key: ref
            for space, refs in ((route.origin, was.origin), (route.target, was.target))
            for part, ref in zip(space.parts, refs, strict=True)
        }
        for step, ref, moved in zip(route.steps, was.edges, since, strict=True):
            edge = self._columns.edge(step.edge)
            source, target = (node.table_key for node in self._ends.types(edge))
            if source not in then or target not in then:
                continue
            if moved.kept is not None:
                ends = self._ends.lost(edge, EndsKey(ref, then[source], then[target]), moved)
                if ends is None:
                    return None
                gone += legs_of(ways_of_step(step, edge, route), ends)
            self._ends.keep_up(edge)
        return gone


class Way(NamedTuple):
    """One way of walking the edges of a step, and where their ends and numbers begin."""

    is_reversed: bool
    origin_start: int
    target_start: int
    edge_start: int
    skips_loops: bool


def ways_of_step(step: EdgeStep, edge: EdgeType, route: Route) -> list[Way]:
    """The ways of a step that begin and end in the spaces of the route."""
    numbered = route.edges.part_of(edge.table_key) if route.edges is not None else None
    ways = []
    for way in ways_of(step.direction):
        is_reversed = way is Direction.IN
        here, there = (edge.target, edge.source) if is_reversed else (edge.source, edge.target)
        start, stop = route.origin.part_named(here), route.target.part_named(there)
        if start is not None and stop is not None:
            ways.append(
                Way(
                    is_reversed,
                    start.start,
                    stop.start,
                    numbered.start if numbered is not None else 0,
                    skips_loops=step.direction is Direction.BOTH and is_reversed,
                )
            )
    return ways


def legs_of(ways: Sequence[Way], ends: build.Ends, *, first_edge: int = 0) -> list[build.Leg]:
    """Edges with these ends, walked each way; they are the table's from `first_edge` on."""
    return [
        build.Leg(
            ends=ends,
            is_reversed=way.is_reversed,
            origin_start=way.origin_start,
            target_start=way.target_start,
            edge_start=first_edge + way.edge_start,
            skips_loops=way.skips_loops,
        )
        for way in ways
    ]


def _made_pairs(graph: Adjacency, earlier: tuple[object, PairIndex] | None) -> PairIndex:
    followed = None if earlier is None else earlier[1].followed(graph)
    return PairIndex.of(graph) if followed is None else followed


def _columns_at_origin(direction: Direction) -> tuple[str, ...]:
    """The columns that hold the end a walk begins at."""
    both = {Direction.OUT: (SRC,), Direction.IN: (DST,)}
    return both.get(direction, (SRC, DST))
