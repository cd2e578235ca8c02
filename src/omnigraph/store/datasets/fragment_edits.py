"""Files that change a version: rows put and taken away, fragments joined, columns indexed.

They are written at once and seen by nobody until a transaction names them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.dataset import Index
from lance.optimize import Compaction, CompactionOptions
from numpy.typing import NDArray

from omnigraph.store.datasets.addresses import ROW_ADDRESS, fragments_of, offsets_of
from omnigraph.store.datasets.lance_values import (
    failures,
    group_of,
    segment_of,
    segment_text,
    text_without_row_ids,
    with_row_ids,
)
from omnigraph.store.datasets.reading import ROW_ID, Dataset
from omnigraph.store.transactions import CreateIndex, Rewrite, Update

__all__ = [
    "MAX_INDEX_SEGMENTS",
    "EditCounts",
    "compact",
    "delete_rows",
    "edit_rows",
    "index_columns",
]

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


@dataclass(frozen=True, slots=True)
class EditCounts:
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


def edit_rows(
    dataset: Dataset,
    upserts: pa.Table,
    there: pa.Table,
    write: Callable[[pa.Table], tuple[str, ...]],
) -> tuple[Update, EditCounts]:
    """Put rows by `write`, and take away those in `there` (by `ROW_LOCATOR`)."""
    assert upserts.schema.names == dataset.column_names, f"rows of another table than {dataset.ref}"
    assert pc.count_distinct(there["id"]).as_py() == there.num_rows, f"{dataset.ref} repeats an id"
    replaced_by = pc.index_in(there["id"], value_set=upserts["id"].combine_chunks())
    # Ordered by row id: Lance keeps a short note of ids that ascend, in every later version.
    updated = there.append_column("by", replaced_by).filter(replaced_by.is_valid())
    updated = updated.sort_by(ROW_ID)
    is_new = np.ones(upserts.num_rows, dtype=bool)
    is_new[updated["by"].to_numpy()] = False
    # Updated rows go first: a fragment may name the row ids of its first rows and leave the
    # rest to Lance, so one file serves both.
    replacing, fresh = upserts.take(updated["by"]), upserts.filter(pa.array(is_new))
    written = write(dataset.as_stored(pa.concat_tables([replacing, fresh])))
    removed, kept = delete_rows(dataset, there[ROW_ADDRESS].to_numpy())
    counts = EditCounts(
        inserted=fresh.num_rows,
        updated=updated.num_rows,
        deleted=there.num_rows - updated.num_rows,
    )
    new = with_row_ids(written, updated[ROW_ID].to_numpy())
    update = Update(removed=removed, updated=kept, new=new)
    return update, counts


def compact(dataset: Dataset, *, fewer_than_rows: int, drops_deleted: bool) -> Rewrite | None:
    """Write neighbouring fragments that are small as larger ones; None: there are none."""
    options: CompactionOptions = {
        "target_rows_per_fragment": fewer_than_rows,
        "materialize_deletions": drops_deleted,
    }
    with failures("compact", dataset.ref.path):
        # `Compaction.commit` would move the dataset by two versions, neither with our uuid.
        done = [
            task.execute(dataset._handle)
            for task in Compaction.plan(dataset._handle, options).tasks
        ]
    return Rewrite(tuple(map(group_of, done))) if done else None


def index_columns(dataset: Dataset, columns: Sequence[str]) -> CreateIndex | None:
    """Write what makes the BTREE of each column answer for every row; None: all do."""
    new, removed = [], []
    for column in columns:
        name = f"{column}_btree"
        if (segment := _segment(dataset, name, column)) is not None:
            fresh, outdated = segment
            new.append(segment_text(fresh))
            removed += [segment_text(old) for old in outdated]
    return CreateIndex(tuple(new), tuple(removed)) if new else None


def _segment(dataset: Dataset, name: str, column: str) -> tuple[Index, list[Index]] | None:
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
