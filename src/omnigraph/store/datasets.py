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
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.commit import CommitConflictError
from lance.dataset import Index, IndexFile, LanceDataset, LanceOperation, Transaction
from lance.file import LanceFileReader
from lance.fragment import FragmentMetadata, LanceFragment, RowIdSequence
from lance.optimize import Compaction, CompactionOptions, RewriteResult

from omnigraph.base.errors import StorageFailed
from omnigraph.store.durability import Durability
from omnigraph.store.objects import Objects, objects_at
from omnigraph.store.root import DiskRoot, graph_root
from omnigraph.store.transactions import (
    Append,
    CreateIndex,
    DatasetRef,
    Operation,
    Overwrite,
    Restore,
    Rewrite,
    SetMetadata,
    StagedTransaction,
    Update,
)

__all__ = [
    "Dataset",
    "DatasetRef",
    "Datasets",
    "EditCounts",
    "Files",
    "LandingRefused",
    "VersionNote",
    "discard_fragments",
    "read_fragment_columns",
    "write_fragments",
]

STORAGE_VERSION: Literal["2.2"] = "2.2"
ROW_ID, ROW_ADDRESS = "_rowid", "_rowaddr"

# An IN list reaches an index where there is one; past this many ids one pass over the column is
# cheaper than the list.
LOOKUP_BY_LIST = 1_000

# Every look-up asks every segment of an index; past this many they are written anew as one.
SEGMENTS_PER_INDEX = 4

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

    @property
    def files(self) -> "Files":
        """How the rows lie in files, from what Lance keeps in memory of an open dataset."""
        counted = self._handle.stats.dataset_stats()
        fragments = [fragment.metadata.to_json() for fragment in self._handle.get_fragments()]
        return Files(
            fragments=counted["num_fragments"],
            deleted_rows=counted["num_deleted_rows"],
            bytes=sum(file["file_size_bytes"] or 0 for f in fragments for file in f["files"]),
        )

    def small_fragments(self, fewer_than_rows: int) -> int:
        """How many fragments hold fewer rows than that."""
        return self._handle.stats.dataset_stats(fewer_than_rows)["num_small_files"]

    @property
    def indexed_rows(self) -> Mapping[str, int]:
        """For each column with a BTREE, how many rows it answers for; the others are scanned."""
        return {
            description.field_names[0]: description.num_rows_indexed
            for description in self._indexes().values()
        }

    def _indexes(self) -> dict[str, Any]:
        with _failures("read indexes of", self.ref.path):
            return {d.name: d for d in self._handle.describe_indices()}

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
        return self._read(
            columns,
            filter=predicate,
            with_row_id=with_row_id,
            with_row_address=with_row_address,
            fragments=fragments,
        )

    def _read(self, columns: Sequence[str], **options: Any) -> pa.Table:
        with _failures("read", self.ref.path):
            return self._handle.scanner(
                columns=list(columns), blob_handling="all_binary", **options
            ).to_table()

    def _fragment(self, fragment_id: int) -> LanceFragment:
        fragment = self._handle.get_fragment(fragment_id)
        assert fragment is not None, f"{self.ref} has no fragment {fragment_id}"
        return fragment

    def rows_of(self, ids: pa.Array, columns: Sequence[str] = ()) -> pa.Table:
        """`id`, `_rowid`, `_rowaddr` and the columns of the rows with these ids."""
        wanted = ["id", *columns]
        if len(ids) <= LOOKUP_BY_LIST:
            # As SQL, since to translate an expression takes Lance as long as a small look-up.
            among = f"id IN ({', '.join(map(_sql_text, ids.to_pylist()))})" if len(ids) else "false"
            return self._read(wanted, filter=among, with_row_id=True, with_row_address=True)
        found = self.scan(wanted, with_row_id=True, with_row_address=True)
        return found.filter(pc.is_in(found["id"], value_set=ids))

    def rows_written_after(self, version: int, columns: Sequence[str]) -> pa.Table:
        """The rows that versions after `version` on this dataset's line added or replaced."""
        # Lance takes its virtual columns in SQL only, not in Arrow's expressions.
        return self._read(columns, filter=f"_row_last_updated_at_version > {int(version)}")


def read_fragment_columns(
    uri: str,
    fragments: Sequence[str],
    columns: Sequence[str],
    *,
    options: dict[str, str] | None = None,
) -> pa.Table:
    """Columns of files that `write_fragments` wrote at `uri` and that nothing names yet."""
    wanted = list(columns)
    parts = [
        LanceFileReader(f"{uri}/data/{file['path']}", options, columns=wanted).read_all().to_table()
        for fragment in fragments
        for file in json.loads(fragment)["files"]
    ]
    if parts:
        return pa.concat_tables(parts).select(wanted)
    return _open_handle(uri, options=options).schema.empty_table().select(wanted)


def write_fragments(
    uri: str,
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    *,
    options: dict[str, str] | None = None,
    is_durable: bool = True,
) -> list[str]:
    """Write rows as files of the dataset at `uri`. Nobody sees them until a transaction lands.

    Gives the fragments as JSON. Callable wherever the dataset can be reached, with `options` if it
    lies in a bucket: inside a Spark task too.
    """
    fragments = _write_files(uri, batches, schema, options)
    root, _, home = uri.rpartition("/")
    durability = Durability.FSYNC if is_durable else Durability.RELAXED
    objects = objects_at(root, durability, options)
    objects.sync(_data_files(objects, home, fragments))
    return fragments


def discard_fragments(
    uri: str, fragments: Sequence[str], *, options: dict[str, str] | None = None
) -> None:
    """Delete files that `write_fragments` wrote and that nothing will ever name."""
    root, _, home = uri.rpartition("/")
    objects = objects_at(root, Durability.RELAXED, options)
    for name in list(_data_files(objects, home, fragments)):
        objects.delete(name)


def _write_files(
    uri: str,
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    options: dict[str, str] | None,
) -> list[str]:
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    with _failures("write rows to", uri):
        written = lance.fragment.write_fragments(
            reader,
            uri,
            mode="append",
            data_storage_version=STORAGE_VERSION,
            storage_options=options,
        )
    return [_text(fragment) for fragment in written]


# The datasets of one graph ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EditCounts:
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Files:
    fragments: int
    deleted_rows: int
    """Rows that are gone and still take room."""
    bytes: int


@dataclass(frozen=True, slots=True)
class VersionNote:
    """What made a version: enough to tell our landing from anyone else's."""

    version: int
    uuid: str | None = None
    restores: int | None = None
    operation_id: str | None = None
    """The write that it belongs to."""
    fencing: int = 0
    """The number of the fence that its writer held."""


class Datasets:
    """Every dataset under one root, behind one shared Lance session."""

    def __init__(
        self,
        root: str,
        durability: Durability = Durability.FSYNC,
        *,
        options: dict[str, str] | None = None,
    ) -> None:
        self.root = root
        self.options = options
        """What it takes to reach a bucket; None for a disk."""
        self.is_durable = durability is Durability.FSYNC
        self._objects = objects_at(root, durability, options)
        self._is_on_disk = isinstance(graph_root(root), DiskRoot)
        self._session = _new_session()

    def uri(self, path: str, branch: str | None) -> str:
        """Where Lance keeps a dataset, or a branch of it."""
        return f"{self.root}/{_home(path, branch)}"

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

    def is_newest(self, ref: DatasetRef) -> bool:
        """Whether the next version is not there: one look, however many versions there are.

        Wrong only where that one was removed again and later ones were not, as a clean-up of old
        versions does. So ask it of a version that was the newest a moment ago.
        """
        return not self._objects.exists(_version_file(ref.path, ref.branch, ref.version + 1))

    def versions_changed_ns(self, path: str, branch: str | None) -> int | None:
        """When a version last came or went, by the file system's clock: one cheap look.

        A bucket does not say. There, opening the newest version is the one look that it takes.
        """
        if not self._is_on_disk:
            return None
        directory = Path(self.root, _home(path, branch), "_versions")
        try:
            return directory.stat().st_mtime_ns
        except OSError as error:
            raise _storage_failed("look at", str(directory), error) from error

    def create(self, path: str, schema: pa.Schema, rows: pa.Table | None = None) -> DatasetRef:
        uri = self.uri(path, None)
        with _failures("create", uri):
            handle = lance.write_dataset(
                rows if rows is not None else schema.empty_table(),
                uri,
                schema=schema,
                mode="create",
                data_storage_version=STORAGE_VERSION,
                enable_stable_row_ids=True,
                storage_options=self.options,
            )
        self._objects.sync(self._objects.walk(path))
        return DatasetRef(path, None, handle.version)

    def fork(self, source: DatasetRef, name: str) -> DatasetRef:
        """A Lance branch that starts at `source`. A name is used once, ever: see `branches`."""
        handle = self._handle(source.path, source.branch, source.version)
        with _failures("fork", f"{source.path} as {name}"):
            forked = handle.create_branch(name, (source.branch, source.version))
        assert forked.version == source.version, "a fork goes on counting where its source stands"
        version_file = _version_file(source.path, name, forked.version)
        self._objects.sync((version_file, _reference(source.path, name)))
        return DatasetRef(source.path, name, forked.version)

    def forks(self, path: str) -> Mapping[str, str | None]:
        """Every fork of a dataset, and the fork that it started from; None is the main line."""
        handle = self.open_newest(path, None)._handle
        with _failures("list branches of", path):
            return {name: fork["parent_branch"] for name, fork in handle.branches.list().items()}

    def delete_fork(self, path: str, name: str) -> None:
        """Remove a fork. It is gone at once; a crash may leave files of it that nothing names."""
        handle = self.open_newest(path, None)._handle
        with _failures("delete", f"{name} of {path}"):
            handle.branches.delete(name)

    def has_fork(self, path: str, name: str) -> bool:
        return self._objects.exists(_reference(path, name))

    # Staging -------------------------------------------------------------------------------------

    def stage(
        self, base: DatasetRef, operation: Operation, properties: Mapping[str, str]
    ) -> StagedTransaction:
        return StagedTransaction(base, operation, str(uuid.uuid4()), properties)

    def stage_rows(self, ref: DatasetRef, rows: pa.Table) -> tuple[str, ...]:
        """Write rows as files of the dataset, owned by nobody yet."""
        batches = iter(rows.to_batches())
        uri = self.uri(ref.path, ref.branch)
        fragments = _write_files(uri, batches, rows.schema, self.options)
        home = _home(ref.path, ref.branch)
        self._objects.sync(_data_files(self._objects, home, fragments))
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
        source, home = written_at.removeprefix(f"{self.root}/"), _home(ref.path, ref.branch)
        for name in _data_files(self._objects, source, fragments):
            self._objects.copy(name, home + name.removeprefix(source))

    def stage_compaction(
        self, ref: DatasetRef, *, fewer_than_rows: int, drops_deleted: bool
    ) -> Rewrite | None:
        """Write neighbouring fragments that are small as larger ones; None: there are none.

        With `drops_deleted`, also those of which a tenth is deleted. Rows keep their row ids and
        the versions that wrote them, so no diff sees a compaction.
        """
        handle = self._handle(ref.path, ref.branch, ref.version)
        options: CompactionOptions = {
            "target_rows_per_fragment": fewer_than_rows,
            "materialize_deletions": drops_deleted,
        }
        with _failures("compact", ref.path):
            # `Compaction.commit` would move the dataset by two versions, neither with our uuid.
            done = [task.execute(handle) for task in Compaction.plan(handle, options).tasks]
        if not done:
            return None
        rewrite = Rewrite(tuple(map(_group, done)))
        self._sync_files_of(ref, rewrite)
        return rewrite

    def stage_indexes(self, ref: DatasetRef, columns: Sequence[str]) -> CreateIndex | None:
        """Write what makes the BTREE of each column answer for every row; None: all do."""
        dataset = self.open(ref)
        new, removed = [], []
        for column in columns:
            name = f"{column}_btree"
            if (segment := self._stage_segment(dataset, name, column)) is not None:
                fresh, outdated = segment
                new.append(_segment_text(fresh))
                removed += [_segment_text(old) for old in outdated]
        if not new:
            return None
        index = CreateIndex(tuple(new), tuple(removed))
        self._sync_files_of(ref, index)
        return index

    def _stage_segment(
        self, dataset: Dataset, name: str, column: str
    ) -> tuple[Index, list[Index]] | None:
        """A segment for the fragments that the index does not cover yet, and what it replaces."""
        known = dataset._indexes().get(name)
        segments = [_segment_of(known, s) for s in known.segments] if known is not None else []
        covered = {fragment for segment in segments for fragment in segment.fragment_ids}
        missing = [i for i in dataset.fragment_ids if i not in covered]
        if not missing:
            return None
        replaced = [segment for segment in segments if not segment.fragment_ids]
        if len(segments) - len(replaced) >= SEGMENTS_PER_INDEX:
            missing, replaced = list(dataset.fragment_ids), segments
        with _failures("index", f"{dataset.ref.path} by {column}"):
            fresh = dataset._handle.create_index_uncommitted(
                column, "BTREE", name=name, replace=bool(segments), fragment_ids=missing
            )
        return fresh, replaced

    def has_files_of(self, staged: StagedTransaction) -> bool:
        """Whether every file that a transaction would make visible is still there."""
        home = _home(staged.base.path, staged.base.branch)
        return all(map(self._objects.exists, _files_of(self._objects, home, staged.operation)))

    def _sync_files_of(self, ref: DatasetRef, operation: Operation) -> None:
        home = _home(ref.path, ref.branch)
        self._objects.sync(_files_of(self._objects, home, operation))

    def _delete_rows(
        self, dataset: Dataset, addresses: np.ndarray
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        removed, kept = [], []
        fragment_of = addresses >> np.uint64(32)
        for fragment_id in np.unique(fragment_of).tolist():
            offsets = addresses[fragment_of == fragment_id] & np.uint64(0xFFFFFFFF)
            with _failures("delete rows of", dataset.ref.path):
                left = dataset._fragment(fragment_id).delete_rows(offsets.tolist())
            if left is None:
                removed.append(fragment_id)
            else:
                kept.append(_text(left))
        update = Update(updated=tuple(kept))
        self._sync_files_of(dataset.ref, update)
        return tuple(removed), update.updated

    # Landing -------------------------------------------------------------------------------------

    def land(self, staged: StagedTransaction) -> DatasetRef:
        """Make the transaction the dataset's next version, or raise `LandingRefused`."""
        base = staged.base
        if not self.is_newest(base):
            newest = self.newest_version(base.path, base.branch)
            raise LandingRefused(base.path, f"it is at version {newest}, not at {base.version}")
        handle = self._handle(base.path, base.branch, base.version)
        transaction = Transaction(
            read_version=base.version,
            operation=_lance_operation(staged.operation, handle),
            uuid=staged.uuid,
            transaction_properties=dict(staged.properties),
        )
        try:
            with _failures("land", base.path):
                landed = LanceDataset.commit(handle, transaction, max_retries=0)
        except CommitConflictError as error:
            raise LandingRefused(base.path, str(error)) from error
        if landed.version != base.version + 1 or _note(landed, landed.version).uuid != staged.uuid:
            raise LandingRefused(base.path, "someone else moved it at the same time")
        self._objects.sync([_version_file(base.path, base.branch, landed.version)])
        return DatasetRef(base.path, base.branch, landed.version)

    def append_inline(self, path: str, rows: pa.Table) -> None:
        """Add rows to a log of ours at once. Not for tables of the graph: it asks for no commit."""
        uri = self.uri(path, None)
        with _failures("append to", path):
            handle = lance.write_dataset(rows, uri, mode="append", storage_options=self.options)
        self._objects.sync(self._objects.walk(f"{path}/data"))
        self._objects.sync([_version_file(path, None, handle.version)])

    # Looking back --------------------------------------------------------------------------------

    def notes_after(self, ref: DatasetRef) -> list[VersionNote]:
        """What made each version after `ref`, oldest first."""
        newest = self.open_newest(ref.path, ref.branch)
        versions = range(ref.version + 1, newest.ref.version + 1)
        return [_note(newest._handle, version) for version in versions]

    def drop_torn(self, path: str, branch: str | None, version: int) -> bool:
        """Remove the file of a version that can't be read. Only of one never acknowledged."""
        file = _version_file(path, branch, version)
        # A bucket tears nothing; there, what can't be read now may be read a moment later.
        if not self._is_on_disk or not self._objects.exists(file):
            return False
        try:
            self._handle(path, branch, version)
        except StorageFailed:
            self._objects.delete(file)
            # The next commit makes this version again with other contents.
            self._session = _new_session()
            return True
        return False

    def forget_old_versions(self, path: str, branch: str | None, *, older_than_s: float) -> None:
        """Remove versions that are neither recent nor the start of a fork."""
        with _failures("clean up", path):
            self._handle(path, branch).cleanup_old_versions(timedelta(seconds=older_than_s))

    def _handle(self, path: str, branch: str | None, version: int | None = None) -> LanceDataset:
        uri = self.uri(path, branch)
        return _open_handle(uri, version, self._session, options=self.options)

    def _newest_but_torn(self, path: str, branch: str | None) -> int | None:
        if not self._is_on_disk:
            return None
        names = self._objects.list(_home(path, branch) + "/_versions")
        versions = [PurePosixPath(n).stem for n in names if n.endswith(".manifest")]
        return 2**64 - 1 - int(versions[1]) if len(versions) > 1 else None


# Between Lance's values and ours ---------------------------------------------------------------


def _home(path: str, branch: str | None) -> str:
    """Where a dataset lies, or a branch of it, relative to the root."""
    return path + (f"/tree/{branch}" if branch is not None else "")


def _reference(path: str, name: str) -> str:
    return f"{path}/_refs/branches/{quote(name, safe='')}.json"


def _version_file(path: str, branch: str | None, version: int) -> str:
    # Lance counts down in file names so that the newest version is listed first.
    return f"{_home(path, branch)}/_versions/{2**64 - 1 - version:020}.manifest"


def _new_session() -> Any:
    return lance.Session()  # type: ignore[attr-defined]  # there, and left out of Lance's stubs


def _open_handle(
    uri: str,
    version: int | None = None,
    session: Any = None,
    *,
    options: dict[str, str] | None = None,
) -> LanceDataset:
    with _failures("open", uri):
        return lance.dataset(uri, version=version, session=session, storage_options=options)


def _note(handle: LanceDataset, version: int) -> VersionNote:
    try:
        transaction = handle.read_transaction(version)
    except TypeError:
        # Lance can't build the value of a compaction that moved an index; it is none of ours.
        return VersionNote(version)
    if transaction is None:
        return VersionNote(version)
    operation, properties = transaction.operation, transaction.transaction_properties or {}
    return VersionNote(
        version,
        uuid=transaction.uuid,
        restores=operation.version if isinstance(operation, LanceOperation.Restore) else None,
        operation_id=properties.get("operation_id"),
        fencing=int(properties.get("fencing", 0)),
    )


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
        case Rewrite(groups=groups):
            pairs = ((_metadata(old), _metadata(new)) for old, new in groups)
            return LanceOperation.Rewrite([LanceOperation.RewriteGroup(*p) for p in pairs], [])
        case CreateIndex(new=new, removed=removed):
            return LanceOperation.CreateIndex([*map(_segment, new)], [*map(_segment, removed)])
        case SetMetadata(entries=entries):
            return LanceOperation.UpdateConfig(
                schema_metadata_updates=LanceOperation.UpdateMap(dict(entries))
            )


def _group(result: RewriteResult) -> tuple[tuple[str, ...], tuple[str, ...]]:
    old = result.original_fragments  # type: ignore[attr-defined]  # Lance's stubs misname it
    return tuple(_text(f) for f in old), tuple(_text(f) for f in result.new_fragments)


def _text(fragment: FragmentMetadata) -> str:
    return json.dumps(fragment.to_json())


def _sql_text(value: str) -> str:
    """A literal of Lance's SQL, in which only the quote means something else than itself."""
    return "'" + value.replace("'", "''") + "'"


def _segment_of(description: Any, segment: Any) -> Index:
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


def _segment_text(segment: Index) -> str:
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


def _segment(text: str) -> Index:
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
        given.append(_text(metadata))
    return tuple(given)


def _files_of(objects: Objects, home: str, operation: Operation) -> Iterator[str]:
    """The files that an operation brings: data of new fragments, deletions of changed ones."""
    match operation:
        case Append(fragments=fragments) | Overwrite(fragments=fragments):
            yield from _data_files(objects, home, fragments)
        case Update(updated=updated, new=new):
            yield from _data_files(objects, home, new)
            for metadata in _metadata(updated):
                if (deletions := metadata.deletion_file) is not None and deletions.base_id is None:
                    yield f"{home}/{deletions.path(metadata.id)}"
        case Rewrite(groups=groups):
            for _, new in groups:
                yield from _data_files(objects, home, new)
        case CreateIndex(new=new):
            for segment in map(_segment, new):
                folder = f"{home}/_indices/{segment.uuid}"
                yield from (f"{folder}/{file.path}" for file in segment.files or ())
        case Restore() | SetMetadata():
            pass


def _data_files(objects: Objects, home: str, fragments: Sequence[str]) -> Iterator[str]:
    for fragment in fragments:
        for file in json.loads(fragment)["files"]:
            data = f"{home}/data/{file['path']}"
            yield data
            # Large blobs lie beside the file, in a folder of its name.
            yield from objects.list(data.removesuffix(".lance"))


@contextmanager
def _failures(doing: str, path: str) -> Iterator[None]:
    """What Lance raises, as an error of ours; only a conflict stays what it is."""
    try:
        yield
    except CommitConflictError:
        raise
    except LANCE_ERRORS as error:
        raise _storage_failed(doing, path, error) from error
    except BaseException as error:
        # Over some damaged files Lance panics, and its panics are no `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        raise _storage_failed(doing, path, error) from error


def _storage_failed(doing: str, path: str, error: BaseException) -> StorageFailed:
    # Lance ends its messages with the places in its own source where they passed.
    return StorageFailed(doing=doing, path=path, reason=str(error).split(", /", maxsplit=1)[0])
