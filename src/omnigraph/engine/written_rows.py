"""Rows that the statements of a mutation have written or deleted so far.

A statement that names its rows by key costs as much as those rows, however many were written before
it: ids are looked up in a Python dictionary. The dictionary is built only when a statement asks.
"""

from bisect import bisect_right

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.lang.schema.catalog import ID

__all__ = ["DeletedIds", "WrittenRows"]

MAX_ROWS_TAKEN_ONE_BY_ONE = 256
"""For more rows than this, a pass over all rows is quicker."""


class WrittenRows:
    """The rows written to one table; of each id the row that was written last."""

    def __init__(self, schema: pa.Schema) -> None:
        self._empty = schema.empty_table()
        self._parts: list[pa.Table] = []
        self._starts: list[int] = []
        self._count = 0
        self._numbers: dict[str, int] = {}
        """The number of the last row with each id, counted over all parts."""
        self._indexed_parts = 0
        self._is_distinct = True

    def put(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._is_distinct = not self._parts and _count_distinct(rows) == rows.num_rows
            self._parts.append(rows)
            self._starts.append(self._count)
            self._count += rows.num_rows

    def table(self) -> pa.Table:
        """All rows, in the order in which they were written."""
        if not self._parts:
            return self._empty
        if not self._is_distinct:
            rows = pa.concat_tables(self._parts)
            self._replace(rows.take(pa.array(_last_of_each(rows[ID]))))
        return self._parts[0]

    def among(self, ids: pa.Array) -> pa.Table:
        """The rows with these ids."""
        if len(ids) > MAX_ROWS_TAKEN_ONE_BY_ONE:
            rows = self.table()
            return rows.filter(pc.is_in(rows[ID].combine_chunks(), value_set=ids))
        self._index()
        numbers = {self._numbers[id_] for id_ in ids.to_pylist() if id_ in self._numbers}
        return pa.concat_tables([self._empty, *map(self._row, sorted(numbers))])

    def _row(self, number: int) -> pa.Table:
        part = bisect_right(self._starts, number) - 1
        return self._parts[part].slice(number - self._starts[part], 1)

    def _index(self) -> None:
        for part in range(self._indexed_parts, len(self._parts)):
            ids = self._parts[part][ID].to_pylist()
            self._numbers.update(zip(ids, range(self._starts[part], self._count), strict=False))
        self._indexed_parts = len(self._parts)

    def _replace(self, rows: pa.Table) -> None:
        self._parts, self._starts, self._count = [rows], [0], rows.num_rows
        self._numbers, self._indexed_parts = {}, 0
        self._is_distinct = True


class DeletedIds:
    """The ids of rows that were deleted from one table."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._known: set[str] = set()
        self._indexed_parts = 0

    def add(self, ids: pa.Array) -> None:
        self._parts.append(ids)

    def array(self) -> pa.Array:
        """The ids, each once."""
        return pc.unique(pa.concat_arrays([pa.array([], pa.string()), *self._parts]))

    def without(self, rows: pa.Table) -> pa.Table:
        """The rows that were not deleted."""
        for part in self._parts[self._indexed_parts :]:
            self._known.update(part.to_pylist())
        self._indexed_parts = len(self._parts)
        is_left = [id_ not in self._known for id_ in rows[ID].to_pylist()]
        return rows.filter(pa.array(is_left, pa.bool_()))


def _count_distinct(rows: pa.Table) -> int:
    count: int = pc.count_distinct(rows[ID], mode="all").as_py()
    return count


def _last_of_each(ids: pa.ChunkedArray) -> np.ndarray:
    """The place of the last row with each id, in order."""
    codes = ids.combine_chunks().dictionary_encode().indices.to_numpy()
    last = np.empty(int(codes.max()) + 1, dtype=np.int64)
    last[codes] = np.arange(len(codes))  # of equal codes the last one wins
    return np.sort(last)
