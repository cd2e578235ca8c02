"""Committed rows that a write touches, also those that its caller can't see.

A node takes its edges with it and a key is taken by the row that has it, also where the writer can
see neither. So these read the snapshot and not a view.
"""

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.lang.schema.catalog import EdgeType, EntityType
from omnigraph.store.snapshot import Snapshot

__all__ = ["edges_at", "rows_with_ids"]


def edges_at(snapshot: Snapshot, edge: EdgeType, end: str, ids: pa.Array) -> pa.Table:
    """`id`, the end, row ids and addresses of the edges with one of these nodes at this end."""
    return snapshot.dataset(edge).rows_among(end, ids, [])


def rows_with_ids(
    snapshot: Snapshot, entity: EntityType, ids: pa.Array, columns: Sequence[str]
) -> pa.Table:
    """`id`, row ids, addresses and the columns of the rows with these ids."""
    return snapshot.dataset(entity).rows_of(ids, columns)
