"""Inside a task: some fragments of a type as files of an export, on a disk or in a bucket.

Every run of a task writes under names of its own, so that two runs never meet. The driver names the
files that count, in the manifest, and removes the others. The type is the name of a file, as a load
wants it; the folder it lies in tells parts and runs apart.
"""

import hashlib
import io
import uuid
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.lang.plan.conditions import ALWAYS, Condition
from omnigraph.lang.schema.catalog import ID, EntityType, NodeType
from omnigraph.pipeline.export.files import (
    bytes_of,
    grouped,
    parquet_rows,
    parquet_schema,
    parquet_writer,
)
from omnigraph.pipeline.export.lines import lines_of
from omnigraph.pipeline.frames.tables import parts_of
from omnigraph.pipeline.load.row_sources import CommittedRows
from omnigraph.read.values.conditions import columns_judged, meeting
from omnigraph.read.view import View
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import Dataset, DatasetRef, Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.location import BucketLocation, DiskLocation, Location

__all__ = ["PartFile", "PartTask", "part_tasks", "write_part"]

# A file grows to about this size. In a bucket a task holds it whole until it is sent.
MAX_FILE_BYTES = 128 << 20

# The ids of so many nodes are held by a task that has to know which edges are shown.
MAX_HELD_IDS = 4_000_000


@frozen
class PartFile:
    """A file that a task has written: its name below the target."""

    type_name: str
    name: str
    rows: int
    bytes: int
    sha256: str


@frozen
class JudgedEnd:
    """An end of edges that are hidden with the nodes there."""

    column: str
    ref: DatasetRef
    condition: Condition


@frozen
class PartTask:
    number: int
    entity: EntityType
    rows: CommittedRows
    target: Location
    format: Literal["jsonl", "parquet"]
    condition: Condition
    ends: tuple[JudgedEnd, ...]
    batch_bytes: int
    durability: Durability


def part_tasks(
    view: View,
    entities: Sequence[EntityType],
    target: Location,
    *,
    format: Literal["jsonl", "parquet"],
    parallelism: int,
    batch_bytes: int,
    durability: Durability,
) -> list[PartTask]:
    """What the view shows of these types, dealt out to tasks."""
    snapshot, tasks = view.snapshot, list[PartTask]()
    for entity in entities:
        if format == "parquet":
            parquet_schema(entity)  # refused before anything is written
        restriction = view.restriction(entity)
        ends = tuple(
            JudgedEnd(end, snapshot.tables[node.table_key].ref, condition)
            for node, end, condition in view.judged_ends(entity)
        )
        dataset = snapshot.dataset(entity)
        for rows in parts_of(snapshot.root, dataset, parallelism=parallelism):
            tasks.append(
                PartTask(
                    number=len(tasks),
                    entity=entity,
                    rows=rows,
                    target=target,
                    format=format,
                    condition=ALWAYS if restriction is None else restriction.own,
                    ends=ends,
                    batch_bytes=batch_bytes,
                    durability=durability,
                )
            )
    return tasks


def write_part(task: PartTask) -> list[PartFile]:
    """Write the rows of a task: one file, or several where they are many.

    They outlive a power cut when it returns.
    """
    _require_place(task.target)
    files: list[PartFile] = []
    current: _File | None = None
    for rows in grouped(_shown(task)):
        if current is None:
            current = _File(task, len(files))
        current.add(rows)
        if current.size >= MAX_FILE_BYTES:
            files.append(current.finished())
            current = None
    return files if current is None else [*files, current.finished()]


def _require_place(target: Location) -> None:
    """A disk of this machine alone would keep the files to itself."""
    if isinstance(target, DiskLocation) and not target.path.is_dir():
        reason = "a worker does not see this directory: name a shared disk, or a bucket"
        raise StorageFailed(doing="write", path=str(target), reason=reason)


# Rows ---------------------------------------------------------------------------------------------


def _shown(task: PartTask) -> Iterator[pa.RecordBatch]:
    columns = table_schema(task.entity).names
    ends = [_Seen(end, task.rows.root) for end in task.ends]
    judged = [*columns_judged(task.condition), *(end.column for end in task.ends)]
    batches = task.rows.open().bounded_batches(
        list(dict.fromkeys([*columns, *judged])),
        limit_bytes=task.batch_bytes,
        fragment_ids=task.rows.fragment_ids,
    )
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        if task.condition != ALWAYS:
            rows = meeting(task.condition, rows)
        for end in ends:
            rows = end.only_seen(rows)
        if rows.num_rows:
            yield from rows.select(columns).to_batches()


class _Seen:
    """Which nodes at an end are shown: known at once, or looked up where they are too many."""

    def __init__(self, end: JudgedEnd, root: Location) -> None:
        self._end = end
        self._root = root

    def only_seen(self, rows: pa.Table) -> pa.Table:
        if not rows.num_rows:
            return rows
        column = rows[self._end.column]
        seen = self._all
        if seen is None:
            judged = columns_judged(self._end.condition)[1:]
            seen = self._ids(self._dataset.rows_of(pc.unique(column), judged))
        return rows.filter(pc.is_in(column, value_set=seen))

    @cached_property
    def _dataset(self) -> Dataset:
        return Datasets(self._root).open(self._end.ref)

    @cached_property
    def _all(self) -> pa.Array | None:
        if self._dataset.row_count > MAX_HELD_IDS:
            return None
        return self._ids(self._dataset.scan(columns_judged(self._end.condition)))

    def _ids(self, rows: pa.Table) -> pa.Array:
        return meeting(self._end.condition, rows)[ID].combine_chunks()


# Files --------------------------------------------------------------------------------------------


class _File:
    """One file in the making."""

    def __init__(self, task: PartTask, number: int) -> None:
        self._task = task
        folder = "nodes" if isinstance(task.entity, NodeType) else "edges"
        run = f"{task.number:05}-{number}-{uuid.uuid4().hex[:8]}"
        self._name = f"{folder}/{run}/{task.entity.name}.{task.format}"
        self._rows = 0
        self._sink = self._opened()
        self._writer = parquet_writer(task.entity, self._sink) if task.format == "parquet" else None

    @property
    def size(self) -> int:
        return self._sink.tell()

    def add(self, rows: pa.Table) -> None:
        entity = self._task.entity
        with disk_failures("write", Path(self._name)):
            if self._writer is not None:
                self._writer.write_table(parquet_rows(entity, rows))
            else:
                for batch in rows.to_batches():
                    self._sink.write(bytes_of(lines_of(entity, batch)))
        self._rows += rows.num_rows

    def finished(self) -> PartFile:
        with disk_failures("write", Path(self._name)):
            if self._writer is not None:
                self._writer.close()
            size, digest = self._kept()
        return PartFile(str(self._task.entity.name), self._name, self._rows, size, digest)

    def _opened(self) -> BinaryIO:
        match self._task.target:
            case BucketLocation():
                return io.BytesIO()
            case DiskLocation(path=path):
                with disk_failures("write", path / self._name):
                    (path / self._name).parent.mkdir(parents=True)
                    return (path / self._name).open("xb")

    def _kept(self) -> tuple[int, str]:
        sink = self._sink
        match self._task.target:
            case BucketLocation() as target:
                assert isinstance(sink, io.BytesIO)
                data = sink.getvalue()
                target.objects().put(self._name, data)
                return len(data), hashlib.sha256(data).hexdigest()
            case DiskLocation(path=path) as target:
                size = sink.tell()
                sink.close()
                target.objects(self._task.durability).sync([self._name])
                with (path / self._name).open("rb") as written:
                    return size, hashlib.file_digest(written, "sha256").hexdigest()
