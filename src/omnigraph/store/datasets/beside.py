"""Rows of one version that another version has elsewhere, or not at all.

Files are never changed, so rows at one position of one file are the same in both: only the others
have to be read.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.store.datasets.addresses import offsets_of
from omnigraph.store.datasets.deletions import deleted_offsets, row_ids_at
from omnigraph.store.datasets.files import home_of
from omnigraph.store.datasets.fragments import Fragment, fragments_beside
from omnigraph.store.datasets.reading import ROW_ID, WRITTEN_AT, Dataset, row_set

__all__ = ["row_ids_beside", "rows_beside"]


def rows_beside(dataset: Dataset, other: Dataset) -> pa.Table:
    """`id`, `_rowid` and the writing version of rows that `other` has elsewhere, or not at all.

    Any other row lies in both versions at one position of one file, and so is the same in both.
    The two may be versions of any two lines.
    """
    columns = ["id", WRITTEN_AT]
    own, twins = fragments_beside(dataset.fragments, other.fragments)
    some = [row_ids_beside(dataset, other, here, there) for here, there in twins]
    rows = dataset.rows_at(row_set(np.concatenate([np.empty(0, np.uint64), *some])), columns)
    if not own:
        return rows
    whole = [fragment.id for fragment in own]
    return pa.concat_tables([rows, dataset.scan(columns, with_row_id=True, fragment_ids=whole)])


def row_ids_beside(
    dataset: Dataset, other: Dataset, here: Fragment, there: Fragment
) -> NDArray[np.uint64]:
    """Of a fragment with the same files as one of `other`, the rows that are gone there."""
    gone, gone_there = _deleted(dataset, here), _deleted(other, there)
    wanted = np.setdiff1d(gone_there, gone, assume_unique=True)
    if not len(wanted):
        return np.empty(0, dtype=np.uint64)
    row_ids = dataset._fragment(here.id).metadata.row_id_meta
    found = row_ids_at(row_ids.json(), wanted) if row_ids is not None else None
    if found is None:
        scanned = dataset.scan([], with_row_id=True, fragment_ids=[here.id])[ROW_ID].to_numpy()
        found = scanned[wanted - np.searchsorted(gone, wanted)]
    return np.asarray(found)


def _deleted(dataset: Dataset, fragment: Fragment) -> NDArray[np.int64]:
    """The offsets of rows of a fragment that are gone, ascending."""
    file = fragment.deletions
    if file is None:
        return np.empty(0, dtype=np.int64)
    data = dataset._read_file(f"{home_of(dataset.ref.path, file.line)}/{file.path}")
    offsets = deleted_offsets(data, file.path) if data is not None else None
    if offsets is None:
        there = offsets_of(dataset.addresses(fragment.id))
        physical = dataset._fragment(fragment.id).physical_rows
        offsets = np.setdiff1d(np.arange(physical), there, assume_unique=True)
    return offsets
