"""Set checks of a load: tasks read keys, and the runner's SQL asks the questions of `rules`.

Only keys travel, and only what breaks a rule comes to the driver: the first few breaches of each
rule, and counts. Incoming rows are read from the files that the load has staged, kept rows from the
versions that the snapshot pins.
"""

import heapq
import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import (
    Dataset,
    DatasetRef,
    Datasets,
    RowSet,
    read_fragment_columns,
)
from omnigraph.write.rules import RELATIONS, Breach, Reading, breaches, extract

__all__ = ["CommittedRows", "KeySource", "StagedRows", "check_sets", "committed_rows"]

# Keys of this many rows are in a worker's memory at a time.
ROWS_AT_A_TIME = 1_000_000

# A few tasks for each core even out those that take longer.
TASKS_PER_CORE = 2


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows in a file that nothing names yet."""

    uri: str
    options: dict[str, str] | None = field(repr=False)
    fragment: str
    row_count: int
    first_place: int
    """The place of its first row among all incoming rows of the type."""


@dataclass(frozen=True, slots=True)
class CommittedRows:
    """Rows in some fragments of a version that the snapshot pins."""

    root: str
    options: dict[str, str] | None = field(repr=False)
    ref: DatasetRef
    fragment_ids: tuple[int, ...]
    row_count: int
    without: RowSet | None = field(default=None, repr=False)
    """Rows that the load replaces."""

    def open(self) -> Dataset:
        return Datasets(self.root, options=self.options).open(self.ref)


KeySource = StagedRows | CommittedRows


def committed_rows(
    root: str, options: dict[str, str] | None, dataset: Dataset, *, without: RowSet | None = None
) -> list[CommittedRows]:
    """The rows of a dataset in pieces that fit in a worker's memory."""
    fragments, rows = dataset.fragment_ids, dataset.row_count
    if not rows:
        return []
    pieces = min(len(fragments), math.ceil(rows / ROWS_AT_A_TIME))
    return [
        CommittedRows(
            root, options, dataset.ref, fragments[piece::pieces], math.ceil(rows / pieces), without
        )
        for piece in range(pieces)
    ]


def check_sets(
    runner: Runner,
    readings: Sequence[Reading],
    sources: Callable[[Reading], Sequence[KeySource]],
) -> list[Breach]:
    """Every rule that the incoming rows break together with those that stay."""
    if not readings:
        return []
    # Views are the session's, which others may share: the names are ours alone.
    views = {name: f"{name}_{uuid.uuid4().hex}" for name in RELATIONS}
    for name, schema in RELATIONS.items():
        wanted = [(r, source) for r in readings if r.relation == name for source in sources(r)]
        tasks = _deal(wanted, hands=TASKS_PER_CORE * runner.parallelism)
        runner.show_as(views[name], tasks, _read_keys, schema)
    names = ", ".join(f"{name} AS (SELECT * FROM {view})" for name, view in views.items())

    def query(sql: str) -> list[dict[str, Any]]:
        return runner.query(f"WITH {names} {sql}", doing="checking keys, endpoints and cardinality")

    try:
        return breaches(readings, query)
    finally:
        for view in views.values():
            runner.forget(view)


Wanted = tuple[Reading, KeySource]


def _deal(wanted: Sequence[Wanted], *, hands: int) -> list[tuple[Wanted, ...]]:
    """Readings dealt to at most so many tasks, each with about as many rows."""
    dealt: list[list[Wanted]] = [[] for _ in range(min(hands, len(wanted)))]
    lightest = [(0, hand) for hand in range(len(dealt))]
    for one in sorted(wanted, key=lambda w: -w[1].row_count):
        rows, hand = heapq.heappop(lightest)
        dealt[hand].append(one)
        heapq.heappush(lightest, (rows + one[1].row_count, hand))
    return [tuple(hand) for hand in dealt]


def _read_keys(wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:
    """Inside a task: what the rows of its share say in the relation."""
    for reading, source in wanted:
        match source:
            case StagedRows(uri=uri, options=options, fragment=fragment, first_place=first_place):
                rows = read_fragment_columns(uri, [fragment], reading.columns, options=options)
            case CommittedRows(fragment_ids=fragment_ids, without=without):
                rows = source.open().scan(
                    reading.columns, fragment_ids=fragment_ids, without=without
                )
                first_place = 0
        yield from extract(reading, rows, first_place).combine_chunks().to_batches()
