"""Rows of one version that another version has elsewhere, or not at all.

Files are never changed, so rows at one position of one file are the same in both: only the others
have to be read.
"""

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.errors import StorageFailed
from omnigraph.store.datasets.addresses import offsets_of
from omnigraph.store.datasets.deletions import MalformedDeletionFile, deleted_offsets, row_ids_at
from omnigraph.store.datasets.files import home_of
from omnigraph.store.datasets.fragments import Fragment, fragments_beside
from omnigraph.store.datasets.reading import ROW_ID, WRITTEN_AT, Dataset

__all__ = ["row_ids_beside", "row_ids_gone"]

RowIds = NDArray[np.uint64]

NO_ROWS: RowIds = np.empty(0, np.uint64)


def row_ids_beside(dataset: Dataset, other: Dataset, *, since: int) -> tuple[RowIds, RowIds]:
    """The rows that `other` has elsewhere, or not at all. No file of rows is read.

    Any other row lies in both versions at one position of one file, and so is the same in both. The
    two may be versions of any two lines. Apart come rows that were written after `since`, or that
    are gone from a file of `other`; and rows that may have been moved and no more.
    """
    own, twins = fragments_beside(dataset.fragments, other.fragments)
    some = [row_ids_gone(dataset, other, here, there) for here, there in twins]
    if not own:
        return np.concatenate([NO_ROWS, *some]), NO_ROWS
    whole = [fragment.id for fragment in own]
    rows = dataset.scan([WRITTEN_AT], with_row_id=True, fragment_ids=whole)
    row_ids, is_old = rows[ROW_ID].to_numpy(), rows[WRITTEN_AT].to_numpy() <= since
    return np.concatenate([*some, row_ids[~is_old]]), row_ids[is_old]


def row_ids_gone(dataset: Dataset, other: Dataset, here: Fragment, there: Fragment) -> RowIds:
    """Of a fragment with the same files as one of `other`, the rows that are gone there."""
    gone, gone_there = _deleted(dataset, here), _deleted(other, there)
    wanted = np.setdiff1d(gone_there, gone, assume_unique=True)
    if not len(wanted):
        return NO_ROWS
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
    name = f"{home_of(dataset.ref.path, file.line)}/{file.path}"
    data = dataset._read_file(name)
    try:
        offsets = deleted_offsets(data, file.path) if data is not None else None
    except MalformedDeletionFile as error:
        reason = f"it {error}: omnigraph repair says what can be saved"
        raise StorageFailed(doing="read the deleted rows in", path=name, reason=reason) from error
    if offsets is None:
        there = offsets_of(dataset.addresses(fragment.id))
        physical = dataset._fragment(fragment.id).physical_rows
        offsets = np.setdiff1d(np.arange(physical), there, assume_unique=True)
    return offsets
