"""The tables of one snapshot, and how their rows lie in versions that were read before.

A row's number is its position in a full scan of the table at the snapshot's version. Lance scans
one version in one order, so columns read at different times line up.

An earlier version goes with its branch, or in a clean-up, at any moment and by any process. Then
nothing can be made from it, and what was asked for is read anew.
"""

import hashlib
from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.errors import GraphMoved, StorageError
from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.read.pace import UNHURRIED, Pace, Pieces
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.renumbering import Renumbering, renumbering_between
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.ids import MAX_SHORT_OFFSETS_BYTES
from omnigraph.store.datasets import Dataset, DatasetRef, Fragment
from omnigraph.store.snapshot import Snapshot

__all__ = ["UNREADABLE", "Versions", "one_array"]

# Rows that are read between two looks at the clock: less would be slower.
STRETCH_BYTES = 16 << 20
MIN_STRETCH_ROWS = 1_024

# What an earlier version may answer, whose files are another branch's.
UNREADABLE = (StorageError, GraphMoved)


class Versions:
    def __init__(self, snapshot: Snapshot, cache: RuntimeCache, pace: Pace = UNHURRIED) -> None:
        self._snapshot = snapshot
        self._cache = cache
        self._pace = pace

    @property
    def catalog(self) -> Catalog:
        return self._snapshot.catalog

    def ref(self, entity: EntityType) -> DatasetRef:
        return self._snapshot.tables[entity.table_key].ref

    def row_count(self, entity: EntityType) -> int:
        return self._snapshot.tables[entity.table_key].row_count

    def dataset(self, entity: EntityType) -> Dataset:
        return self._snapshot.dataset(entity)

    def scan(
        self, entity: EntityType, columns: Sequence[str], since: Renumbering | None = None
    ) -> list[pa.Array]:
        """Whole columns, or their values in rows that are new since an earlier version."""
        fragments = rows = None
        count = self.row_count(entity)
        if since is not None:
            fragments, count = since.new_fragments, since.new_count
            rows = range(since.skipped, since.skipped + count) if since.skipped else None
        table = self._snapshot.dataset(entity).scan(
            columns, fragment_ids=fragments, rows=rows, look=self._pace.check
        )
        assert table.num_rows == count
        found = []
        for name in columns:
            self._pace.check()
            found.append(one_array(table[name]))
        return found

    def whole(self, entity: EntityType, column: str, pieces: Pieces) -> pa.Array:
        """A column that may be very long, read stretch by stretch."""
        dataset, count = self._snapshot.dataset(entity), self.row_count(entity)
        stride = max(MIN_STRETCH_ROWS, STRETCH_BYTES // dataset.row_bytes)

        def stretch(start: int) -> pa.ChunkedArray:
            return dataset.scan([column], rows=range(start, min(start + stride, count)))[column]

        starts = range(0, max(count, 1), stride)
        parts = [pieces.piece(("rows", start), partial(stretch, start)) for start in starts]
        found = pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
        assert len(found) == count
        return one_array(found)

    def since(self, entity: EntityType, ref: DatasetRef) -> Renumbering | None:
        """The numbers that rows of an earlier version have now; None: rows can't be followed."""
        now = self.ref(entity)
        return self._cache.get(
            ("renumbering", ref, now),
            lambda: _Found(self._compared(entity, ref)),
            family=("renumbering", now.path),
        ).renumbering

    def _compared(self, entity: EntityType, ref: DatasetRef) -> Renumbering | None:
        try:
            old, new = self._snapshot.other_version(ref), self._snapshot.dataset(entity)
            return renumbering_between(
                old,
                new,
                addresses=self._addresses,
                since=self._snapshot.parting(entity, ref),
                max_rows_per_kept_row=self._cache.limits.max_rows_per_kept_row,
            )
        except UNREADABLE:
            return None

    def _addresses(self, dataset: Dataset, fragment: Fragment) -> NDArray[np.uint64]:
        """The addresses of the rows of a fragment, as far as their offsets go."""
        if not fragment.has_deletions:
            return np.arange(fragment.rows, dtype=np.uint64)
        key = ("addresses", fragment.files, fragment.deletions)
        family = ("addresses", fragment.files)
        return self._cache.get(key, lambda: dataset.addresses(fragment.id), family=family)

    def rows_before(
        self, ref: DatasetRef, rows: Ordinals, columns: Sequence[str]
    ) -> list[pa.Array] | None:
        """Columns of some rows of an earlier version; None: it is not there any more."""
        try:
            table = self._snapshot.other_version(ref).take(rows, columns)
        except UNREADABLE:
            return None
        return [one_array(table[name]) for name in columns]

    def contents(self, ref: DatasetRef) -> str:
        """A digest of a version's files: numbers of versions are used again, names of files not."""
        fragments = repr(self._snapshot.other_version(ref).fragments)
        return hashlib.sha256(fragments.encode()).hexdigest()


@frozen
class _Found:
    """A renumbering, or that there is none: both are worth remembering."""

    renumbering: Renumbering | None

    @property
    def nbytes(self) -> int:
        kept = None if self.renumbering is None else self.renumbering.kept
        return 64 if kept is None else kept.nbytes


def one_array(column: pa.ChunkedArray) -> pa.Array:
    # 32-bit offsets reach over 2 GiB of text.
    if pa.types.is_string(column.type) and column.nbytes > MAX_SHORT_OFFSETS_BYTES:
        column = column.cast(pa.large_string())
    return column.combine_chunks()
