"""Reading what variables are bound to: a property, the id, or the whole entity.

A variable may range over several tables; each gives its part, and the parts are put back in the
order of the rows.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import Unsupported
from omnigraph.base.types import Scalar, VectorOf
from omnigraph.lang.schema.catalog import ID, Property
from omnigraph.read.frame import Binding
from omnigraph.read.space import NULL, Part, Space
from omnigraph.read.tables.tables import Tables
from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.arrow import arrow_type

__all__ = ["entities", "identities", "properties"]


def properties(binding: Binding, name: str, kind: pa.DataType, tables: Tables) -> pa.Array:
    """The property `name` on every row, null where the row binds nothing."""

    def read(part: Part, rows: Ordinals | None) -> pa.Array:
        found = part.entity.by_name.get(name)
        if found is None:
            return pa.nulls(part.size if rows is None else len(rows), kind)
        return _read(part, found.column, rows, tables)

    return _gather(binding, read, kind)


def identities(binding: Binding, tables: Tables) -> pa.Array:
    return _gather(binding, lambda part, rows: _read(part, ID, rows, tables), pa.string())


def entities(binding: Binding, tables: Tables) -> pa.Array:
    """Structs of `id` and the properties by name, without Blob and Vector.

    `id` is what `$x.id` means: the property of that name where the types declare one, and
    otherwise the identity. A property that one of several types lacks is null on its rows.
    """
    shown = _shown(binding.space)
    own_id = shown.pop(ID, None)
    if own_id is not None and all(ID in part.entity.by_name for part in binding.space.parts):
        columns = {ID: properties(binding, ID, own_id, tables)}
    else:
        columns = {ID: identities(binding, tables)}
    columns |= {name: properties(binding, name, kind, tables) for name, kind in shown.items()}
    bound = binding.bound()
    return pa.StructArray.from_arrays(
        list(columns.values()),
        names=list(columns),
        mask=None if bound is None else pa.array(~bound),
    )


def _shown(space: Space) -> dict[str, pa.DataType]:
    found: dict[str, pa.DataType] = {}
    for part in space.parts:
        for property_ in part.entity.properties:
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


def _read(part: Part, column: str, rows: Ordinals | None, tables: Tables) -> pa.Array:
    if rows is None:
        return tables.column(part.entity, column)
    return tables.values(part.entity, column, rows)


def _gather(
    binding: Binding, read: Callable[[Part, Ordinals | None], pa.Array], kind: pa.DataType
) -> pa.Array:
    """`read` gives the values of a part, at some of its rows or all of them."""
    parts = binding.space.parts
    if binding.ordinals is not None and not len(binding.ordinals):
        return pa.array([], kind)
    if len(parts) == 1:
        return _as_kind(read(parts[0], binding.ordinals), kind)
    if binding.ordinals is None:
        return pa.concat_arrays([_as_kind(read(part, None), kind) for part in parts])
    pieces, place, filled = [], np.full(len(binding.ordinals), NULL, dtype=np.int64), 0
    for part, positions, rows in binding.space.split(binding.ordinals):
        if len(rows):
            pieces.append(_as_kind(read(part, rows), kind))
            place[positions] = np.arange(filled, filled + len(rows))
            filled += len(rows)
    if not pieces:
        return pa.nulls(len(place), kind)
    missing = place == NULL
    index = pa.array(place, mask=missing) if missing.any() else pa.array(place)
    return pa.concat_arrays(pieces).take(index)


def _as_kind(values: pa.Array, kind: pa.DataType) -> pa.Array:
    # A column too long for 32-bit offsets stays as it was read.
    if values.type == kind or pa.types.is_large_string(values.type):
        return values
    return values.cast(kind)
