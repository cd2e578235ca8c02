"""The datasets of one graph: open, fork, stage a change, land it, look back.

Staging writes files that nobody sees. Landing moves one dataset by one version, or refuses.
"""

import json
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import lance
import numpy as np
import pyarrow as pa
from lance.commit import CommitConflictError
from lance.dataset import LanceDataset, Transaction
from numpy.typing import NDArray

from omnigraph.base.errors import StorageFailed
from omnigraph.base.recent import Recent
from omnigraph.store.datasets.bases import Bases
from omnigraph.store.datasets.compaction import compact, groups_of
from omnigraph.store.datasets.files import (
    data_files,
    files_of,
    has_files,
    home_of,
    reference_of,
    version_file,
    with_blobs,
    write_files,
)
from omnigraph.store.datasets.fragment_edits import EditCounts, delete_rows, edit_rows
from omnigraph.store.datasets.indexing import SegmentJob, stage_steps
from omnigraph.store.datasets.lance_values import (
    STORAGE_VERSION,
    LandingRefused,
    VersionOrigin,
    failures,
    lance_operation,
    new_session,
    open_handle,
    origin_of,
)
from omnigraph.store.datasets.occupant import Occupant
from omnigraph.store.datasets.reading import Dataset
from omnigraph.store.datasets.references import References
from omnigraph.store.datasets.reshape import ColumnFill, stage_columns
from omnigraph.store.datasets.version_file import parse_version_file
from omnigraph.store.datasets.versions import (
    FolderState,
    is_version_torn,
    look_at,
    newest_but_torn,
    replaced_before,
    written_at_ms,
)
from omnigraph.store.datasets.whole_files import require_whole
from omnigraph.store.durability import Durability
from omnigraph.store.indexes import IndexStep
from omnigraph.store.layout import ADDRESS
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.location import Location, name_below
from omnigraph.store.transactions import (
    CreateIndex,
    DatasetRef,
    Operation,
    Reshape,
    Rewrite,
    StagedTransaction,
    Update,
)

__all__ = ["Datasets"]

# What Lance makes of a version file full of zeros, without an error. Versions count from 1.
NO_VERSION = 0

PARALLEL_LOOKS = 16

log = logging.getLogger(__name__)


class Datasets:
    """Every dataset under one root, behind one shared Lance session."""

    def __init__(
        self,
        root: Location,
        durability: Durability = Durability.FSYNC,
        limits: StoreLimits = DEFAULT_LIMITS,
    ) -> None:
        self.root = root
        self.limits = limits
        self.durability = durability
        self._objects = root.objects(durability)
        self._bases = Bases(self._objects, str(root))
        self._occupant = Occupant(self._objects, str(root))
        self._references = References(self._objects, may_be_torn=root.is_on_disk)
        self._session = new_session(self.limits)
        self._landed: Recent[tuple[str, str | None], LanceDataset] = Recent(
            limits.max_landed_handles
        )
        """The version of each line that we landed last, open."""

    def location(self, path: str, branch: str | None) -> Location:
        """Where Lance keeps a dataset, or a branch of it."""
        return self.root / home_of(path, branch)

    def open(self, ref: DatasetRef) -> Dataset:
        handle = self._handle(ref.path, ref.branch, ref.version)
        return Dataset(ref, handle, self._objects.get)

    def open_newest(self, path: str, branch: str | None) -> Dataset:
        """The newest version that is whole.

        After a power cut the newest version file may be torn. It was never acknowledged, so a
        reader takes the one before; removing the file is recovery's business. A file that can't be
        read for any other reason may hold an acknowledged commit: that is an error.
        """
        try:
            handle = self._handle(path, branch)
        except StorageFailed:
            if (whole := self._newest_but_torn(path, branch)) is None:
                raise
            handle = self._handle(path, branch, whole)
        if handle.version == NO_VERSION:
            if (whole := self._newest_but_torn(path, branch)) is None:
                reason = "Lance finds no version in it, although its version files are intact"
                raise StorageFailed(doing="open", path=path, reason=reason)
            handle = self._handle(path, branch, whole)
        return Dataset(DatasetRef(path, branch, handle.version), handle, self._objects.get)

    def newest_version(self, path: str, branch: str | None) -> int:
        return self.open_newest(path, branch).ref.version

    def is_newest(self, ref: DatasetRef) -> bool:
        """True if the next version is not there: one look, however many versions there are.

        Wrong only where that one was removed again and later ones were not, as a clean-up of old
        versions does. So ask it of a version that was the newest a moment ago.
        """
        return not self._objects.exists(version_file(ref.path, ref.branch, ref.version + 1))

    def look_at_versions(self, path: str, branch: str | None) -> FolderState | None:
        """The folder in which versions come and go: one cheap look.

        A bucket has no folders. There, opening the newest version is the one look that it takes.
        """
        return look_at(f"{self.root}/{home_of(path, branch)}") if self.root.is_on_disk else None

    def fingerprint(self, ref: DatasetRef) -> str | None:
        """Of a version's file: another graph's would have another. A bucket is not asked."""
        if not self.root.is_on_disk:
            return None
        return self._objects.fingerprint(version_file(ref.path, ref.branch, ref.version))

    def has_version(self, ref: DatasetRef) -> bool:
        """True if the version is stored, as storage says now: a clean-up may have removed it."""
        return self._objects.exists(version_file(ref.path, ref.branch, ref.version))

    def have_versions(self, refs: Iterable[DatasetRef]) -> bool:
        """True if all of these versions are stored."""
        if self.root.is_on_disk:
            return all(map(self.has_version, refs))
        # A request each: they wait for the store side by side.
        with ThreadPoolExecutor(PARALLEL_LOOKS, thread_name_prefix="omnigraph-versions") as pool:
            return all(pool.map(self.has_version, refs))

    def is_there(self, path: str) -> bool:
        """True if there is such a dataset, as storage says now."""
        return bool(self._objects.list(f"{path}/_versions"))

    def require_same_graph(self) -> None:
        """Raise `GraphReplaced` if another graph was put where ours was."""
        self._occupant.require_same()

    def create(self, path: str, schema: pa.Schema, rows: pa.Table | None = None) -> DatasetRef:
        uri = str(self.location(path, None))
        with failures("create", uri):
            handle = lance.write_dataset(
                rows if rows is not None else schema.empty_table(),
                uri,
                schema=schema,
                mode="create",
                data_storage_version=STORAGE_VERSION,
                enable_stable_row_ids=True,
                storage_options=self.root.options,
            )
        self._objects.sync(self._objects.walk(path))
        return DatasetRef(path, None, handle.version)

    def fork(self, source: DatasetRef, name: str) -> DatasetRef:
        """A Lance branch that starts at `source`. A name is used once, ever: see `branches`."""
        handle = self._own_handle(source)
        with failures("fork", f"{source.path} as {name}"):
            forked = handle.create_branch(name, (source.branch, source.version))
        assert forked.version == source.version, "a fork goes on counting where its source stands"
        made = (version_file(source.path, name, forked.version), reference_of(source.path, name))
        self._objects.sync(made)
        return DatasetRef(source.path, name, forked.version)

    def secure(self, ref: DatasetRef) -> None:
        """Make a version durable that another process made, or that could not be synced.

        The file of the version is written again. Syncing the same file once more would prove
        nothing: after a failed sync, in this process or in another, the kernel may count bytes as
        written that never reached the disk.
        """
        self._write_again(version_file(ref.path, ref.branch, ref.version), parse_version_file)

    def secure_fork(self, ref: DatasetRef) -> None:
        """Make a fork durable that another process may have left half made.

        Does nothing for a fork that has moved on from its first version: its writer did this.
        """
        start = self._references.start_of(ref.path, ref.branch) if self._waits_for_disk else None
        if ref.branch is not None and start is not None and start.version == ref.version:
            self._write_again(reference_of(ref.path, ref.branch), json.loads)
            self.secure(ref)

    @property
    def _waits_for_disk(self) -> bool:
        """False in a bucket, which keeps what it has acknowledged, and for a relaxed graph."""
        return self.root.is_on_disk and self.durability is Durability.FSYNC

    def _write_again(self, name: str, parse: Callable[[bytes], object]) -> None:
        if not self._waits_for_disk:
            return
        data = self._objects.get(name) or b""
        try:
            parse(data)
        except ValueError as error:
            reason = f"the file is incomplete: {error}"
            raise StorageFailed(doing="make durable", path=name, reason=reason) from error
        self._objects.put(name, data)

    def fork_names(self, path: str) -> Iterator[str]:
        """The names of a dataset's forks, from one listing, however many there are."""
        return self._references.fork_names(path)

    def parting(self, one: DatasetRef, other: DatasetRef) -> DatasetRef | None:
        """The newest version that both were made from, version by version and fork by fork.

        Up to it a version number means the same on both: forks of one version count on from there,
        each for itself. None: there is no such version, or it is not known any more.
        """
        if one.path != other.path:
            return None
        ours = {ref.branch: ref.version for ref in self._line(one)}
        for ref in self._line(other):
            if ref.branch in ours:
                return replace(ref, version=min(ref.version, ours[ref.branch]))
        return None

    def _line(self, ref: DatasetRef) -> Iterator[DatasetRef]:
        """A version, and the version of each line below that it was made from."""
        yield ref
        start = self._references.start_of(ref.path, ref.branch)
        while start is not None:
            yield start
            start = self._references.start_of(start.path, start.branch)

    def forks(self, path: str) -> Mapping[str, str | None]:
        """Every fork of a dataset, and the fork that it started from; None is the main line."""
        self._references.drop_torn(path)
        handle = self.open_newest(path, None)._handle
        with failures("list branches of", path):
            return {name: fork["parent_branch"] for name, fork in handle.branches.list().items()}

    def delete_fork(self, path: str, name: str) -> None:
        """Remove a fork, for good. A crash may leave files of it that nothing names."""
        self._references.drop_torn(path)
        handle = self.open_newest(path, None)._handle
        with failures("delete", f"{name} of {path}"):
            handle.branches.delete(name)
        self._objects.sync_removal(reference_of(path, name))
        self._landed.forget((path, name))

    def has_fork(self, path: str, name: str) -> bool:
        return self._references.has(path, name)

    def has_forks_elsewhere(self) -> bool:
        """True if a fork would read files elsewhere: the graph was moved or copied."""
        return self._bases.any_elsewhere()

    def bring_forks_here(self) -> int:
        """Make every fork read the files that lie here; gives how many version files that took."""
        rewritten = self._bases.bring_here()
        self._session = new_session(self.limits)
        self._landed.clear()
        return rewritten

    # Staging -------------------------------------------------------------------------------------

    def stage(
        self, base: DatasetRef, operation: Operation, properties: Mapping[str, str]
    ) -> StagedTransaction:
        """A transaction that may land. Raises `StorageFailed` if a file that it names is torn.

        Whoever wrote the files has synced them; every transaction comes by here.
        """
        require_whole(self.root, files_of(home_of(base.path, base.branch), operation))
        return StagedTransaction(base, operation, str(uuid.uuid4()), properties)

    def stage_rows(self, ref: DatasetRef, rows: pa.Table) -> tuple[str, ...]:
        """Write rows as files of the dataset, owned by nobody yet."""
        fragments = self._write_rows(self.open(ref), rows)
        home = home_of(ref.path, ref.branch)
        self._objects.sync(data_files(self._objects, home, fragments))
        return fragments

    def stage_edit(
        self, ref: DatasetRef, upserts: pa.Table, there: pa.Table
    ) -> tuple[Update, EditCounts]:
        """Put rows, and take away those in `there` (by `ROW_LOCATOR`), which are all that must go.

        A row that replaces one with its id keeps the row id of that one.
        """
        dataset = self.open(ref)
        update, counts = edit_rows(dataset, upserts, there, partial(self._write_rows, dataset))
        self._sync_files_of(ref, update)
        return update, counts

    def stage_replacement(
        self, ref: DatasetRef, fragments: tuple[str, ...], addresses: NDArray[np.uint64]
    ) -> Update:
        """Put rows that lie in files already, and take away those at the addresses."""
        removed, kept = delete_rows(self.open(ref), addresses)
        self._sync_files_of(ref, Update(updated=kept))  # their writer has synced the others
        return Update(removed=removed, updated=kept, new=fragments)

    def adopt(self, fragments: Sequence[str], *, written_at: Location, ref: DatasetRef) -> None:
        """Give a dataset the files that were written beside it, for a fork that came later."""
        source, home = name_below(written_at, self.root), home_of(ref.path, ref.branch)
        for name in data_files(self._objects, source, fragments):
            self._objects.copy(name, home + name.removeprefix(source))

    def stage_compaction(
        self,
        ref: DatasetRef,
        *,
        fewer_than_rows: int,
        drops_deleted: bool,
        without: Collection[str] = (),
    ) -> Rewrite | None:
        """Write neighbouring fragments that are small as larger ones; None: there are none.

        With `drops_deleted`, also those of which a tenth is deleted. Rows keep their row ids and
        the versions that wrote them, so no diff sees a compaction. `without` are index segments
        that are removed before the rewrite lands, by uuid: any other that follows its rows keeps
        the files that it covers apart from the others.
        """
        dataset = Dataset(ref, self._own_handle(ref))
        covering = dataset.segments_covering()
        groups = groups_of(
            dataset.fragments,
            {fragment: uuids.difference(without) for fragment, uuids in covering.items()},
            fewer_than_rows=fewer_than_rows,
            drops_deleted=drops_deleted,
        )
        rewrite = compact(dataset, groups, fewer_than_rows=fewer_than_rows)
        if rewrite is not None:
            self._sync_files_of(ref, rewrite)
        return rewrite

    def stage_indexes(
        self,
        dataset: Dataset,
        steps: Sequence[IndexStep],
        *,
        ref: DatasetRef,
        job: SegmentJob | None = None,
    ) -> CreateIndex | None:
        """Write what the steps ask for; None: there is nothing to be written or removed.

        `dataset` is the version `ref` of a line, or a draft of it.
        """
        location = self.location(ref.path, ref.branch)
        staged = stage_steps(dataset, steps, version=ref.version, location=location, job=job)
        for part in staged.parts:
            folder = f"{home_of(ref.path, ref.branch)}/_indices/{part}"
            for name in list(self._objects.walk(folder)):
                self._objects.delete(name)
        index = staged.operation
        if not index.new and not index.removed:
            return None
        self._sync_files_of(ref, index)
        return index

    def own(self, ref: DatasetRef) -> Dataset:
        """A version by a handle that nobody else has, for whatever changes it."""
        return Dataset(ref, self._own_handle(ref))

    @contextmanager
    def draft(self, ref: DatasetRef, operations: Sequence[Operation]) -> Iterator[Dataset]:
        """What a dataset would be after these operations: a version that no line has.

        Index segments are built on it before anything lands. Its files are removed behind it; those
        of a process that died are found by a cleanup.
        """
        handle, made = self._own_handle(ref), list[str]()
        home = home_of(ref.path, ref.branch)
        try:
            for operation in operations:
                identity = str(uuid.uuid4())
                made.append(f"{home}/_transactions/{handle.version}-{identity}.txn")
                with failures("draft", ref.path):
                    handle = LanceDataset.commit(
                        handle,
                        Transaction(
                            read_version=handle.version,
                            operation=lance_operation(operation, handle),
                            uuid=identity,
                        ),
                        detached=True,
                        max_retries=1,
                    )
                made.append(f"{home}/_versions/d{handle.version}.manifest")
            yield Dataset(DatasetRef(ref.path, ref.branch, handle.version), handle)
        finally:
            for name in made:
                self._objects.delete(name)

    def stage_reshape(
        self, ref: DatasetRef, schema: pa.Schema, fills: Sequence[ColumnFill]
    ) -> Reshape | None:
        """Write what gives the dataset these columns; None: it has them."""
        if (reshape := stage_columns(self._own_handle(ref), schema, fills)) is not None:
            self._sync_files_of(ref, reshape)
        return reshape

    def has_files_of(self, staged: StagedTransaction) -> bool:
        """True if every file that a transaction would make visible is still there, and whole."""
        home = home_of(staged.base.path, staged.base.branch)
        return has_files(self.root, files_of(home, staged.operation))

    def _sync_files_of(self, ref: DatasetRef, operation: Operation) -> None:
        named = files_of(home_of(ref.path, ref.branch), operation)
        self._objects.sync(with_blobs(self._objects, (file.name for file in named)))

    def _write_rows(self, dataset: Dataset, rows: pa.Table) -> tuple[str, ...]:
        if not rows.num_rows:
            return ()
        ref, batches = dataset.ref, iter(rows.to_batches())
        location, opened = self.location(ref.path, ref.branch), dataset._handle
        return tuple(write_files(location, batches, rows.schema, opened=opened))

    # Landing -------------------------------------------------------------------------------------

    def land(self, staged: StagedTransaction) -> DatasetRef:
        """Make the transaction the dataset's next version, or raise `LandingRefused`."""
        base = staged.base
        if not self.is_newest(base):
            newest = self.newest_version(base.path, base.branch)
            raise LandingRefused(
                base.path, f"the dataset is at version {newest}, not at {base.version}"
            )
        handle = self._handle(base.path, base.branch, base.version)
        try:
            with failures("land", base.path):
                transaction = Transaction(
                    read_version=base.version,
                    operation=lance_operation(staged.operation, handle),
                    uuid=staged.uuid,
                    transaction_properties=dict(staged.properties),
                )
                landed = LanceDataset.commit(handle, transaction, max_retries=0)
        except CommitConflictError as error:
            raise LandingRefused(base.path, str(error)) from error
        if (
            landed.version != base.version + 1
            or origin_of(landed, landed.version).uuid != staged.uuid
        ):
            raise LandingRefused(base.path, "another writer changed the dataset at the same time")
        self._objects.sync([version_file(base.path, base.branch, landed.version)])
        self._landed.put((base.path, base.branch), landed)
        return DatasetRef(base.path, base.branch, landed.version)

    def append_inline(self, path: str, rows: pa.Table) -> None:
        """Add rows to a log of ours at once. Not for tables of the graph: it asks for no commit."""
        uri = str(self.location(path, None))
        # On top of a torn version Lance adds nothing, or starts the log anew.
        self.drop_torn(path, None, self.newest_version(path, None) + 1)
        with failures("append to", path):
            handle = lance.write_dataset(
                rows, uri, mode="append", storage_options=self.root.options
            )
        self._objects.sync(self._objects.walk(f"{path}/data"))
        self._objects.sync([version_file(path, None, handle.version)])

    # Looking back --------------------------------------------------------------------------------

    def origins_after(self, ref: DatasetRef) -> list[VersionOrigin]:
        """What made each version after `ref`, oldest first."""
        newest = self.open_newest(ref.path, ref.branch)
        versions = range(ref.version + 1, newest.ref.version + 1)
        return [origin_of(newest._handle, version) for version in versions]

    def drop_torn(self, path: str, branch: str | None, version: int) -> bool:
        """Remove the file of a version whose bytes prove that they are not all there.

        Only under the fence of the branch that moves the line, and only of a version that no
        manifest names. A file that can't be read now is not torn: then it raises.
        """
        file = version_file(path, branch, version)
        # One look, where almost always nothing is there. A bucket tears nothing.
        if not self.root.is_on_disk or not self._objects.exists(file):
            return False
        if not is_version_torn(self._objects, path, branch, version):
            return False
        log.warning(
            "deleted %s: a power cut left it incomplete, so it was never acknowledged", file
        )
        self._objects.delete(file)
        # The next commit makes this version again with other contents.
        self._session = new_session(self.limits)
        self._landed.forget((path, branch))
        return True

    def forget_old_versions(self, path: str, branch: str | None, *, older_than_s: float) -> None:
        """Remove versions that a later one replaced so long ago, but for those that forks start at.

        How old a version is says nothing: the newest may be old, and a reader has just opened it.
        """
        if (base := self._bases.elsewhere(path, self.fork_names(path))) is not None:
            # Lance would not see that the fork needs files of this dataset, and delete them. The
            # record that all forks are at home is wrong: the next open looks at each of them.
            log.warning(
                "skipped the clean-up of %s: one of its forks points to %s", path, base.path
            )
            self._objects.delete(ADDRESS)
            return
        self._references.drop_torn(path)
        newest = self.open_newest(path, branch)
        with failures("clean up", path):
            written_at = written_at_ms(self._objects, path, branch)
            moment_ms = max(written_at.values()) - round(1000 * older_than_s)
            if replaced := replaced_before(written_at, moment_ms):
                newest._handle.cleanup_old_versions(versions=replaced)

    def _handle(self, path: str, branch: str | None, version: int | None = None) -> LanceDataset:
        if version is not None:
            landed = self._landed.get((path, branch))
            if landed is not None and landed.version == version:
                return landed
        return self._opened(path, branch, version)

    def _own_handle(self, ref: DatasetRef) -> LanceDataset:
        """A handle that nobody else has, for whatever changes it.

        Lance refuses such a call while another thread reads by the same handle, and refuses the
        reader meanwhile. Those that were landed, and those of snapshots, are shared.
        """
        return self._opened(ref.path, ref.branch, ref.version)

    def _opened(self, path: str, branch: str | None, version: int | None) -> LanceDataset:
        self._occupant.remember()
        location = self.location(path, branch)
        try:
            handle = open_handle(location, version, self._session)
        finally:
            # Afterwards, also where it failed: then that may be why.
            self._occupant.require_same()
        if branch is not None:
            self._bases.require_here(path, handle)
        return handle

    def _newest_but_torn(self, path: str, branch: str | None) -> int | None:
        # A bucket tears nothing.
        return newest_but_torn(self._objects, path, branch) if self.root.is_on_disk else None
