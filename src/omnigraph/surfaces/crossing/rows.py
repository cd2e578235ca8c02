"""Rows of a query on their way, with what a picture of them needs: columns behind those of the
answer, and the links in the metadata of the schema."""

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.engine.drawable import Drawable
from omnigraph.engine.results import QueryResult
from omnigraph.lang.plan.links import Link
from omnigraph.surfaces.crossing.values import Unreadable, decoded, encoded

__all__ = ["rows_from_wire", "rows_to_wire"]

KEY = b"omnigraph.drawable"


@frozen
class SentDrawable:
    links: tuple[Link, ...]
    columns: int
    """How many columns behind those of the answer are not of the answer."""


def rows_to_wire(result: QueryResult) -> pa.Table:
    drawable = result.drawable
    if drawable is None:
        return result.table
    beside = drawable.entities
    table = result.table
    for name, column in zip(beside.column_names, beside.columns, strict=True):
        table = table.append_column(name, column)
    sent = encoded(SentDrawable(drawable.links, beside.num_columns))
    return table.replace_schema_metadata({KEY: sent})


def rows_from_wire(table: pa.Table) -> tuple[pa.Table, Drawable | None]:
    """The rows, and what a picture needs of them; raises Unreadable."""
    document = (table.schema.metadata or {}).get(KEY)
    if document is None:
        return table, None
    sent = decoded(SentDrawable, document, is_lenient=True)
    own = table.num_columns - sent.columns
    if not 0 <= own <= table.num_columns:
        raise Unreadable("columns are missing")
    table = table.replace_schema_metadata(None)
    drawable = Drawable(sent.links, table.select(range(own, table.num_columns)))
    table = table.select(range(own))
    if not _named(drawable) <= set(table.column_names):
        raise Unreadable("columns are missing")
    if not all(_is_node(table.field(f.name)) and _is_node(f) for f in drawable.entities.schema):
        raise Unreadable("a column holds no nodes")
    return table, drawable


def _is_node(field: pa.Field) -> bool:
    return pa.types.is_struct(field.type) and any(f.name in ("id", "type") for f in field.type)


def _named(drawable: Drawable) -> set[str]:
    """The columns of the answer that are spoken of."""
    named = set(drawable.entities.column_names)
    for link in drawable.links:
        named |= {link.origin, link.target, *(column for _, column in link.properties)}
    return named
