"""Inside a load's task: its splits become checked rows, and the rows files of their tables.

Rows wait in memory until there are enough for a good file, then all types are written. What becomes
of them is the load's choice: see `StagedAs`. Good rows are staged whatever becomes of their
neighbours: even of a load that will fail, rules over many rows have something to say.
"""

import json
import socket
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Flag, auto

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.types import Scalar
from omnigraph.base.violations import Violations
from omnigraph.embed.ingest import Ingest
from omnigraph.embed.provider import EmbedConfig
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.limits import InputLimits, LoadLimits
from omnigraph.pipeline.rows.conform import Conformed, TypedRows, conform_split
from omnigraph.pipeline.sources import Split
from omnigraph.pipeline.staging.area import StagingArea, TaskFiles
from omnigraph.pipeline.staging.quarantine import Quarantine, rejected_rows
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import TableHome, write_fragments, write_scratch
from omnigraph.store.durability import Durability
from omnigraph.store.layout import GRAPH
from omnigraph.store.location import Location, name_below

__all__ = [
    "Origin",
    "StageJob",
    "StagedAs",
    "StagedFile",
    "StagedTable",
    "TaskOutput",
    "in_input_order",
    "not_held",
    "stage_splits",
    "write_rows",
]


class StagedAs(Flag):
    """Where the rows of a load are, once they are checked."""

    HELD = auto()
    """In the driver's memory: a small load, to be judged and perhaps merged there."""
    FILES = auto()
    """In files of their tables, as they will be published."""
    SCRATCH = auto()
    """In files that later tasks read: which rows are to be published is not known yet."""

    def without_memory(self) -> "StagedAs":
        """What becomes of rows that were to be held and are too many."""
        return StagedAs.FILES if StagedAs.FILES in self else StagedAs.SCRATCH


@frozen(slots=False)
class StageJob:
    """What every task of a load needs to know."""

    catalog: Catalog
    homes: Mapping[TableKey, TableHome]
    """Where the files of each table go."""
    root: Location
    """The graph's, as every worker must see it."""
    graph: bytes
    """What the graph says of itself there: a disk that workers do not share says otherwise."""
    now_ms: int
    staged_as: StagedAs = StagedAs.FILES
    quarantine: Quarantine | None = None
    """Where rejected rows go; None: nowhere, since one of them is enough to fail."""
    max_held_bytes: int = LoadLimits().max_held_bytes
    """How much one task may give the driver to hold."""
    max_unwritten_bytes: int = LoadLimits().max_unwritten_bytes
    """How much a task keeps in memory before it writes files."""
    input_limits: InputLimits = field(default_factory=InputLimits)
    embed: EmbedConfig | None = None
    """Who makes the vectors that rows lack; None: they stay without."""
    kept_in: str = ""
    """The folder for vectors that are made, until they are in a commit."""

    def home_of(self, key: TableKey) -> str:
        """Where the files of a table go, below the root: what is written down outlives a move."""
        return name_below(self.homes[key].location, self.root)

    def makes_scratch(self, entity: EntityType) -> bool:
        """Whether the files of these rows are such as can't be published."""
        return StagedAs.SCRATCH in self.staged_as or (
            # A row with a blob can't be read back from its file, and may have to leave it.
            self.quarantine is not None
            and StagedAs.HELD not in self.staged_as
            and any(property_.type is Scalar.BLOB for property_ in entity.properties)
        )


@frozen
class Origin:
    """So many rows, one after the other, came from one split."""

    split: int
    """Its number among those of the task, later among those of the load: a split that holds its
    rows itself would be sent back with them."""
    rows: int


@frozen
class StagedFile:
    fragment: str
    rows: int
    is_scratch: bool = False
    """To be read by tasks, never to be published."""

    @classmethod
    def of(cls, fragment: str, *, is_scratch: bool = False) -> "StagedFile":
        return cls(fragment, json.loads(fragment)["physical_rows"], is_scratch)


@frozen(slots=False)
class StagedTable:
    """Rows of one table, in files or held or both, in the order of `origins`.

    Of a task that has more rows than it may give the driver to hold, none are held.
    """

    key: TableKey
    files: tuple[StagedFile, ...]
    held: tuple[pa.RecordBatch, ...]
    origins: tuple[Origin, ...]
    gives_ids: bool


@frozen(slots=False)
class TaskOutput:
    """What one task made of its splits."""

    read: int
    rejected: int
    violations: Violations
    tables: tuple[StagedTable, ...]
    parts: tuple[str, ...]
    """The files of the quarantine that it wrote."""
    was_done: bool = False
    """An earlier driver, or an earlier try, had done it."""
    took_s: float = 0.0
    write_s: float = 0.0
    """Of those seconds, the ones in which files were written."""

    def files(self, job: "StageJob") -> list[tuple[Location, list[str]]]:
        """The fragments that it wrote, by the home of their table."""
        return [
            (job.homes[table.key].location, [file.fragment for file in table.files])
            for table in self.tables
        ]


def stage_splits(job: StageJob, splits: Sequence[Split]) -> TaskOutput:
    began = time.perf_counter()
    _require_graph(job)
    with TaskFiles() as files:
        output = _stage(job, splits, files)
    return replace(output, took_s=time.perf_counter() - began)


def not_held(
    job: StageJob, entity: EntityType, table: StagedTable, area: StagingArea
) -> StagedTable:
    """The same rows in files, as if they had never been meant to be held."""
    if not table.held:
        return table
    job, files = replace(job, staged_as=job.staged_as.without_memory()), table.files
    if not files or job.makes_scratch(entity) != files[0].is_scratch:
        files = _write(job, entity, table.held)
        area.add(job.homes[table.key].location, [file.fragment for file in files])
    return replace(table, files=files, held=())


def _stage(job: StageJob, splits: Sequence[Split], files: TaskFiles) -> TaskOutput:
    tables: list[StagedTable] = []
    read = rejected = 0
    violations = Violations()
    waiting = _Waiting(job, files)
    ingest = None
    if job.embed is not None:
        ingest = Ingest(job.embed, job.root.objects(), job.kept_in)
    with rejected_rows(job.quarantine) as bad:
        for number, split in enumerate(splits):
            blocks = conform_split(
                split, catalog=job.catalog, now_ms=job.now_ms, limits=job.input_limits
            )
            for block in blocks:
                conformed = _embedded(block, ingest)
                read += conformed.read
                rejected += conformed.rejected
                violations.merge(conformed.violations)
                if bad is not None and not bad.is_full:
                    bad.add(conformed.rejected_rows)
                waiting.add(number, conformed)
                if waiting.size >= job.max_unwritten_bytes:
                    waiting.flush(tables)
    parts = () if bad is None else bad.parts
    waiting.flush(tables)
    if ingest is not None:
        ingest.note()
    return TaskOutput(read, rejected, violations, tuple(tables), parts, write_s=waiting.write_s)


def _embedded(conformed: Conformed, ingest: Ingest | None) -> Conformed:
    """The same rows, with the vectors that they lack. Those whose text is refused are rejected."""
    if ingest is None:
        return conformed
    filled, faults = [], []
    for rows in conformed.rows:
        batch, refused = ingest.fill(rows.entity, rows.batch)
        filled.append(replace(rows, batch=batch))
        faults += [(filled[-1], row, violation) for row, violation in refused]
    return replace(conformed, rows=tuple(filled)).without(faults)


def _require_graph(job: StageJob) -> None:
    """Files written to a disk that the driver does not see would be named and never found."""
    seen = job.root.objects(Durability.RELAXED).get(GRAPH)
    if seen != job.graph:
        reason = "there is none" if seen is None else "another graph is there"
        raise StorageFailed(
            doing="see the graph at",
            path=str(job.root),
            reason=f"{reason} as {socket.gethostname()} sees it; workers need shared storage",
        )


def write_rows(
    entity: EntityType,
    home: TableHome,
    batches: Iterator[pa.RecordBatch],
    *,
    is_scratch: bool = False,
) -> tuple[StagedFile, ...]:
    schema = table_schema(entity)
    if is_scratch:
        scratch = write_scratch(home.location, batches, schema)
        return (StagedFile.of(scratch, is_scratch=True),)
    return tuple(map(StagedFile.of, write_fragments(home, batches, schema)))


def in_input_order(rows: Iterable[TypedRows]) -> Iterator[TypedRows]:
    """The rows of each type together and as they came: in a merge the last word counts.

    Lines that took the careful way through `conform` arrive after those that took the fast one.
    """
    groups: dict[TableKey, list[TypedRows]] = defaultdict(list)
    for typed in rows:
        groups[typed.entity.table_key].append(typed)
    for group in groups.values():
        if len(group) == 1:
            yield group[0]
            continue
        lines = np.concatenate([typed.lines for typed in group])
        order = np.argsort(lines, kind="stable")
        batch = pa.concat_batches([typed.batch for typed in group]).take(pa.array(order))
        gives_ids = any(typed.gives_ids for typed in group)
        yield TypedRows(group[0].entity, batch, lines[order], gives_ids)


class _Waiting:
    """Checked rows that are not written yet."""

    def __init__(self, job: StageJob, files: TaskFiles) -> None:
        self._job = job
        self._files = files
        self._batches: dict[TableKey, list[pa.RecordBatch]] = defaultdict(list)
        self._origins: dict[TableKey, list[Origin]] = defaultdict(list)
        self._entities: dict[TableKey, EntityType] = {}
        self._given: set[TableKey] = set()
        self.size = 0
        self.write_s = 0.0

    def add(self, split: int, conformed: Conformed) -> None:
        for typed in in_input_order(conformed.rows):
            key = typed.entity.table_key
            self._entities[key] = typed.entity
            self._batches[key].append(typed.batch)
            self._origins[key].append(Origin(split, typed.batch.num_rows))
            self.size += typed.batch.nbytes
            if typed.gives_ids:
                self._given.add(key)
        # Before anything is written, since `max_unwritten_bytes` is not less.
        if StagedAs.HELD in self._job.staged_as and self.size >= self._job.max_held_bytes:
            self._job = replace(self._job, staged_as=self._job.staged_as.without_memory())

    def flush(self, tables: list[StagedTable]) -> None:
        began = time.perf_counter()
        for key in self._batches:
            tables.append(self._stage(key))
        self._batches.clear()
        self._origins.clear()
        self.size = 0
        self.write_s += time.perf_counter() - began

    def _stage(self, key: TableKey) -> StagedTable:
        files = _write(self._job, self._entities[key], self._batches[key])
        self._files.add(self._job.homes[key].location, [file.fragment for file in files])
        origins = tuple(self._origins[key])
        is_whole = not files or sum(f.rows for f in files) == sum(o.rows for o in origins)
        assert is_whole, "every row is written"
        held = tuple(self._batches[key]) if StagedAs.HELD in self._job.staged_as else ()
        return StagedTable(key, files, held, origins, key in self._given)


def _write(
    job: StageJob, entity: EntityType, batches: Iterable[pa.RecordBatch]
) -> tuple[StagedFile, ...]:
    if not job.staged_as & (StagedAs.FILES | StagedAs.SCRATCH):
        return ()
    home, is_scratch = job.homes[entity.table_key], job.makes_scratch(entity)
    return write_rows(entity, home, iter(batches), is_scratch=is_scratch)
