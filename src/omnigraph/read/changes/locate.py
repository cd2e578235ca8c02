"""Where the rows lie in which two versions of a table may differ. No row is read to find that out.

`diff` reads such rows at once; what is too large for that is read stretch by stretch, by tasks on
any machine. A row that lies at one place of one file in both versions is in no stretch.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.store.datasets import (
    Dataset,
    DatasetRef,
    Datasets,
    Fragment,
    fragments_beside,
    row_ids_gone,
    row_set,
)
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot

__all__ = ["Stretch", "bytes_touched", "stretches_beside", "stretches_in_touch"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of one fragment that another version has elsewhere, or not at all."""

    root: Location
    ref: DatasetRef
    fragment: Fragment
    twin: tuple[DatasetRef, Fragment] | None
    """The fragment of the other version with the same files: only rows that are gone there count.
    None: it has none, and every row counts."""
    rows: range
    """The rows of the stretch, counted among those that count; past the last there are none."""

    def read(self, columns: Sequence[str], *, with_row_address: bool = False) -> pa.Table:
        """The columns and `_rowid`, always in the same order."""
        datasets = Datasets(self.root)
        dataset = datasets.open(self.ref)
        if self.twin is None:
            return dataset.scan(
                columns,
                with_row_id=True,
                with_row_address=with_row_address,
                fragment_ids=[self.fragment.id],
                rows=self.rows,
            )
        other, there = self.twin
        row_ids = row_ids_gone(dataset, datasets.open(other), self.fragment, there)
        wanted = row_set(row_ids[self.rows.start : self.rows.stop])
        return dataset.rows_at(wanted, columns, with_row_address=with_row_address)


def stretches_beside(
    root: Location, here: Dataset, there: Dataset, *, limit_rows: int
) -> list[Stretch]:
    """The rows of `here` that `there` has elsewhere or not at all, so many at a time.

    They may be fewer than the stretches say: how many rows two lists of deletions tell apart is
    known only once they are read.
    """
    if here.ref == there.ref:
        return []
    own, twins = fragments_beside(here.fragments, there.fragments)
    return [
        *_cut(root, here.ref, own, limit_rows=limit_rows),
        *(
            stretch
            for fragment, twin in twins
            for stretch in _cut(
                root, here.ref, [fragment], twin=(there.ref, twin), limit_rows=limit_rows
            )
        ),
    ]


def stretches_in_touch(
    root: Location, ours: Dataset, base: Dataset, changed: Iterable[Stretch], *, limit_rows: int
) -> list[Stretch]:
    """The rows of `ours` among which all lie that have the id of a changed row.

    `changed` are rows of `base` that another version has not, or elsewhere. Any row that the other
    version has beside them is new to `base`: if ours has its id too, `base` does not have the row.
    """
    touched = {stretch.fragment.files for stretch in changed}
    whole = [fragment for fragment in ours.fragments if fragment.files in touched]
    among = {fragment.id for fragment in whole}
    beside = stretches_beside(root, ours, base, limit_rows=limit_rows)
    return [
        *_cut(root, ours.ref, whole, limit_rows=limit_rows),
        *(stretch for stretch in beside if stretch.fragment.id not in among),
    ]


def bytes_touched(base: Snapshot, head: Snapshot) -> int:
    """About how many bytes of rows must be looked at to tell what `head` changed since `base`."""
    touched = 0
    for entity in head.catalog.entities:
        key = entity.table_key
        if key not in base.tables or base.tables[key].ref == head.tables[key].ref:
            continue
        after, before = head.dataset(entity), head.other_version(base.tables[key].ref)
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
    twin: tuple[DatasetRef, Fragment] | None = None,
) -> Iterator[Stretch]:
    for fragment in fragments:
        for first in range(0, fragment.rows, limit_rows):
            rows = range(first, min(first + limit_rows, fragment.rows))
            yield Stretch(root, ref, fragment, twin, rows)
