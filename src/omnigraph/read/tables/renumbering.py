"""How the rows of one version of a table lie in another version of it.

A row's number is its position in a scan. Between two versions most rows stay where they were, or
move up by as many rows as went before them; the fragments tell it, without reading a value.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.datasets import Dataset, Fragment, offsets_of

__all__ = ["Renumbering", "renumbering_between"]


@dataclass(frozen=True, slots=True)
class Renumbering:
    """From an old version to a new one: first the old rows that are left, then new ones."""

    old_count: int
    kept: Ordinals | None
    """The old numbers of the rows that are left, in their new order; None: all of them."""
    new_fragments: tuple[int, ...]
    """The fragments of the new rows."""
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


def renumbering_between(
    old: Dataset, new: Dataset, *, addresses: Addresses, max_rows_per_kept_row: int
) -> Renumbering | None:
    """None where rows can't be followed, or too few are left for it to be worth it.

    `addresses` gives those of the rows of a fragment. "Old" is what was read first: it may be
    the later version, or one of another branch.
    """
    before, after = old.fragments, new.fragments
    known = {fragment.files: number for number, fragment in enumerate(before)}
    shared = [known.get(fragment.files) for fragment in after]
    left = [number for number in shared if number is not None]
    # New rows come last and old fragments keep their order, or rows can't be followed by counting.
    if left != sorted(left) or shared != left + [None] * (len(shared) - len(left)):
        return None
    total = sum(fragment.rows for fragment in before)
    if max_rows_per_kept_row * sum(before[number].rows for number in left) < total:
        return None
    same = list(zip((before[number] for number in left), after, strict=False))
    kept = None
    if len(left) < len(before) or any(
        was.deletions != fragment.deletions for was, fragment in same
    ):
        starts = np.cumsum([0, *(fragment.rows for fragment in before)])
        runs = [np.empty(0, dtype=np.int64)]
        for number, (was, fragment) in zip(left, same, strict=True):
            run = np.arange(starts[number], starts[number + 1])
            if was.deletions != fragment.deletions:
                survivors = _survivors(addresses(old, was), addresses(new, fragment))
                if survivors is None:
                    return None
                run = run[survivors]
            runs.append(run)
        kept = np.concatenate(runs)
    fresh = after[len(left) :]
    return Renumbering(
        old_count=total,
        kept=kept,
        new_fragments=tuple(fragment.id for fragment in fresh),
        new_count=sum(fragment.rows for fragment in fresh),
    )


def _survivors(old: NDArray[np.uint64], new: NDArray[np.uint64]) -> Ordinals | None:
    """Which of a fragment's rows the new version still has; None if it has more than the old."""
    before, after = offsets_of(old), offsets_of(new)
    is_left = np.zeros(int(max(before.max(initial=0), after.max(initial=0))) + 1, dtype=np.bool_)
    is_left[after] = True
    left = np.flatnonzero(is_left[before])
    return left if len(left) == len(after) else None
