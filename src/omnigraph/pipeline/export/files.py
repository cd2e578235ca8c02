"""Rows of a view as files for others: JSON lines in one stream, or one Parquet file per type.

A few megabytes of rows are in memory at a time, however large the graph is; only a single blob may
be larger than that.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

import pyarrow as pa

from omnigraph.base.errors import Unsupported
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType
from omnigraph.pipeline.export.lines import lines_of
from omnigraph.read.view import View
from omnigraph.store.arrow import arrow_type, table_schema

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = [
    "Checksum",
    "Sink",
    "bytes_of",
    "grouped",
    "parquet_path",
    "parquet_rows",
    "parquet_schema",
    "parquet_writer",
    "write_lines",
    "write_parquet",
]

# Larger groups compress better; a reader takes one at a time.
GROUP_BYTES = 64 << 20


class Sink(Protocol):
    """Whatever takes bytes: a file, standard output, the body of an answer."""

    def write(self, data: memoryview, /) -> object: ...


class Checksum:
    """A sink that counts and digests what passes through it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._digest = hashlib.sha256()
        self.bytes = 0

    def write(self, data: memoryview) -> None:
        self._sink.write(data)
        self._digest.update(data)
        self.bytes += len(data)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def write_lines(view: View, entity: EntityType, sink: Sink, *, batch_bytes: int) -> int:
    """Write a line for each row of a type; gives how many there are."""
    count = 0
    for batch in _batches(view, entity, batch_bytes):
        lines = lines_of(entity, batch)
        assert lines.null_count == 0 and len(lines) == batch.num_rows, "every row is a line"
        sink.write(bytes_of(lines))
        count += len(lines)
    return count


def parquet_path(entity: EntityType) -> Path:
    """Where the rows of a type lie in a Parquet export: a load takes the type from the name."""
    match entity:
        case NodeType():
            return Path("nodes", f"{entity.name}.parquet")
        case EdgeType():
            return Path("edges", f"{entity.name}.parquet")


def write_parquet(view: View, entity: EntityType, file: Path, *, batch_bytes: int) -> int:
    """Write the rows of a type as a Parquet file; gives how many there are."""
    count = 0
    with parquet_writer(entity, file) as writer:
        for rows in grouped(_batches(view, entity, batch_bytes)):
            writer.write_table(parquet_rows(entity, rows))
            count += rows.num_rows
    return count


def parquet_writer(entity: EntityType, file: Path | BinaryIO) -> "pq.ParquetWriter":
    """What takes the rows of a type, and makes a Parquet file of them."""
    import pyarrow.parquet as pq  # a query starts without it

    return pq.ParquetWriter(file, parquet_schema(entity), compression="zstd")


def parquet_rows(entity: EntityType, rows: pa.Table) -> pa.Table:
    """Rows of a type's table as the file has them."""
    columns = [rows[column] for column in _columns(entity)]
    return pa.Table.from_arrays(columns, schema=parquet_schema(entity))


def _batches(view: View, entity: EntityType, batch_bytes: int) -> Iterator[pa.RecordBatch]:
    columns = table_schema(entity).names
    return view.batches(entity, columns, limit_bytes=batch_bytes)


def bytes_of(lines: pa.Array) -> memoryview:
    """The text of all lines, as it lies in memory."""
    if not len(lines):
        return memoryview(b"")
    _, offsets, data = lines.buffers()
    ends = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, offsets], offset=lines.offset)
    return memoryview(data)[ends[0].as_py() : ends[-1].as_py()]


def grouped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows in groups that are worth writing at once."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


# Parquet ------------------------------------------------------------------------------------------


def _columns(entity: EntityType) -> Sequence[str]:
    """The columns of the table in the order of the file's."""
    system = [ID] if ID not in entity.by_name else []
    ends = [SRC, DST] if isinstance(entity, EdgeType) else []
    return [*system, *ends, *(p.column for p in entity.properties)]


def parquet_schema(entity: EntityType) -> pa.Schema:
    """`id`, on edges `from` and `to`, then the properties by name.

    A property `id` takes the place of the id, which then must follow from the key.
    """
    if ID in entity.by_name and not entity.key:
        raise Unsupported(
            what=f"a Parquet file of {entity.name}, which has a property {ID} and no key,",
            instead="export as jsonl, which keeps the id apart from the properties",
        )
    fields = [pa.field(ID, pa.string(), nullable=False)] if ID not in entity.by_name else []
    if isinstance(entity, EdgeType):
        fields += [pa.field(end, pa.string(), nullable=False) for end in ("from", "to")]
    return pa.schema([*fields, *(pa.field(p.name, arrow_type(p.type)) for p in entity.properties)])
