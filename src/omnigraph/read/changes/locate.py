"""Where the rows lie in which two versions of a table may differ. No row is read to find that out.

`diff` reads such rows at once; what is too large for that is read stretch by stretch, by tasks on
any machine. A row that lies at one place of one file in both versions is in no stretch.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.store.datasets import (
    Dataset,
    DatasetRef,
    Datasets,
    Fragment,
    StoredFile,
    fragments_beside,
    row_ids_gone,
    row_set,
)
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "Stretch",
    "bytes_touched",
    "stretches_beside",
    "stretches_in_touch",
    "stretches_of",
]


@frozen
class Stretch:
    """Rows of one fragment that another version, or one of several, has elsewhere or not at all."""

    root: Location
    ref: DatasetRef
    fragment: Fragment
    twins: tuple[tuple[DatasetRef, Fragment], ...]
    """The fragments of other versions with the same files: only rows that are gone from one of them
    count. None: every row counts."""
    rows: range
    """The rows of the stretch, counted among those that count; past the last there are none."""

    def read(self, columns: Sequence[str], *, with_row_address: bool = False) -> pa.Table:
        """The columns and `_rowid`, always in the same order."""
        datasets = Datasets(self.root)
        dataset = datasets.open(self.ref)
        if not self.twins:
            return dataset.scan(
                columns,
                with_row_id=True,
                with_row_address=with_row_address,
                fragment_ids=[self.fragment.id],
                rows=self.rows,
            )
        gone = [
            row_ids_gone(dataset, datasets.open(other), self.fragment, there)
            for other, there in self.twins
        ]
        row_ids = np.unique(np.concatenate(gone))
        wanted = row_set(row_ids[self.rows.start : self.rows.stop])
        return dataset.rows_at(wanted, columns, with_row_address=with_row_address)


def stretches_beside(
    root: Location, here: Dataset, *others: Dataset, limit_rows: int
) -> list[Stretch]:
    """The rows of `here` that one of the others has elsewhere or not at all, so many at a time.

    They may be fewer than the stretches say: how many rows two lists of deletions tell apart is
    known only once they are read.
    """
    whole: dict[int, Fragment] = {}
    some: dict[int, list[tuple[DatasetRef, Fragment]]] = {}
    for there in others:
        own, twins = fragments_beside(here.fragments, there.fragments)
        whole |= {fragment.id: fragment for fragment in own}
        for fragment, twin in twins:
            some.setdefault(fragment.id, []).append((there.ref, twin))
    in_part = (f for f in here.fragments if f.id in some and f.id not in whole)
    return [
        *_cut(root, here.ref, whole.values(), limit_rows=limit_rows),
        *(
            stretch
            for fragment in in_part
            for stretch in _cut(
                root, here.ref, [fragment], twins=tuple(some[fragment.id]), limit_rows=limit_rows
            )
        ),
    ]


def stretches_of(
    root: Location,
    here: Dataset,
    files: AbstractSet[tuple[StoredFile, ...]],
    *,
    limit_rows: int,
) -> list[Stretch]:
    """All rows of `here` that lie in these files."""
    fragments = (fragment for fragment in here.fragments if fragment.files in files)
    return [*_cut(root, here.ref, fragments, limit_rows=limit_rows)]


def stretches_in_touch(
    root: Location, here: Dataset, there: Dataset, changed: Iterable[Stretch], *, limit_rows: int
) -> list[Stretch]:
    """The rows of `here` among which all lie that have the id of a changed row.

    `changed` are rows of `there` that others have elsewhere, or not at all. A row that others have
    beside them is changed too: if `here` has its id, `there` does not have the row.
    """
    touched = {stretch.fragment.files for stretch in changed}
    beside = stretches_beside(root, here, there, limit_rows=limit_rows)
    return [
        *stretches_of(root, here, touched, limit_rows=limit_rows),
        *(stretch for stretch in beside if stretch.fragment.files not in touched),
    ]


def bytes_touched(base: Snapshot, head: Snapshot) -> int:
    """About how many bytes of rows must be looked at to tell what `head` changed since `base`."""
    touched = 0
    for entity in head.catalog.entities:
        if (earlier := base.catalog.by_id.get(entity.id)) is None:
            touched += head.dataset(entity).row_count * head.dataset(entity).row_bytes
        elif base.tables[earlier.table_key].ref != head.tables[entity.table_key].ref:
            after, before = head.dataset(entity), base.dataset(earlier)
            own, twins = fragments_beside(after.fragments, before.fragments)
            rows = sum(f.rows for f in own) + sum(abs(a.rows - b.rows) for a, b in twins)
            touched += rows * after.row_bytes
    return touched


def _cut(
    root: Location,
    ref: DatasetRef,
    fragments: Iterable[Fragment],
    *,
    limit_rows: int,
    twins: tuple[tuple[DatasetRef, Fragment], ...] = (),
) -> Iterator[Stretch]:
    for fragment in fragments:
        for first in range(0, fragment.rows, limit_rows):
            rows = range(first, min(first + limit_rows, fragment.rows))
            yield Stretch(root, ref, fragment, twins, rows)
