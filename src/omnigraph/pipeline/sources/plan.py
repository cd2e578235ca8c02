"""A source becomes splits, dealt to tasks in the order of the input.

Planning looks at names, headers and footers, and at whatever came with the call; of large files
only CSV is read through once, since the end of a record can't be found from the middle.
"""

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, cast

import pyarrow as pa

from omnigraph.base.errors import ArgumentInvalid, SourceInvalid, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.pipeline.limits import InputLimits, LoadLimits
from omnigraph.pipeline.sources.buckets import InputObject, find_objects
from omnigraph.pipeline.sources.columnar import (
    inline_splits,
    lance_schema,
    lance_splits,
    parquet_schema,
    parquet_splits,
)
from omnigraph.pipeline.sources.converted import ConvertedTables
from omnigraph.pipeline.sources.delimited import csv_splits, read_header
from omnigraph.pipeline.sources.feed import Feed, check_types
from omnigraph.pipeline.sources.files import Form, InputFile, NamedFiles, find_files, stem_of
from omnigraph.pipeline.sources.in_memory import (
    as_table,
    inline_lines,
    is_frame,
    lines_of_file,
    lines_of_rows,
)
from omnigraph.pipeline.sources.mapping import (
    MappingArgument,
    Rule,
    check_rules,
    feed_for,
    read_mapping,
)
from omnigraph.pipeline.sources.opening import NotedFile, is_packed
from omnigraph.pipeline.sources.spark_frames import FRAME, WrittenFrames
from omnigraph.pipeline.sources.spilled import spill_splits
from omnigraph.pipeline.sources.splits import (
    CsvRange,
    InlineLines,
    InlineTable,
    LineRange,
    LinesFile,
    ScratchRows,
    Split,
    TextTable,
    join,
)
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.location import BucketAccess, is_bucket_address

__all__ = ["PlannedInput", "check_frames", "pack", "paths_in", "plan_splits"]

STDIN = "-"

# Sources that say where rows are, and hold none.
PLACES = (WrittenFrames, ConvertedTables, NamedFiles)


@frozen(slots=False)
class PlannedInput:
    tasks: list[tuple[Split, ...]]
    size: int
    """Bytes of all splits: compressed in a compressed file, not so in Parquet."""
    is_in_memory: bool
    """True if the rows came with the call and not as names of files."""
    came_with_call: bool
    """True of rows in memory, and of files that hold what came with the call."""
    cut: tuple[Split, ...] = field(repr=False)
    """The input as small splits, which make up the tasks."""
    limits: LoadLimits = field(default_factory=LoadLimits, repr=False)

    def dealt(self, parallelism: int) -> "PlannedInput":
        """The same for so many workers."""
        task_bytes = _task_bytes(self.size, parallelism, self.limits)
        block_bytes = self.limits.input.max_block_bytes
        tasks = [_joined(task, block_bytes) for task in pack(self.cut, task_bytes=task_bytes)]
        return replace(self, tasks=tasks)

    def spilled(self, store: GraphStore, *, folder: str) -> "PlannedInput":
        """The same, with rows that came with the call in a folder of the graph."""
        return replace(self, tasks=spill_splits(store, self.tasks, folder=folder), cut=())


def plan_splits(
    source: object,
    *,
    catalog: Catalog,
    mapping: MappingArgument = None,
    format: str | None = None,
    parallelism: int,
    access: BucketAccess | None = None,
    limits: LoadLimits | None = None,
) -> PlannedInput:
    """The source as tasks for `parallelism` workers, to be `dealt` again where there are others.

    A source is a path or several (files, directories, globs; `-` is standard input), bytes or an
    open file of NDJSON, rows as dicts, a frame, or frames by name.
    """
    limits = limits or LoadLimits()
    form, tables = Form.named(format), _Tables(catalog, read_mapping(mapping, catalog))
    paths, source = paths_in(source)
    splits: list[Split]
    if isinstance(source, WrittenFrames):
        splits = list(_splits_of_written(source, tables))
    elif isinstance(source, ConvertedTables):
        splits = list(_splits_of_converted(source, tables))
    elif paths is not None or isinstance(source, NamedFiles):
        named = paths if paths is not None else cast(NamedFiles, source).files
        files = _find_inputs(named, form, access or BucketAccess())
        splits = list(_splits_of_files(files, tables, limits))
    else:
        if form not in (None, Form.JSONL):
            instead = "write it to a file and pass the path"
            what = f"format={form.value!r} for a source that is not a file"
            raise Unsupported(what=what, instead=instead)
        splits = list(_splits_in_memory(source, tables, limits.input))
    is_in_memory = paths is None and not isinstance(source, PLACES)
    planned = PlannedInput(
        tasks=[],
        size=sum(split.size for split in splits),
        is_in_memory=is_in_memory,
        came_with_call=is_in_memory or (isinstance(source, NamedFiles) and source.came_with_call),
        cut=tuple(splits),
        limits=limits,
    )
    return planned.dealt(parallelism)


def check_frames(
    frames: Mapping[str, pa.Schema], *, catalog: Catalog, mapping: MappingArgument = None
) -> None:
    """Raise if frames of these names and columns can't be loaded, whatever their rows."""
    tables = _Tables(catalog, read_mapping(mapping, catalog))
    tables.check_rules([*frames])
    for name, schema in frames.items():
        _feed_of_frame(name, schema, tables)


def pack(splits: Iterable[Split], *, task_bytes: int) -> list[tuple[Split, ...]]:
    """The splits in order, dealt to tasks of about `task_bytes` each."""
    tasks: list[tuple[Split, ...]] = []
    task: list[Split] = []
    room = task_bytes
    for split in splits:
        if task and split.size > room:
            tasks.append(tuple(task))
            task, room = [], task_bytes
        task.append(split)
        room -= split.size
    return [*tasks, tuple(task)] if task else tasks


def _task_bytes(size: int, parallelism: int, limits: LoadLimits) -> int:
    even = size // (limits.tasks_per_core * parallelism)
    return min(max(even, limits.min_task_bytes), limits.max_task_bytes)


def _joined(task: Sequence[Split], block_bytes: int) -> tuple[Split, ...]:
    """Neighbours as one split, up to what is parsed at once."""
    joined: list[Split] = []
    for split in task:
        both = join(joined[-1], split) if joined else None
        if both is not None and both.size <= block_bytes:
            joined[-1] = both
        else:
            joined.append(split)
    return tuple(joined)


@frozen(slots=False)
class _Tables:
    """Finds the feed of each table."""

    catalog: Catalog
    rules: tuple[Rule, ...]

    def check_rules(self, tables: Sequence[str]) -> None:
        """Before the columns of any table: they may not fit because its rule is misspelt."""
        check_rules(self.rules, tables)

    def feed(self, table: str, columns: Sequence[str], names: Sequence[str]) -> Feed:
        return feed_for(table, columns, rules=self.rules, catalog=self.catalog, names=names)

    def require_rules(self) -> None:
        """A frame that came without a name needs a rule to say what it is."""
        if not self.rules:
            raise SourceInvalid(
                file=FRAME,
                reason="the type of its rows is unknown",
                advice='pass it by its type, {"Person": frame}, or with a mapping',
            )

    def typed(self, table: str, schema: pa.Schema, names: Sequence[str]) -> Feed:
        # Without any, how many rows there are is not told either.
        if not schema.names:
            raise SourceInvalid(file=table, reason="the table has no columns")
        feed = self.feed(table, schema.names, names)
        check_types(feed, schema, file=table, catalog=self.catalog)
        return feed


def paths_in(source: object) -> tuple[list[str] | None, object]:
    """The paths, or the source if it is none: an iterator may be looked into only once."""
    if isinstance(source, str | os.PathLike):
        paths = [source]
    elif isinstance(source, Iterable) and not (
        isinstance(source, str | bytes | bytearray | memoryview | Mapping)
        or is_frame(source)
        or hasattr(source, "read")
    ):
        items = iter(source)
        first = list(itertools.islice(items, 1))
        rest = itertools.chain(first, items)
        if not any(isinstance(item, str | os.PathLike) for item in first):
            return None, rest
        paths = list(rest)
    else:
        return None, source
    names = [os.fspath(_path(path, number)) for number, path in enumerate(paths, 1)]
    if names == [STDIN]:
        return None, sys.stdin.buffer
    return names, None


def _path(path: object, number: int) -> str | os.PathLike[str]:
    if not isinstance(path, str | os.PathLike):
        rule = f"item {number} must be a path like the first, not {type(path).__name__}"
        raise ArgumentInvalid(argument="source", value=f"item {number}", rule=rule)
    return path


# Files --------------------------------------------------------------------------------------------


def _find_inputs(
    paths: Sequence[InputFile | str], form: Form | None, access: BucketAccess
) -> list[InputFile | InputObject]:
    """The files of a disk and of buckets, each once, in the order in which they were named."""
    found: dict[tuple[str, str], InputFile | InputObject] = {}
    for path in paths:
        if isinstance(path, InputFile):
            found.setdefault(path.table, path)
        elif is_bucket_address(path):
            for object_ in find_objects(path, form=form, access=access):
                found.setdefault(object_.table, object_)
        else:
            for file in find_files([path], form=form):
                found.setdefault(file.table, file)
    return list(found.values())


def _splits_of_files(
    files: Sequence[InputFile | InputObject], tables: _Tables, limits: LoadLimits
) -> Iterator[Split]:
    size = sum(file.size for file in files)
    cut_bytes = min(limits.input.max_block_bytes, _task_bytes(size, limits.max_workers, limits))
    tables.check_rules([file.file for file in files if file.form is not Form.JSONL])
    for file in files:
        yield from _splits_of(file, tables, limits, cut_bytes=cut_bytes)


def _splits_of(
    file: InputFile | InputObject, tables: _Tables, limits: LoadLimits, *, cut_bytes: int
) -> Iterator[Split]:
    name = file.file
    names = (stem_of(name), stem_of(file.location.parent.name))
    if file.form is Form.LANCE:
        # Its files never change: a write makes another version, and the splits name theirs.
        feed = tables.typed(name, lance_schema(file.location), names)
        yield from lance_splits(name, file.location, feed, cut_bytes=cut_bytes)
        return
    noted = NotedFile(name, file.location, file.state)
    match file.form:
        case Form.JSONL:
            yield from _line_splits(noted, cut_bytes=cut_bytes)
        case Form.CSV:
            layout, header_bytes = read_header(noted, limits.input)
            if layout is not None:
                feed = tables.feed(name, layout.columns, names)
                yield from csv_splits(
                    noted,
                    layout,
                    feed,
                    header_bytes=header_bytes,
                    cut_bytes=max(cut_bytes, limits.min_csv_bytes),
                    limits=limits.input,
                )
        case Form.PARQUET:
            feed = tables.typed(name, parquet_schema(noted), names)
            yield from parquet_splits(noted, feed, cut_bytes=cut_bytes)


def _line_splits(file: NotedFile, *, cut_bytes: int) -> Iterator[LineRange | LinesFile]:
    name, location, size = file.file, file.location, file.size
    if is_packed(location.name):
        yield LinesFile(name, location, size, file.state)
        return
    for start in range(0, size, cut_bytes):
        yield LineRange(name, location, start, min(start + cut_bytes, size), file.state)


# Memory -------------------------------------------------------------------------------------------


def _splits_in_memory(
    source: Any, tables: _Tables, limits: InputLimits
) -> Iterator[InlineLines | InlineTable]:
    cut_bytes = limits.max_block_bytes
    if not is_frame(source) and not isinstance(source, Mapping):
        tables.check_rules([])
    if isinstance(source, bytes | bytearray | memoryview):
        yield from inline_lines("bytes", bytes(source), cut_bytes=cut_bytes)
    elif hasattr(source, "read") and not is_frame(source):
        name = "stdin" if source is sys.stdin.buffer else str(getattr(source, "name", "file"))
        yield from lines_of_file(name, source, cut_bytes=cut_bytes)
    elif is_frame(source):
        tables.require_rules()
        tables.check_rules([FRAME])
        yield from _frame_splits(FRAME, source, tables, limits)
    elif isinstance(source, Mapping):
        yield from _frames_by_name(source, tables, limits)
    elif isinstance(source, Iterable):
        yield from lines_of_rows("rows", source, cut_bytes=cut_bytes)
    else:
        rule = "pass a path, bytes, an open file, rows as dicts, or a frame"
        raise ArgumentInvalid(argument="source", value=type(source).__name__, rule=rule)


def _splits_of_written(written: WrittenFrames, tables: _Tables) -> Iterator[ScratchRows]:
    tables.check_rules([frame.name for frame in written.frames])
    for frame in written.frames:
        feed = _feed_of_frame(frame.name, frame.schema, tables)
        first_row = 0
        for file in frame.files:
            yield ScratchRows(
                frame.name, written.location, file.fragment, file.size, first_row, feed
            )
            first_row += file.rows


def _splits_of_converted(converted: ConvertedTables, tables: _Tables) -> Iterator[CsvRange]:
    tables.check_rules(converted.tables)
    for part in converted.parts:
        feed = tables.feed(part.table, part.columns, (stem_of(part.table),))
        yield CsvRange(
            part.table,
            part.location,
            part.header_bytes,
            part.size,
            part.header_lines,
            TextTable(part.columns, ","),
            feed,
            part.origin,
        )


def _feed_of_frame(name: str, schema: pa.Schema, tables: _Tables) -> Feed:
    if name == FRAME:
        tables.require_rules()
    return tables.typed(name, schema, names=(name,))


def _frames_by_name(
    frames: Mapping[object, Any], tables: _Tables, limits: InputLimits
) -> Iterator[InlineTable]:
    for name, frame in frames.items():
        if not isinstance(name, str) or not is_frame(frame):
            rule = "a dict must map names of types to frames; put rows as dicts into a list"
            raise ArgumentInvalid(argument="source", value=str(name), rule=rule)
    tables.check_rules([str(name) for name in frames])
    for name, frame in frames.items():
        yield from _frame_splits(str(name), frame, tables, limits)


def _frame_splits(
    name: str, frame: Any, tables: _Tables, limits: InputLimits
) -> Iterator[InlineTable]:
    table = as_table(name, frame)
    feed = tables.typed(name, table.schema, names=(name,))
    yield from inline_splits(name, table, feed, limits)
