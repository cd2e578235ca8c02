"""Types of the catalog as Arrow types, and a type's table as an Arrow schema.

A property's column is nullable even where the property is not: presence is a rule of the schema,
checked with the other rules, so that dropping the rule never rewrites a file. A Blob is plain
`large_binary` with a mark that makes Lance store it out of line; nothing else needs to know.
"""

import pyarrow as pa

from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType, Property
from omnigraph.store.layout import BLOB_MARK

__all__ = ["PROPERTY_ID", "arrow_type", "table_schema"]

PROPERTY_ID = b"omnigraph:property_id"
"""Field metadata: the property's stable id, so that a column can be traced through renames."""

PRIMARY_KEY = {b"lance-schema:unenforced-primary-key": b"true"}

SCALARS: dict[Scalar, pa.DataType] = {
    Scalar.STRING: pa.string(),
    Scalar.BLOB: pa.large_binary(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.timestamp("ms", tz="UTC"),
}


def arrow_type(type_: ValueType) -> pa.DataType:
    match type_:
        case Scalar():
            return SCALARS[type_]
        case EnumOf():
            return pa.string()
        case VectorOf(width=width):
            return pa.list_(pa.float32(), width)
        case ListOf(item=item):
            return pa.list_(SCALARS[item])


def table_schema(entity: EntityType) -> pa.Schema:
    """`id`, on edges `src` and `dst`, then the properties by name, as columns of the dataset."""
    match entity:
        case NodeType():
            system = [_identity()]
        case EdgeType():
            ends = (pa.field(end, pa.string(), nullable=False) for end in (SRC, DST))
            system = [_identity(), *ends]
    return pa.schema([*system, *map(_column, entity.properties)])


def _identity() -> pa.Field:
    return pa.field(ID, pa.string(), nullable=False, metadata=PRIMARY_KEY)


def _column(property_: Property) -> pa.Field:
    metadata = {PROPERTY_ID: str(property_.id).encode()}
    if property_.type is Scalar.BLOB:
        metadata |= BLOB_MARK
    return pa.field(property_.column, arrow_type(property_.type), metadata=metadata)
