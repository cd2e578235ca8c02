"""How the rows of one version of a table lie in another version of it.

A row's number is its position in a scan. Between two versions most rows stay where they were, or
move up by as many rows as went before them; the fragments tell it, without reading a value. Rows
that a compaction wrote to other files are found by their row ids.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.datasets import (
    ROW_ID,
    WRITTEN_AT,
    Dataset,
    Fragment,
    StoredFile,
    offsets_of,
)

__all__ = ["Renumbering", "renumbering_between"]


@frozen
class Renumbering:
    """From an old version to a new one: first the old rows that are left, then new ones."""

    old_count: int
    kept: Ordinals | None
    """The old numbers of the rows that are left, in their new order; None: all of them, as before.

    They ascend, but for the few places where a compaction has moved rows behind later ones.
    """
    new_fragments: tuple[int, ...]
    """The fragments of the new rows: the last ones."""
    skipped: int
    """How many rows of the first of them come before the new ones."""
    new_count: int

    @property
    def kept_count(self) -> int:
        return self.old_count if self.kept is None else len(self.kept)

    @property
    def gone(self) -> Ordinals:
        """The old numbers of the rows that are not there any more."""
        if self.kept is None:
            return np.empty(0, dtype=np.int64)
        is_gone = np.ones(self.old_count, dtype=np.bool_)
        is_gone[self.kept] = False
        return np.flatnonzero(is_gone)

    def renumbered(self) -> Ordinals | None:
        """The new number of each old row, -1 if it is gone; None: each keeps its own."""
        if self.kept is None:
            return None
        numbers = np.full(self.old_count, -1, dtype=np.int64)
        numbers[self.kept] = np.arange(len(self.kept))
        return numbers


Addresses = Callable[[Dataset, Fragment], NDArray[np.uint64]]
RowIds = NDArray[np.uint64]


GONE = -1

# Each run of rows that ascend is a part by itself in what is followed.
MAX_RUNS = 32


def renumbering_between(
    old: Dataset, new: Dataset, *, addresses: Addresses, since: int, max_rows_per_kept_row: int
) -> Renumbering | None:
    """None where rows can't be followed, or too few are left for it to be worth it.

    `addresses` gives those of the rows of a fragment, and `since` is the last version that both
    come from. "Old" is what was read first: it may be the later version, or one of another branch.
    """
    before, after = old.fragments, new.fragments
    if _is_beginning(before, after):
        return _renumbering(before, after, None)
    known = {fragment.files: number for number, fragment in enumerate(before)}
    moved = _moved(old, new, known, since=since)
    starts = np.cumsum([0, *(fragment.rows for fragment in before)])
    runs = [np.empty(0, dtype=np.int64)]
    for fragment in after:
        number = known.get(fragment.files)
        if number is None:
            runs.append(moved.get(fragment.id, np.full(fragment.rows, GONE, dtype=np.int64)))
            continue
        was, run = before[number], np.arange(starts[number], starts[number + 1])
        if was.deletions != fragment.deletions:
            survivors = _survivors(addresses(old, was), addresses(new, fragment))
            if survivors is None:
                return None
            run = run[survivors]
        runs.append(run)
    numbers = np.concatenate(runs)
    kept = numbers[: np.count_nonzero(numbers != GONE)]
    # New rows come last and old ones mostly keep their order, or to follow them is no less work.
    if (kept == GONE).any() or np.count_nonzero(kept[1:] < kept[:-1]) >= MAX_RUNS:
        return None
    if max_rows_per_kept_row * len(kept) < starts[-1]:
        return None
    return _renumbering(before, after, kept)


def _is_beginning(before: Sequence[Fragment], after: Sequence[Fragment]) -> bool:
    """True if all that was there is there yet, and other rows at most came after it."""
    return len(before) <= len(after) and all(
        (was.files, was.deletions) == (fragment.files, fragment.deletions)
        for was, fragment in zip(before, after, strict=False)
    )


def _renumbering(
    before: Sequence[Fragment], after: Sequence[Fragment], kept: Ordinals | None
) -> Renumbering:
    old_count = sum(fragment.rows for fragment in before)
    kept_count = old_count if kept is None else len(kept)
    if kept is not None and kept_count == old_count and (kept[1:] > kept[:-1]).all():
        kept = None
    ends = np.cumsum([fragment.rows for fragment in after], dtype=np.int64)
    new_count = int(ends[-1]) - kept_count if len(ends) else 0
    fresh = after[int(np.searchsorted(ends, kept_count, side="right")) :] if new_count else ()
    return Renumbering(
        old_count=old_count,
        kept=kept,
        new_fragments=tuple(fragment.id for fragment in fresh),
        skipped=sum(fragment.rows for fragment in fresh) - new_count,
        new_count=new_count,
    )


def _moved(
    old: Dataset, new: Dataset, known: Mapping[tuple[StoredFile, ...], int], *, since: int
) -> dict[int, Ordinals]:
    """The old number of each row of fragments that the old version does not have.

    A compaction writes rows to other files, with their row ids and with who wrote them last: a row
    that neither side has written since they parted is the same row. No file is read for that.
    """
    there = {fragment.files for fragment in new.fragments}
    lost = [fragment for fragment in old.fragments if fragment.files not in there]
    own = [fragment for fragment in new.fragments if fragment.files not in known]
    # Another schema has other values in the same rows.
    if not (lost and own and since) or old.schema != new.schema:
        return {}
    row_ids, is_same = _row_ids(old, lost, since)
    starts = np.cumsum([0, *(fragment.rows for fragment in old.fragments)])
    numbers = np.concatenate(
        [np.arange(starts[known[f.files]], starts[known[f.files] + 1]) for f in lost]
    )
    row_ids, numbers = row_ids[is_same], numbers[is_same]
    order = np.argsort(row_ids)
    row_ids, numbers = row_ids[order], numbers[order]
    wanted, is_same = _row_ids(new, own, since)
    at = np.minimum(np.searchsorted(row_ids, wanted), max(0, len(row_ids) - 1))
    found = np.full(len(wanted), GONE, dtype=np.int64)
    if len(row_ids):
        is_found = is_same & (row_ids[at] == wanted)
        found[is_found] = numbers[at[is_found]]
    ends = np.cumsum([fragment.rows for fragment in own])[:-1]
    return {f.id: run for f, run in zip(own, np.split(found, ends), strict=True)}


def _row_ids(
    dataset: Dataset, fragments: Sequence[Fragment], since: int
) -> tuple[RowIds, NDArray[np.bool_]]:
    """The row ids of fragments, and which of the rows were not written after a version."""
    ids = [fragment.id for fragment in fragments]
    rows = dataset.scan([WRITTEN_AT], with_row_id=True, fragment_ids=ids)
    return rows[ROW_ID].to_numpy(), rows[WRITTEN_AT].to_numpy() <= since


def _survivors(old: NDArray[np.uint64], new: NDArray[np.uint64]) -> Ordinals | None:
    """Which of a fragment's rows the new version still has; None if it has more than the old."""
    before, after = offsets_of(old), offsets_of(new)
    is_left = np.zeros(int(max(before.max(initial=0), after.max(initial=0))) + 1, dtype=np.bool_)
    is_left[after] = True
    left = np.flatnonzero(is_left[before])
    return left if len(left) == len(after) else None
