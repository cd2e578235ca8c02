"""Rows of a type as another schema of the same type has them.

Columns are matched by the stable ids of properties, never by name: a renamed property keeps its
values, and one that was dropped and added again does not.
"""

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import PropertyId
from omnigraph.base.types import Value
from omnigraph.lang.schema.catalog import ID, EntityType, Property
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import ColumnFill

__all__ = ["column_fills", "lifted", "new_columns"]


def lifted(rows: pa.Table, from_entity: EntityType, to_entity: EntityType) -> pa.Table:
    """Whole rows of `from_entity`, as the table of `to_entity` holds them.

    Properties that it has no more are left out, new ones have what rows were filled with when they
    came, and numbers are as wide as it wants them.
    """
    assert from_entity.id == to_entity.id, f"{from_entity.name} and {to_entity.name} are two types"
    schema = table_schema(to_entity)
    if from_entity == to_entity:
        return rows.select(schema.names)
    was: dict[PropertyId, str] = {p.id: p.column for p in from_entity.properties}
    columns = [rows[name] for name in schema.names[: -len(to_entity.properties) or None]]
    for property_ in to_entity.properties:
        type_ = schema.field(property_.column).type
        if (column := was.get(property_.id)) is not None:
            columns.append(rows[column].cast(type_))
        else:
            columns.append(_filled(_fill(property_), type_, rows.num_rows))
    return pa.table(columns, schema=schema)


def new_columns(from_entity: EntityType, to_entity: EntityType) -> tuple[str, ...]:
    """The columns of `to_entity` for which `from_entity` has no property."""
    was = {p.id for p in from_entity.properties}
    return tuple(p.column for p in to_entity.properties if p.id not in was)


def column_fills(from_entity: EntityType, to_entity: EntityType) -> list[ColumnFill]:
    """The columns that the table of `to_entity` has anew and that are not null throughout."""
    schema = table_schema(to_entity)
    was: dict[PropertyId, str] = {p.id: p.column for p in from_entity.properties}
    fills = []
    for property_ in to_entity.properties:
        type_ = schema.field(property_.column).type
        if (column := was.get(property_.id)) is None:
            if (fill := _fill(property_)) is not None:
                fills.append(ColumnFill(property_.column, ID, _Fill(fill, type_)))
        elif column != property_.column:
            fills.append(ColumnFill(property_.column, column, _Cast(type_)))
    return fills


def _fill(property_: Property) -> Value:
    """What rows from before a property have in it.

    A property that came without a default and must have a value by now has today's default.
    """
    if property_.fill is None and not property_.is_nullable:
        return property_.default
    return property_.fill


@frozen
class _Fill:
    fill: Value
    type: pa.DataType

    def __call__(self, beside: pa.Array) -> pa.Array:
        return _filled(self.fill, self.type, len(beside))


@frozen
class _Cast:
    type: pa.DataType

    def __call__(self, values: pa.Array) -> pa.Array:
        return values.cast(self.type)


def _filled(value: Value, type_: pa.DataType, count: int) -> pa.Array:
    """The value for so many rows; None is null."""
    if value is None:
        return pa.nulls(count, type_)
    one = pa.array([list(value) if isinstance(value, tuple) else value], type_)
    return one.take(pa.array(np.zeros(count, dtype=np.int64)))
