"""How the columns of a table feed a type of the graph: a mapping, worked out.

A feed is made once, on the driver, when a table's columns are known (`mapping`), and travels with
each split of the table.
"""

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.base.errors import SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.types import Scalar, ValueType
from omnigraph.check.rows.input_types import plain_type
from omnigraph.lang.schema.catalog import Catalog, EdgeType, EntityType, NodeType

__all__ = ["Feed", "check_types", "key_types"]


@frozen
class Feed:
    table_key: TableKey
    properties: tuple[tuple[str, str], ...]
    """Each property that a column feeds, and the column."""
    constants: tuple[tuple[str, str], ...] = ()
    """Each property with the same value in every row, and the value as JSON."""
    id: str | None = None
    source: tuple[str, ...] = ()
    """Edges only: the column of the node's id or key, or one column for each part of its key."""
    target: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        ends = (*self.source, *self.target)
        ids = () if self.id is None else (self.id,)
        return tuple(dict.fromkeys((*ids, *ends, *(column for _, column in self.properties))))

    def entity(self, catalog: Catalog) -> EntityType:
        return next(e for e in catalog.entities if e.table_key == self.table_key)


def check_types(feed: Feed, schema: pa.Schema, *, file: str, catalog: Catalog) -> None:
    """Refuse a typed table in which a column's type can't hold what it is to feed."""
    for column, what, types in _uses(feed, catalog):
        arrives = schema.field(column).type
        if all(plain_type(type_, arrives) is None for type_ in types):
            raise SourceInvalid(
                file=file,
                column=column,
                reason=f"{arrives} can't hold {what}",
                advice="cast the column, or map another one",
            )


def key_types(node: NodeType) -> list[ValueType]:
    return [node.by_name[name].type for name in node.key]


def _uses(feed: Feed, catalog: Catalog) -> Iterator[tuple[str, str, list[ValueType]]]:
    """Each column, what it feeds in words, and the types that would do."""
    entity = feed.entity(catalog)
    for name, column in feed.properties:
        type_ = entity.by_name[name].type
        yield column, f"{entity.name}.{name} ({type_})", [type_]
    if feed.id is not None:
        yield feed.id, f"the id of {entity.name}", [Scalar.STRING, Scalar.I64]
    if isinstance(entity, EdgeType):
        for columns, name in ((feed.source, entity.source), (feed.target, entity.target)):
            node = catalog.node_by_name[name]
            keys = key_types(node)
            if len(columns) == 1:
                types = [Scalar.STRING, *(keys if len(keys) == 1 else ())]
                yield columns[0], f"the id of a {name}", types
            else:
                for column, part, type_ in zip(columns, node.key, keys, strict=True):
                    yield column, f"{name}.{part} ({type_})", [type_]
