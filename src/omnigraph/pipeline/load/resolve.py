"""A bulk load, second half: what its staged rows change in one snapshot, and whether they may.

Nothing here publishes. What is settled holds for its snapshot alone; when another writer was
quicker the same load is settled again, and only what the others have touched is done anew. A load
that breaks a rule raises, and leaves at most files that nothing names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ConstraintViolated, KeyTaken, OmnigraphError
from omnigraph.base.ids import TableKey
from omnigraph.base.row_counts import RowCounts
from omnigraph.check.sets.in_memory import Arriving, Judgement, judge
from omnigraph.check.sets.rules import Breach, Part, Reading, Touch, plan_readings, report
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.pipeline.load.id_join import staged_rows
from omnigraph.pipeline.load.load import LoadMode, StagedLoad
from omnigraph.pipeline.load.repeats import repeats_edges
from omnigraph.pipeline.load.row_origin import Locator
from omnigraph.pipeline.load.sets_in_files import KeySource, StagedRows, check_sets, committed_rows
from omnigraph.pipeline.load.upsert import Upserted, upsert
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.stage import Keeping
from omnigraph.read.changes.diff import differing
from omnigraph.store.changes import TableChanges
from omnigraph.store.datasets import PLACE, RowSet
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import OnConflict, StagedFiles, TableEdit, Work

__all__ = ["Image", "SettledLoad", "last_of_each", "settle_load"]

Place = Callable[[EntityType, int], int]
"""The place among all rows of a type of the one at a place among those that were judged."""


@dataclass(frozen=True)
class SettledLoad:
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

    def discard_leftovers(self, *, is_published: bool) -> None:
        """Once all is over: files of this load that nothing will ever name."""
        if not is_published or Keeping.SCRATCH in self.load.keeping:
            self.load.discard_files()
        self.load.discard_spare()
        if not is_published:
            self.discard_upserts()

    def discard_upserts(self) -> None:
        for upserted in self.upserts.values():
            upserted.discard_files()


def settle_load(
    runner: Runner, load: StagedLoad, snapshot: Snapshot, *, before: SettledLoad | None = None
) -> SettledLoad:
    """Find what the staged rows change in `snapshot`; raise if a rule would be broken.

    `before` is what this load came to at an earlier snapshot.
    """
    assert snapshot.catalog == load.catalog, "rows are staged for one schema"
    if load.mode is not LoadMode.MERGE:
        return _settle_new_rows(runner, load, snapshot)
    if load.is_held:
        return _merge_held_rows(load, snapshot)
    return _merge_scratch_files(runner, load, snapshot, before)


# Append and overwrite -----------------------------------------------------------------------------


def _settle_new_rows(runner: Runner, load: StagedLoad, snapshot: Snapshot) -> SettledLoad:
    """Files that are written already, as they are."""
    judgement = _look_up(load, snapshot) if load.is_held else _compare(runner, load, snapshot)
    if judgement.breaches:
        refusal = _refusal(load, judgement.breaches, lambda _, place: place)
        load.discard_files()
        raise refusal
    files = {
        key: StagedFiles(
            "overwrite" if load.mode is LoadMode.OVERWRITE else "append",
            tuple(file.fragment for file in table.files),
            table.rows,
            table.uri,
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
    return SettledLoad(load, Work(files, judgement.reads, on_conflict), counts)


def _look_up(load: StagedLoad, snapshot: Snapshot) -> Judgement:
    arriving = {
        key: Arriving(table.held, must_be_new=table.ids_may_clash)
        for key, table in load.tables.items()
    }
    return judge(arriving, snapshot)


def _compare(runner: Runner, load: StagedLoad, snapshot: Snapshot) -> Judgement:
    is_overwrite = load.mode is LoadMode.OVERWRITE
    touch = {
        key: Touch(adds=True, removes=is_overwrite, ids_may_clash=table.ids_may_clash)
        for key, table in load.tables.items()
    }
    image = Image(
        load,
        snapshot,
        incoming={key: [*staged_rows(table)] for key, table in load.tables.items()},
        emptied=frozenset(load.tables) if is_overwrite else frozenset(),
    )
    return image.judge(runner, touch)


# Merge --------------------------------------------------------------------------------------------


def _merge_held_rows(load: StagedLoad, snapshot: Snapshot) -> SettledLoad:
    """A small merge is an edit like any other: rows are looked up by id."""
    chosen: dict[TableKey, np.ndarray] = {}
    edits: dict[TableKey, TableEdit] = {}
    counts: dict[TableKey, RowCounts] = {}
    for key, table in load.tables.items():
        last = last_of_each(table.held[ID].combine_chunks())
        rows = table.held.take(pa.array(last))
        dataset = snapshot.dataset(table.entity)
        found = dataset.rows_of(rows[ID].combine_chunks(), rows.column_names[1:])
        differs = differing(rows, found.select(rows.column_names))
        changes = TableChanges(rows.filter(differs))
        there = found.filter(pc.is_in(found[ID], value_set=changes.ids)).select(PLACE)
        edits[key] = TableEdit(changes, there, base=dataset.ref)
        counts[key] = RowCounts(
            inserted=changes.upserts.num_rows - there.num_rows,
            updated=there.num_rows,
            unchanged=rows.num_rows - changes.upserts.num_rows,
            superseded=table.rows - len(last),
        )
        chosen[key] = last[differs.to_numpy(zero_copy_only=False)]
    arriving = {key: Arriving(edit.changes.upserts) for key, edit in edits.items()}
    judgement = judge(arriving, snapshot)
    if judgement.breaches:
        raise _refusal(load, judgement.breaches, lambda e, place: int(chosen[e.table_key][place]))
    # Rows that equal what is there depend on it too.
    reads = judgement.reads | load.tables.keys()
    repeated = _repeated(load, snapshot, counts, lambda key: edits[key].changes.upserts)
    work = Work(edits, reads, OnConflict.PREPARE_AGAIN)
    return SettledLoad(load, work, counts, repeated)


def last_of_each(ids: pa.Array) -> np.ndarray:
    """The places of the rows that no later row with their id supersedes, in order."""
    distinct = ids.dictionary_encode()
    last = np.empty(len(distinct.dictionary), dtype=np.int64)
    # Of several assignments to one place NumPy keeps the last.
    last[distinct.indices.to_numpy()] = np.arange(len(ids))
    return np.sort(last)


def _merge_scratch_files(
    runner: Runner, load: StagedLoad, snapshot: Snapshot, before: SettledLoad | None
) -> SettledLoad:
    upserts: dict[TableKey, Upserted] = {}
    for key, table in load.tables.items():
        known = before.upserts[key] if before is not None else None
        if known is not None and known.made_for == snapshot.tables[key].ref:
            upserts[key] = known
            continue
        if known is not None:
            known.discard_files()
        upserts[key] = upsert(runner, load, table, snapshot)

    image = Image(
        load,
        snapshot,
        incoming={key: [*upserted.rows()] for key, upserted in upserts.items()},
        replaced={key: upserted.replaced for key, upserted in upserts.items()},
    )
    touch = Touch(adds=True, removes=False, ids_may_clash=False)
    judgement = image.judge(runner, dict.fromkeys(upserts, touch))
    if found := judgement.breaches:
        refusal = _refusal(load, found, lambda e, place: upserts[e.table_key].place(place))
        for upserted in upserts.values():
            upserted.discard_files()
        load.discard_files()
        raise refusal
    work = Work(
        {key: upserted.work for key, upserted in upserts.items()},
        reads=judgement.reads | load.tables.keys(),
        on_conflict=OnConflict.PREPARE_AGAIN,
    )
    counts = {key: upserted.counts for key, upserted in upserts.items()}
    repeated = _repeated(load, snapshot, counts, lambda key: upserts[key].sample())
    return SettledLoad(load, work, counts, repeated, upserts)


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


@dataclass(frozen=True)
class Image:
    """Where the rows lie that the graph would hold after a load whose rows are in files."""

    load: StagedLoad
    snapshot: Snapshot
    incoming: Mapping[TableKey, Sequence[StagedRows]]
    emptied: frozenset[TableKey] = frozenset()
    """Tables of which no row is kept."""
    replaced: Mapping[TableKey, RowSet | None] = field(default_factory=dict)
    """Rows that are not kept of the others."""

    def judge(self, runner: Runner, touch: Mapping[TableKey, Touch]) -> Judgement:
        readings = plan_readings(self.load.catalog, touch)
        reads = frozenset(r.entity.table_key for r in readings if r.part is Part.KEPT)
        return Judgement(check_sets(runner, readings, self.sources), reads)

    def sources(self, reading: Reading) -> Sequence[KeySource]:
        key = reading.entity.table_key
        match reading.part:
            case Part.INCOMING:
                return self.incoming.get(key, ())
            case Part.KEPT if key in self.emptied:
                return ()
            case Part.KEPT:
                return committed_rows(
                    self.load.root,
                    self.snapshot.options,
                    self.snapshot.dataset(reading.entity),
                    without=self.replaced.get(key),
                )


def _refusal(load: StagedLoad, found: Sequence[Breach], place: Place) -> OmnigraphError:
    locator = Locator(load)
    violations = report(found, lambda e, judged: locator.place(e, place(e, judged)))
    all_taken = all(breach.is_taken for breach in found)
    return KeyTaken(violations) if all_taken else ConstraintViolated(violations)
