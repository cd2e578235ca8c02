"""The neighbourhood of an entity: what it is, what is around it, and how many edges of each type it
has. It comes in pages, all of one commit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from omnigraph.base.errors import ArgumentInvalid, EntityMissing, NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId, TypeName
from omnigraph.base.words import is_whole
from omnigraph.engine.cursor import packed, unpacked
from omnigraph.engine.engine import Engine
from omnigraph.engine.labels import label_of
from omnigraph.engine.requests import NeighborhoodRead
from omnigraph.engine.travel import page_moment, view_for
from omnigraph.lang.plan.ir import Direction
from omnigraph.lang.schema.catalog import Catalog, NodeType
from omnigraph.read.around import Around, Level
from omnigraph.read.context import Budget
from omnigraph.read.tables.tables import tables_of

__all__ = [
    "EdgeTally",
    "NeighborEdge",
    "NeighborNode",
    "Neighborhood",
    "neighborhood",
    "tallies",
]

PREFIX = "ogn1_"
TokenForm = tuple[str, str, str, int, list[str] | None, str | None, Annotated[int, Meta(ge=0)]]
"""Of a page token: the commit, the type and id of the entity, the depth, which edges are walked and
how, and the first node."""
MAX_EDGES_PER_NODE = 10
"""A page shows so many edges for each node that it may hold: parallel edges could be millions."""


@frozen
class EdgeTally:
    """Edges of one type at the entity. `out`: it is their source."""

    edge: TypeName
    direction: Literal["out", "in"]
    count: int


@frozen
class NeighborNode:
    """A node around an entity, and how many hops it is away."""

    type_name: TypeName
    id: str
    distance: int
    """Hops from the entity, which is at 0."""
    properties: Mapping[str, Any]
    label: str
    """What people call it: its name, its title, or its key."""


@frozen
class NeighborEdge:
    """An edge between two nodes of a neighborhood."""

    type_name: TypeName
    id: str
    from_: str
    to: str
    properties: Mapping[str, Any]


@frozen
class Neighborhood:
    """An entity and what is around it: one page of it, at one commit."""

    graph_commit_id: CommitId
    entity: NeighborNode
    counts: tuple[EdgeTally, ...]
    nodes: tuple[NeighborNode, ...]
    """Those of this page: the nearest first, then by type."""
    edges: tuple[NeighborEdge, ...]
    """The edges between nodes of this page and those that are one hop nearer."""
    node_count: int
    """All nodes within the depth, on whichever page."""
    has_more_edges: bool
    """True if there are more edges than a page shows."""
    next_page_token: str | None


def neighborhood(engine: Engine, request: NeighborhoodRead) -> Neighborhood:
    """A page of what is around an entity."""
    engine.gate.allow(request)
    offset = 0
    if request.page_token is not None:
        token: TokenForm = unpacked(PREFIX, request.page_token, TokenForm)
        commit, *asked, offset = token
        if asked != _asked(request):
            rule = "it is of another entity, another depth or other edges"
            raise ArgumentInvalid("page_token", None, rule, "ask for the first page without it")
        place = request.branch if request.moment is None else request.moment
        moment = page_moment(engine, place, CommitId(commit))
        request = replace(request, moment=moment, is_branch_named=False)
    with view_for(engine, request) as view:
        entity = _node_type(view.catalog, request.type_name)
        limits = engine.settings.query_memory_bytes, request.timeout_s, request.cancel
        tables = tables_of(view, engine.cache, engine.settings.traversal_mode)
        around = Around(view.catalog, tables, Budget(*limits))
        is_id = is_whole(request.entity_id)
        row = around.find(entity, request.entity_id) if is_id else None
        if row is None:
            raise EntityMissing(type_name=entity.name, entity_id=request.entity_id)
        walked = replace(
            around,
            edges=_edge_types(view.catalog, request.edges),
            direction=None if request.direction is None else Direction(request.direction),
        )
        return _page(around, walked, entity, row, view.commit.id, request, offset)


def _asked(request: NeighborhoodRead) -> list[Any]:
    """What all pages have in common."""
    edges = None if request.edges is None else [*request.edges]
    return [request.type_name, request.entity_id, request.depth, edges, request.direction]


def _edge_types(catalog: Catalog, names: tuple[str, ...] | None) -> frozenset[TypeName] | None:
    if names is None:
        return None
    found = set()
    for name in names:
        if (edge := catalog.edge_by_folded_name.get(name.casefold())) is None:
            raise NameMissing(what="edge type", name=name, known=tuple(catalog.edge_by_name))
        found.add(edge.name)
    return frozenset(found)


def _node_type(catalog: Catalog, name: str) -> NodeType:
    entity = catalog.node_by_name.get(TypeName(name))
    if entity is None:
        raise NameMissing(what="node type", name=name, known=tuple(catalog.node_by_name))
    return entity


def _page(
    around: Around,
    walked: Around,
    entity: NodeType,
    row: int,
    commit: CommitId,
    request: NeighborhoodRead,
    offset: int,
) -> Neighborhood:
    start: Level = {entity.name: np.array([row])}
    levels = [start, *walked.levels(entity.name, row, request.depth)]
    count = sum(len(rows) for level in levels[1:] for rows in level.values())
    nodes: list[NeighborNode] = []
    edges: list[NeighborEdge] = []
    most_edges = request.limit * MAX_EDGES_PER_NODE
    for distance, shown in _shown(levels, offset, request.limit):
        nodes += _nodes(around, shown, distance)
        edges += _edges(walked, levels[distance - 1], shown, most_edges + 1 - len(edges))
    more = None
    if offset + request.limit < count:
        more = packed(PREFIX, [commit, *_asked(request), offset + request.limit])
    (itself,) = _nodes(around, start, 0)
    return Neighborhood(
        graph_commit_id=commit,
        entity=itself,
        counts=tallies(around, entity.name, row),
        nodes=tuple(nodes),
        edges=tuple(edges[:most_edges]),
        node_count=count,
        has_more_edges=len(edges) > most_edges,
        next_page_token=more,
    )


def tallies(around: Around, type_name: TypeName, row: int) -> tuple[EdgeTally, ...]:
    """How many edges there are at a node, by type and direction."""
    return tuple(
        EdgeTally(tally.edge, "out" if tally.direction is Direction.OUT else "in", tally.count)
        for tally in around.counts(type_name, row)
    )


def _shown(levels: list[Level], offset: int, limit: int) -> Iterator[tuple[int, Level]]:
    """The part of each level that is on the page, with its distance."""
    for distance, level in enumerate(levels[1:], start=1):
        part: dict[TypeName, Any] = {}
        for name, rows in level.items():
            taken = rows[offset : offset + limit] if limit else rows[:0]
            offset = max(offset - len(rows), 0)
            limit -= len(taken)
            if len(taken):
                part[name] = taken
        if part:
            yield distance, part


def _nodes(around: Around, level: Level, distance: int) -> Iterator[NeighborNode]:
    for name, rows in level.items():
        entity = around.catalog.node_by_name[name]
        ids, properties = around.ids(entity, rows), around.properties(entity, rows)
        for id_, values in zip(ids, properties, strict=True):
            yield NeighborNode(name, id_, distance, values, label_of(values, id_))


def _edges(around: Around, before: Level, shown: Level, most: int) -> Iterator[NeighborEdge]:
    nodes = around.catalog.node_by_name
    for found in around.edges_between(before, shown):
        reached = found.first(most)
        most -= len(reached.rows)
        edge = reached.edge
        columns = zip(
            around.ids(edge, reached.rows),
            around.ids(nodes[edge.source], reached.sources),
            around.ids(nodes[edge.target], reached.targets),
            around.properties(edge, reached.rows),
            strict=True,
        )
        for id_, source, target, values in columns:
            yield NeighborEdge(edge.name, id_, source, target, values)
