"""Rows that came with the call, put beside the graph where tasks read them.

A task carries what it reads, and Spark sends that to every worker by way of the JVM: fine for a few
rows, ruinous for a large frame. Its rows wait in storage instead, an object for each split. They
belong to no table: the caller that stores them removes them.
"""

import hashlib
from dataclasses import replace

from omnigraph.base.errors import StorageFailed
from omnigraph.pipeline.sources.splits import InlineLines, InlineTable, SpilledData, Split
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore

__all__ = ["data_in", "digest_of", "spill_splits"]


def spill_splits(
    store: GraphStore, tasks: list[tuple[Split, ...]], *, folder: str
) -> list[tuple[Split, ...]]:
    """The same tasks, with the rows that they hold in objects of a folder of the graph."""
    # The rows are of no use once this process is gone: they need not survive a power cut.
    objects = store.root.objects(Durability.RELAXED)
    count = 0

    def spilled(split: Split) -> Split:
        nonlocal count
        if not isinstance(split, InlineLines | InlineTable) or isinstance(split.data, SpilledData):
            return split
        name, count = f"{folder}/{count}", count + 1
        objects.put(name, split.data)
        there = SpilledData(store.root / name, len(split.data), digest_of(split.data))
        return replace(split, data=there)

    return [tuple(spilled(split) for split in task) for task in tasks]


def data_in(data: bytes | SpilledData) -> bytes:
    if not isinstance(data, SpilledData):
        return data
    found = data.location.parent.objects(Durability.RELAXED).get(data.location.name)
    if found is None:
        reason = "the temporary file with the rows of this load was deleted"
        raise StorageFailed(doing="read", path=str(data.location), reason=reason)
    return found


def digest_of(data: bytes | SpilledData) -> str:
    return data.digest if isinstance(data, SpilledData) else hashlib.sha256(data).hexdigest()
