"""Rows that a load's checks read: in files that nothing names yet, or in a version of a table.

A source travels to a task by value, and is read there.
"""

import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import ID
from omnigraph.store.datasets import (
    Dataset,
    DatasetRef,
    Datasets,
    RowSet,
    read_fragment_columns,
)
from omnigraph.store.location import Location

__all__ = [
    "CHECKS_PER_CORE",
    "MAX_TASK_ROWS",
    "CommittedRows",
    "KeySource",
    "StagedRows",
    "committed_rows",
    "ids_at",
    "read_rows",
]

# Keys of this many rows are in a worker's memory at a time.
MAX_TASK_ROWS = 1_000_000


# A few tasks for each core even out those that take longer.
CHECKS_PER_CORE = 2


@frozen(eq=False)
class StagedRows:
    """Rows in a file that nothing names yet."""

    location: Location
    fragment: str
    row_count: int
    first_place: int
    """The place of its first row among all incoming rows of the type."""
    excluded: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    """Places of rows that do not count."""

    def read(self, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """The rows that count, and their places."""
        rows = read_fragment_columns(self.location, [self.fragment], columns)
        places = np.arange(self.first_place, self.first_place + rows.num_rows)
        if not len(self.excluded):
            return rows, places
        counts = np.isin(places, self.excluded, invert=True)
        return rows.filter(pa.array(counts)), places[counts]


@frozen
class CommittedRows:
    """Rows in some fragments of a version that the snapshot pins."""

    root: Location
    ref: DatasetRef
    fragment_ids: tuple[int, ...]
    row_count: int
    without: RowSet | None = field(default=None, repr=False)
    """Rows that the load replaces."""

    def open(self) -> Dataset:
        return Datasets(self.root).open(self.ref)


KeySource = StagedRows | CommittedRows


def committed_rows(
    root: Location, dataset: Dataset, *, without: RowSet | None = None
) -> list[CommittedRows]:
    """The rows of a dataset in parts that fit in a worker's memory."""
    fragments, rows = dataset.fragment_ids, dataset.row_count
    if not rows:
        return []
    parts = min(len(fragments), math.ceil(rows / MAX_TASK_ROWS))
    return [
        CommittedRows(root, dataset.ref, fragments[part::parts], math.ceil(rows / parts), without)
        for part in range(parts)
    ]


def read_rows(columns: Sequence[str], source: KeySource) -> tuple[pa.Table, np.ndarray]:
    """Some columns of rows, and the places of those."""
    match source:
        case StagedRows():
            return source.read(columns)
        case CommittedRows(fragment_ids=fragment_ids, without=without):
            rows = source.open().scan(columns, fragment_ids=fragment_ids, without=without)
            return rows, np.arange(rows.num_rows)


def ids_at(sources: Sequence[KeySource]) -> pa.Array:
    """The ids of all these rows."""
    parts = [read_rows((ID,), source)[0][ID] for source in sources]
    chunks = [chunk for part in parts for chunk in part.chunks]
    return pa.chunked_array(chunks, pa.string()).combine_chunks()
