"""Rows that came with the call, put beside the graph where tasks read them.

A task carries what it reads, and Spark sends that to every worker by way of the JVM: fine for a few
rows, ruinous for a large frame. Its rows wait in storage instead, an object for each piece. They
belong to no table: the caller that stores them removes them.
"""

import hashlib
from dataclasses import replace

from omnigraph.base.errors import StorageFailed
from omnigraph.pipeline.sources.pieces import InlineLines, InlineTable, Piece, SpilledData
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore

__all__ = ["data_in", "digest_of", "spill_pieces"]


def spill_pieces(
    store: GraphStore, tasks: list[tuple[Piece, ...]], *, folder: str
) -> list[tuple[Piece, ...]]:
    """The same tasks, with the rows that they hold in objects of a folder of the graph."""
    # The rows are of no use once this process is gone: they need not survive a power cut.
    objects = store.root.objects(Durability.RELAXED)
    count = 0

    def spilled(piece: Piece) -> Piece:
        nonlocal count
        if not isinstance(piece, InlineLines | InlineTable) or isinstance(piece.data, SpilledData):
            return piece
        name, count = f"{folder}/{count}", count + 1
        objects.put(name, piece.data)
        there = SpilledData(store.root / name, len(piece.data), digest_of(piece.data))
        return replace(piece, data=there)

    return [tuple(spilled(piece) for piece in task) for task in tasks]


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
