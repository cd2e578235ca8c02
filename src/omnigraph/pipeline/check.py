"""Set checks of a load: tasks read keys, and the runner's SQL asks the questions of `rules`.

Only keys travel, and only what breaks a rule comes to the driver: the first few breaches of each
rule, and counts. Incoming rows are read from the files that the load has staged, kept rows from the
versions that the snapshot pins.
"""

import heapq
import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import (
    Dataset,
    DatasetRef,
    Datasets,
    RowSet,
    read_fragment_columns,
)
from omnigraph.write import blame
from omnigraph.write.blame import Query
from omnigraph.write.rules import RELATIONS, Breach, Reading, breaches, extract_at

__all__ = [
    "CommittedRows",
    "KeySource",
    "Sources",
    "StagedRows",
    "check_sets",
    "committed_rows",
    "find_at_fault",
    "is_broken",
]

# Keys of this many rows are in a worker's memory at a time.
ROWS_AT_A_TIME = 1_000_000

# A few tasks for each core even out those that take longer.
TASKS_PER_CORE = 2


@dataclass(frozen=True, slots=True, eq=False)
class StagedRows:
    """Rows in a file that nothing names yet."""

    uri: str
    options: dict[str, str] | None = field(repr=False)
    fragment: str
    row_count: int
    first_place: int
    """The place of its first row among all incoming rows of the type."""
    out: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    """Places of rows that do not count."""

    def read(self, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """The rows that count, and their places."""
        rows = read_fragment_columns(self.uri, [self.fragment], columns, options=self.options)
        places = np.arange(self.first_place, self.first_place + rows.num_rows)
        if not len(self.out):
            return rows, places
        counts = np.isin(places, self.out, invert=True)
        return rows.filter(pa.array(counts)), places[counts]


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
Sources = Callable[[Reading], Sequence[KeySource]]


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


def check_sets(runner: Runner, readings: Sequence[Reading], sources: Sources) -> list[Breach]:
    """Every rule that the incoming rows break together with those that stay."""
    if not readings:
        return []
    with _shown(runner, readings, sources, each=False) as query:
        return breaches(readings, query)


def is_broken(runner: Runner, readings: Sequence[Reading], sources: Sources) -> bool:
    """Whether the incoming rows break any rule together with those that stay."""
    if not readings:
        return False
    with _shown(runner, readings, sources, each=False) as query:
        return blame.is_broken(blame.questions(readings), query)


def find_at_fault(
    runner: Runner, readings: Sequence[Reading], sources: Sources, *, limit_rows: int
) -> list[Breach]:
    """All incoming rows at fault for what is wrong first, or at least so many; see `blame`."""
    if not readings:
        return []
    with _shown(runner, readings, sources, each=True) as query:
        return blame.blamed(blame.questions(readings), query, limit_rows=limit_rows)


@contextmanager
def _shown(
    runner: Runner, readings: Sequence[Reading], sources: Sources, *, each: bool
) -> Iterator[Query]:
    """The runner's SQL with what the readings say under the names of the relations."""
    # Views are the session's, which others may share: the names are ours alone.
    views = {name: f"{name}_{uuid.uuid4().hex}" for name in RELATIONS}
    for name, schema in RELATIONS.items():
        wanted = [(r, source) for r in readings if r.relation == name for source in sources(r)]
        tasks = _deal(wanted, hands=TASKS_PER_CORE * runner.parallelism)
        runner.show_as(views[name], tasks, partial(_read_keys, each), schema)
    names = ", ".join(f"{name} AS (SELECT * FROM {view})" for name, view in views.items())

    def query(sql: str) -> list[dict[str, Any]]:
        return runner.query(f"WITH {names} {sql}", doing="checking keys, endpoints and cardinality")

    try:
        yield query
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


def _read_keys(each: bool, wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:  # noqa: FBT001
    """Inside a task: what the rows of its share say in the relation."""
    for reading, source in wanted:
        match source:
            case StagedRows():
                rows, places = source.read(reading.columns)
            case CommittedRows(fragment_ids=fragment_ids, without=without):
                rows = source.open().scan(
                    reading.columns, fragment_ids=fragment_ids, without=without
                )
                places = np.arange(rows.num_rows)
        said = extract_at(reading, rows, places, each=each)
        yield from said.combine_chunks().to_batches()
