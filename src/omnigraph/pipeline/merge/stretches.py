"""Inside a task: a stretch of the rows that theirs changed, beside the same rows of base and ours.

The task reads the three sides of its rows, lets `omnigraph.merge` compare them, and writes the rows
that ours takes as files of our table. A row that replaces another keeps its row id. The driver sees
row ids, addresses and the ids of rows in conflict, never a row.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.conflicts import Take
from omnigraph.lang.schema.catalog import ID, Catalog, EntityType
from omnigraph.merge.schemas import checked_rows, left_out_of_rows
from omnigraph.merge.table import Pin, TableMerge
from omnigraph.merge.three_way import sides_of
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
    read_fragment_columns,
    row_set,
    with_row_ids,
    write_fragments,
)
from omnigraph.store.lifting import lifted
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
        ("base_row_id", pa.int64()),
        ("our_row_id", pa.int64()),
        ("our_address", pa.int64()),
    ]
)
"""Of a row in a stretch: its position there, and where base and ours have the row with its id."""

NOWHERE: NDArray[np.uint64] = np.empty(0, np.uint64)
NO_IDS = pa.array([], pa.string())


@dataclass(frozen=True)
class MergeJob:
    """What every task needs to know of one table."""

    entity: EntityType
    was: EntityType
    """The type as base and theirs have it."""
    root: Location
    home: Location
    """Where our files lie."""
    area: TaskArea
    base: DatasetRef
    ours: DatasetRef
    rules: Catalog | None = None
    """Our schema, where theirs is an earlier one, whose rows may break a rule of ours."""
    came: tuple[Stretch, ...] = ()
    """Rows of theirs that base has elsewhere, or not at all, by number."""
    gone: tuple[Stretch, ...] = ()
    """Rows of base that theirs has elsewhere, or not at all; their numbers follow."""
    written_after: int | None = None
    """The version of base, where theirs was made from it: no older row of theirs is a change."""
    present: tuple[Stretch, ...] = ()
    """Rows of ours, among which all lie with the id of a changed one."""
    take: Take | None = None
    """The side that rows in conflict take; None: that is not for the task to say."""
    chosen: frozenset[str] = frozenset()
    """Ids that a choice names: they are told, however many are in conflict."""
    max_conflicts: int = 0
    held: frozenset[str] = frozenset()
    """Ids of rows that the driver decides about by itself: the task leaves them out."""


@dataclass(frozen=True, eq=False)
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

    Without `matches`, its rows have ids that neither base nor ours has.
    """
    theirs = _their_rows(job, number, matches)
    if job.rules is None and (matches is None or _are_all_new(matches)):
        # Most of what a load brought: nothing to compare it with.
        return part_of(job, RowEdits(_not_held(job, theirs)), _nowhere(), number=number)
    matches = MATCHES.empty_table() if matches is None else matches
    changes, left_out = _changes(job, _base_rows(job, matches), theirs)
    ours, there = _our_rows(job, matches)
    table = TableMerge(job.entity, sides_of(changes, ours))
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
    known = MATCHES.empty_table() if matches is None else matches
    return len(matched(_base_rows(job, known), _their_rows(job, number, matches)))


def _changes(
    job: MergeJob, base: pa.Table, theirs: pa.Table
) -> tuple[RowChanges, Mapping[str, int]]:
    """What theirs changed as our schema has it, and what that schema has no place for."""
    if job.rules is None:
        return matched(_not_held(job, base), _not_held(job, theirs)), {}
    left_out = left_out_of_rows(matched(base, theirs), job.was, job.entity)
    before, after = (lifted(_not_held(job, rows), job.was, job.entity) for rows in (base, theirs))
    return matched(before, after), left_out


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
    known = pc.or_(matches["base_row_id"].is_valid(), matches["our_row_id"].is_valid())
    return not pc.any(known).as_py()


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
    known = read_fragment_columns(job.home, part.fragments, [ID])[ID]
    keeps = pc.invert(pc.is_in(known, value_set=ids))
    if pc.all(keeps).as_py():
        return part
    schema = table_schema(job.entity)
    rows = read_fragment_columns(job.home, part.fragments, schema.names).filter(keeps).cast(schema)
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
        return schema.empty_table()  # they have deleted what base has
    rows = job.came[number].read(schema.names).select(schema.names)
    return rows if matches is None else rows.take(matches["row"])


def _base_rows(job: MergeJob, matches: pa.Table) -> pa.Table:
    columns = table_schema(job.was).names
    return _rows_at(job, job.base, matches["base_row_id"].drop_null(), columns).select(columns)


def _our_rows(job: MergeJob, matches: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Our rows with the ids of the stretch, and where they lie."""
    columns = table_schema(job.entity).names
    found = matches.filter(matches["our_row_id"].is_valid())
    rows = _rows_at(job, job.ours, found["our_row_id"], columns)
    row_ids = found["our_row_id"].cast(pa.uint64()).combine_chunks()
    order = pc.index_in(rows[ROW_ID], value_set=row_ids)
    addresses = found["our_address"].cast(pa.uint64()).take(order)
    return rows.select(columns), rows.select([ID, ROW_ID]).append_column(ROW_ADDRESS, addresses)


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
        files.add(job.home, fragments)
        staged = tuple(map(StagedFile.of, with_row_ids(fragments, row_ids)))
        _leave_receipt(job, staged)
        return staged


def _leave_receipt(job: MergeJob, staged: Sequence[StagedFile]) -> None:
    """Let the area's owner know the files, also if the driver never hears of this task.

    Every run of a task has a receipt of its own: the files of runs that do not count go.
    """
    home = name_below(job.home, job.root)
    receipt = Receipt(tuple((home, file.fragment) for file in staged), {})
    job.area.leave_receipt(uuid.uuid4().hex, receipt, is_final=True)
