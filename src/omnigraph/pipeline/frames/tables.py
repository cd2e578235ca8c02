"""Inside a task: rows of some fragments of a pinned version, as Spark takes them.

What decides about rows is the code that decides about them in a query: Lance tests what it tests as
we do, and every row that comes is asked again here. So nothing depends on how Spark compares.
"""

import math
from collections.abc import Iterator

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.lang.plan.conditions import ALWAYS, Condition
from omnigraph.pipeline.frames.carried import as_carried, carried_schema
from omnigraph.pipeline.load.row_sources import MAX_TASK_ROWS, CommittedRows
from omnigraph.read.values.conditions import columns_judged, meeting
from omnigraph.read.where.where import Where
from omnigraph.store.datasets import Dataset
from omnigraph.store.location import Location

__all__ = ["TableScan", "Wanted", "parts_of", "read_table"]

# A few tasks for each core even out those that take longer.
TASKS_PER_CORE = 3

# Rows that a task has in memory, and sends to Spark at once.
MAX_BATCH_BYTES = 16 << 20


@frozen
class Wanted:
    """A column of the frame."""

    name: str
    type: pa.DataType
    """As an answer has it."""
    column: str | None
    """The physical column; None: the type lacks it, and it is null."""


@frozen(slots=False)
class TableScan:
    """Which rows of a type, and what of them. It travels to tasks by value."""

    where: Where
    wanted: tuple[Wanted, ...]
    condition: Condition = ALWAYS
    """In names of columns: rows that do not meet it are hidden from the caller."""
    batch_bytes: int = MAX_BATCH_BYTES

    @property
    def schema(self) -> pa.Schema:
        return carried_schema([w.name for w in self.wanted], [w.type for w in self.wanted])

    @property
    def columns(self) -> list[str]:
        """The physical columns that a task reads, `id` first."""
        shown = [w.column for w in self.wanted if w.column is not None]
        return self.where.columns([*shown, *columns_judged(self.condition)])


def parts_of(root: Location, dataset: Dataset, *, parallelism: int) -> list[CommittedRows]:
    """The fragments of a dataset, dealt out to tasks: one each, or neighbours where many are."""
    fragments, rows = dataset.fragment_ids, dataset.row_count
    if not rows:
        return []
    parts = max(TASKS_PER_CORE * parallelism, math.ceil(rows / MAX_TASK_ROWS))
    size = math.ceil(len(fragments) / parts)
    return [
        CommittedRows(root, dataset.ref, fragments[at : at + size], rows * size // len(fragments))
        for at in range(0, len(fragments), size)
    ]


def read_table(scan: TableScan, part: CommittedRows) -> Iterator[pa.RecordBatch]:
    where = scan.where
    batches = part.open().bounded_batches(
        scan.columns,
        limit_bytes=scan.batch_bytes,
        fragment_ids=part.fragment_ids,
        predicate=where.tested() if where.predicates else None,
    )
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        if scan.condition != ALWAYS:
            rows = meeting(scan.condition, rows)
        if where.predicates:
            rows = where.matching(rows)
        if rows.num_rows:
            yield from _as_wanted(scan, rows).to_batches()


def _as_wanted(scan: TableScan, rows: pa.Table) -> pa.Table:
    columns = [_column(wanted, rows) for wanted in scan.wanted]
    return pa.Table.from_arrays(columns, schema=scan.schema)


def _column(wanted: Wanted, rows: pa.Table) -> pa.Array:
    if wanted.column is None:
        return as_carried(pa.nulls(rows.num_rows, wanted.type))
    values = rows[wanted.column].combine_chunks()
    return as_carried(values if values.type == wanted.type else values.cast(wanted.type))
