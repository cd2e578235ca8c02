"""Blobs: the bytes of one property of one entity, at one commit, read a range at a time.

A `Blob` is found without reading a byte of it and always reads the commit at which it was found,
whatever is written later. A null is not a blob: looking one up is `not_found`, while empty bytes
are a blob of size 0.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import field, replace

from omnigraph.base.choices import EntityKind
from omnigraph.base.errors import (
    ArgumentInvalid,
    BlobMissing,
    EntityMissing,
    NameMissing,
    RangeOutside,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.base.types import Scalar
from omnigraph.base.words import is_whole
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import BlobRead
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import Catalog, EntityType, Property
from omnigraph.store.datasets import BlobCell, Dataset

__all__ = ["Blob", "StoredBytes", "entity_type", "find_blob"]

# What a copy to a file or a socket holds in memory.
CHUNK_BYTES = 4 << 20


@frozen
class Blob:
    """The bytes of a property. `etag` is a strong validator: equal tags, equal bytes.

    The tag names the version that wrote the entity, so it costs no read of the bytes. It stays the
    same through `optimize` and on a branch made later that has not written to the type. It may
    change where the bytes do not: when another property of the entity is set, say. Of a type that
    a policy shows in part it is made of the bytes, which are read for it.
    """

    type_name: str
    entity_id: str
    property: str
    size: int
    etag: str
    graph_commit_id: CommitId
    _bytes: Callable[[int, int], bytes] = field(repr=False, compare=False)
    """From the first byte up to, and without, the second."""

    def read(self, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes from `start` up to, and without, `end`: as a slice, but within bounds."""
        start, end = self._range(start, end)
        if start == end:
            return b""
        return self._bytes(start, end)

    def chunks(self, start: int | None = None, end: int | None = None) -> Iterator[bytes]:
        """The same bytes in pieces of a few megabytes, read one after the other."""
        start, end = self._range(start, end)
        return (
            self.read(piece, min(piece + CHUNK_BYTES, end))
            for piece in range(start, end, CHUNK_BYTES)
        )

    def _range(self, start: int | None, end: int | None) -> tuple[int, int]:
        start, end = 0 if start is None else start, self.size if end is None else end
        if not 0 <= start <= end <= self.size:
            raise RangeOutside(start=start, end=end, size=self.size)
        return start, end


@frozen
class StoredBytes:
    """The bytes of a blob in its dataset."""

    dataset: Dataset
    column: str
    row_id: int

    def __call__(self, start: int, end: int) -> bytes:
        return self.dataset.read_blob(self.column, self.row_id, start=start, end=end)


def find_blob(engine: Engine, request: BlobRead) -> Blob:
    """Find a blob. Its bytes are read only where a tag must not tell of what is hidden."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        entity = entity_type(view.catalog, request.kind, request.type_name)
        property_ = _blob_property(entity, request.property)
        is_id = is_whole(request.entity_id)
        found = view.blob(entity, property_.column, request.entity_id) if is_id else None
    if found is None:
        raise EntityMissing(type_name=entity.name, entity_id=request.entity_id)
    dataset, cell = found
    if cell.size is None:
        raise BlobMissing(
            type_name=entity.name, entity_id=request.entity_id, property=request.property
        )
    blob = Blob(
        type_name=entity.name,
        entity_id=request.entity_id,
        property=request.property,
        size=cell.size,
        etag=_tag(engine.store.graph_id, dataset, property_, cell),
        graph_commit_id=view.commit.id,
        _bytes=StoredBytes(dataset, property_.column, cell.row_id),
    )
    return replace(blob, etag=_tag_of_bytes(blob)) if view.is_partial(entity) else blob


def entity_type(catalog: Catalog, kind: EntityKind, name: str) -> EntityType:
    """The node or edge type of a name; raises `NameMissing`."""
    entity: EntityType | None
    match kind:
        case "node":
            entity, known = catalog.node_by_name.get(name), tuple(catalog.node_by_name)
        case "edge":
            entity = catalog.edge_by_folded_name.get(name.casefold())
            known = tuple(catalog.edge_by_name)
    if entity is None:
        raise NameMissing(what=f"{kind} type", name=name, known=known)
    return entity


def _blob_property(entity: EntityType, name: str) -> Property:
    property_ = entity.by_name.get(name)
    if property_ is None:
        known = tuple(p.name for p in entity.properties if p.type is Scalar.BLOB)
        raise NameMissing(what=f"property of {entity.name}", name=name, known=known)
    if property_.type is not Scalar.BLOB:
        raise ArgumentInvalid(
            argument="prop",
            value=name,
            rule=f"the property {name} of {entity.name} is {property_.type}, not Blob",
            advice="read it with a query",
        )
    return property_


def _tag(graph_id: str, dataset: Dataset, property_: Property, cell: BlobCell) -> str:
    # A version means one thing on one line only, and a line's name is used once, ever.
    line = (graph_id, dataset.ref.path, dataset.ref.branch or "")
    parts = (*line, str(cell.written_at), str(cell.row_id), str(property_.id))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _tag_of_bytes(blob: Blob) -> str:
    """A tag that depends on the bytes alone. Versions and numbers of rows count hidden rows too,
    and a row has another version when a hidden property of it was set."""
    digest = hashlib.sha256()
    for chunk in blob.chunks():
        digest.update(chunk)
    return digest.hexdigest()[:32]
