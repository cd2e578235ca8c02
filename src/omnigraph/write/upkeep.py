"""Upkeep: the same rows in fewer files, and indexes that answer for all of them.

No answer depends on it, only how long one takes. A branch looks after the tables that it has
written itself: one that it only inherited lies on its source's line, and to tidy it here would fork
it for nothing.

A table is compacted and indexed by one commit. The indexes are built on a draft of the compacted
table (`Datasets.draft`), before anything lands: then its sidecar holds all that recovery needs.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import Dataset, Datasets, SegmentJob, index_steps
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.indexes import FOLLOWING, IndexChange, IndexStep, wanted_indexes
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import CreateIndex, DatasetRef, Rewrite
from omnigraph.write.work import CommitNote, OnConflict, TableWork, Upkeep, Work, Writer

__all__ = [
    "UPKEEP_ACTOR",
    "IndexJobs",
    "Indexing",
    "Optimizing",
    "Tidying",
    "compact_scattered",
    "optimized",
]

UPKEEP_ACTOR = "omnigraph:upkeep"

# While others wait behind its fence, a writer compacts fragments of up to this many rows. Larger
# ones wait for `optimize`.
MAX_SMALL_FRAGMENT_ROWS = 16_384

NOTHING = Work({}, reads=frozenset(), on_conflict=OnConflict.PREPARE_AGAIN)

Operations = tuple[Rewrite | CreateIndex, ...]

IndexJobs = Callable[[Dataset], SegmentJob | None]
"""Who writes the segments of a dataset; None: this process, each of them whole."""


def in_this_process(_: Dataset) -> SegmentJob | None:
    return None


def compact_scattered(store: GraphStore, snapshot: Snapshot, written: Iterable[TableKey]) -> Work:
    """Fewer fragments for those of the tables just written that have too many small ones."""
    just_written = set(written)

    def compact(entity: EntityType, ref: DatasetRef) -> Operations:
        if entity.table_key not in just_written:
            return ()
        small = snapshot.dataset(entity).small_fragments(MAX_SMALL_FRAGMENT_ROWS)
        if small <= store.limits.max_small_fragments:
            return ()
        rewrite = store.datasets.stage_compaction(
            ref, fewer_than_rows=MAX_SMALL_FRAGMENT_ROWS, drops_deleted=False
        )
        return (rewrite,) if rewrite is not None else ()

    return _of_own_tables(store, snapshot, compact)


class Optimizing(Writer[Work]):
    """Every table in as few fragments as are useful, without rows that are long deleted, and under
    indexes that cover them all."""

    def __init__(self, store: GraphStore, jobs: IndexJobs = in_this_process) -> None:
        self._store = store
        self._jobs = jobs
        self._before = NOTHING

    def prepare(self, snapshot: Snapshot) -> Work:
        self._before = _of_own_tables(self._store, snapshot, self._optimize, self._before)
        return self._before

    def _optimize(self, entity: EntityType, ref: DatasetRef) -> Operations:
        return optimized(self._store.datasets, entity, ref, self._jobs)


class Indexing(Writer[Work]):
    """Indexes that cover every row, over files that stay as they are."""

    def __init__(self, store: GraphStore, jobs: IndexJobs = in_this_process) -> None:
        self._store = store
        self._jobs = jobs
        self._before = NOTHING

    def prepare(self, snapshot: Snapshot) -> Work:
        self._before = _of_own_tables(self._store, snapshot, self._index, self._before)
        return self._before

    def _index(self, entity: EntityType, ref: DatasetRef) -> Operations:
        return _index(self._store.datasets, entity, ref, self._jobs)


class Tidying(Writer[Work]):
    """What is due, and nothing while others wait: a table that they have moved meanwhile is left
    for another time."""

    def __init__(
        self,
        store: GraphStore,
        jobs: IndexJobs = in_this_process,
        *,
        compacts: bool = False,
        may_begin: Callable[[Dataset], bool] = lambda _: True,
    ) -> None:
        """`compacts`: a table of too many files is written anew, as `optimize` would. `may_begin`
        is asked before each table; one that it refuses stays as it is."""
        self._store = store
        self._jobs = jobs
        self._compacts = compacts
        self._may_begin = may_begin
        self._before: Work | None = None

    def prepare(self, snapshot: Snapshot) -> Work:
        stage = self._stage if self._before is None else _nothing
        work = _of_own_tables(self._store, snapshot, stage, self._before or NOTHING)
        is_rewritten = any(
            isinstance(operation, Rewrite)
            for table in work.tables.values()
            if isinstance(table, Upkeep)
            for operation in table.operations
        )
        kind = CommitKind.OPTIMIZE if is_rewritten else CommitKind.INDEX
        self._before = replace(work, note=CommitNote(kind, UPKEEP_ACTOR))
        return self._before

    def _stage(self, entity: EntityType, ref: DatasetRef) -> Operations:
        datasets = self._store.datasets
        dataset = datasets.open(ref)
        is_scattered = self._compacts and _is_scattered(self._store, dataset)
        steps = _steps(entity, dataset)
        is_lagging = any(s.is_due and s.change is not IndexChange.WAIT for s in steps)
        if not (is_scattered or is_lagging) or not self._may_begin(dataset):
            return ()
        if is_scattered:
            return optimized(datasets, entity, ref, self._jobs, only_due=True)
        return _index(datasets, entity, ref, self._jobs, only_due=True)


def _nothing(entity: EntityType, ref: DatasetRef) -> Operations:
    return ()


def _is_scattered(store: GraphStore, dataset: Dataset) -> bool:
    """True if there are as many files as make a writer compact, of whatever size, that are worth
    it: two of them fit into one."""
    half = store.limits.max_fragment_rows // 2
    return dataset.small_fragments(half) > store.limits.max_small_fragments


def optimized(
    datasets: Datasets,
    entity: EntityType,
    ref: DatasetRef,
    jobs: IndexJobs = in_this_process,
    *,
    only_due: bool = False,
) -> Operations:
    """What puts a table into large files under indexes that cover them.

    `only_due`: where all files stay, an index that lags a little stays too.
    """
    steps = _steps(entity, datasets.open(ref))
    # What is built anew anyway keeps no files apart.
    anew = [step for step in steps if step.change is not IndexChange.EXTEND]
    rewrite = datasets.stage_compaction(
        ref,
        fewer_than_rows=datasets.limits.max_fragment_rows,
        drops_deleted=True,
        without={uuid for step in anew for uuid in step.removed},
    )
    if rewrite is None:
        return _index(datasets, entity, ref, jobs, only_due=only_due)
    before: Operations = (rewrite,)
    followers = [step for step in anew if step.index.kind in FOLLOWING and step.removed]
    gone = [replace(step, change=IndexChange.DROP, fragments=()) for step in followers]
    if removal := datasets.stage_indexes(datasets.open(ref), gone, ref=ref):
        before = (removal, rewrite)
    with datasets.draft(ref, before) as drafted:
        then = replace(ref, version=ref.version + len(before))
        steps, job = _steps(entity, drafted), jobs(drafted)
        index = datasets.stage_indexes(drafted, steps, ref=then, job=job)
    return before if index is None else (*before, index)


def _index(
    datasets: Datasets,
    entity: EntityType,
    ref: DatasetRef,
    jobs: IndexJobs,
    *,
    only_due: bool = False,
) -> Operations:
    dataset = datasets.own(ref)
    steps, job = _steps(entity, dataset), jobs(dataset)
    if only_due:
        steps = tuple(step for step in steps if step.is_due)
    index = datasets.stage_indexes(dataset, steps, ref=ref, job=job)
    return () if index is None else (index,)


def _steps(entity: EntityType, dataset: Dataset) -> tuple[IndexStep, ...]:
    return index_steps(dataset, wanted_indexes(entity))


def _of_own_tables(
    store: GraphStore,
    snapshot: Snapshot,
    stage: Callable[[EntityType, DatasetRef], Operations],
    before: Work = NOTHING,
) -> Work:
    """The work on the tables that the branch has written itself.

    `before` was prepared at an earlier snapshot: its work on tables that have not moved is kept, or
    other writers would wait while it is done again.
    """
    branch = store.branches.resolve(snapshot.branch)
    tables: dict[TableKey, TableWork] = {}
    for entity in snapshot.catalog.entities:
        key = entity.table_key
        ref = snapshot.tables[key].ref
        if (known := before.tables.get(key)) is not None and known.base == ref:
            tables[key] = known
        elif branch.owns(ref) and (operations := stage(entity, ref)):
            tables[key] = Upkeep(ref, operations)
    return replace(NOTHING, tables=tables)
