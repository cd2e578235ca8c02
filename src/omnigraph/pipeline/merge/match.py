"""The rows of one table that theirs changed, matched by id with those of ours and of the bases, and
merged.

Rows that cannot differ are never read: what all versions have in the same place of the same file.
Of ours, only files are read that can hold the id of a changed row. SQL joins ids and deals the
answer out by stretch; where there is nothing to join, tasks begin at once.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.conflicts import Take
from omnigraph.base.frozen import frozen
from omnigraph.base.types import Scalar
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.merge.base import StoredBases
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
from omnigraph.pipeline.merge.versions import OURS, base_versions, refs_of
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.area import TaskArea
from omnigraph.read.changes.locate import Stretch, stretches_in_touch
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
GONE = pa.schema(
    [
        ("term", pa.string()),
        ("place", pa.int64()),
        ("version", pa.int64()),
        ("row_id", pa.int64()),
    ]
)
KNOWN = pa.schema(
    [
        ("term", pa.string()),
        ("version", pa.int64()),
        ("row_id", pa.int64()),
        ("address", pa.int64()),
    ]
)

# Rows of theirs, and of the bases those that theirs has deleted; each with the rows of all versions
# that have the same id. The hint is for Spark, which takes views for small and would send them to
# every worker.
MATCHED = """
WITH there AS (
    SELECT term, version, row_id, address FROM {known}
    UNION ALL
    SELECT term, version, row_id, CAST(NULL AS BIGINT) AS address FROM {gone}
), changed AS (
    SELECT term, place FROM {came} WHERE is_written
    UNION ALL
    SELECT term, MIN(place) AS place FROM {gone} AS gone
    WHERE NOT EXISTS (SELECT 1 FROM {came} AS came WHERE came.term = gone.term)
    GROUP BY term
)
SELECT /*+ MERGE(changed, there) */
       changed.place - changed.place % {stretch} AS stretch, changed.place % {stretch} AS row,
       there.version, there.row_id, there.address
FROM changed LEFT JOIN there ON there.term = changed.term
"""


@frozen(slots=False, eq=False)
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
            written_at=self.job.home.location,
            deleted=_together([part.deleted_addresses for part in self.parts]),
        )

    @property
    def incoming(self) -> IncomingFiles:
        """The table as set checks see it."""
        files = (file for part in self.parts for file in part.files)
        rows, first = [], 0
        for file in files:
            rows.append(StagedRows(self.job.home.location, file.fragment, file.rows, first))
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
    bases: StoredBases,
    ours: Snapshot,
    theirs: Snapshot,
    area: TaskArea,
    limits: LoadLimits,
    take: Take | None,
    chosen: frozenset[str],
) -> MergedTable:
    """Find what theirs changed in a table, and write what ours takes of it.

    `was` is the type as theirs has it.
    """
    job = _job(entity, was, bases=bases, ours=ours, theirs=theirs, area=area, limits=limits)
    # Rows of theirs that ours has in the same place are no change of ours.
    mine = stretches_in_touch(
        job.root, ours.dataset(entity), theirs.dataset(was), job.came, limit_rows=MAX_TASK_IDS
    )
    known = (*((OURS, stretch) for stretch in mine), *job.known)
    return _match(runner, replace(job, known=known, take=take, chosen=chosen))


def _job(
    entity: EntityType,
    was: EntityType,
    *,
    bases: StoredBases,
    ours: Snapshot,
    theirs: Snapshot,
    area: TaskArea,
    limits: LoadLimits,
) -> MergeJob:
    """What there is to know of a table, but for the rows that ours has."""
    found = base_versions(
        bases,
        was,
        theirs.dataset(was),
        limit_bytes=limits.max_compared_bytes,
        limit_ids=MAX_TASK_IDS,
    )
    return MergeJob(
        entity=entity,
        was=was,
        root=ours.root,
        home=ours.home(entity),
        area=area,
        ours=ours.tables[entity.table_key].ref,
        bases=found.bases,
        versions=found.versions,
        rules=None if theirs.schema_hash == ours.schema_hash else ours.catalog,
        came=found.came,
        gone=found.gone,
        written_after=_written_after(refs_of(bases, was), theirs, was),
        known=found.known,
        max_conflicts=limits.max_conflicts,
    )


def _written_after(
    bases: Sequence[DatasetRef | None], theirs: Snapshot, was: EntityType
) -> int | None:
    """The version since which rows of theirs may be other than on a base; None: it is not known.

    Only where one version was made from the other do numbers of versions mean the same.
    """
    refs = [ref for ref in bases if ref is not None and theirs.continues(was, ref)]
    return min(ref.version for ref in refs) if len(refs) == len(bases) else None


def no_rows(entity: EntityType, ours: Snapshot, area: TaskArea) -> MergedTable:
    """A table in which theirs changed nothing."""
    ref = ours.tables[entity.table_key].ref
    return MergedTable(MergeJob(entity, entity, ours.root, ours.home(entity), area, ours=ref), ())


def count_changed(
    runner: Runner,
    entity: EntityType,
    *,
    bases: StoredBases,
    theirs: Snapshot,
    area: TaskArea,
    limits: LoadLimits,
) -> int:
    """How many rows theirs changed in a table that ours has no more."""
    job = _job(entity, entity, bases=bases, ours=theirs, theirs=theirs, area=area, limits=limits)
    return sum(_each_stretch(runner, job, count_changes))


def _match(runner: Runner, job: MergeJob) -> MergedTable:
    parts = [p for p in _each_stretch(runner, job, merge_stretch) if not p.is_empty]
    return MergedTable(job, tuple(sorted(parts, key=lambda part: part.number)))


def _each_stretch(runner: Runner, job: MergeJob, work: StretchWork[R]) -> list[R]:
    if job.gone or job.known:
        return _joined(runner, job, work)
    numbers = range(len(job.came))
    return [one.result for one in runner.run(numbers, partial(_unmatched, job, work), doing=DOING)]


def _joined(runner: Runner, job: MergeJob, work: StretchWork[R]) -> list[R]:
    # Views are the session's, which others may share: the names are ours alone.
    unique = uuid.uuid4().hex
    names = {name: f"{name}_{unique}" for name in ("came", "gone", "known")}
    if not job.came and not job.gone:
        return []  # another version with the same rows
    came = [Numbered(stretch, number) for number, stretch in enumerate(job.came)]
    gone = [
        Numbered(stretch, number, version)
        for number, (version, stretch) in enumerate(job.gone, len(came))
    ]
    known = [Numbered(stretch, version=version) for version, stretch in job.known]
    _show(runner, names["came"], came, partial(_came, job.written_after), CAME)
    _show(runner, names["gone"], gone, _gone, GONE)
    _show(runner, names["known"], known, _known, KNOWN)
    try:
        return runner.run_over(
            MATCHED.format(stretch=STRETCH, **names),
            partial(_matched, job, work),
            by="stretch",
            then="row",
            tasks=len(came) + len(gone),
            doing=DOING,
        )
    finally:
        for name in names.values():
            runner.forget(name)


class Numbered(NamedTuple):
    stretch: Stretch
    number: int = 0
    version: int = OURS


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
    most = sum(len(each.stretch.rows) for each in stretches)
    runner.show_as(name, dealt, partial(_each, read), schema, most=most, on="term")


# Inside a task ------------------------------------------------------------------------------------


def _each(
    read: Callable[[Numbered], Iterator[pa.RecordBatch]], stretches: Sequence[Numbered]
) -> Iterator[pa.RecordBatch]:
    for stretch in stretches:
        yield from read(stretch)


def _came(written_after: int | None, of: Numbered) -> Iterator[pa.RecordBatch]:
    rows = of.stretch.read([ID, WRITTEN_AT])
    # A compaction moves rows to other files and leaves the version that wrote them.
    is_written = (
        pa.repeat(pa.scalar(value=True), rows.num_rows)
        if written_after is None
        else pc.greater(rows[WRITTEN_AT], written_after)
    )
    yield from _batches([rows[ID], _places(of.number, rows), is_written], CAME)


def _gone(of: Numbered) -> Iterator[pa.RecordBatch]:
    rows = of.stretch.read([ID])
    places, versions = _places(of.number, rows), _versions(of, rows)
    yield from _batches([rows[ID], places, versions, rows[ROW_ID].cast(pa.int64())], GONE)


def _known(of: Numbered) -> Iterator[pa.RecordBatch]:
    is_ours = of.version == OURS
    rows = of.stretch.read([ID], with_row_address=is_ours)
    # Spark has no unsigned numbers; neither of these reaches the upper half.
    row_ids = rows[ROW_ID].cast(pa.int64())
    addresses = (
        rows[ROW_ADDRESS].cast(pa.int64()) if is_ours else pa.nulls(rows.num_rows, pa.int64())
    )
    yield from _batches([rows[ID], _versions(of, rows), row_ids, addresses], KNOWN)


def _versions(of: Numbered, rows: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(of.version, pa.int64()), rows.num_rows)


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
    """A stretch of rows with ids that no other version can have."""
    return work(job, number, None)
