"""`Answer`: the rows of a query, and beside them what its whole nodes are.

A whole node is a struct of what a query can show of it. Which type it has, and which node of that
type it is, does not always stand in there; a picture of an answer has to know.
"""

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import ID
from omnigraph.read.entities import identities
from omnigraph.read.frame import Binding
from omnigraph.read.space import NULL
from omnigraph.read.tables.tables import Columns

__all__ = ["Answer", "identified"]


@frozen
class Answer:
    table: pa.Table
    entities: pa.Table
    """A column for each of those that hold whole nodes, by its name; see `identified`."""


def identified(binding: Binding, columns: Columns) -> pa.Array:
    """Structs of the `type` of each row's node, and of its `id` where the node's struct shows a
    property of that name in its place. The type is null where the row binds nothing."""
    parts = binding.space.parts
    kinds = np.zeros(len(binding.rows), dtype=np.int32)
    if len(parts) > 1:
        for number, (_, positions, _) in enumerate(binding.space.split(binding.rows)):
            kinds[positions] = number
    names = pa.array([str(part.entity.name) for part in parts], pa.string())
    numbers = pa.array(kinds, mask=binding.rows == NULL if binding.is_optional else None)
    fields: dict[str, pa.Array] = {"type": pa.DictionaryArray.from_arrays(numbers, names)}
    if parts and all(ID in part.entity.by_name for part in parts):
        fields["id"] = identities(binding, columns)
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
