"""Values as Spark carries them, and back.

Spark has no unsigned integers, counts time in microseconds and has one kind of list: a U32 becomes
a `bigint`, a U64 a `decimal(20, 0)`, a vector an array. No value changes on the way.
"""

import pyarrow as pa

__all__ = ["as_answered", "as_carried", "carried_schema", "carried_type"]


def carried_type(kind: pa.DataType) -> pa.DataType:
    """The type that stands for this one in Spark."""
    if pa.types.is_uint32(kind):
        return pa.int64()
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC")
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(carried_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, carried_type(f.type)) for f in kind])
    return kind


def carried_schema(names: list[str], kinds: list[pa.DataType]) -> pa.Schema:
    pairs = zip(names, kinds, strict=True)
    return pa.schema([pa.field(name, carried_type(kind)) for name, kind in pairs])


def as_carried(values: pa.Array) -> pa.Array:
    kind = carried_type(values.type)
    return values if kind == values.type else values.cast(kind)


def as_answered(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """What Spark gives, as an answer of this type."""
    return pa.chunked_array([_as(chunk, kind) for chunk in values.chunks], kind)


def _as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(kind) and not len(values.values):
        # Vectors that are all null come without memory for numbers, and Arrow's cast would look
        # there: that ends the process.
        return pa.nulls(len(values), kind)
    if not pa.types.is_struct(kind):
        return values.cast(kind)
    # A null row has no fields to look at, whatever they say.
    fields = [_as(part, f.type) for part, f in zip(values.flatten(), kind, strict=True)]
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=values.is_null())
