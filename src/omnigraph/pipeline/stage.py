"""Inside a load's task: its pieces become checked rows, and the rows files of their tables.

Rows wait in memory until there are enough for a good file, then all types are written. Once a row
is rejected nothing more is written, since a load with a bad row is not published: the task goes on
only to report the others.
"""

import contextlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.base.errors import StorageFailed
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violations
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.conform import Conformed, conform_piece
from omnigraph.pipeline.sources import Piece
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import discard_fragments, write_fragments

__all__ = [
    "Origin",
    "Share",
    "StageJob",
    "StagedFile",
    "StagedTable",
    "discard",
    "stage_pieces",
]

# Arrow bytes of all types together. Larger files read faster later; a worker needs this much
# memory, and about as much again while it parses and writes.
FLUSH_BYTES = 128 << 20


@dataclass(frozen=True)
class StageJob:
    """What every task of a load needs to know."""

    catalog: Catalog
    uris: Mapping[TableKey, str]
    options: dict[str, str] | None = field(repr=False)
    """What it takes to reach them, if they lie in a bucket: secrets too."""
    now_ms: int


@dataclass(frozen=True, slots=True)
class Origin:
    """So many rows, one after the other, came from one piece."""

    piece: Piece
    rows: int


@dataclass(frozen=True, slots=True)
class StagedFile:
    fragment: str
    rows: int


@dataclass(frozen=True)
class StagedTable:
    """Files of one table, their rows in the order of `origins`."""

    key: TableKey
    files: tuple[StagedFile, ...]
    origins: tuple[Origin, ...]
    gives_ids: bool


@dataclass(frozen=True)
class Share:
    """What one task made of its pieces. With violations there are no tables."""

    read: int
    rejected: int
    violations: Violations
    tables: tuple[StagedTable, ...]


def stage_pieces(job: StageJob, pieces: Sequence[Piece]) -> Share:
    read = rejected = 0
    violations = Violations()
    waiting = _Waiting(job)
    tables: list[StagedTable] = []
    for piece in pieces:
        for conformed in conform_piece(piece, catalog=job.catalog, now_ms=job.now_ms):
            read += conformed.read
            rejected += conformed.rejected
            violations.merge(conformed.violations)
            if violations:
                continue
            waiting.add(piece, conformed)
            if waiting.size >= FLUSH_BYTES:
                tables += waiting.flush()
    if violations:
        for table in tables:
            discard(job.uris[table.key], [file.fragment for file in table.files], job.options)
        return Share(read, rejected, violations, ())
    return Share(read, rejected, violations, (*tables, *waiting.flush()))


def discard(uri: str, fragments: Sequence[str], options: dict[str, str] | None) -> None:
    """Delete staged files that nothing will ever name. What can't be deleted, cleanup finds."""
    with contextlib.suppress(StorageFailed):
        discard_fragments(uri, fragments, options=options)


class _Waiting:
    """Checked rows that are not written yet."""

    def __init__(self, job: StageJob) -> None:
        self._job = job
        self._batches: dict[TableKey, list[pa.RecordBatch]] = defaultdict(list)
        self._origins: dict[TableKey, list[Origin]] = defaultdict(list)
        self._entities: dict[TableKey, EntityType] = {}
        self._given: set[TableKey] = set()
        self.size = 0

    def add(self, piece: Piece, conformed: Conformed) -> None:
        for typed in conformed.rows:
            key = typed.entity.table_key
            self._entities[key] = typed.entity
            self._batches[key].append(typed.batch)
            self._origins[key].append(Origin(piece, typed.batch.num_rows))
            self.size += typed.batch.nbytes
            if typed.gives_ids:
                self._given.add(key)

    def flush(self) -> list[StagedTable]:
        written = [self._write(key) for key in self._batches]
        self._batches.clear()
        self._origins.clear()
        self.size = 0
        return written

    def _write(self, key: TableKey) -> StagedTable:
        schema = table_schema(self._entities[key])
        fragments = write_fragments(
            self._job.uris[key], iter(self._batches[key]), schema, options=self._job.options
        )
        files = tuple(StagedFile(f, json.loads(f)["physical_rows"]) for f in fragments)
        origins = tuple(self._origins[key])
        assert sum(f.rows for f in files) == sum(o.rows for o in origins), "every row is written"
        return StagedTable(key, files, origins, key in self._given)
