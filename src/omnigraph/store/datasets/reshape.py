"""Other columns for the rows that a dataset has: some go, some come, the rest stay where they lie.

A column of nulls takes no file: the schema names it, and Lance finds it in no fragment. A column
with values is one more file beside those of each fragment. No row moves, so row ids and the indexes
of other columns stay; a column that goes takes its indexes along.

Lance tells columns by numbers, which its own calls give out. The steps of a schema change are one
transaction of ours, so the fields are numbered here, as Lance's text of them (protobuf) has it. A
number is never used again, also not that of a column that only old files have.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lance
import pyarrow as pa
from lance.dataset import LanceDataset
from lance.fragment import LanceFragment
from lance.schema import LanceSchema

from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.lance_values import STORAGE_VERSION, failures
from omnigraph.store.datasets.version_file import fields_of, varint_bytes
from omnigraph.store.transactions import Reshape

__all__ = ["ColumnFill", "stage_columns"]

NAME, NUMBER, PARENT = 2, 3, 4
"""Where Lance's text of a field says what it is called, which it is, and in which it lies."""

NO_PARENT = 2**64 - 1
"""Minus one, as protobuf writes it."""

# Rows of which a column is computed at a time.
BATCH_ROWS = 65_536


@frozen
class ColumnFill:
    """A new column that has values."""

    column: str
    reads: str
    """The column that its values are made of."""
    values: Callable[[pa.Array], pa.Array]


def stage_columns(
    handle: LanceDataset, schema: pa.Schema, fills: Sequence[ColumnFill]
) -> Reshape | None:
    """Write the files of new columns. None: the dataset has exactly these columns already.

    A column of the schema that the dataset has stays as it is; one that it has not is filled, or
    null in every row.
    """
    known = _columns(handle.lance_schema)
    if list(known) == schema.names:
        return None
    new = pa.schema([field for field in schema if field.name not in known])
    # What Lance would make of them in a dataset of their own.
    with failures("plan columns of", handle.uri):
        drafts = lance.write_dataset(
            new.empty_table(), "memory://", schema=new, data_storage_version=STORAGE_VERSION
        )
    first = _next_number(handle)
    fields = dict(known)
    for name, texts in _columns(drafts.lance_schema).items():
        fields[name] = [_renumbered(text, by=first) for text in texts]
    files = _written(handle, fills, fields) if fills else ()
    ordered = (text for name in schema.names for text in fields[name])
    return Reshape(tuple(base64.b64encode(text).decode() for text in ordered), files)


def _written(
    handle: LanceDataset, fills: Sequence[ColumnFill], fields: Mapping[str, Sequence[bytes]]
) -> tuple[tuple[int, str], ...]:
    return tuple(
        (fragment.fragment_id, _column_file(fragment, fills, fields))
        for fragment in handle.get_fragments()
    )


def _column_file(
    fragment: LanceFragment, fills: Sequence[ColumnFill], fields: Mapping[str, Sequence[bytes]]
) -> str:
    """The note of one fragment's file with all the new columns, of deleted rows too."""

    def computed(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({fill.column: fill.values(batch[fill.reads]) for fill in fills})

    read = sorted({fill.reads for fill in fills})
    with failures("write columns of", f"fragment {fragment.fragment_id}"):
        made, merged = fragment.merge_columns(computed, columns=read, batch_size=BATCH_ROWS)
    before = {file["path"] for file in fragment.metadata.to_json()["files"]}
    [file] = (file for file in made.to_json()["files"] if file["path"] not in before)
    # Lance has numbered them by its own count, which need not be ours.
    given = _columns(merged)
    ours = {
        _number(theirs): _number(mine)
        for fill in fills
        for theirs, mine in zip(given[fill.column], fields[fill.column], strict=True)
    }
    return json.dumps({**file, "fields": [ours[number] for number in file["fields"]]})


# Fields ------------------------------------------------------------------------------------------


def _columns(schema: LanceSchema) -> dict[str, list[bytes]]:
    """The text of each column, followed by those of the fields that lie in it."""
    columns: dict[str, list[bytes]] = {}
    last: list[bytes] = []
    for text in _texts(schema):
        if _numbers(text).get(PARENT, 0) == NO_PARENT:
            [name] = (f.bytes_value for f in fields_of(text) if f.number == NAME)
            last = columns.setdefault(name.decode(), [])
        last.append(text)
    return columns


def _texts(schema: LanceSchema) -> list[bytes]:
    state: Any = schema.__reduce__()[1]
    _, *texts = state
    return texts


def _numbers(text: bytes) -> dict[int, int]:
    return {f.number: f.number_value for f in fields_of(text) if f.number in (NUMBER, PARENT)}


def _number(text: bytes) -> int:
    # Protobuf leaves out what is 0.
    return _numbers(text).get(NUMBER, 0)


def _next_number(handle: LanceDataset) -> int:
    in_schema = map(_number, _texts(handle.lance_schema))
    in_files = (
        number
        for fragment in handle.get_fragments()
        for file in fragment.metadata.to_json()["files"]
        for number in file["fields"]
    )
    return 1 + max((*in_schema, *in_files))


def _renumbered(text: bytes, *, by: int) -> bytes:
    """A field with its number, and that of the field in which it lies, so much higher."""
    parent = _numbers(text).get(PARENT, 0)
    numbers = {NUMBER: _number(text) + by, PARENT: parent if parent == NO_PARENT else parent + by}
    others = (text[f.start : f.end] for f in fields_of(text) if f.number not in numbers)
    return b"".join(
        (*others, *(varint_bytes(n << 3) + varint_bytes(v) for n, v in numbers.items()))
    )
