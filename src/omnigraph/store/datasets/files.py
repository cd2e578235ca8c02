"""Where a dataset's files lie, and rows as files that nobody sees yet.

Names are relative to the root of the graph and use `/`, as objects do.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import lance
import pyarrow as pa
from lance.dataset import LanceDataset
from lance.file import LanceFileReader, LanceFileWriter

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.lance_values import (
    STORAGE_VERSION,
    deletion_file_of,
    failures,
    is_blob,
    open_handle,
    segment_from,
    text_of,
)
from omnigraph.store.datasets.whole_files import RecordedFile, flaws_of, require_whole
from omnigraph.store.durability import Durability
from omnigraph.store.layout import BLOB_MARK
from omnigraph.store.location import Location
from omnigraph.store.objects import Objects
from omnigraph.store.transactions import (
    Append,
    CreateIndex,
    Operation,
    Overwrite,
    Reshape,
    Restore,
    Rewrite,
    SetMetadata,
    Update,
)

__all__ = [
    "TableHome",
    "data_files",
    "discard_fragments",
    "files_of",
    "fragment_batches",
    "has_files",
    "has_fragments",
    "home_of",
    "read_fragment_columns",
    "reference_of",
    "references_of",
    "version_file",
    "with_blobs",
    "write_files",
    "write_fragments",
    "write_scratch",
]


@frozen
class TableHome:
    """Where files of a table are written, and the version of the table that they belong to.

    The newest version in that folder may have other columns: a branch that has not written a table
    yet keeps its files with those of the branch it was made from, which may have changed its schema
    since.
    """

    location: Location
    version: int


def read_fragment_columns(
    location: Location, fragments: Sequence[str], columns: Sequence[str]
) -> pa.Table:
    """Columns of files that `write_fragments` wrote there and that nothing names yet.

    There is at least one file.
    """
    wanted = list(columns)
    uri, options = str(location), location.options
    paths = [f"{uri}/data/{f['path']}" for text in fragments for f in json.loads(text)["files"]]
    with failures("read rows of", uri):
        parts = [
            LanceFileReader(path, options, columns=wanted).read_all().to_table() for path in paths
        ]
    return pa.concat_tables(parts).select(wanted)


def fragment_batches(
    location: Location, fragment: str, columns: Sequence[str], *, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """The rows of such a file in order, not all in memory at once."""
    uri, options = str(location), location.options
    # Lance reads no rows without columns.
    read = list(columns) or None
    with failures("read rows of", uri):
        for file in json.loads(fragment)["files"]:
            reader = LanceFileReader(f"{uri}/data/{file['path']}", options, columns=read)
            for batch in reader.read_all(batch_size=batch_rows).to_batches():
                yield batch.select(list(columns))


def write_fragments(
    home: TableHome,
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    *,
    is_durable: bool = True,
) -> list[str]:
    """Write rows as files of the dataset there. Nobody sees them until a transaction lands.

    Gives the fragments as JSON. Callable wherever the dataset can be reached: inside a Spark task
    too.
    """
    location = home.location
    opened = open_handle(location, home.version)
    fragments = write_files(location, batches, schema, opened=opened)
    durability = Durability.FSYNC if is_durable else Durability.RELAXED
    objects = location.parent.objects(durability)
    objects.sync(data_files(objects, location.name, fragments))
    return fragments


def write_scratch(location: Location, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> str:
    """Write rows to a file beside the dataset's that will never be one of them.

    `read_fragment_columns` and `discard_fragments` take what it gives for a fragment. Unlike in a
    fragment, blobs lie in the file itself, so that all columns can be read back.
    """
    plain = pa.schema([pa.field(f.name, f.type, f.nullable) for f in schema])
    name = f"{uuid.uuid4()}.lance"
    path, options = str(location / "data" / name), location.options
    rows = 0
    with (
        failures("write rows to", str(location)),
        LanceFileWriter(path, plain, version=STORAGE_VERSION, storage_options=options) as file,
    ):
        for batch in batches:
            file.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=plain))
            rows += batch.num_rows
    return json.dumps({"files": [{"path": name}], "physical_rows": rows})


def discard_fragments(location: Location, fragments: Sequence[str]) -> None:
    """Delete files that `write_fragments` wrote and that nothing will ever name."""
    objects = location.parent.objects(Durability.RELAXED)
    for name in list(data_files(objects, location.name, fragments)):
        objects.delete(name)


def has_fragments(location: Location, fragments: Sequence[str]) -> bool:
    """True if all files that `write_fragments` wrote are still there, and whole."""
    return has_files(location.parent, _recorded_files(location.name, fragments))


def has_files(root: Location, files: Iterable[RecordedFile]) -> bool:
    """True if all files are there, and none is known to be incomplete."""
    if root.is_on_disk:
        return not any(flaws_of(root, files))
    objects = root.objects(Durability.RELAXED)
    return all(objects.exists(file.name) for file in files)


def write_files(
    location: Location,
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    *,
    opened: LanceDataset,
) -> list[str]:
    """Rows as files that are not durable yet, with the columns of the opened version."""
    # Blobs last: whoever reads single columns of a file counts those that follow one wrong.
    ordered = pa.schema(sorted(schema, key=_is_blob), schema.metadata)
    in_order = (batch.select(ordered.names) for batch in batches)
    reader = pa.RecordBatchReader.from_batches(ordered, in_order)
    with failures("write rows to", str(location)):
        written = lance.fragment.write_fragments(
            reader,
            opened,
            mode="append",
            data_storage_version=STORAGE_VERSION,
            storage_options=location.options,
        )
    fragments = [text_of(fragment) for fragment in written]
    try:
        # A task leaves a receipt for what it wrote, long before a transaction names it.
        require_whole(location.parent, _recorded_files(location.name, fragments))
    except StorageFailed:
        discard_fragments(location, fragments)
        raise
    return fragments


def _is_blob(field: pa.Field) -> bool:
    return is_blob(field) or BLOB_MARK.items() <= (field.metadata or {}).items()


# Names -------------------------------------------------------------------------------------------


def home_of(path: str, branch: str | None) -> str:
    """Where a dataset lies, or a branch of it, relative to the root."""
    return path + (f"/tree/{branch}" if branch is not None else "")


def references_of(path: str) -> str:
    """Where Lance keeps one object for each fork of a dataset."""
    return f"{path}/_refs/branches"


def reference_of(path: str, name: str) -> str:
    return f"{references_of(path)}/{quote(name, safe='')}.json"


def version_file(path: str, branch: str | None, version: int) -> str:
    # Lance counts down in file names so that the newest version is listed first.
    return f"{home_of(path, branch)}/_versions/{2**64 - 1 - version:020}.manifest"


def files_of(home: str, operation: Operation) -> Iterator[RecordedFile]:
    """The files that an operation brings: data of new fragments, deletions of changed ones.

    Without the blobs that lie next to data files: Lance reports their failures itself.
    """
    match operation:
        case Append(fragments=fragments) | Overwrite(fragments=fragments):
            yield from _recorded_files(home, fragments)
        case Update(updated=updated, new=new):
            yield from _recorded_files(home, new)
            for path, deleted_rows in filter(None, map(deletion_file_of, updated)):
                yield RecordedFile(f"{home}/{path}", deleted_rows=deleted_rows)
        case Rewrite(groups=groups):
            for _, new in groups:
                yield from _recorded_files(home, new)
        case CreateIndex(new=new):
            for segment in map(segment_from, new):
                for file in segment.files or ():
                    name = f"{home}/_indices/{segment.uuid}/{file.path}"
                    yield RecordedFile(name, file.size_bytes)
        case Reshape(files=files):
            yield from (_recorded_file(home, json.loads(file)) for _, file in files)
        case Restore() | SetMetadata():
            pass


def _recorded_files(home: str, fragments: Sequence[str]) -> Iterator[RecordedFile]:
    for fragment in fragments:
        yield from (_recorded_file(home, file) for file in json.loads(fragment)["files"])


def _recorded_file(home: str, file: Mapping[str, Any]) -> RecordedFile:
    """Of Lance's note of a data file. That of a scratch file has no size."""
    return RecordedFile(f"{home}/data/{file['path']}", file.get("file_size_bytes") or None)


def with_blobs(objects: Objects, names: Iterable[str]) -> Iterator[str]:
    """The files, and the blobs of those that have large ones, in a folder of the file's name."""
    for name in names:
        yield name
        if "/data/" in name:
            yield from objects.list(name.removesuffix(".lance"))


def data_files(objects: Objects, home: str, fragments: Sequence[str]) -> Iterator[str]:
    """The files of fragments, with their blobs."""
    return with_blobs(objects, (file.name for file in _recorded_files(home, fragments)))
