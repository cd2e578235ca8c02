"""The only door to Lance: open a dataset at a version, read it, stage a change, land it.

Four things a newcomer would get wrong:

- `max_retries=0` is not a compare-and-swap. Lance rebases one append onto another in silence, so
  `land` checks that the new version is exactly the next one and carries our uuid.
- Lance lands one transaction twice if it is committed twice. `land` refuses any base that is not
  the newest version, and recovery looks for the uuid first (`notes_after`).
- `Restore` lands over anything, also over a commit that it never saw.
- A dataset's handle remembers a wrong `uri` after `checkout_version`: paths are made here, from the
  root, and never taken from a handle.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.commit import CommitConflictError
from lance.dataset import LanceDataset, LanceOperation, Transaction
from lance.file import LanceFileReader
from lance.fragment import FragmentMetadata, LanceFragment, RowIdSequence

from omnigraph.base.errors import StorageFailed
from omnigraph.store.durability import Disk, Durability
from omnigraph.store.transactions import (
    Append,
    DatasetRef,
    Operation,
    Overwrite,
    Restore,
    StagedTransaction,
    Update,
)

__all__ = [
    "Dataset",
    "DatasetRef",
    "Datasets",
    "EditCounts",
    "LandingRefused",
    "Piece",
    "VersionNote",
    "read_fragment_columns",
    "write_fragments",
]

STORAGE_VERSION: Literal["2.2"] = "2.2"
ROW_ID, ROW_ADDRESS = "_rowid", "_rowaddr"

# An IN list reaches an index where there is one; past this many ids one pass over the column is
# cheaper than the list.
LOOKUP_BY_LIST = 1_000

# What Lance raises for a file it can't read or write, by no rule that we could see.
LANCE_ERRORS = (OSError, ValueError, RuntimeError)


@dataclass(eq=False)
class LandingRefused(Exception):
    """The dataset did not move as staged. What it holds now is for recovery to find out."""

    path: str
    reason: str


# Reading -----------------------------------------------------------------------------------------


class Dataset:
    """One version of a dataset, open for reading."""

    def __init__(self, ref: DatasetRef, handle: LanceDataset) -> None:
        assert handle.version == ref.version, f"asked for {ref}, got version {handle.version}"
        self.ref = ref
        self._handle = handle

    @property
    def row_count(self) -> int:
        return int(self._handle.count_rows())

    @property
    def column_names(self) -> list[str]:
        return list(self._handle.schema.names)

    @property
    def schema_metadata(self) -> Mapping[bytes, bytes]:
        return self._handle.schema.metadata or {}

    @property
    def fragment_ids(self) -> tuple[int, ...]:
        return tuple(fragment.fragment_id for fragment in self._handle.get_fragments())

    def scan(
        self,
        columns: Sequence[str],
        *,
        predicate: pc.Expression | None = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        fragment_ids: Sequence[int] | None = None,
    ) -> pa.Table:
        """The rows that satisfy the predicate, of all fragments or of those named."""
        fragments = None
        if fragment_ids is not None:
            fragments = [self._fragment(i) for i in fragment_ids]
        try:
            return self._handle.scanner(
                columns=list(columns),
                filter=predicate,
                with_row_id=with_row_id,
                with_row_address=with_row_address,
                fragments=fragments,
                blob_handling="all_binary",
            ).to_table()
        except LANCE_ERRORS as error:
            raise _storage_failed("read", self.ref.path, error) from error

    @property
    def pieces(self) -> tuple["Piece", ...]:
        """The fragments in the order in which a scan reads them."""
        return tuple(
            Piece(
                id=fragment.fragment_id,
                files=tuple(file.path for file in fragment.metadata.files),
                deletions=_shown(fragment.metadata.deletion_file),
                rows=fragment.metadata.num_rows,
            )
            for fragment in self._handle.get_fragments()
        )

    def has_index(self, column: str) -> bool:
        """Whether an index answers for at least some rows."""
        try:
            return any(column in index.field_names for index in self._handle.describe_indices())
        except LANCE_ERRORS as error:
            raise _storage_failed("read indexes of", self.ref.path, error) from error

    def addresses(self, fragment_id: int) -> np.ndarray:
        """Where each row of a fragment lies in it, ascending: deleted rows are missing."""
        rows = self.scan([], with_row_address=True, fragment_ids=[fragment_id])
        return np.asarray(rows[ROW_ADDRESS].to_numpy())

    def take(self, rows: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Rows by their place in a scan."""
        try:
            return self._handle.take(rows.tolist(), columns=list(columns))
        except LANCE_ERRORS as error:
            raise _storage_failed("read", self.ref.path, error) from error

    def head(self, column: str, *, limit_rows: int) -> pa.Array:
        """The first values of a column."""
        try:
            rows = self._handle.scanner(columns=[column], limit=limit_rows).to_table()
        except LANCE_ERRORS as error:
            raise _storage_failed("read", self.ref.path, error) from error
        return rows[column].combine_chunks()

    def _fragment(self, fragment_id: int) -> LanceFragment:
        fragment = self._handle.get_fragment(fragment_id)
        assert fragment is not None, f"{self.ref} has no fragment {fragment_id}"
        return fragment

    def rows_of(self, ids: pa.Array, columns: Sequence[str] = ()) -> pa.Table:
        """`id`, `_rowid`, `_rowaddr` and the columns of the rows with these ids."""
        wanted = ["id", *columns]
        if len(ids) <= LOOKUP_BY_LIST:
            among = pc.is_in(pc.field("id"), value_set=ids)
            return self.scan(wanted, predicate=among, with_row_id=True, with_row_address=True)
        found = self.scan(wanted, with_row_id=True, with_row_address=True)
        return found.filter(pc.is_in(found["id"], value_set=ids))

    def rows_written_after(self, version: int, columns: Sequence[str]) -> pa.Table:
        """The rows that versions after `version` on this dataset's line added or replaced."""
        # Lance takes its virtual columns in SQL only, not in Arrow's expressions.
        try:
            return self._handle.scanner(
                columns=list(columns),
                filter=f"_row_last_updated_at_version > {int(version)}",
                blob_handling="all_binary",
            ).to_table()
        except LANCE_ERRORS as error:
            raise _storage_failed("read", self.ref.path, error) from error


@dataclass(frozen=True, slots=True)
class Piece:
    """A fragment of a version. Pieces with the same files and deletions hold the same rows."""

    id: int
    files: tuple[str, ...]
    deletions: str | None
    rows: int

    @property
    def has_deletions(self) -> bool:
        return self.deletions is not None


def _shown(deletions: object) -> str | None:
    return None if deletions is None else str(deletions)


def read_fragment_columns(uri: str, fragments: Sequence[str], columns: Sequence[str]) -> pa.Table:
    """Columns of files that `write_fragments` wrote at `uri` and that nothing names yet."""
    parts = [
        LanceFileReader(f"{uri}/data/{file['path']}", columns=list(columns)).read_all().to_table()
        for fragment in fragments
        for file in json.loads(fragment)["files"]
    ]
    if parts:
        return pa.concat_tables(parts).select(list(columns))
    return _open_handle(uri).schema.empty_table().select(list(columns))


def write_fragments(
    uri: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema, *, is_durable: bool = True
) -> list[str]:
    """Write rows as files of the dataset at `uri`. Nobody sees them until a transaction lands.

    Gives the fragments as JSON. Callable anywhere the dataset's disk is: inside a Spark task too.
    """
    fragments = _write_files(uri, batches, schema)
    durability = Durability.FSYNC if is_durable else Durability.RELAXED
    Disk(Path(uri).parent, durability).sync(_data_files(uri, fragments))
    return fragments


def _write_files(uri: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> list[str]:
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    try:
        written = lance.fragment.write_fragments(
            reader, uri, mode="append", data_storage_version=STORAGE_VERSION
        )
    except LANCE_ERRORS as error:
        raise _storage_failed("write rows to", uri, error) from error
    return [json.dumps(fragment.to_json()) for fragment in written]


# The datasets of one graph ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EditCounts:
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class VersionNote:
    """What made a version: enough to tell our landing from anyone else's."""

    version: int
    uuid: str | None
    restores: int | None


class Datasets:
    """Every dataset under one root, behind one shared Lance session."""

    def __init__(self, root: str, durability: Durability = Durability.FSYNC) -> None:
        self.root = root
        self.is_durable = durability is Durability.FSYNC
        self._disk = Disk(Path(root), durability)
        self._session = _new_session()

    def uri(self, path: str, branch: str | None) -> str:
        """Where Lance keeps a dataset, or a branch of it."""
        return f"{self.root}/{path}" + (f"/tree/{branch}" if branch is not None else "")

    def open(self, ref: DatasetRef) -> Dataset:
        return Dataset(ref, self._handle(ref.path, ref.branch, ref.version))

    def open_newest(self, path: str, branch: str | None) -> Dataset:
        """The newest version that can be read.

        After a power cut the newest version file may be torn. It was never acknowledged, so a
        reader takes the one before; removing the file is recovery's business.
        """
        try:
            handle = self._handle(path, branch)
        except StorageFailed:
            if (readable := self._newest_but_torn(path, branch)) is None:
                raise
            handle = self._handle(path, branch, readable)
        return Dataset(DatasetRef(path, branch, handle.version), handle)

    def newest_version(self, path: str, branch: str | None) -> int:
        return self.open_newest(path, branch).ref.version

    def versions_changed_ns(self, path: str, branch: str | None) -> int:
        """When a version last came or went, by the file system's clock: one cheap look."""
        directory = self._versions_of(path, branch)
        try:
            return directory.stat().st_mtime_ns
        except OSError as error:
            raise _storage_failed("look at", str(directory), error) from error

    def create(self, path: str, schema: pa.Schema, rows: pa.Table | None = None) -> DatasetRef:
        uri = self.uri(path, None)
        try:
            handle = lance.write_dataset(
                rows if rows is not None else schema.empty_table(),
                uri,
                schema=schema,
                mode="create",
                data_storage_version=STORAGE_VERSION,
                enable_stable_row_ids=True,
            )
        except LANCE_ERRORS as error:
            raise _storage_failed("create", uri, error) from error
        self._disk.sync(file for file in Path(uri).rglob("*") if file.is_file())
        return DatasetRef(path, None, handle.version)

    def fork(self, source: DatasetRef, name: str) -> DatasetRef:
        """A Lance branch that starts at `source`. A name is used once, ever: see `branches`."""
        handle = self._handle(source.path, source.branch, source.version)
        try:
            forked = handle.create_branch(name, (source.branch, source.version))
        except LANCE_ERRORS as error:
            raise _storage_failed("fork", f"{source.path} as {name}", error) from error
        assert forked.version == source.version, "a fork goes on counting where its source stands"
        version_file = self._version_file(source.path, name, forked.version)
        self._disk.sync((version_file, self._reference(source.path, name)))
        return DatasetRef(source.path, name, forked.version)

    def fork_names(self, path: str) -> tuple[str, ...]:
        handle = self.open_newest(path, None)._handle
        try:
            return tuple(handle.branches.list())
        except LANCE_ERRORS as error:
            raise _storage_failed("list branches of", path, error) from error

    def has_fork(self, path: str, name: str) -> bool:
        return self._reference(path, name).exists()

    # Staging -------------------------------------------------------------------------------------

    def stage(
        self, base: DatasetRef, operation: Operation, properties: Mapping[str, str]
    ) -> StagedTransaction:
        return StagedTransaction(base, operation, str(uuid.uuid4()), properties)

    def stage_rows(self, ref: DatasetRef, rows: pa.Table) -> tuple[str, ...]:
        """Write rows as files of the dataset, owned by nobody yet."""
        home = self.uri(ref.path, ref.branch)
        fragments = _write_files(home, iter(rows.to_batches()), rows.schema)
        self._disk.sync(_data_files(home, fragments))
        return tuple(fragments)

    def stage_edit(
        self, ref: DatasetRef, upserts: pa.Table, deletes: pa.Array
    ) -> tuple[Update, EditCounts]:
        """Replace or add rows by id, and delete rows by id. A replaced row keeps its row id."""
        dataset = self.open(ref)
        assert upserts.schema.names == dataset.column_names, f"rows of another table than {ref}"
        upsert_ids = upserts["id"].combine_chunks()
        found = dataset.rows_of(pa.concat_arrays([upsert_ids, deletes]))
        assert pc.count_distinct(found["id"]).as_py() == found.num_rows, f"{ref} repeats an id"
        updated = found.filter(pc.is_in(found["id"], value_set=upsert_ids))
        fresh = upserts.filter(
            pc.invert(pc.is_in(upsert_ids, value_set=updated["id"].combine_chunks()))
        )
        # Updated rows go first: a fragment may name the row ids of its first rows and leave the
        # rest to Lance, so one file serves both.
        replacing = upserts.take(pc.index_in(updated["id"], value_set=upsert_ids))
        written = self.stage_rows(ref, pa.concat_tables([replacing, fresh]))
        removed, kept = self._delete_rows(dataset, found[ROW_ADDRESS].to_numpy())
        counts = EditCounts(
            inserted=fresh.num_rows,
            updated=updated.num_rows,
            deleted=found.num_rows - updated.num_rows,
        )
        new = _with_row_ids(written, updated[ROW_ID].to_pylist())
        return Update(removed=removed, updated=kept, new=new), counts

    def adopt(self, fragments: Sequence[str], *, written_at: str, ref: DatasetRef) -> None:
        """Give a dataset the files that were written beside it, for a fork that came later."""
        home = Path(self.uri(ref.path, ref.branch))
        adopted = []
        for file in _data_files(written_at, fragments):
            target = home / file.relative_to(written_at)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.hardlink_to(file)
            adopted.append(target)
        self._disk.sync(adopted)

    def has_files_of(self, staged: StagedTransaction) -> bool:
        """Whether every file that a transaction would make visible is still there."""
        home = self.uri(staged.base.path, staged.base.branch)
        return all(file.exists() for file in _files_of(home, staged.operation))

    def _delete_rows(
        self, dataset: Dataset, addresses: np.ndarray
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        removed, kept = [], []
        fragment_of = addresses >> np.uint64(32)
        for fragment_id in np.unique(fragment_of).tolist():
            offsets = addresses[fragment_of == fragment_id] & np.uint64(0xFFFFFFFF)
            try:
                left = dataset._fragment(fragment_id).delete_rows(offsets.tolist())
            except LANCE_ERRORS as error:
                raise _storage_failed("delete rows of", dataset.ref.path, error) from error
            if left is None:
                removed.append(fragment_id)
            else:
                kept.append(json.dumps(left.to_json()))
        update = Update(updated=tuple(kept))
        self._disk.sync(_files_of(self.uri(dataset.ref.path, dataset.ref.branch), update))
        return tuple(removed), update.updated

    # Landing -------------------------------------------------------------------------------------

    def land(self, staged: StagedTransaction) -> DatasetRef:
        """Make the transaction the dataset's next version, or raise `LandingRefused`."""
        base = staged.base
        newest = self.newest_version(base.path, base.branch)
        if newest != base.version:
            raise LandingRefused(base.path, f"it is at version {newest}, not at {base.version}")
        handle = self._handle(base.path, base.branch, base.version)
        transaction = Transaction(
            read_version=base.version,
            operation=_lance_operation(staged.operation, handle),
            uuid=staged.uuid,
            transaction_properties=dict(staged.properties),
        )
        try:
            landed = LanceDataset.commit(handle, transaction, max_retries=0)
        except CommitConflictError as error:
            raise LandingRefused(base.path, str(error)) from error
        except LANCE_ERRORS as error:
            raise _storage_failed("land", base.path, error) from error
        if landed.version != base.version + 1 or _note(landed, landed.version).uuid != staged.uuid:
            raise LandingRefused(base.path, "someone else moved it at the same time")
        self._disk.sync([self._version_file(base.path, base.branch, landed.version)])
        return DatasetRef(base.path, base.branch, landed.version)

    def append_inline(self, path: str, rows: pa.Table) -> None:
        """Add rows to a log of ours at once. Not for tables of the graph: it asks for no commit."""
        uri = self.uri(path, None)
        try:
            handle = lance.write_dataset(rows, uri, mode="append")
        except LANCE_ERRORS as error:
            raise _storage_failed("append to", path, error) from error
        self._disk.sync(Path(uri, "data").iterdir())
        self._disk.sync([self._version_file(path, None, handle.version)])

    # Looking back --------------------------------------------------------------------------------

    def notes_after(self, ref: DatasetRef) -> list[VersionNote]:
        """What made each version after `ref`, oldest first."""
        newest = self.open_newest(ref.path, ref.branch)
        versions = range(ref.version + 1, newest.ref.version + 1)
        return [_note(newest._handle, version) for version in versions]

    def drop_torn(self, path: str, branch: str | None, version: int) -> bool:
        """Remove the file of a version that can't be read. Only of one never acknowledged."""
        file = self._version_file(path, branch, version)
        if not file.exists():
            return False
        try:
            self._handle(path, branch, version)
        except StorageFailed:
            file.unlink()
            # The next commit makes this version again with other contents.
            self._session = _new_session()
            return True
        return False

    def forget_old_versions(self, path: str, branch: str | None, *, older_than_s: float) -> None:
        """Remove versions that are neither recent nor the start of a fork."""
        try:
            self._handle(path, branch).cleanup_old_versions(timedelta(seconds=older_than_s))
        except LANCE_ERRORS as error:
            raise _storage_failed("clean up", path, error) from error

    def _handle(self, path: str, branch: str | None, version: int | None = None) -> LanceDataset:
        return _open_handle(self.uri(path, branch), version, self._session)

    def _reference(self, path: str, name: str) -> Path:
        return Path(self.uri(path, None), "_refs/branches", f"{quote(name, safe='')}.json")

    def _versions_of(self, path: str, branch: str | None) -> Path:
        return Path(self.uri(path, branch), "_versions")

    def _version_file(self, path: str, branch: str | None, version: int) -> Path:
        # Lance counts down in file names so that the newest version is listed first.
        return self._versions_of(path, branch) / f"{2**64 - 1 - version:020}.manifest"

    def _newest_but_torn(self, path: str, branch: str | None) -> int | None:
        directory = self._versions_of(path, branch)
        names = sorted(file.stem for file in directory.glob("*.manifest"))
        return 2**64 - 1 - int(names[1]) if len(names) > 1 else None


# Between Lance's values and ours ---------------------------------------------------------------


def _new_session() -> Any:
    return lance.Session()  # type: ignore[attr-defined]  # there, and left out of Lance's stubs


def _open_handle(uri: str, version: int | None = None, session: Any = None) -> LanceDataset:
    try:
        return lance.dataset(uri, version=version, session=session)
    except LANCE_ERRORS as error:
        raise _storage_failed("open", uri, error) from error


def _note(handle: LanceDataset, version: int) -> VersionNote:
    try:
        transaction = handle.read_transaction(version)
    except TypeError:
        # Lance can't build the value of a compaction that moved an index; it is none of ours.
        return VersionNote(version, uuid=None, restores=None)
    if transaction is None:
        return VersionNote(version, uuid=None, restores=None)
    operation = transaction.operation
    restores = operation.version if isinstance(operation, LanceOperation.Restore) else None
    return VersionNote(version, transaction.uuid, restores)


def _lance_operation(operation: Operation, handle: LanceDataset) -> LanceOperation.BaseOperation:
    match operation:
        case Append(fragments=fragments):
            return LanceOperation.Append(_metadata(fragments))
        case Overwrite(fragments=fragments):
            return LanceOperation.Overwrite(handle.lance_schema, _metadata(fragments))
        case Update(removed=removed, updated=updated, new=new):
            return LanceOperation.Update(
                removed_fragment_ids=list(removed),
                updated_fragments=_metadata(updated),
                new_fragments=_metadata(new),
                # Every field counts as changed: no index may claim to cover the new fragments.
                fields_for_preserving_frag_bitmap=_field_ids(handle),
                update_mode="rewrite_rows",
            )
        case Restore(version=version):
            return LanceOperation.Restore(version)


def _metadata(fragments: Sequence[str]) -> list[FragmentMetadata]:
    return [FragmentMetadata.from_json(fragment) for fragment in fragments]


def _field_ids(handle: LanceDataset) -> list[int]:
    def ids(field: Any) -> Iterator[int]:
        yield field.id()
        for child in field.children():
            yield from ids(child)

    return [i for field in handle.lance_schema.fields() for i in ids(field)]


def _with_row_ids(fragments: Sequence[str], row_ids: list[int]) -> tuple[str, ...]:
    """The fragments, the first rows of which keep these row ids."""
    given, done = [], 0
    for metadata in _metadata(fragments):
        mine = row_ids[done : done + metadata.physical_rows]
        done += metadata.physical_rows
        if mine:
            metadata.row_id_meta = RowIdSequence(mine).to_inline_metadata()
        given.append(json.dumps(metadata.to_json()))
    return tuple(given)


def _files_of(home: str, operation: Operation) -> Iterator[Path]:
    """The files that an operation brings: data of new fragments, deletions of changed ones."""
    match operation:
        case Append(fragments=fragments) | Overwrite(fragments=fragments):
            yield from _data_files(home, fragments)
        case Update(updated=updated, new=new):
            yield from _data_files(home, new)
            for metadata in _metadata(updated):
                if (deletions := metadata.deletion_file) is not None and deletions.base_id is None:
                    yield Path(home, deletions.path(metadata.id))
        case Restore():
            pass


def _data_files(home: str, fragments: Sequence[str]) -> Iterator[Path]:
    for fragment in fragments:
        for file in json.loads(fragment)["files"]:
            data = Path(home, "data", file["path"])
            yield data
            # Large blobs lie beside the file, in a directory of its name.
            yield from data.with_suffix("").glob("*")


def _storage_failed(doing: str, path: str, error: Exception) -> StorageFailed:
    # Lance ends its messages with the places in its own source where they passed.
    return StorageFailed(doing=doing, path=path, reason=str(error).split(", /", maxsplit=1)[0])
