"""Rows that come and rows that are there, shown to SQL by id: what a large merge has to match.

A table is larger than what is merged into it, so tasks that can hold the incoming ids leave out
whatever has none of them before anything is sent around.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.lang.schema.catalog import ID
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.load import LoadedTable
from omnigraph.pipeline.load.row_sources import (
    CHECKS_PER_CORE,
    CommittedRows,
    StagedRows,
    ids_at,
)
from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import ROW_ADDRESS, ROW_ID

__all__ = ["NO_PLACES", "show_incoming", "show_present", "staged_rows"]

NO_PLACES = np.empty(0, dtype=np.int64)

INCOMING = pa.schema([("term", pa.string()), ("place", pa.int64())])
PRESENT = pa.schema([("term", pa.string()), ("row_id", pa.int64()), ("address", pa.int64())])


def staged_rows(table: LoadedTable, *, excluded: np.ndarray = NO_PLACES) -> Iterator[StagedRows]:
    """Where the keys of the rows are read, without the rows at the places in `excluded`, sorted."""
    first = 0
    for file in table.files:
        start, end = np.searchsorted(excluded, [first, first + file.rows])
        yield StagedRows(table.location, file.fragment, file.rows, first, excluded[start:end])
        first += file.rows


def show_incoming(runner: Runner, name: str, rows: Sequence[StagedRows]) -> None:
    """Let SQL see the id (`term`) and the place of rows that come."""
    runner.show_as(name, rows, _incoming, INCOMING, most=sum(source.row_count for source in rows))


def show_present(
    runner: Runner,
    name: str,
    rows: Sequence[CommittedRows],
    *,
    incoming: Sequence[StagedRows],
    limits: LoadLimits,
) -> None:
    """Let SQL see the id (`term`), row id and address of rows that are there.

    Rows with the id of an incoming one are all among them; others may be.
    """
    buckets = min(len(rows), CHECKS_PER_CORE * runner.parallelism)
    dealt = [tuple(rows[bucket::buckets]) for bucket in range(buckets)]
    is_known_to_all = sum(source.row_count for source in incoming) <= limits.max_worker_ids
    ids = tuple(incoming) if is_known_to_all else None
    most = sum(source.row_count for source in rows)
    runner.show_as(name, dealt, partial(_present, ids), PRESENT, most=most)


# Inside a task ------------------------------------------------------------------------------------


def _incoming(rows: StagedRows) -> Iterator[pa.RecordBatch]:
    ids, places = rows.read([ID])
    yield from pa.table([ids[ID], places], schema=INCOMING).combine_chunks().to_batches()


def _present(
    incoming: Sequence[StagedRows] | None, parts: Sequence[CommittedRows]
) -> Iterator[pa.RecordBatch]:
    ids = None if incoming is None else ids_at(incoming)
    for part in parts:
        rows = part.open().scan(
            [ID], with_row_id=True, with_row_address=True, fragment_ids=part.fragment_ids
        )
        if ids is not None:
            rows = rows.filter(pc.is_in(rows[ID], value_set=ids))
        # Spark has no unsigned numbers; neither of these reaches the upper half.
        numbers = [rows[name].cast(pa.int64()) for name in (ROW_ID, ROW_ADDRESS)]
        yield from pa.table([rows[ID], *numbers], schema=PRESENT).combine_chunks().to_batches()
