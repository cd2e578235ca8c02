"""A merge too large for the driver: rows of a table that tasks match, compare and write.

The rows lie in scratch files. SQL joins their ids with the ids that the table holds and deals the
answer out by scratch file; the task that gets a file's share reads the file, drops what a later
row supersedes and what equals the row that is there, and writes the rest as files of the table.
A row that replaces another keeps its row id. The driver sees row ids and addresses, never a row.
"""

import uuid
from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.base.row_counts import RowCounts
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.pipeline.load.id_join import show_incoming, show_present
from omnigraph.pipeline.load.load import LoadedTable, StagedLoad
from omnigraph.pipeline.load.repeats import SAMPLE_ROWS, compared_columns
from omnigraph.pipeline.load.row_sources import StagedRows, committed_rows
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.pipeline.staging.stage import StagedFile
from omnigraph.read.changes.diff import differing
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import (
    DatasetRef,
    Datasets,
    RowSet,
    TableHome,
    fragment_batches,
    read_fragment_columns,
    row_set,
    with_row_ids,
    write_fragments,
)
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import Replacement

__all__ = ["Upserted", "upsert"]

# The number of a scratch file is in the upper half of a place, that of the row in the lower.
FILE = 1 << 32

# The last row of each id, and the row that it finds there, if any.
MATCHES = """
SELECT newest.place - newest.place % {file} AS scratch, newest.place % {file} AS row,
       present.row_id AS row_id, present.address AS address
FROM (SELECT term, max(place) AS place FROM {incoming} GROUP BY term) AS newest
LEFT JOIN {present} AS present ON present.term = newest.term
"""


@frozen(slots=False)
class UpsertJob:
    """What every task needs to know."""

    entity: EntityType
    root: Location
    ref: DatasetRef
    home: TableHome
    files: tuple[StagedFile, ...]
    """The scratch files, by number."""


@frozen(slots=False, eq=False)
class Written:
    """What a task made of the rows of one scratch file."""

    scratch: int
    files: tuple[StagedFile, ...]
    row_ids: NDArray[np.uint64]
    addresses: NDArray[np.uint64]
    """Of the rows that are replaced, which come first in the files."""
    inserted: int
    unchanged: int


@frozen(slots=False, eq=False)
class Upserted:
    """The rows of one table that a merge changes at one version of it."""

    table: LoadedTable
    made_for: DatasetRef
    parts: tuple[Written, ...]

    @property
    def counts(self) -> RowCounts:
        inserted = sum(part.inserted for part in self.parts)
        updated = sum(len(part.addresses) for part in self.parts)
        unchanged = sum(part.unchanged for part in self.parts)
        return RowCounts(
            inserted,
            updated,
            unchanged,
            superseded=self.table.rows - inserted - updated - unchanged,
        )

    def sample(self) -> pa.Table:
        """A few of the changed rows, in the columns that tell edges apart."""
        table = self.table
        first = next(file for part in self.parts for file in part.files)
        batches = fragment_batches(
            table.location,
            first.fragment,
            compared_columns(table.entity),
            batch_rows=SAMPLE_ROWS,
        )
        return pa.Table.from_batches([next(batches)])

    @cached_property
    def replaced(self) -> RowSet | None:
        """The rows of the version that do not stay as they are."""
        row_ids = [part.row_ids for part in self.parts if len(part.row_ids)]
        return row_set(np.concatenate(row_ids)) if row_ids else None

    @property
    def work(self) -> Replacement:
        addresses = [np.empty(0, np.uint64), *(part.addresses for part in self.parts)]
        return Replacement(
            base=self.made_for,
            fragments=tuple(file.fragment for part in self.parts for file in part.files),
            addresses=np.concatenate(addresses),
            inserted=sum(part.inserted for part in self.parts),
            written_at=self.table.location,
        )

    def rows(self) -> Iterator[StagedRows]:
        """Where the keys of the changed rows are read."""
        table, first = self.table, 0
        for part in self.parts:
            for file in part.files:
                yield StagedRows(table.location, file.fragment, file.rows, first)
                first += file.rows

    def place(self, place: int) -> int:
        """The place among all incoming rows of the one at a place among the changed ones."""
        for part in self.parts:
            count = sum(file.rows for file in part.files)
            if place < count:
                fragments = [file.fragment for file in part.files]
                id_ = self._ids(fragments)[place]
                # It is the last row with its id that was taken.
                ids = self._ids([self.table.files[part.scratch].fragment])
                row = int(np.flatnonzero(pc.equal(ids, id_).to_numpy(zero_copy_only=False))[-1])
                return sum(file.rows for file in self.table.files[: part.scratch]) + row
            place -= count
        raise AssertionError("a place is of a changed row")

    def _ids(self, fragments: Sequence[str]) -> pa.ChunkedArray:
        return read_fragment_columns(self.table.location, fragments, [ID])[ID]


def upsert(
    runner: Runner, load: StagedLoad, table: LoadedTable, snapshot: Snapshot, area: StagingArea
) -> Upserted:
    """Find what the rows of a table change in `snapshot`, and write that."""
    dataset = snapshot.dataset(table.entity)
    job = UpsertJob(table.entity, load.root, dataset.ref, table.home, files=table.files)
    # Views are the session's, which others may share: the names are ours alone.
    unique = uuid.uuid4().hex
    incoming, present = f"incoming_{unique}", f"present_{unique}"
    rows = [
        StagedRows(table.location, file.fragment, file.rows, number * FILE)
        for number, file in enumerate(table.files)
    ]
    show_incoming(runner, incoming, rows)
    committed = committed_rows(load.root, dataset)
    show_present(runner, present, committed, incoming=rows, limits=load.limits)
    try:
        parts = runner.run_over(
            MATCHES.format(file=FILE, incoming=incoming, present=present),
            partial(_write_changes, job),
            by="scratch",
            then="row",
            tasks=len(table.files),
            doing="finding rows that are there already",
        )
    finally:
        runner.forget(incoming)
        runner.forget(present)
    for part in parts:
        area.add(table.location, [file.fragment for file in part.files])
    return Upserted(table, dataset.ref, tuple(sorted(parts, key=lambda part: part.scratch)))


# Inside a task ------------------------------------------------------------------------------------


def _write_changes(job: UpsertJob, scratch: int, matches: pa.Table) -> Written:
    number = scratch // FILE
    schema = table_schema(job.entity)
    staged = read_fragment_columns(job.home.location, [job.files[number].fragment], schema.names)
    rows = staged.take(matches["row"]).cast(schema)
    is_known = matches["row_id"].is_valid()
    known, found = rows.filter(is_known), matches.filter(is_known)
    changed = _changed(job, known, found)
    updated, found = known.filter(changed), found.filter(changed)
    # Neighbours stay neighbours, and row ids in order take a fraction of the room.
    order = pc.sort_indices(found["row_id"])
    updated, found = updated.take(order), found.take(order)
    fresh = rows.filter(pc.invert(is_known))
    row_ids, addresses = (found[n].to_numpy().astype(np.uint64) for n in ("row_id", "address"))
    return Written(
        scratch=number,
        files=_written(job, pa.concat_tables([updated, fresh]), row_ids),
        row_ids=row_ids,
        addresses=addresses,
        inserted=fresh.num_rows,
        unchanged=known.num_rows - updated.num_rows,
    )


def _changed(job: UpsertJob, known: pa.Table, found: pa.Table) -> pa.Array:
    """Which rows differ from the ones that they find."""
    dataset = Datasets(job.root).open(job.ref)
    wanted = row_set(found["row_id"].to_numpy().astype(np.uint64))
    return differing(known, dataset.rows_at(wanted, known.column_names).drop_columns("_rowid"))


def _written(job: UpsertJob, rows: pa.Table, row_ids: NDArray[np.uint64]) -> tuple[StagedFile, ...]:
    if not rows.num_rows:
        return ()
    fragments = write_fragments(job.home, iter(rows.to_batches()), rows.schema)
    return tuple(map(StagedFile.of, with_row_ids(fragments, row_ids)))
