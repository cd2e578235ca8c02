"""Edges that a merge adds though equal ones are there: most likely a load that was run again.

Without a key an edge has no identity in its data, so a merge takes every one for new. Nobody wants
to pay for the certainty: a few of the new edges are looked up, and a load that was run again shows
in any of them.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.types import Scalar
from omnigraph.lang.schema.catalog import DST, SRC, EdgeType, EntityType
from omnigraph.store.snapshot import Snapshot

__all__ = ["SAMPLE_ROWS", "compared_columns", "repeats_edges"]

SAMPLE_ROWS = 64
MAX_CANDIDATE_ROWS = 10_000
"""Rows between the same ends that are compared, as Python values."""


def compared_columns(entity: EntityType) -> list[str]:
    """The columns in which equal edges are equal: both ends and every property but blobs."""
    properties = (p.column for p in entity.properties if p.type is not Scalar.BLOB)
    return [SRC, DST, *properties]


def repeats_edges(entity: EdgeType, fresh: pa.Table, snapshot: Snapshot) -> bool:
    """Whether one of the first of these new edges equals an edge of the snapshot."""
    columns = compared_columns(entity)
    sample = fresh.select(columns).slice(0, SAMPLE_ROWS)
    ends = {end: sample[end].combine_chunks().unique() for end in (SRC, DST)}
    # By the end with more values: a node that all edges share would find all of its edges.
    by, other = (SRC, DST) if len(ends[SRC]) >= len(ends[DST]) else (DST, SRC)
    found = snapshot.dataset(entity).rows_among(by, ends[by], columns)
    found = found.filter(pc.is_in(found[other], value_set=ends[other])).slice(0, MAX_CANDIDATE_ROWS)
    known = {repr(row) for row in found.select(columns).to_pylist()}
    return any(repr(row) in known for row in sample.to_pylist())
