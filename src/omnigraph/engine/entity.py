"""One entity: all its properties at a moment, and how many edges of each type it has."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.choices import EntityKind
from omnigraph.base.errors import EntityMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId, TypeName
from omnigraph.base.types import Scalar
from omnigraph.base.words import is_whole
from omnigraph.engine.blob import entity_type
from omnigraph.engine.engine import Engine
from omnigraph.engine.explore_requests import EntityRead
from omnigraph.engine.labels import label_of
from omnigraph.engine.neighborhood import EdgeTally, tallies
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import DST, SRC, EdgeType, EntityType, NodeType
from omnigraph.read.around import Around
from omnigraph.read.context import Budget
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.view import View
from omnigraph.store.arrays import with_short_floats

__all__ = ["BlobSize", "EdgeEnd", "Entity", "entity"]


@frozen
class BlobSize:
    """A Blob property that has bytes; `Graph.blob` reads them."""

    property: str
    size: int


@frozen
class EdgeEnd:
    type_name: TypeName
    id: str


@frozen
class Entity:
    """A node or an edge, whole, at one commit."""

    graph_commit_id: CommitId
    kind: EntityKind
    type_name: TypeName
    id: str
    label: str
    """Its name, title or label, or else its id."""
    properties: Mapping[str, Any]
    """All but blobs."""
    blobs: tuple[BlobSize, ...]
    from_: EdgeEnd | None
    """Of an edge: where it begins; `to` is where it ends."""
    to: EdgeEnd | None
    counts: tuple[EdgeTally, ...]
    """Of a node: how many edges there are at it."""


def entity(engine: Engine, request: EntityRead) -> Entity:
    """One entity, as its caller sees it."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        type_ = entity_type(view.catalog, request.kind, request.type_name)
        tables = tables_of(view, engine.cache, engine.settings.traversal_mode)
        around = Around(view.catalog, tables, Budget(engine.settings.query_memory_bytes))
        id_ = request.entity_id
        row = around.find(type_, id_) if is_whole(id_) else None
        if row is None:
            raise EntityMissing(type_name=type_.name, entity_id=id_)
        rows = np.array([row])
        properties = _properties(around, type_, row)
        ends: list[EdgeEnd | None] = [None, None]
        counts: tuple[EdgeTally, ...] = ()
        match type_:
            case EdgeType(source=source, target=target):
                from_, to = (
                    tables.columns.values(type_, column, rows)[0].as_py() for column in (SRC, DST)
                )
                ends = [EdgeEnd(source, from_), EdgeEnd(target, to)]
            case NodeType():
                counts = tallies(around, type_.name, row)
        return Entity(
            graph_commit_id=view.commit.id,
            kind=request.kind,
            type_name=type_.name,
            id=id_,
            label=label_of(properties, id_),
            properties=properties,
            blobs=_blobs(view, type_, id_),
            from_=ends[0],
            to=ends[1],
            counts=counts,
        )


def _properties(around: Around, type_: EntityType, row: int) -> dict[str, Any]:
    """In the order of the schema's catalog, vectors among them."""
    columns = around.tables.columns
    shown = [p for p in type_.properties if p.type is not Scalar.BLOB]
    if not shown:
        return {}
    values = [columns.values(type_, p.column, np.array([row])) for p in shown]
    table = with_short_floats(pa.table(values, names=[p.name for p in shown]))
    found: dict[str, Any] = table.to_pylist()[0]
    return found


def _blobs(view: View, type_: EntityType, id_: str) -> tuple[BlobSize, ...]:
    found = []
    for each in type_.properties:
        blob = view.blob(type_, each.column, id_) if each.type is Scalar.BLOB else None
        if blob is not None and blob.cell.size is not None:
            found.append(BlobSize(each.name, blob.cell.size))
    return tuple(found)
