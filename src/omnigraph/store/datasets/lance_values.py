"""Between Lance's values and ours: operations, index segments, notes of versions, its errors.

What a sidecar carries is JSON text of Lance's own metadata. Only here is it turned into Lance's
classes and back.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.commit import CommitConflictError
from lance.dataset import Index, IndexFile, LanceDataset, LanceOperation
from lance.fragment import FragmentMetadata, RowIdMeta, RowIdSequence
from lance.query import MatchQuery, PhraseQuery
from lance.schema import LanceSchema
from numpy.typing import NDArray

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.process import claim_process
from omnigraph.store.limits import StoreLimits
from omnigraph.store.location import Location
from omnigraph.store.row_filters import HasMember, HasText, HasWords, StartsWith
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

STORAGE_VERSION: Literal["2.2"] = "2.2"

# What Lance makes of a column with our mark for blobs.
BLOB_TYPE = "lance.blob.v2"

# Where Lance's JSON of a fragment has the row ids, unless they lie in a file.
INLINE = "Inline"

# What Lance raises for a file it can't read or write, by no rule that we could see.
LANCE_ERRORS = (OSError, ValueError, RuntimeError)

# How Lance tells of a Ctrl-C that came while it called back into Python.
INTERRUPTED = "External error: KeyboardInterrupt"


@dataclass(eq=False)
class LandingRefused(Exception):
    """The dataset did not move as staged. What it holds now is for recovery to find out."""

    path: str
    reason: str


@contextmanager
def failures(doing: str, path: str) -> Iterator[None]:
    """Raise `StorageFailed` for an error of Lance; a conflict passes as it is."""
    claim_process()
    try:
        yield
    except CommitConflictError:
        raise
    except LANCE_ERRORS as error:
        if INTERRUPTED in str(error):
            raise KeyboardInterrupt from error
        raise storage_failed(doing, path, error) from error
    except BaseException as error:
        # Over some damaged files Lance panics, and its panics are no `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        raise storage_failed(doing, path, error) from error


def storage_failed(doing: str, path: str, error: BaseException) -> StorageFailed:
    # Lance ends its messages with the places in its own source where they passed.
    return StorageFailed(doing=doing, path=path, reason=str(error).split(", /", maxsplit=1)[0])


def is_blob(field: pa.Field) -> bool:
    """True if a column of a dataset's own schema is one of blobs."""
    return getattr(field.type, "extension_name", None) == BLOB_TYPE


# Opening and looking back -------------------------------------------------------------------------


def new_session(limits: StoreLimits) -> Any:
    """Lance's own caches: of versions and files, and of pages of indexes."""
    claim_process()
    return lance.Session(  # type: ignore[attr-defined]  # there, and left out of Lance's stubs
        metadata_cache_size_bytes=limits.max_file_notes_bytes,
        index_cache_size_bytes=limits.max_index_pages_bytes,
    )


def open_handle(
    location: Location, version: int | None = None, session: Any = None
) -> LanceDataset:
    uri, options = str(location), location.options
    with failures("open", uri):
        return lance.dataset(uri, version=version, session=session, storage_options=options)


@frozen
class VersionOrigin:
    """Where a version came from: enough to tell our landing from another writer's."""

    version: int
    uuid: str | None = None
    restores: int | None = None
    operation_id: str | None = None
    """The write that it belongs to."""
    fencing: int = 0
    """The number of the fence that its writer held."""


def origin_of(handle: LanceDataset, version: int) -> VersionOrigin:
    try:
        with failures("look back at", f"version {version} of {handle.uri}"):
            transaction = handle.read_transaction(version)
    except TypeError:
        # Lance can't build the value of a compaction that moved an index; it is none of ours.
        return VersionOrigin(version)
    if transaction is None:
        return VersionOrigin(version)
    operation, properties = transaction.operation, transaction.transaction_properties or {}
    return VersionOrigin(
        version,
        uuid=transaction.uuid,
        restores=operation.version if isinstance(operation, LanceOperation.Restore) else None,
        operation_id=properties.get("operation_id"),
        fencing=int(properties.get("fencing", 0)),
    )


# Operations --------------------------------------------------------------------------------------


def lance_operation(operation: Operation, handle: LanceDataset) -> LanceOperation.BaseOperation:
    match operation:
        case Append(fragments=fragments):
            return LanceOperation.Append(metadata_of(fragments))
        case Overwrite(fragments=fragments):
            return LanceOperation.Overwrite(handle.lance_schema, metadata_of(fragments))
        case Update(removed=removed, updated=updated, new=new):
            return LanceOperation.Update(
                removed_fragment_ids=list(removed),
                updated_fragments=[_with_its_row_ids(text, handle) for text in updated],
                new_fragments=metadata_of(new),
                # Every field counts as changed: no index may claim to cover the new fragments.
                fields_for_preserving_frag_bitmap=_field_ids(handle),
                update_mode="rewrite_rows",
            )
        case Restore(version=version):
            return LanceOperation.Restore(version)
        case Rewrite(groups=groups):
            pairs = ((metadata_of(old), metadata_of(new)) for old, new in groups)
            return LanceOperation.Rewrite([LanceOperation.RewriteGroup(*p) for p in pairs], [])
        case CreateIndex(new=new, removed=removed):
            return LanceOperation.CreateIndex(
                [*map(segment_from, new)], [*map(segment_from, removed)]
            )
        case SetMetadata(entries=entries):
            return LanceOperation.UpdateConfig(
                schema_metadata_updates=LanceOperation.UpdateMap(dict(entries))
            )
        case Reshape():
            return _reshape(operation, handle)


def _reshape(reshape: Reshape, handle: LanceDataset) -> LanceOperation.BaseOperation:
    state: Any = handle.lance_schema.__reduce__()[1]
    metadata, *_ = state
    fields = (base64.b64decode(field) for field in reshape.fields)
    schema = LanceSchema._from_protos(metadata, *fields)
    if not reshape.files:
        return LanceOperation.Project(schema)
    files = dict(reshape.files)
    fragments = [
        _with_file(fragment.metadata, files[fragment.fragment_id])
        for fragment in handle.get_fragments()
    ]
    return LanceOperation.Merge(fragments, schema)


def _with_file(fragment: FragmentMetadata, file: str) -> FragmentMetadata:
    """A fragment with one more file, and all else as it is: what is left out here would be gone,
    such as the note of its deleted rows."""
    value = fragment.to_json()
    files = [*value["files"], json.loads(file)]
    return FragmentMetadata.from_json(json.dumps({**value, "files": files}))


def text_of(fragment: FragmentMetadata) -> str:
    value = fragment.to_json()
    row_ids = value["row_id_meta"]
    if row_ids is not None and INLINE in row_ids:
        # As base64: of many rows, a list of the bytes as numbers takes longer than all the rest.
        value["row_id_meta"] = base64.b64encode(bytes(row_ids[INLINE])).decode()
    return json.dumps(value)


def text_without_row_ids(fragment: FragmentMetadata) -> str:
    """A fragment that loses rows, as text: its row ids stay what they are (`_with_its_row_ids`)."""
    fragment.row_id_meta = None
    return text_of(fragment)


def sql_text(value: str) -> str:
    """A literal of Lance's SQL, in which only the quote means something else than itself."""
    return "'" + value.replace("'", "''") + "'"


def lance_words(tested: HasWords) -> MatchQuery | PhraseQuery:
    """A test for words, which Lance takes beside filters."""
    kind = PhraseQuery if tested.is_phrase else MatchQuery
    return kind(tested.text, tested.column)


def lance_filter(
    tested: pc.Expression | StartsWith | HasText | HasMember,
) -> pc.Expression | str:
    """A test as Lance takes it. Functions of its SQL have no name in Arrow's expressions."""
    match tested:
        case StartsWith(column=column, text=text):
            return f"starts_with(`{column}`, {sql_text(text)})"
        case HasText(column=column, text=text):
            return f"contains(`{column}`, {sql_text(text)})"
        case HasMember(column=column, value=value):
            return f"array_has(`{column}`, {_literal(value)})"
        case _:
            return tested


def _cant_be_told(kind: pa.DataType) -> bool:
    """True if Lance can't read the type of a column beside an expression, whichever it tests."""
    if pa.types.is_list(kind) and pa.types.is_unsigned_integer(kind.value_type):
        return True
    return bool(_LANCE_CANT_TELL(kind))


# An expression travels with the types of all columns. Lance itself puts a number in the place of
# those that it could not read at the other end, and forgets lists of unsigned integers: no
# expression could be asked of a table that has one.
_LANCE: Any = import_module("lance.dataset")
_LANCE_CANT_TELL = _LANCE._needs_substrait_placeholder
_LANCE._needs_substrait_placeholder = _cant_be_told


def _literal(value: pa.Scalar) -> str:
    given = value.as_py()
    if pa.types.is_date32(value.type):
        return f"date '{given.isoformat()}'"
    return sql_text(given) if pa.types.is_string(value.type) else str(given).lower()


def segment_of(description: Any, segment: Any) -> Index:
    """A segment of an index that is there, as the value with which to replace it."""
    return Index(
        uuid=str(segment.uuid),
        name=description.name,
        fields=list(description.fields),
        dataset_version=segment.dataset_version_at_last_update,
        fragment_ids=segment.fragment_ids,
        index_version=segment.index_version,
        base_id=segment.base_id,
    )


def segment_text(segment: Index) -> str:
    return json.dumps(
        {
            "uuid": str(segment.uuid),
            "name": segment.name,
            "fields": list(segment.fields),
            "dataset_version": segment.dataset_version,
            "fragment_ids": sorted(segment.fragment_ids),
            "index_version": segment.index_version,
            "base_id": segment.base_id,
            "files": [[file.path, file.size_bytes] for file in segment.files or ()],
            "details": [segment.index_details[0], segment.index_details[1].hex()]
            if segment.index_details is not None
            else None,
        }
    )


def segment_from(text: str) -> Index:
    value = json.loads(text)
    details = value.pop("details")
    return Index(
        **{
            **value,
            "fragment_ids": set(value["fragment_ids"]),
            "files": [IndexFile(*file) for file in value["files"]],
            "index_details": (details[0], bytes.fromhex(details[1])) if details else None,
        }
    )


def metadata_of(fragments: Sequence[str]) -> list[FragmentMetadata]:
    return [_metadata(fragment) for fragment in fragments]


def deletion_file_of(fragment: str) -> tuple[str, int] | None:
    """The file of a fragment's deleted rows, and how many it lists.

    None: no rows are deleted, or the file lies with the source of a fork.
    """
    [metadata] = metadata_of([fragment])
    deletions = metadata.deletion_file
    if deletions is None or deletions.base_id is not None:
        return None
    return deletions.path(metadata.id), deletions.num_deleted_rows


def _metadata(text: str) -> FragmentMetadata:
    row_ids = (value := json.loads(text))["row_id_meta"]
    if not isinstance(row_ids, str):
        return FragmentMetadata.from_json(text)
    metadata = FragmentMetadata.from_json(json.dumps({**value, "row_id_meta": None}))
    inline = {INLINE: list(base64.b64decode(row_ids))}
    metadata.row_id_meta = RowIdMeta.from_dict(inline)  # type: ignore[attr-defined]  # not in its stubs
    return metadata


def _with_its_row_ids(text: str, handle: LanceDataset) -> FragmentMetadata:
    metadata = _metadata(text)
    before = handle.get_fragment(metadata.id)
    assert before is not None, f"fragment {metadata.id} is of another version"
    metadata.row_id_meta = before.metadata.row_id_meta
    return metadata


def _field_ids(handle: LanceDataset) -> list[int]:
    def ids(field: Any) -> Iterator[int]:
        yield field.id()
        for child in field.children():
            yield from ids(child)

    return [i for field in handle.lance_schema.fields() for i in ids(field)]


def with_row_ids(fragments: Sequence[str], row_ids: NDArray[np.uint64]) -> tuple[str, ...]:
    """The fragments, the first rows of which keep these row ids."""
    given, done = [], 0
    for metadata in metadata_of(fragments):
        mine = row_ids[done : done + metadata.physical_rows]
        done += metadata.physical_rows
        if len(mine):
            metadata.row_id_meta = RowIdSequence(pa.array(mine)).to_inline_metadata()
        given.append(text_of(metadata))
    return tuple(given)
