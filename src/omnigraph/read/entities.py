"""Reading what variables are bound to: a property, the id, or the whole entity.

A variable may range over several tables; each gives its part, and the parts are put back in the
order of the rows.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import Unsupported
from omnigraph.base.types import Scalar, VectorOf
from omnigraph.lang.schema.catalog import ID, EntityType, Property
from omnigraph.read.frame import Binding
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.space import NULL, Part
from omnigraph.read.tables.tables import Columns
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.ordering import ranks
from omnigraph.store.arrow import arrow_type

__all__ = ["entities", "id_ranks", "identities", "properties", "shown_kinds"]


def properties(binding: Binding, name: str, kind: pa.DataType, columns: Columns) -> pa.Array:
    """The property `name` on every row, null where the row binds nothing."""
    parts = binding.space.parts
    if len(parts) == 1 and (found := parts[0].entity.by_name.get(name)) is not None:
        return _of_one_table(binding, found.column, kind, columns)

    def read(part: Part, rows: Ordinals | None) -> pa.Array:
        found = part.entity.by_name.get(name)
        if found is None:
            return pa.nulls(part.size if rows is None else len(rows), kind)
        return columns.values(part.entity, found.column, rows)

    return _gathered(binding, read, kind)


def identities(binding: Binding, columns: Columns) -> pa.Array:
    if len(binding.space.parts) == 1:
        return _of_one_table(binding, ID, pa.string(), columns)
    return _gathered(binding, lambda part, rows: columns.values(part.entity, ID, rows), pa.string())


def id_ranks(binding: Binding, columns: Columns, pace: Pace = UNHURRIED) -> Ordinals:
    """Numbers that sort as the ids do; equal ids of different types by the order of the types."""
    rows = binding.codes
    return ranks(identities(binding, columns), pace) * rows.size + rows.numbers


def entities(binding: Binding, columns: Columns) -> pa.Array:
    """Structs of `id` and the properties by name, without Blob and Vector.

    `id` is what `$x.id` means: the property of that name where the types declare one, and
    otherwise the identity. A property that one of several types lacks is null on its rows.
    """
    shown = shown_kinds(part.entity for part in binding.space.parts)
    own_id = shown.pop(ID, None)
    if own_id is not None and all(ID in part.entity.by_name for part in binding.space.parts):
        fields = {ID: properties(binding, ID, own_id, columns)}
    else:
        fields = {ID: identities(binding, columns)}
    fields |= {name: properties(binding, name, kind, columns) for name, kind in shown.items()}
    bound = binding.bound()
    return pa.StructArray.from_arrays(
        list(fields.values()),
        names=list(fields),
        mask=None if bound is None else pa.array(~bound),
    )


def shown_kinds(entities: Iterable[EntityType]) -> dict[str, pa.DataType]:
    """The properties that an entity of these types is shown with, by name."""
    found: dict[str, pa.DataType] = {}
    for entity in entities:
        for property_ in entity.properties:
            if not _is_shown(property_):
                continue
            kind = arrow_type(property_.type)
            if found.setdefault(property_.name, kind) != kind:
                raise Unsupported(
                    f"returning whole nodes whose types disagree on `{property_.name}`",
                    instead="return the properties one by one",
                )
    return dict(sorted(found.items()))


def _is_shown(property_: Property) -> bool:
    return property_.type is not Scalar.BLOB and not isinstance(property_.type, VectorOf)


def _of_one_table(binding: Binding, column: str, kind: pa.DataType, columns: Columns) -> pa.Array:
    rows = binding.ordinals
    if rows is not None and not len(rows):
        return pa.array([], kind)
    return _as_kind(columns.values(binding.space.parts[0].entity, column, rows), kind)


def _gathered(
    binding: Binding, read: Callable[[Part, Ordinals | None], pa.Array], kind: pa.DataType
) -> pa.Array:
    """`read` gives the values of a part, at some of its rows or all of them."""
    parts = binding.space.parts
    if binding.ordinals is None:
        return pa.concat_arrays([_as_kind(read(part, None), kind) for part in parts])
    pieces, position, filled = [], np.full(len(binding.ordinals), NULL, dtype=np.int64), 0
    for part, positions, rows in binding.space.split(binding.ordinals):
        if len(rows):
            pieces.append(_as_kind(read(part, rows), kind))
            position[positions] = np.arange(filled, filled + len(rows))
            filled += len(rows)
    if not pieces:
        return pa.nulls(len(position), kind)
    missing = position == NULL
    index = pa.array(position, mask=missing) if missing.any() else pa.array(position)
    return pa.concat_arrays(pieces).take(index)


def _as_kind(values: pa.Array, kind: pa.DataType) -> pa.Array:
    # A column too long for 32-bit offsets stays as it was read.
    if values.type == kind or pa.types.is_large_string(values.type):
        return values
    return values.cast(kind)
