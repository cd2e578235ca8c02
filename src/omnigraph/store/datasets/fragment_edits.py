"""Files that change a version: rows put and taken away.

They are written at once and seen by nobody until a transaction names them.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.addresses import ROW_ADDRESS, fragments_of, offsets_of
from omnigraph.store.datasets.lance_values import (
    failures,
    text_without_row_ids,
    with_row_ids,
)
from omnigraph.store.datasets.reading import ROW_ID, Dataset
from omnigraph.store.transactions import Update

__all__ = ["EditCounts", "delete_rows", "edit_rows"]


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


@frozen
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
