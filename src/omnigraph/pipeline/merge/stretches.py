"""Inside a task: a stretch of the rows that theirs changed, beside the same rows of ours and of the
bases.

The task reads all sides of its rows, lets `omnigraph.merge` compare them, and writes the rows
that ours takes as files of our table. A row that replaces another keeps its row id. The driver sees
row ids, addresses and the ids of rows in conflict, never a row.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.conflicts import Take
from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import ID, Catalog, EntityType
from omnigraph.merge.joining import PlainBases, joint_rows
from omnigraph.merge.schemas import checked_rows, left_out_of_rows
from omnigraph.merge.table import Pin, TableMerge
from omnigraph.merge.three_way import sides_of
from omnigraph.pipeline.merge.versions import OURS, Version
from omnigraph.pipeline.staging.area import Receipt, TaskArea, TaskFiles
from omnigraph.pipeline.staging.stage import StagedFile
from omnigraph.read.changes.diff import matched
from omnigraph.read.changes.locate import Stretch
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import RowChanges, RowEdits
from omnigraph.store.datasets import (
    ROW_ADDRESS,
    ROW_ID,
    DatasetRef,
    Datasets,
    TableHome,
    read_fragment_columns,
    row_set,
    with_row_ids,
    write_fragments,
)
from omnigraph.store.lifting import lifted, new_columns
from omnigraph.store.location import Location, name_below

__all__ = [
    "MATCHES",
    "MergeJob",
    "Part",
    "count_changes",
    "merge_stretch",
    "part_of",
    "without_ids",
]

MATCHES = pa.schema(
    [
        ("row", pa.int64()),
        ("version", pa.int64()),
        ("row_id", pa.int64()),
        ("address", pa.int64()),
    ]
)
"""Of a row in a stretch: its position there, and where a version has the row with its id, by the
number of the version. A row that no version has comes once, with nulls; only ours has addresses."""

NOWHERE: NDArray[np.uint64] = np.empty(0, np.uint64)
NO_IDS = pa.array([], pa.string())
NO_BASE: PlainBases[int] = PlainBases((OURS,))


@frozen(slots=False)
class MergeJob:
    """What every task needs to know of one table."""

    entity: EntityType
    was: EntityType
    """The type as theirs has it."""
    root: Location
    home: TableHome
    """Where our files lie."""
    area: TaskArea
    ours: DatasetRef
    bases: PlainBases[int] = NO_BASE
    versions: tuple[Version | None, ...] = ()
    """The versions of the bases by number, from 1 on."""
    rules: Catalog | None = None
    """Our schema, where theirs is an earlier one, whose rows may break a rule of ours."""
    came: tuple[Stretch, ...] = ()
    """Rows of theirs that a base has elsewhere, or not at all, by number."""
    gone: tuple[tuple[int, Stretch], ...] = ()
    """Rows of bases that theirs has elsewhere, or not at all, each with the number of its version;
    the numbers of the stretches follow."""
    written_after: int | None = None
    """The version of the base, where theirs was made from it: no older row of theirs is a
    change."""
    known: tuple[tuple[int, Stretch], ...] = ()
    """Rows of versions, among which all lie with the id of a changed one."""
    take: Take | None = None
    """The side that rows in conflict take; None: that is not for the task to say."""
    chosen: frozenset[str] = frozenset()
    """Ids that a choice names: they are told, however many are in conflict."""
    max_conflicts: int = 0
    held: frozenset[str] = frozenset()
    """Ids of rows that the driver decides about by itself: the task leaves them out."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns of ours that theirs does not have."""
        return new_columns(self.was, self.entity)


@frozen(slots=False, eq=False)
class Part:
    """What ours takes of one stretch: rows in files, and the places of rows that go."""

    files: tuple[StagedFile, ...] = ()
    row_ids: NDArray[np.uint64] = field(default_factory=lambda: NOWHERE)
    addresses: NDArray[np.uint64] = field(default_factory=lambda: NOWHERE)
    """Of the rows that are replaced, which come first in the files."""
    inserted: int = 0
    deleted_row_ids: NDArray[np.uint64] = field(default_factory=lambda: NOWHERE)
    deleted_addresses: NDArray[np.uint64] = field(default_factory=lambda: NOWHERE)
    in_conflict: pa.Array = field(default_factory=lambda: NO_IDS)
    """Ids of rows that nobody has settled, or that break a rule: the first few, and those that a
    choice names."""
    conflicts: int = 0
    """How many conflicts all such rows come to."""
    number: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Properties that our schema has no more, and how many rows had changed there."""

    @property
    def is_empty(self) -> bool:
        has_rows = len(self.files) or len(self.deleted_addresses)
        return not (has_rows or self.conflicts or self.left_out)

    @property
    def fragments(self) -> list[str]:
        return [file.fragment for file in self.files]


def merge_stretch(job: MergeJob, number: int, matches: pa.Table | None) -> Part:
    """Compare the rows of one stretch and write what ours takes of them.

    Without `matches`, its rows have ids that no other version has.
    """
    theirs = _their_rows(job, number, matches)
    if job.rules is None and (matches is None or _are_all_new(matches)):
        # Most of what a load brought: nothing to compare it with.
        return part_of(job, RowEdits(_not_held(job, theirs)), _nowhere(), number=number)
    rows = _RowsOfVersions(job, _that_may_matter(job, number, matches))
    ours, there = rows.ours
    changes, disputed, left_out = _changes(job, rows, theirs)
    table = TableMerge(job.entity, sides_of(changes, ours, disputed), unknown=job.unknown)
    unsettled = table.sides.ids.filter(pa.array(table.is_unsettled))
    if job.take is not None:
        for id_ in unsettled.to_pylist():
            table.pin(Pin(job.entity, id_, job.take))
        unsettled = NO_IDS
    edits, broken = _obeying(job, table.edits())
    part = replace(part_of(job, edits, there, number=number), left_out=left_out)
    conflicts = _conflicts(table) if len(unsettled) else 0
    return _with_conflicts(part, job, [unsettled, *broken], conflicts + sum(map(len, broken)))


def count_changes(job: MergeJob, number: int, matches: pa.Table | None) -> int:
    """How many rows of one stretch have changed, where ours has no place for them."""
    rows = _RowsOfVersions(job, MATCHES.empty_table() if matches is None else matches)
    found = left_out_of_rows(rows.changes_since(_their_rows(job, number, matches)), job.was, None)
    return sum(found.values())


def _that_may_matter(job: MergeJob, number: int, matches: pa.Table | None) -> pa.Table:
    """The matches, but for rows that neither theirs nor ours has any more."""
    if matches is None:
        return MATCHES.empty_table()
    if number < len(job.came):
        return matches
    ours = matches["row"].filter(pc.equal(matches["version"], OURS)).combine_chunks()
    return matches.filter(pc.is_in(matches["row"], value_set=ours))


def _changes(
    job: MergeJob, rows: "_RowsOfVersions", theirs: pa.Table
) -> tuple[RowChanges, pa.Array, Mapping[str, int]]:
    """What theirs changed as our schema has it, the ids of rows that the bases dispute, and what
    that schema has no place for."""
    left_out: Mapping[str, int] = {}
    if job.rules is not None:
        left_out = left_out_of_rows(rows.changes_since(theirs), job.was, job.entity)
    after = lifted(_not_held(job, theirs), job.was, job.entity)
    ids = [each[ID].combine_chunks() for each in (after, *map(rows.of, job.bases.latest))]
    known = pa.concat_arrays(ids).unique()
    ours, theirs = (side.drop_columns(list(job.unknown)) for side in (rows.ours[0], after))
    joint = joint_rows(job.bases, known, rows.among, (ours, theirs))
    return matched(joint.rows, after), joint.disputed, left_out


class _RowsOfVersions:
    """The rows of each version that have the ids of a stretch."""

    def __init__(self, job: MergeJob, matches: pa.Table) -> None:
        self._job = job
        self._matches = matches
        self._read: dict[int, pa.Table] = {}

    @cached_property
    def ours(self) -> tuple[pa.Table, pa.Table]:
        """Our rows, and where they lie."""
        job, columns = self._job, table_schema(self._job.entity).names
        found = self._matches.filter(pc.equal(self._matches["version"], OURS))
        rows = _rows_at(job, job.ours, found["row_id"], columns)
        row_ids = found["row_id"].cast(pa.uint64()).combine_chunks()
        order = pc.index_in(rows[ROW_ID], value_set=row_ids)
        addresses = found["address"].cast(pa.uint64()).take(order)
        there = rows.select([ID, ROW_ID]).append_column(ROW_ADDRESS, addresses)
        return rows.select(columns), there

    def of(self, version: int) -> pa.Table:
        """The rows of a base as our schema has them, without those that the driver decides."""
        return _not_held(self._job, self._as(self._job.entity, version))

    def among(self, version: int, ids: pa.Array) -> pa.Table:
        """Those of them with some ids."""
        rows = self.of(version)
        return rows.filter(pc.is_in(rows[ID], value_set=ids))

    def changes_since(self, theirs: pa.Table) -> list[RowChanges]:
        """What theirs changed since each of the latest bases, in the schema of theirs."""
        bases = self._job.bases.latest
        return [matched(self._as(self._job.was, base), theirs) for base in bases]

    def _as(self, entity: EntityType, number: int) -> pa.Table:
        version = self._job.versions[number - 1]
        if version is None:
            return table_schema(entity).empty_table()
        if number not in self._read:
            columns = table_schema(version.entity).names
            found = self._matches.filter(pc.equal(self._matches["version"], number))
            rows = _rows_at(self._job, version.ref, found["row_id"], columns)
            self._read[number] = rows.select(columns)
        return lifted(self._read[number], version.entity, entity)


def _obeying(job: MergeJob, edits: RowEdits) -> tuple[RowEdits, list[pa.Array]]:
    """The edits without rows that break a rule of ours; the ids of those, for each of the rules."""
    if job.rules is None:
        return edits, []
    checked = checked_rows(job.entity, edits.upserts, job.rules)
    obeying = replace(edits, upserts=edits.upserts.take(pa.array(checked.kept)))
    if job.take == "ours":
        return obeying, []
    ids = edits.upserts[ID].combine_chunks()
    return obeying, [ids.take(pa.array(found.rows)) for found in checked.row_violations]


def _are_all_new(matches: pa.Table) -> bool:
    return bool(matches["version"].null_count == matches.num_rows)


def part_of(job: MergeJob, edits: RowEdits, there: pa.Table, *, number: int = 0) -> Part:
    """The edits as files and places; `there` says where our rows with these ids lie."""
    known = there.filter(pc.is_in(there[ID], value_set=edits.ids)).sort_by(ROW_ID)
    is_replaced = pc.is_in(known[ID], value_set=edits.upserts[ID].combine_chunks())
    replaced, deleted = known.filter(is_replaced), known.filter(pc.invert(is_replaced))
    # Neighbours stay neighbours, and row ids in order take a fraction of the room.
    place = pc.index_in(replaced[ID], value_set=edits.upserts[ID].combine_chunks())
    fresh = pc.invert(pc.is_in(edits.upserts[ID], value_set=replaced[ID].combine_chunks()))
    inserts = edits.upserts.filter(fresh)
    schema = table_schema(job.entity)
    rows = pa.concat_tables([edits.upserts.take(place), inserts]).select(schema.names).cast(schema)
    row_ids = replaced[ROW_ID].to_numpy()
    return Part(
        files=_written(job, rows, row_ids),
        row_ids=row_ids,
        addresses=replaced[ROW_ADDRESS].to_numpy(),
        inserted=inserts.num_rows,
        deleted_row_ids=deleted[ROW_ID].to_numpy(),
        deleted_addresses=deleted[ROW_ADDRESS].to_numpy(),
        number=number,
    )


def without_ids(job: MergeJob, ids: pa.Array, part: Part) -> Part:
    """The part without the files' rows that have these ids; the same one if it has none."""
    if not part.files:
        return part
    known = read_fragment_columns(job.home.location, part.fragments, [ID])[ID]
    keeps = pc.invert(pc.is_in(known, value_set=ids))
    if pc.all(keeps).as_py():
        return part
    schema = table_schema(job.entity)
    rows = (
        read_fragment_columns(job.home.location, part.fragments, schema.names)
        .filter(keeps)
        .cast(schema)
    )
    kept = keeps.to_numpy()
    stays = kept[: len(part.row_ids)]
    row_ids = part.row_ids[stays]
    return Part(
        files=_written(job, rows, row_ids),
        row_ids=row_ids,
        addresses=part.addresses[stays],
        inserted=rows.num_rows - len(row_ids),
        deleted_row_ids=part.deleted_row_ids,
        deleted_addresses=part.deleted_addresses,
        number=part.number,
    )


def _conflicts(table: TableMerge) -> int:
    compared = table.compared
    diverged = compared.divergent_insert | compared.divergent_update
    in_columns = sum(int((differs & diverged).sum()) for differs in compared.differs.values())
    return in_columns + int(compared.delete_vs_update.sum())


def _with_conflicts(part: Part, job: MergeJob, rows: Sequence[pa.Array], conflicts: int) -> Part:
    if not conflicts:
        return part
    ids = pa.concat_arrays(rows).unique()
    ids = ids.take(pc.sort_indices(ids))
    chosen = ids.filter(pc.is_in(ids, value_set=pa.array(sorted(job.chosen), pa.string())))
    told = pa.concat_arrays([ids.slice(0, job.max_conflicts), chosen]).unique()
    return replace(part, in_conflict=told, conflicts=conflicts)


# Reading and writing ------------------------------------------------------------------------------


def _their_rows(job: MergeJob, number: int, matches: pa.Table | None) -> pa.Table:
    schema = table_schema(job.was)
    if number >= len(job.came):
        return schema.empty_table()  # they have deleted what a base has
    rows = job.came[number].read(schema.names).select(schema.names)
    return rows if matches is None else rows.take(pa.array(np.unique(matches["row"].to_numpy())))


def _not_held(job: MergeJob, rows: pa.Table) -> pa.Table:
    if not job.held:
        return rows
    held = pa.array(sorted(job.held), pa.string())
    return rows.filter(pc.invert(pc.is_in(rows[ID], value_set=held)))


def _rows_at(
    job: MergeJob, ref: DatasetRef, row_ids: pa.ChunkedArray, columns: list[str]
) -> pa.Table:
    wanted = row_set(row_ids.to_numpy().astype(np.uint64))
    return Datasets(job.root).open(ref).rows_at(wanted, columns)


def _nowhere() -> pa.Table:
    return pa.table(
        {ID: NO_IDS, ROW_ID: pa.array([], pa.uint64()), ROW_ADDRESS: pa.array([], pa.uint64())}
    )


def _written(job: MergeJob, rows: pa.Table, row_ids: NDArray[np.uint64]) -> tuple[StagedFile, ...]:
    if not rows.num_rows:
        return ()
    with TaskFiles() as files:
        fragments = write_fragments(job.home, iter(rows.to_batches()), rows.schema)
        files.add(job.home.location, fragments)
        staged = tuple(map(StagedFile.of, with_row_ids(fragments, row_ids)))
        _leave_receipt(job, staged)
        return staged


def _leave_receipt(job: MergeJob, staged: Sequence[StagedFile]) -> None:
    """Let the area's owner know the files, also if the driver never hears of this task.

    Every run of a task has a receipt of its own: the files of runs that do not count go.
    """
    home = name_below(job.home.location, job.root)
    receipt = Receipt(tuple((home, file.fragment) for file in staged), {})
    job.area.leave_receipt(uuid.uuid4().hex, receipt, is_final=True)
