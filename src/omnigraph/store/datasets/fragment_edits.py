"""Files beside the fragments of a version: which rows are gone, and what an index covers.

They are written at once and seen by nobody until a transaction names them.
"""

import numpy as np
from lance.dataset import Index
from numpy.typing import NDArray

from omnigraph.store.datasets.addresses import fragments_of, offsets_of
from omnigraph.store.datasets.lance_values import failures, segment_of, text_without_row_ids
from omnigraph.store.datasets.reading import Dataset

__all__ = ["MAX_INDEX_SEGMENTS", "delete_rows", "stage_segment"]

# Every look-up asks every segment of an index; past this many they are written anew as one.
MAX_INDEX_SEGMENTS = 4


def delete_rows(
    dataset: Dataset, addresses: NDArray[np.uint64]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Write the deletion of rows: the fragments that lose all rows, and the rest of the others."""
    removed, kept = [], []
    addresses = np.sort(addresses)
    fragment_ids, starts = np.unique(fragments_of(addresses), return_index=True)
    each = np.split(offsets_of(addresses), starts[1:])
    for fragment_id, offsets in zip(fragment_ids.tolist(), each, strict=False):
        with failures("delete rows of", dataset.ref.path):
            left = dataset._fragment(fragment_id).delete_rows(offsets.tolist())
        if left is None:
            removed.append(fragment_id)
        else:
            kept.append(text_without_row_ids(left))
    return tuple(removed), tuple(kept)


def stage_segment(dataset: Dataset, name: str, column: str) -> tuple[Index, list[Index]] | None:
    """A segment for the fragments that the index does not cover yet, and those that it replaces.

    None if the index covers all.
    """
    known = dataset._indexes().get(name)
    segments = [segment_of(known, s) for s in known.segments] if known is not None else []
    covered = {fragment for segment in segments for fragment in segment.fragment_ids}
    missing = [i for i in dataset.fragment_ids if i not in covered]
    if not missing:
        return None
    replaced = [segment for segment in segments if not segment.fragment_ids]
    if len(segments) - len(replaced) >= MAX_INDEX_SEGMENTS:
        missing, replaced = list(dataset.fragment_ids), segments
    with failures("index", f"{dataset.ref.path} by {column}"):
        fresh = dataset._handle.create_index_uncommitted(
            column, "BTREE", name=name, replace=bool(segments), fragment_ids=missing
        )
    return fresh, replaced
