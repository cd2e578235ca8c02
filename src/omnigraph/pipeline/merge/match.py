"""The rows of one table that theirs changed, matched by id with those of base and ours, and merged.

Rows that cannot differ are never read: what both versions have in the same place of the same file.
Of ours, only files are read that can hold the id of a changed row. SQL joins ids and deals the
answer out by stretch; where there is nothing to join, tasks begin at once.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.conflicts import Take
from omnigraph.base.types import Scalar
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.row_sources import CHECKS_PER_CORE, StagedRows
from omnigraph.pipeline.load.sets_in_files import IncomingFiles
from omnigraph.pipeline.merge.stretches import (
    MATCHES,
    MergeJob,
    Part,
    count_changes,
    merge_stretch,
    without_ids,
)
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.area import TaskArea
from omnigraph.read.changes.locate import Stretch, stretches_beside, stretches_in_touch
from omnigraph.store.datasets import (
    ROW_ADDRESS,
    ROW_ID,
    WRITTEN_AT,
    DatasetRef,
    EditCounts,
    RowSet,
    row_set,
)
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import Replacement

__all__ = ["MergedTable", "count_changed", "match_table", "no_rows"]

R = TypeVar("R")
StretchWork = Callable[[MergeJob, int, pa.Table | None], R]

DOING = "comparing the rows of two branches"

# The number of a stretch is in the upper half of a place, that of the row in the lower.
STRETCH = 1 << 32

# Ids of this many rows are in a worker's memory at a time.
MAX_TASK_IDS = 1_000_000

CAME = pa.schema([("term", pa.string()), ("place", pa.int64()), ("is_written", pa.bool_())])
GONE = pa.schema([("term", pa.string()), ("place", pa.int64()), ("row_id", pa.int64())])
PRESENT = pa.schema([("term", pa.string()), ("row_id", pa.int64()), ("address", pa.int64())])

# Rows of theirs, with the row of base and that of ours that have the same id.
PUT = """
SELECT came.place - came.place % {stretch} AS stretch, came.place % {stretch} AS row,
       gone.row_id AS base_row_id, present.row_id AS our_row_id, present.address AS our_address
FROM {came} AS came
LEFT JOIN {gone} AS gone ON gone.term = came.term
LEFT JOIN {present} AS present ON present.term = came.term
WHERE came.is_written
"""

# Rows of base that theirs has deleted. Where ours has too, there is nothing to do.
DELETED = """
SELECT gone.place - gone.place % {stretch} AS stretch, gone.place % {stretch} AS row,
       gone.row_id AS base_row_id, present.row_id AS our_row_id, present.address AS our_address
FROM {gone} AS gone
JOIN {present} AS present ON present.term = gone.term
WHERE NOT EXISTS (SELECT 1 FROM {came} AS came WHERE came.term = gone.term)
"""


@dataclass(frozen=True, eq=False)
class MergedTable:
    """What a merge does to one version of our table: rows in files, places of rows that go."""

    job: MergeJob
    parts: tuple[Part, ...]

    @property
    def made_for(self) -> DatasetRef:
        return self.job.ours

    @property
    def counts(self) -> EditCounts:
        return EditCounts(
            inserted=sum(part.inserted for part in self.parts),
            updated=sum(len(part.addresses) for part in self.parts),
            deleted=sum(len(part.deleted_addresses) for part in self.parts),
        )

    @property
    def work(self) -> Replacement:
        return Replacement(
            base=self.job.ours,
            fragments=tuple(fragment for part in self.parts for fragment in part.fragments),
            addresses=_together([part.addresses for part in self.parts]),
            inserted=sum(part.inserted for part in self.parts),
            written_at=self.job.home,
            deleted=_together([part.deleted_addresses for part in self.parts]),
        )

    @property
    def incoming(self) -> IncomingFiles:
        """The table as set checks see it."""
        files = (file for part in self.parts for file in part.files)
        rows, first = [], 0
        for file in files:
            rows.append(StagedRows(self.job.home, file.fragment, file.rows, first))
            first += file.rows
        return IncomingFiles(
            rows,
            replaced=self._replaced,
            removes=any(len(part.deleted_row_ids) for part in self.parts),
        )

    @cached_property
    def _replaced(self) -> RowSet | None:
        row_ids = [ids for part in self.parts for ids in (part.row_ids, part.deleted_row_ids)]
        gone = _together(row_ids)
        return row_set(gone) if len(gone) else None

    def without(self, runner: Runner, ids: pa.Array, there: pa.Table) -> "MergedTable":
        """The same without the rows that have these ids; `there` says where ours has them."""
        if any(property_.type is Scalar.BLOB for property_ in self.job.entity.properties):
            # A row with a blob can't be read back from its file.
            held = self.job.held | frozenset(ids.to_pylist())
            return _match(runner, replace(self.job, held=held))
        ran = runner.run(self.parts, partial(without_ids, self.job, ids), doing=DOING)
        addresses = there[ROW_ADDRESS].to_numpy()
        return MergedTable(self.job, tuple(_kept(one.result, addresses) for one in ran))


def _together(parts: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _kept(part: Part, addresses: NDArray[np.uint64]) -> Part:
    """The part without its deletions at these addresses."""
    stays = np.isin(part.deleted_addresses, addresses, invert=True)
    return replace(
        part,
        deleted_row_ids=part.deleted_row_ids[stays],
        deleted_addresses=part.deleted_addresses[stays],
    )


def match_table(
    runner: Runner,
    entity: EntityType,
    was: EntityType,
    *,
    base: Snapshot,
    ours: Snapshot,
    theirs: Snapshot,
    area: TaskArea,
    limits: LoadLimits,
    take: Take | None,
    chosen: frozenset[str],
) -> MergedTable:
    """Find what theirs changed in a table, and write what ours takes of it.

    `was` is the type as base and theirs have it.
    """
    job = _job(entity, was, base=base, ours=ours, theirs=theirs, area=area, limits=limits)
    return _match(runner, replace(job, take=take, chosen=chosen))


def _job(
    entity: EntityType,
    was: EntityType,
    *,
    base: Snapshot,
    ours: Snapshot,
    theirs: Snapshot,
    area: TaskArea,
    limits: LoadLimits,
) -> MergeJob:
    root, before, after = ours.root, base.dataset(was), theirs.dataset(was)
    mine = ours.dataset(entity)
    limit_rows = max(1, limits.max_unwritten_bytes // max(before.row_bytes, after.row_bytes))
    gone = stretches_beside(root, before, after, limit_rows=limit_rows)
    return MergeJob(
        entity=entity,
        was=was,
        root=root,
        home=ours.location(entity),
        area=area,
        base=before.ref,
        ours=mine.ref,
        rules=None if theirs.schema_hash == ours.schema_hash else ours.catalog,
        came=tuple(stretches_beside(root, after, before, limit_rows=limit_rows)),
        gone=tuple(gone),
        # Only where one version was made from the other do numbers of versions mean the same.
        written_after=before.ref.version if theirs.continues(was, before.ref) else None,
        present=tuple(stretches_in_touch(root, mine, before, gone, limit_rows=MAX_TASK_IDS)),
        max_conflicts=limits.max_conflicts,
    )


def no_rows(entity: EntityType, ours: Snapshot, area: TaskArea) -> MergedTable:
    """A table in which theirs changed nothing."""
    ref = ours.tables[entity.table_key].ref
    job = MergeJob(entity, entity, ours.root, ours.location(entity), area, base=ref, ours=ref)
    return MergedTable(job, ())


def count_changed(
    runner: Runner,
    entity: EntityType,
    *,
    base: Snapshot,
    theirs: Snapshot,
    area: TaskArea,
    limits: LoadLimits,
) -> int:
    """How many rows theirs changed in a table that ours has no more."""
    job = _job(entity, entity, base=base, ours=base, theirs=theirs, area=area, limits=limits)
    return sum(_each_stretch(runner, job, count_changes))


def _match(runner: Runner, job: MergeJob) -> MergedTable:
    parts = [p for p in _each_stretch(runner, job, merge_stretch) if not p.is_empty]
    return MergedTable(job, tuple(sorted(parts, key=lambda part: part.number)))


def _each_stretch(runner: Runner, job: MergeJob, work: StretchWork[R]) -> list[R]:
    if job.gone or job.present:
        return _joined(runner, job, work)
    numbers = range(len(job.came))
    return [one.result for one in runner.run(numbers, partial(_unmatched, job, work), doing=DOING)]


def _joined(runner: Runner, job: MergeJob, work: StretchWork[R]) -> list[R]:
    # Views are the session's, which others may share: the names are ours alone.
    unique = uuid.uuid4().hex
    names = {name: f"{name}_{unique}" for name in ("came", "gone", "present")}
    numbered = [*enumerate((*job.came, *job.gone))]
    came, gone = numbered[: len(job.came)], numbered[len(job.came) :]
    _show(runner, names["came"], came, partial(_came, job.written_after), CAME)
    _show(runner, names["gone"], gone, _gone, GONE)
    _show(runner, names["present"], [*enumerate(job.present)], _present, PRESENT)
    statements = [*([PUT] if came else []), *([DELETED] if gone else [])]
    if not statements:
        return []  # another version with the same rows
    try:
        return runner.run_over(
            " UNION ALL ".join(statements).format(stretch=STRETCH, **names),
            partial(_matched, job, work),
            by="stretch",
            then="row",
            tasks=len(numbered),
            doing=DOING,
        )
    finally:
        for name in names.values():
            runner.forget(name)


Numbered = tuple[int, Stretch]


def _show(
    runner: Runner,
    name: str,
    stretches: Sequence[Numbered],
    read: Callable[[Numbered], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> None:
    """Let SQL see the ids of the rows of some stretches."""
    tasks = min(len(stretches), CHECKS_PER_CORE * runner.parallelism)
    dealt = [tuple(stretches[task::tasks]) for task in range(tasks)]
    most = sum(len(stretch.rows) for _, stretch in stretches)
    runner.show_as(name, dealt, partial(_each, read), schema, most=most)


# Inside a task ------------------------------------------------------------------------------------


def _each(
    read: Callable[[Numbered], Iterator[pa.RecordBatch]], stretches: Sequence[Numbered]
) -> Iterator[pa.RecordBatch]:
    for stretch in stretches:
        yield from read(stretch)


def _came(written_after: int | None, numbered: Numbered) -> Iterator[pa.RecordBatch]:
    number, stretch = numbered
    rows = stretch.read([ID, WRITTEN_AT])
    # A compaction moves rows to other files and leaves the version that wrote them.
    is_written = (
        pa.repeat(pa.scalar(value=True), rows.num_rows)
        if written_after is None
        else pc.greater(rows[WRITTEN_AT], written_after)
    )
    yield from _batches([rows[ID], _places(number, rows), is_written], CAME)


def _gone(numbered: Numbered) -> Iterator[pa.RecordBatch]:
    number, stretch = numbered
    rows = stretch.read([ID])
    yield from _batches([rows[ID], _places(number, rows), rows[ROW_ID].cast(pa.int64())], GONE)


def _present(numbered: Numbered) -> Iterator[pa.RecordBatch]:
    rows = numbered[1].read([ID], with_row_address=True)
    # Spark has no unsigned numbers; neither of these reaches the upper half.
    numbers = [rows[name].cast(pa.int64()) for name in (ROW_ID, ROW_ADDRESS)]
    yield from _batches([rows[ID], *numbers], PRESENT)


def _places(number: int, rows: pa.Table) -> pa.Array:
    return pa.array(np.arange(rows.num_rows) + number * STRETCH)


def _batches(
    columns: Sequence[pa.Array | pa.ChunkedArray], schema: pa.Schema
) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = pa.table(columns, schema=schema).combine_chunks().to_batches()
    return batches


def _matched(job: MergeJob, work: StretchWork[R], stretch: int, matches: pa.Table) -> R:
    return work(job, stretch // STRETCH, matches.select(MATCHES.names))


def _unmatched(job: MergeJob, work: StretchWork[R], number: int) -> R:
    """A stretch of rows with ids that neither base nor ours can have."""
    return work(job, number, None)
