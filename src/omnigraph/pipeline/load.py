"""A bulk load up to the moment before it is published: sources ─► conform ─► stage ─► check.

One pass over the input: each task reads its splits, turns lines into checked rows and writes them
as files of their tables (`stage`). Then the keys in those files are judged together with what the
graph holds. Nothing here publishes. A load that fails raises, and leaves at most files that nothing
names. What is staged can be judged again against a newer snapshot without being written again.
"""

import contextlib
import itertools
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import NoReturn

from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    InputUnreadable,
    KeyTaken,
    OmnigraphError,
    Unsupported,
)
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violations
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.check import KeySource, StagedRows, check_sets, committed_rows
from omnigraph.pipeline.runner import Ran, Runner
from omnigraph.pipeline.sources import Split, find_files, lines_before, pack
from omnigraph.pipeline.stage import (
    Origin,
    Share,
    StagedFile,
    StageJob,
    conform_split,
    discard,
    stage_splits,
)
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.rules import Part, Reading, Touch, plan_readings, report
from omnigraph.write.stage import StagedFiles, StagedFragments

__all__ = ["LoadMode", "Progress", "StagedLoad", "TaskNote", "recheck_load", "stage_load"]

Progress = Callable[[str, int, int], None]
"""Hears the phase (`read`, `check`), how much of it is done, and out of how much."""

# A task's input: large enough for files worth having, small enough to show progress and to give
# every core something to do.
LEAST_TASK_BYTES, MOST_TASK_BYTES = 1 << 20, 128 << 20
TASKS_PER_CORE = 3


class LoadMode(Enum):
    APPEND = "append"
    """Every row is new; an id that is already there is a conflict."""
    OVERWRITE = "overwrite"
    """The rows of each type in the input take the place of all rows of that type."""

    @classmethod
    def named(cls, name: str) -> "LoadMode":
        if name == "merge":
            raise Unsupported(what="load mode merge", instead="use append or overwrite")
        try:
            return cls(name)
        except ValueError:
            raise ArgumentInvalid(
                argument="mode", value=name, rule="it is append or overwrite"
            ) from None


@dataclass(frozen=True, slots=True)
class TaskNote:
    """Where a piece of the work was done."""

    partition: int
    pid: int


@dataclass(frozen=True)
class LoadedTable:
    """The incoming rows of one type: where they lie, and where they came from, in one order."""

    entity: EntityType
    uri: str
    options: dict[str, str] | None = field(repr=False)
    files: tuple[StagedFile, ...]
    origins: tuple[Origin, ...]
    gives_ids: bool

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class StagedLoad:
    """A whole load as files that nothing names yet, checked against one snapshot."""

    mode: LoadMode
    catalog: Catalog
    root: str
    tables: Mapping[TableKey, LoadedTable]
    read: int
    """Lines that are not blank. All of them became rows."""
    input_bytes: int
    tasks: tuple[TaskNote, ...]
    seconds: Mapping[str, float]

    @property
    def nodes(self) -> dict[str, int]:
        return {n.name: self.tables[n.table_key].rows for n in self._loaded(self.catalog.nodes)}

    @property
    def edges(self) -> dict[str, int]:
        return {e.name: self.tables[e.table_key].rows for e in self._loaded(self.catalog.edges)}

    @property
    def work(self) -> StagedFragments:
        """What the write protocol lands and publishes."""
        depends = {r.entity.table_key for r in _readings(self) if r.part is Part.KEPT}
        return StagedFragments(
            {
                key: StagedFiles(
                    self.mode.value, tuple(f.fragment for f in table.files), table.rows, table.uri
                )
                for key, table in self.tables.items()
            },
            reads=frozenset(depends),
        )

    def _loaded(self, types: Sequence[EntityType]) -> list[EntityType]:
        return [entity for entity in types if entity.table_key in self.tables]


def stage_load(
    runner: Runner,
    sources: Sequence[str],
    *,
    snapshot: Snapshot,
    mode: LoadMode,
    root: str,
    now_ms: int,
    progress: Progress | None = None,
) -> StagedLoad:
    """Read, check and stage the input against `snapshot`; raise if a single row is wrong."""
    tell = progress or (lambda phase, done, total: None)
    clock = _Phases()
    files = find_files(sources)
    tasks = pack(files, task_bytes=_task_bytes(files, runner.parallelism))
    size = sum(split.size for splits in tasks for split in splits)
    uris = {e.table_key: snapshot.staging_uri(e) for e in snapshot.catalog.entities}
    job = StageJob(snapshot.catalog, uris, snapshot.options, now_ms)
    with clock.phase("read"):
        tell("read", 0, size)
        ran = runner.run(
            tasks,
            partial(stage_splits, job),
            doing="reading the input",
            on_progress=lambda done: tell("read", size * done // len(tasks), size),
        )
        load = _gather(ran, job, mode=mode, root=root, size=size)
        if violations := _row_violations(ran):
            _refuse(load, _row_error(violations))
        tell("read", size, size)
    with clock.phase("check"):
        tell("check", 0, 1)
        recheck_load(runner, load, snapshot)
        tell("check", 1, 1)
    return replace(load, seconds=clock.seconds)


def recheck_load(runner: Runner, load: StagedLoad, snapshot: Snapshot) -> None:
    """Judge the staged rows together with what `snapshot` holds; raise if a rule is broken."""
    assert snapshot.catalog == load.catalog, "rows are staged for one schema"
    readings = _readings(load)
    if not readings:
        return
    found = check_sets(runner, readings, lambda reading: _sources(load, snapshot, reading))
    if found:
        violations = report(found, _Locator(load).place)
        all_taken = all(breach.is_taken for breach in found)
        _refuse(load, KeyTaken(violations) if all_taken else ConstraintViolated(violations))


# The pass over the input --------------------------------------------------------------------------


def _task_bytes(files: Sequence[str], parallelism: int) -> int:
    size = sum(Path(file).stat().st_size for file in files)
    even = size // (TASKS_PER_CORE * parallelism)
    return min(max(even, LEAST_TASK_BYTES), MOST_TASK_BYTES)


def _gather(
    ran: Sequence[Ran[Share]], job: StageJob, *, mode: LoadMode, root: str, size: int
) -> StagedLoad:
    """The shares of all tasks, in the order of the input."""
    staged = [table for one in ran for table in one.result.tables]
    tables = {}
    for entity in job.catalog.entities:
        mine = [table for table in staged if table.key == entity.table_key]
        if mine:
            tables[entity.table_key] = LoadedTable(
                entity=entity,
                uri=job.uris[entity.table_key],
                options=job.options,
                files=tuple(file for table in mine for file in table.files),
                origins=tuple(origin for table in mine for origin in table.origins),
                gives_ids=any(table.gives_ids for table in mine),
            )
    return StagedLoad(
        mode=mode,
        catalog=job.catalog,
        root=root,
        tables=tables,
        read=sum(one.result.read for one in ran),
        input_bytes=size,
        tasks=tuple(TaskNote(one.partition, one.pid) for one in ran),
        seconds={},
    )


def _row_violations(ran: Sequence[Ran[Share]]) -> Violations:
    violations = Violations()
    for one in ran:
        violations.merge(one.result.violations)
    return violations


def _row_error(violations: Violations) -> OmnigraphError:
    is_unreadable = any(kind in ("json", "envelope") for kind, _, _ in violations.counts)
    return InputUnreadable(violations) if is_unreadable else ConstraintViolated(violations)


def _refuse(load: StagedLoad, error: OmnigraphError) -> NoReturn:
    for table in load.tables.values():
        discard(table.uri, [file.fragment for file in table.files], table.options)
    raise error


# The checks over all rows -------------------------------------------------------------------------


def _readings(load: StagedLoad) -> list[Reading]:
    touched = {
        key: Touch(
            adds=True,
            removes=load.mode is LoadMode.OVERWRITE,
            ids_may_clash=bool(table.entity.key) or table.gives_ids,
        )
        for key, table in load.tables.items()
    }
    return plan_readings(load.catalog, touched)


def _sources(load: StagedLoad, snapshot: Snapshot, reading: Reading) -> list[KeySource]:
    """Where the rows of a reading lie. Of an overwritten table no row is kept."""
    table = load.tables.get(reading.entity.table_key)
    match reading.part:
        case Part.INCOMING:
            return [] if table is None else list(_staged_rows(table))
        case Part.KEPT:
            if table is not None and load.mode is LoadMode.OVERWRITE:
                return []
            dataset = snapshot.dataset(reading.entity)
            return list(committed_rows(load.root, snapshot.options, dataset))


def _staged_rows(table: LoadedTable) -> Iterator[StagedRows]:
    first = 0
    for file in table.files:
        yield StagedRows(table.uri, table.options, file.fragment, file.rows, first)
        first += file.rows


class _Locator:
    """Finds the line that a staged row came from, by reading its split once more."""

    def __init__(self, load: StagedLoad) -> None:
        self._load = load
        self._lines: dict[tuple[Split, TableKey], list[int]] = {}

    def place(self, entity: EntityType, place: int) -> tuple[str, int]:
        origins = self._load.tables[entity.table_key].origins
        ends = list(itertools.accumulate(origin.rows for origin in origins))
        split = origins[bisect_right(ends, place)].split
        # A split may give several runs of a type's rows: count from the first of them.
        first = next(i for i, origin in enumerate(origins) if origin.split == split)
        row = place - (ends[first - 1] if first else 0)
        return split.file, self._lines_of(split, entity.table_key)[row]

    def _lines_of(self, split: Split, key: TableKey) -> list[int]:
        if (split, key) not in self._lines:
            before = lines_before(split)
            conformed = conform_split(split, self._load.catalog, now_ms=0)
            self._lines[split, key] = [
                before + int(line) + 1
                for typed in conformed.rows
                if typed.entity.table_key == key
                for line in typed.lines
            ]
        return self._lines[split, key]


class _Phases:
    """How long each phase took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - start
