"""Typed tables as batches: Parquet files, Lance datasets, and frames that came with the call.

Only the columns that feed something are read. Types are looked at when splits are planned, so that
a table that can't fit fails before any row is read.
"""

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.base.errors import FileMissing, SourceInvalid
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.sources.feed import Feed
from omnigraph.pipeline.sources.julian_days import has_julian_days, refuse_julian_days
from omnigraph.pipeline.sources.opening import FilePart, opened, unchanged
from omnigraph.pipeline.sources.spilled import data_in
from omnigraph.pipeline.sources.splits import InlineTable, LanceRows, RowGroups, ScratchRows
from omnigraph.store.datasets import fragment_batches, open_at
from omnigraph.store.location import DiskLocation, Location

__all__ = [
    "READ_OPTIONS",
    "inline_splits",
    "lance_schema",
    "lance_splits",
    "parquet_schema",
    "parquet_splits",
    "table_batches",
]

# INT96 counts days, and nanoseconds of a day. Read as nanoseconds (the default), years outside 1678
# to 2261 wrap around; no value does in milliseconds.
READ_OPTIONS = {"coerce_int96_timestamp_unit": "ms"}


def table_batches(
    split: RowGroups | LanceRows | InlineTable | ScratchRows, limits: InputLimits
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows in order, and the number within the split of the first in each batch."""
    first = 0
    for batch in _batches(split, limits.max_batch_rows):
        yield first, batch
        first += batch.num_rows


def parquet_schema(source: FilePart) -> pa.Schema:
    with _parquet(source) as parquet:
        schema = parquet.schema_arrow
        # Arrow reads the months, days and milliseconds of an interval as 12 bytes, which a Blob
        # would take.
        leaves = map(parquet.schema.column, range(len(parquet.schema)))
        for name in {leaf.path for leaf in leaves if leaf.converted_type == "INTERVAL"}:
            for place in schema.get_all_field_indices(name):
                schema = schema.set(place, pa.field(name, pa.month_day_nano_interval()))
        return schema


def lance_schema(location: Location) -> pa.Schema:
    return open_at(location).schema


def parquet_splits(source: FilePart, feed: Feed, *, cut_bytes: int) -> Iterator[RowGroups]:
    file, location = source.file, source.location
    with _parquet(source) as parquet:
        metadata = parquet.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        sizes = [(group.total_byte_size, group.num_rows) for group in groups]
    for size, first_row, which in _gathered(sizes, cut_bytes):
        yield RowGroups(file, location, size, first_row, which, feed, source.state)


def lance_splits(
    file: str, location: Location, feed: Feed, *, cut_bytes: int
) -> Iterator[LanceRows]:
    dataset = open_at(location)
    fragments = dataset.fragments
    per_row = dataset.files.bytes / max(1, dataset.row_count)
    sizes = [(int(fragment.rows * per_row), fragment.rows) for fragment in fragments]
    for size, first_row, which in _gathered(sizes, cut_bytes):
        ids = tuple(fragments[i].id for i in which)
        yield LanceRows(file, location, size, first_row, dataset.ref.version, ids, feed)


def inline_splits(
    name: str, table: pa.Table, feed: Feed, limits: InputLimits
) -> Iterator[InlineTable]:
    batches = table.select(list(feed.columns)).to_batches(max_chunksize=limits.max_batch_rows)
    sizes = [(batch.nbytes, batch.num_rows) for batch in batches]
    for _, first_row, which in _gathered(sizes, limits.max_block_bytes):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batches[0].schema) as stream:
            for i in which:
                stream.write_batch(batches[i])
        yield InlineTable(name, first_row, sink.getvalue().to_pybytes(), feed)


def _batches(
    split: RowGroups | LanceRows | InlineTable | ScratchRows, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    columns = list(split.feed.columns)
    match split:
        case RowGroups(groups=groups):
            with _parquet(split) as parquet:
                yield from _rows_of_groups(parquet, split, groups, columns, batch_rows)
        case LanceRows(location=location, version=version, fragments=fragments):
            dataset = open_at(location, version)
            yield from dataset.batches(columns, fragment_ids=fragments, batch_rows=batch_rows)
        case InlineTable(data=data):
            yield from pa.ipc.open_stream(pa.py_buffer(data_in(data)))
        case ScratchRows(location=location, fragment=fragment):
            yield from fragment_batches(location, fragment, columns, batch_rows=batch_rows)


def _rows_of_groups(
    parquet: pq.ParquetFile,
    split: RowGroups,
    groups: Sequence[int],
    columns: list[str],
    batch_rows: int,
) -> Iterator[pa.RecordBatch]:
    types = [parquet.schema_arrow.field(name).type for name in columns]
    # Arrow can't read such a column across a border between groups.
    is_alone = any(map(_has_dictionary_inside, types))
    is_julian = has_julian_days(parquet.metadata)
    first_row = split.first_row
    for together in [(group,) for group in groups] if is_alone else [groups]:
        for batch in parquet.iter_batches(batch_rows, row_groups=together, columns=columns):
            if is_julian:
                refuse_julian_days(batch, file=split.file, first_row=first_row)
            yield batch
            first_row += batch.num_rows


def _has_dictionary_inside(type_: pa.DataType) -> bool:
    inner = [type_.field(number).type for number in range(type_.num_fields)]
    return any(pa.types.is_dictionary(one) or _has_dictionary_inside(one) for one in inner)


def _gathered(
    sizes: list[tuple[int, int]], cut_bytes: int
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Neighbours taken together up to `cut_bytes`: bytes, rows before them, and which they are."""
    which: list[int] = []
    size_so_far = first_row = rows = 0
    for number, (size, count) in enumerate(sizes):
        if which and size_so_far + size > cut_bytes:
            yield size_so_far, first_row, tuple(which)
            which, size_so_far, first_row = [], 0, rows
        which.append(number)
        size_so_far += size
        rows += count
    if which:
        yield size_so_far, first_row, tuple(which)


@contextlib.contextmanager
def _parquet(source: FilePart) -> Iterator[pq.ParquetFile]:
    with _reading(source.file):
        if isinstance(source.location, DiskLocation):
            with (
                unchanged(source),
                pq.ParquetFile(source.location.path, **READ_OPTIONS) as parquet,
            ):
                yield parquet
            return
        # Parquet knows which bytes it wants: those, many at once, and no others.
        with (
            opened(source, ahead_bytes=0) as file,
            pq.ParquetFile(file, pre_buffer=True, **READ_OPTIONS) as parquet,
        ):
            yield parquet


@contextlib.contextmanager
def _reading(file: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise FileMissing(path=file) from error
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # names may be any bytes
        reason = f"the file is not Parquet, or is damaged ({str(error).splitlines()[0]})"
        raise SourceInvalid(file=file, reason=reason) from error
