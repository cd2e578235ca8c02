"""The vectors of a column, through the cache: followed from version to version, or read anew.

Very many vectors lie in lists (`search/ivf.py`). Which lists there are depends on the version of
the table alone, so that a handle that has followed the table for years and one that was opened just
now give the same answers. The sample that decides is taken from the oldest fragments, at least a
quarter of all rows, as they were written: rows that are changed or deleted later still count there.
So the lists stay as they are until the table has twice as many rows, or its files are rewritten.
Vectors that take more than their share of the cache stay in the files: an index of them is asked,
where the schema declares one, or all are read for each question.
"""

import hashlib
import math
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.base.types import VectorOf
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.pace import Pace
from omnigraph.read.search.ivf import ListedVectors
from omnigraph.read.search.ivf_codebook import Codebook, sample_rows, trained
from omnigraph.read.search.vectors import Vectors, matrix_of
from omnigraph.read.search.vectors_near import Matrix
from omnigraph.read.search.vectors_streamed import StreamedVectors, lists_of_nearest
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cache_keys import VersionKey
from omnigraph.read.tables.cold_lookups import positions_in_scan
from omnigraph.read.tables.disk_copies import DiskCopies, DiskCopy
from omnigraph.read.tables.versions import Versions, one_array
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.reach import Mask
from omnigraph.store.datasets import ROW_ID, Dataset, Fragment, row_set
from omnigraph.store.indexes import IndexKind, WantedIndex

__all__ = ["StoredVectors"]

# A matrix takes so much for each number and each row. It may take one of two shares of the cache,
# since laying it out anew needs as much again.
FLOAT_BYTES = 4
ROW_BYTES = 32
SHARES_OF_THE_CACHE = 2

# Of the lists of an index of the files, one in so many is looked at, and never fewer than these.
LISTS_PER_LIST_SEEN = 8
MIN_LISTS = 20

# Of the rows that a filter leaves, about so many are compared with the query, and the lists of the
# nearest of these are looked at. In a simulation with clusters and filters of several shapes these
# lists held 97 of 100 of the ten nearest, or more; one list in eight held as few as 63.
SAMPLED_ROWS = 512
NEAREST_SAMPLED = 16

AnyVectors = Vectors | ListedVectors
Earlier = tuple[VersionKey, AnyVectors]


class StoredVectors:
    def __init__(
        self, versions: Versions, cache: RuntimeCache, copies: DiskCopies, pace: Pace
    ) -> None:
        self._versions = versions
        self._cache = cache
        self._copies = copies
        self._pace = pace

    def of(self, entity: EntityType, column: str) -> AnyVectors | StreamedVectors:
        if self._is_too_large(entity, column):
            return self._streamed(entity, column)
        key = VersionKey("vectors", self._versions.ref(entity), column)
        return self._cache.follow(key, key.family, lambda earlier: self._made(entity, key, earlier))

    def _is_too_large(self, entity: EntityType, column: str) -> bool:
        row_bytes = _width(entity, column) * FLOAT_BYTES + ROW_BYTES
        limit = self._cache.limits.max_cache_bytes // SHARES_OF_THE_CACHE
        return self._versions.row_count(entity) * row_bytes > limit

    def _streamed(self, entity: EntityType, column: str) -> StreamedVectors:
        width = _width(entity, column)
        block_rows = max(1, self._cache.limits.max_exact_floats // width)
        source = _Column(self._versions.dataset(entity), column, block_rows)
        return StreamedVectors(source, width, self._versions.row_count(entity), block_rows)

    def _made(self, entity: EntityType, key: VersionKey, earlier: Earlier | None) -> AnyVectors:
        if earlier is None and (copy := self._copies.last(key.disk_family)) is not None:
            (ref,) = copy.refs
            earlier = key._replace(ref=ref), self._mapped(copy)
            if ref == key.ref:
                return earlier[1]
        found = self._in_lists(entity, key.column, self._current(entity, key, earlier))
        if earlier is None or found.room is not earlier[1].room:
            self._copies.keep(key.disk_family, (key.ref,), found)
        return found

    def _mapped(self, copy: DiskCopy) -> AnyVectors:
        if "starts" not in copy.arrays:
            return Vectors.of_arrays(copy.arrays)
        return ListedVectors.of_arrays(copy.arrays, self._cache.limits.max_exact_floats)

    def _current(self, entity: EntityType, key: VersionKey, earlier: Earlier | None) -> AnyVectors:
        since = None if earlier is None else self._versions.since(entity, earlier[0].ref)
        if earlier is None or since is None:
            with self._cache.in_pieces(key, self._pace) as pieces:
                return Vectors.of_column(self._versions.whole(entity, key.column, pieces))
        scanned = self._versions.scan(entity, [key.column], since) if since.new_fragments else []
        return earlier[1].followed(since.kept, next(iter(scanned), None))

    # Lists ---------------------------------------------------------------------------------------

    def _in_lists(self, entity: EntityType, column: str, found: AnyVectors) -> AnyVectors:
        limit = self._cache.limits.max_exact_floats
        if found.row_count * found.width <= limit:
            return found
        fragments = self._sampled(entity)
        origin = _digest(fragments)
        if isinstance(found, ListedVectors):
            if found.codebook.origin == origin:
                return found
            found = found.vectors
        key = ("codebook", self._versions.ref(entity).path, column, origin)
        codebook = self._cache.get(
            key, lambda: self._codebook(entity, column, fragments, key), family=key[:-1]
        )
        with self._cache.in_pieces((self._versions.ref(entity), *key), self._pace) as pieces:
            return ListedVectors.of(found, codebook, limit, pieces)

    def _sampled(self, entity: EntityType) -> list[Fragment]:
        """The first fragments that hold half the greatest power of two of all rows written."""
        fragments = self._versions.dataset(entity).fragments
        total = sum(fragment.written_rows for fragment in fragments)
        enough = 2 ** (total.bit_length() - 1) / 2
        first, rows = [], 0
        for fragment in fragments:
            if rows >= enough:
                break
            first.append(fragment)
            rows += fragment.written_rows
        return first

    def _codebook(
        self, entity: EntityType, column: str, fragments: Sequence[Fragment], key: Hashable
    ) -> Codebook:
        rows = sum(fragment.written_rows for fragment in fragments)
        # As many lists as a list has vectors, once the table has four times as many rows.
        lists = 2 * math.isqrt(rows)

        def sample() -> Matrix:
            step, ids = max(1, rows // sample_rows(lists)), [each.id for each in fragments]
            dataset = self._versions.dataset(entity)
            return matrix_of(dataset.sample_written(column, ids, step_rows=step))

        with self._cache.in_pieces(key, self._pace) as pieces:
            return trained(
                pieces.piece("sample", sample),
                lists=lists,
                stands_for_rows=rows,
                origin=_digest(fragments),
                pieces=pieces,
            )


@frozen(slots=False)
class _Column:
    """The vectors of a table as its files have them."""

    dataset: Dataset
    column: str
    block_rows: int

    def blocks(self) -> Iterator[pa.Array]:
        fragments = [fragment.id for fragment in self.dataset.fragments]
        columns, rows = [self.column], self.block_rows
        for batch in self.dataset.batches(columns, fragment_ids=fragments, batch_rows=rows):
            yield batch.column(self.column)

    def take(self, rows: Ordinals) -> pa.Array:
        return one_array(self.dataset.take(rows, [self.column])[self.column])

    @cached_property
    def has_index(self) -> bool:
        """Whether there is one that covers most rows: the others are all looked at."""
        index = self.dataset.indexes.get(_index_of(self.column).name)
        return index is not None and 2 * index.rows > self.dataset.row_count

    def near(self, query: NDArray[np.float32], count: int, among: Mask | None) -> Ordinals:
        lists = max(MIN_LISTS, math.isqrt(self.dataset.row_count) // LISTS_PER_LIST_SEEN)
        allowed = None
        if among is not None:
            lists = max(lists, self._lists_among(query, count, among))
        if among is not None:
            row_ids = self.dataset.scan([], with_row_id=True)[ROW_ID].to_numpy()
            allowed = row_set(row_ids[among])
        found = self.dataset.nearest(
            self.column, query, limit_rows=count, lists=lists, among=allowed
        )
        return positions_in_scan(self.dataset, found)

    def _lists_among(self, query: NDArray[np.float32], count: int, among: Mask) -> int:
        """How many lists to look at for the nearest of some rows, going by a sample of these.

        Rows that a filter leaves may lie together and far away: the nearest lists may have none.
        """
        rows = np.flatnonzero(among)
        sample = self.take(rows[:: max(1, len(rows) // SAMPLED_ROWS)])
        # Where few rows are left, many of the sample are among those that are asked for.
        nearest = max(NEAREST_SAMPLED, math.ceil(count * len(sample) / len(rows)))
        centres = self.dataset.list_centres(_index_of(self.column).name)
        return lists_of_nearest(nearest, matrix_of(sample), matrix_of(centres), query)


def _index_of(column: str) -> WantedIndex:
    return WantedIndex(column, IndexKind.VECTOR)


def _width(entity: EntityType, column: str) -> int:
    (type_,) = [p.type for p in entity.properties if p.column == column]
    assert isinstance(type_, VectorOf), f"{column} holds no vectors"
    return type_.width


def _digest(fragments: Sequence[Fragment]) -> str:
    """By files: what was deleted from them since is no part of it."""
    files = [fragment.files for fragment in fragments]
    return hashlib.sha256(repr(files).encode()).hexdigest()
