"""A bulk load, second half: what its staged rows change in one snapshot, and whether they may.

Nothing here publishes. A resolved load holds for its snapshot alone; when another writer was
quicker the same load is resolved again, and only the tables that the others have touched are done
anew. A load that breaks a rule raises.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ConstraintViolated, KeyTaken, OmnigraphError
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.row_counts import RowCounts
from omnigraph.check.sets.in_memory import IncomingRows, RowsInMemory
from omnigraph.check.sets.violations import SetViolation, report
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.pipeline.load.checks import NO_ROWS, LoadChecks, last_of_each
from omnigraph.pipeline.load.load import AcceptedLoad, LoadMode, StagedLoad
from omnigraph.pipeline.load.repeats import repeats_edges
from omnigraph.pipeline.load.row_origin import Locator
from omnigraph.pipeline.load.sets_in_files import IncomingFiles, RowsInFiles
from omnigraph.pipeline.load.upsert import Upserted, upsert
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.read.changes.diff import differing
from omnigraph.store.changes import RowEdits
from omnigraph.store.datasets import ROW_LOCATOR
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import OnConflict, Replacement, StagedFiles, TableEdit, Work

__all__ = ["ResolvedLoad", "refusal", "resolve_load"]

Place = Callable[[EntityType, int], int]
"""The place among all rows of a type, by the place among those that were checked."""


@frozen(slots=False)
class ResolvedLoad:
    """What a load does to one snapshot: checked, and ready for the write protocol."""

    load: StagedLoad
    work: Work
    counts: Mapping[TableKey, RowCounts] = field(default_factory=dict)
    """Of every table with rows in the input."""
    repeated: tuple[str, ...] = ()
    """Edge types without a key to which edges are added that were there before (`repeats`)."""
    upserts: Mapping[TableKey, Upserted] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, table in self.load.tables.items():
            counts = self.counts[key]
            assert table.rows == counts.loaded + counts.superseded, "every row is counted once"

    @property
    def superseded(self) -> int:
        return sum(counts.superseded for counts in self.counts.values())

    @property
    def nodes(self) -> dict[str, int]:
        return {name: counts.loaded for name, counts in self.counts_of(self.load.catalog.nodes)}

    @property
    def edges(self) -> dict[str, int]:
        return {name: counts.loaded for name, counts in self.counts_of(self.load.catalog.edges)}

    def counts_of(self, types: Sequence[EntityType]) -> Iterator[tuple[str, RowCounts]]:
        for entity in types:
            if (counts := self.counts.get(entity.table_key)) is not None:
                yield entity.name, counts

    def fragments_in(self, where: Mapping[TableKey, Location]) -> frozenset[str]:
        """The staged files that lie where the tables of its commit do.

        A table that was forked for the commit got copies of the files, and the staged ones are not
        needed any more.
        """
        return frozenset(
            fragment
            for key, table in self.work.tables.items()
            if isinstance(table, StagedFiles | Replacement) and table.written_at == where.get(key)
            for fragment in table.fragments
        )


def resolve_load(
    runner: Runner,
    accepted: AcceptedLoad,
    snapshot: Snapshot,
    area: StagingArea,
    *,
    before: ResolvedLoad | None = None,
) -> ResolvedLoad:
    """Find what the accepted rows change in `snapshot`; raise if a rule would be broken.

    `before` is the same load, resolved at an earlier snapshot.
    """
    load = accepted.load
    if before is not None and before.load is not load:
        before = None  # other rows have been taken out of it since
    types = snapshot.catalog.entities
    assert all(t.entity in types for t in load.tables.values()), "rows are staged for one schema"
    if load.mode is not LoadMode.MERGE:
        return _resolve_new_rows(runner, load, snapshot)
    if load.is_held:
        return _merge_held_rows(load, snapshot)
    return _merge_scratch_files(runner, load, snapshot, area, before)


# Append and overwrite -----------------------------------------------------------------------------


def _resolve_new_rows(runner: Runner, load: StagedLoad, snapshot: Snapshot) -> ResolvedLoad:
    """Files that are written already, as they are."""
    checks = LoadChecks(runner, load, snapshot).without(NO_ROWS)
    if violations := checks.violations():
        raise refusal(load, violations)
    files = {
        key: StagedFiles(
            "overwrite" if load.mode is LoadMode.OVERWRITE else "append",
            tuple(file.fragment for file in table.files),
            table.rows,
            table.location,
        )
        for key, table in load.tables.items()
    }
    is_overwrite = load.mode is LoadMode.OVERWRITE
    counts = {
        key: RowCounts(
            inserted=table.rows, removed=snapshot.tables[key].row_count if is_overwrite else 0
        )
        for key, table in load.tables.items()
    }
    # To replace rows is a decision about those that the caller has seen.
    on_conflict = OnConflict.RAISE if is_overwrite else OnConflict.PREPARE_AGAIN
    return ResolvedLoad(load, Work(files, checks.reads, on_conflict), counts)


# Merge --------------------------------------------------------------------------------------------


def _merge_held_rows(load: StagedLoad, snapshot: Snapshot) -> ResolvedLoad:
    """A small merge is an edit like any other: rows are looked up by id."""
    incoming: dict[TableKey, IncomingRows] = {}
    edits: dict[TableKey, TableEdit] = {}
    counts: dict[TableKey, RowCounts] = {}
    for key, table in load.tables.items():
        last = last_of_each(table.held[ID].combine_chunks())
        rows = table.held.take(pa.array(last))
        dataset = snapshot.dataset(table.entity)
        found = dataset.rows_of(rows[ID].combine_chunks(), rows.column_names[1:])
        differs = differing(rows, found.select(rows.column_names))
        changes = RowEdits(rows.filter(differs))
        there = found.filter(pc.is_in(found[ID], value_set=changes.ids)).select(ROW_LOCATOR)
        edits[key] = TableEdit(changes, there, base=dataset.ref)
        counts[key] = RowCounts(
            inserted=changes.upserts.num_rows - there.num_rows,
            updated=there.num_rows,
            unchanged=rows.num_rows - changes.upserts.num_rows,
            superseded=table.rows - len(last),
        )
        places = last[differs.to_numpy(zero_copy_only=False)]
        incoming[key] = IncomingRows(changes.upserts, places=places)
    checks = RowsInMemory(incoming, snapshot)
    if violations := checks.violations():
        raise refusal(load, violations)
    # Rows that equal what is there depend on it too.
    reads = checks.reads | load.tables.keys()
    repeated = _repeated(load, snapshot, counts, lambda key: edits[key].rows.upserts)
    work = Work(edits, reads, OnConflict.PREPARE_AGAIN)
    return ResolvedLoad(load, work, counts, repeated)


def _merge_scratch_files(
    runner: Runner,
    load: StagedLoad,
    snapshot: Snapshot,
    area: StagingArea,
    before: ResolvedLoad | None,
) -> ResolvedLoad:
    upserts: dict[TableKey, Upserted] = {}
    for key, table in load.tables.items():
        known = before.upserts[key] if before is not None else None
        if known is not None and known.made_for == snapshot.tables[key].ref:
            upserts[key] = known
        else:
            upserts[key] = upsert(runner, load, table, snapshot, area)

    incoming = {
        key: IncomingFiles([*upserted.rows()], replaced=upserted.replaced)
        for key, upserted in upserts.items()
    }
    checks = RowsInFiles(runner, snapshot, incoming, limits=load.limits)
    if violations := checks.violations():
        raise refusal(load, violations, lambda e, place: upserts[e.table_key].place(place))
    work = Work(
        {key: upserted.work for key, upserted in upserts.items()},
        reads=checks.reads | load.tables.keys(),
        on_conflict=OnConflict.PREPARE_AGAIN,
    )
    counts = {key: upserted.counts for key, upserted in upserts.items()}
    repeated = _repeated(load, snapshot, counts, lambda key: upserts[key].sample())
    return ResolvedLoad(load, work, counts, repeated, upserts)


def _repeated(
    load: StagedLoad,
    snapshot: Snapshot,
    counts: Mapping[TableKey, RowCounts],
    new_rows: Callable[[TableKey], pa.Table],
) -> tuple[str, ...]:
    """Edge types without a key to which edges are added that were there before."""
    return tuple(
        edge.name
        for edge in load.catalog.edges
        if (table := load.tables.get(key := edge.table_key)) is not None
        and not table.ids_may_clash
        and counts[key].inserted
        and snapshot.tables[key].row_count
        and repeats_edges(edge, new_rows(key), snapshot)
    )


# Both ---------------------------------------------------------------------------------------------


def refusal(
    load: StagedLoad, found: Sequence[SetViolation], place: Place = lambda _, place: place
) -> OmnigraphError:
    """Why a load is not published: what breaks rules over many rows."""
    locator = Locator(load)
    violations = report(found, lambda e, checked: locator.place(e, place(e, checked)))
    all_taken = all(each.is_taken for each in found)
    return KeyTaken(violations) if all_taken else ConstraintViolated(violations)
