"""A bulk load, first half: sources ─► conform ─► stage.

One pass over the input: each task reads its splits, turns them into checked rows and stages them
(`stage`). Nothing here looks at the rows of the graph: `resolve` finds what the load changes in a
snapshot, and finds it again, without reading the input again, when another writer was quicker.
"""

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.base.choices import LoadModeName, check_choice
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.progress import Progress
from omnigraph.base.violations import Violations
from omnigraph.embed.provider import EmbedConfig
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.runner import Runner, TaskResult
from omnigraph.pipeline.sources import PlannedInput, Split
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.pipeline.staging.quarantine import Quarantine
from omnigraph.pipeline.staging.receipts import name_tasks, stage_task
from omnigraph.pipeline.staging.stage import (
    Origin,
    StagedAs,
    StagedFile,
    StagedTable,
    StageJob,
    TaskOutput,
    not_held,
    stage_splits,
)
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import TableHome
from omnigraph.store.durability import Durability
from omnigraph.store.layout import GRAPH
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "AcceptedLoad",
    "LoadMode",
    "LoadedTable",
    "Phases",
    "StagedLoad",
    "TaskNote",
    "stage_load",
]


class LoadMode(Enum):
    APPEND = "append"
    """Every row is new; an id that is already there is a conflict."""
    MERGE = "merge"
    """A row takes the place of the one with its id, or is new."""
    OVERWRITE = "overwrite"
    """The rows of each type in the input take the place of all rows of that type."""

    @classmethod
    def named(cls, name: str) -> "LoadMode":
        check_choice("mode", name, LoadModeName)
        return cls(name)


@frozen
class TaskNote:
    """Where a piece of the work was done."""

    partition: int
    pid: int


@frozen(slots=False)
class LoadedTable:
    """The incoming rows of one type: where they lie, and where they came from, in one order."""

    entity: EntityType
    home: TableHome
    """Where its files are written."""
    files: tuple[StagedFile, ...]
    held: pa.Table
    """All rows, if the load keeps them; else none."""
    origins: tuple[Origin, ...]
    """Of all rows that were staged, those that have gone since included."""
    gives_ids: bool
    gone: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Which of the staged rows were taken out again, in order."""

    @property
    def location(self) -> Location:
        """Where its files lie."""
        return self.home.location

    @property
    def rows(self) -> int:
        return sum(origin.rows for origin in self.origins) - len(self.gone)

    def staged_places(self, places: np.ndarray) -> np.ndarray:
        """Where rows stood before others were taken out."""
        shifted = self.gone - np.arange(len(self.gone))
        staged: np.ndarray = places + np.searchsorted(shifted, places, side="right")
        return staged

    @property
    def ids_may_clash(self) -> bool:
        """Fresh ids never do."""
        return bool(self.entity.key) or self.gives_ids


@frozen(slots=False)
class StagedLoad:
    """A whole load, row by row in order, in files that nothing names yet or in memory."""

    mode: LoadMode
    catalog: Catalog
    root: Location
    staged_as: StagedAs
    tables: Mapping[TableKey, LoadedTable]
    read: int
    """Rows of the input: staged or rejected."""
    rejected: int
    violations: Violations
    """What is wrong with the rejected rows."""
    parts: tuple[str, ...]
    """Files of the quarantine, in the order of the input."""
    splits: tuple[Split, ...] = field(repr=False)
    """The input, in order: what origins name by number."""
    input_bytes: int
    limits: LoadLimits
    tasks: tuple[TaskNote, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long it took to `parse` the input and to `write` the files."""
    resumed: int = 0
    """Tasks that an earlier driver, or an earlier try, had done."""

    def __post_init__(self) -> None:
        staged = sum(table.rows for table in self.tables.values())
        assert self.read == staged + self.rejected, "every row is staged or is rejected"

    @property
    def is_held(self) -> bool:
        return StagedAs.HELD in self.staged_as

    @property
    def is_publishable(self) -> bool:
        """Whether its files are such as can be published, if that is what they are for."""
        files = (file for table in self.tables.values() for file in table.files)
        return self.mode is LoadMode.MERGE or not any(file.is_scratch for file in files)


@frozen
class AcceptedLoad:
    """A staged load, without the rows that break a rule at some snapshot."""

    load: StagedLoad


def stage_load(
    runner: Runner,
    planned: PlannedInput,
    *,
    snapshot: Snapshot,
    mode: LoadMode,
    limits: LoadLimits,
    area: StagingArea,
    now_ms: int,
    quarantine: Quarantine | None = None,
    embed: EmbedConfig | None = None,
    kept_in: str = "",
    progress: Progress | None = None,
) -> StagedLoad:
    """Read, check and stage the input's rows, each by itself.

    Every file is known to the `area`. If that is open, tasks leave receipts, and a task with a
    receipt is not done again.
    """
    tell = progress or (lambda phase, done, total: None)
    size = planned.size
    homes = {e.table_key: snapshot.home(e) for e in snapshot.catalog.entities}
    staged_as = _staged_as(
        mode, runner, is_small=size <= limits.max_lookup_bytes, may_reject=quarantine is not None
    )
    graph = snapshot.root.objects(Durability.RELAXED).get(GRAPH)
    assert graph is not None, "a graph is where it was opened"
    job = StageJob(
        snapshot.catalog,
        homes,
        snapshot.root,
        graph,
        now_ms,
        staged_as,
        quarantine,
        max_held_bytes=limits.max_held_bytes // max(1, len(planned.tasks)),
        max_unwritten_bytes=limits.max_unwritten_bytes,
        input_limits=limits.input,
        embed=embed,
        kept_in=kept_in,
    )
    tell("parse", 0, size)
    began = time.monotonic()
    ran = _run(runner, planned, job, area, snapshot, tell)
    load = _gather(ran, job, planned, area, mode=mode)
    tell("parse", size, size)
    return replace(load, seconds=_split(ran, clock_s=time.monotonic() - began))


class Phases:
    """How long each phase took, however often it was entered."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("start", "parse", "write", "check"), 0.0)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self.add({name: time.monotonic() - start})

    def add(self, seconds: Mapping[str, float]) -> None:
        for name, spent in seconds.items():
            self.seconds[name] += spent


# The pass over the input --------------------------------------------------------------------------


def _run(
    runner: Runner,
    planned: PlannedInput,
    job: StageJob,
    area: StagingArea,
    snapshot: Snapshot,
    tell: Progress,
) -> list[TaskResult[TaskOutput]]:
    count, size, doing = len(planned.tasks), planned.size, "reading the input"

    def on_progress(done: int) -> None:
        tell("parse", size * done // count, size)

    if area.for_tasks is None:
        work = partial(stage_splits, job)
        ran = runner.run(planned.tasks, work, doing=doing, on_progress=on_progress)
        for one in ran:
            for home, fragments in one.result.files(job):
                area.add(home, fragments)
        return ran
    tasks = name_tasks(job, planned.tasks, schema_hash=snapshot.schema_hash)
    named_work = partial(stage_task, job, area.for_tasks)
    return runner.run(tasks, named_work, doing=doing, on_progress=on_progress)


def _staged_as(mode: LoadMode, runner: Runner, *, is_small: bool, may_reject: bool) -> StagedAs:
    # To find rows at fault may take many questions, each of which costs Spark a second.
    is_looked_up = is_small and (runner.engine == "local" or may_reject)
    match mode:
        case LoadMode.MERGE:
            return StagedAs.HELD if is_small else StagedAs.SCRATCH
        case LoadMode.APPEND if is_looked_up:
            return StagedAs.FILES | StagedAs.HELD
        case LoadMode.APPEND | LoadMode.OVERWRITE:
            return StagedAs.FILES


def _split(ran: Sequence[TaskResult[TaskOutput]], *, clock_s: float) -> dict[str, float]:
    """The clock of the pass, split as its tasks spent their time.

    They parse and write by turns, many at once, so neither phase has a clock of its own. Tasks
    that were done before spent none.
    """
    took_s = sum(one.result.took_s for one in ran)
    write_s = sum(one.result.write_s for one in ran) * clock_s / took_s if took_s else 0.0
    return {"parse": clock_s - write_s, "write": write_s}


def _gather(
    ran: Sequence[TaskResult[TaskOutput]],
    job: StageJob,
    planned: PlannedInput,
    area: StagingArea,
    *,
    mode: LoadMode,
) -> StagedLoad:
    """The outputs of all tasks, in the order of the input."""
    starts = itertools.accumulate(map(len, planned.tasks), initial=0)
    staged = [
        _renumbered(table, first=first)
        for first, one in zip(starts, ran, strict=False)
        for table in one.result.tables
    ]
    staged_as = job.staged_as
    if StagedAs.HELD in staged_as and not all(table.held for table in staged):
        staged_as = staged_as.without_memory()
    tables = {}
    for entity in job.catalog.entities:
        mine = [table for table in staged if table.key == entity.table_key]
        if StagedAs.HELD not in staged_as:
            mine = [not_held(job, entity, table, area) for table in mine]
        if mine:
            tables[entity.table_key] = LoadedTable(
                entity=entity,
                home=job.homes[entity.table_key],
                files=tuple(file for table in mine for file in table.files),
                held=pa.Table.from_batches(
                    [batch for table in mine for batch in table.held], table_schema(entity)
                ),
                origins=tuple(origin for table in mine for origin in table.origins),
                gives_ids=any(table.gives_ids for table in mine),
            )
    return StagedLoad(
        mode=mode,
        catalog=job.catalog,
        root=job.root,
        staged_as=staged_as,
        tables=tables,
        read=sum(one.result.read for one in ran),
        rejected=sum(one.result.rejected for one in ran),
        violations=_row_violations(ran),
        parts=tuple(part for one in ran for part in one.result.parts),
        splits=tuple(split for task in planned.tasks for split in task),
        input_bytes=planned.size,
        limits=planned.limits,
        tasks=tuple(TaskNote(one.partition, one.pid) for one in ran),
        resumed=sum(one.result.was_done for one in ran),
    )


def _renumbered(table: StagedTable, *, first: int) -> StagedTable:
    """With the splits of its task counted as those of the load."""
    origins = (Origin(first + origin.split, origin.rows) for origin in table.origins)
    return replace(table, origins=tuple(origins))


def _row_violations(ran: Sequence[TaskResult[TaskOutput]]) -> Violations:
    violations = Violations()
    for one in ran:
        violations.merge(one.result.violations)
    return violations
