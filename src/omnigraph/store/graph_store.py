"""One graph's storage: everything a surface or a writer asks of the store, wired together.

It holds no lock and knows no writer. Opening it reads two small files; unfinished writes are the
business of `write.recover`, which whoever wants to write runs first.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from omnigraph.base.clock import Clock, SystemClock
from omnigraph.base.errors import AlreadyInitialized, CommitMissing, GraphMissing, StorageFailed
from omnigraph.base.ids import MAIN, BranchName, CommitId, TableKey
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.store.arrow import table_schema
from omnigraph.store.audit import RecoveryAudit
from omnigraph.store.branches import Branch, Branches, check_branch_name
from omnigraph.store.commits import Commit, CommitKind, History, TableChange
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Disk, Durability
from omnigraph.store.fence import Fences
from omnigraph.store.layout import GRAPH, MANIFEST, table_path
from omnigraph.store.manifest import CommitRow, Manifest, ManifestState, TableEntry
from omnigraph.store.objects import DiskObjects, Objects, graph_root
from omnigraph.store.schemas import Schemas
from omnigraph.store.snapshot import Snapshot, tables_at
from omnigraph.store.transactions import DatasetRef

__all__ = ["FencedBranch", "GraphStore"]

# Long enough for a queue of commits, short enough that a forgotten process is noticed.
FENCE_TIMEOUT_S = 60.0

# The fence over the names of branches. No branch can be called so.
BRANCH_NAMES = "__branches"


@dataclass(frozen=True, slots=True)
class FencedBranch:
    """A branch that no one else can write for now; only `GraphStore.fence` gives one."""

    branch: Branch


class GraphStore:
    def __init__(
        self,
        root: Path,
        *,
        objects: Objects,
        datasets: Datasets,
        clock: Clock,
        fence_timeout_s: float = FENCE_TIMEOUT_S,
    ) -> None:
        self.root = root
        self.objects = objects
        self.datasets = datasets
        self.clock = clock
        self.manifest = Manifest(datasets)
        self.branches = Branches(datasets, clock)
        self.schemas = Schemas(objects)
        self.audit = RecoveryAudit(datasets)
        self._fences = Fences(root)
        self._fence_timeout_s = fence_timeout_s
        self._commits: dict[CommitId, Commit] = {}
        self._snapshots: dict[BranchName, tuple[ManifestState, Snapshot]] = {}

    # Making and opening --------------------------------------------------------------------------

    @classmethod
    def init(
        cls,
        uri: str,
        catalog: Catalog,
        *,
        source: str,
        actor: str | None = None,
        clock: Clock | None = None,
        durability: Durability = Durability.FSYNC,
    ) -> "GraphStore":
        """Make an empty graph with this schema, in a place where nothing is."""
        root = graph_root(uri)
        is_new = _make_empty_place(root, uri)
        store = cls._wired(root, clock or SystemClock(), durability)
        identity = json.dumps({"id": store.clock.ulid()}).encode()
        if not store.objects.put_if_absent(GRAPH, identity):
            raise AlreadyInitialized(uri)
        try:
            store._fill(catalog, source=source, actor=actor)
        except BaseException:
            _clear(root, is_ours=is_new)
            raise
        Disk(root.parent, durability).sync_names([root])
        return store

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        clock: Clock | None = None,
        durability: Durability = Durability.FSYNC,
    ) -> "GraphStore":
        root = graph_root(uri)
        store = cls._wired(root, clock or SystemClock(), durability)
        if store.objects.get(GRAPH) is None:
            raise GraphMissing(uri)
        if not (root / MANIFEST).is_dir():
            reason = "its making did not finish: remove it and make it again"
            raise StorageFailed(doing="open", path=uri, reason=reason)
        store.manifest.newest(None)
        return store

    @classmethod
    def _wired(cls, root: Path, clock: Clock, durability: Durability) -> "GraphStore":
        return cls(
            root,
            objects=DiskObjects(root, durability),
            datasets=Datasets(str(root), durability),
            clock=clock,
        )

    def _fill(self, catalog: Catalog, *, source: str, actor: str | None) -> None:
        RecoveryAudit.create(self.datasets)
        first = Commit(
            id=CommitId(self.clock.ulid()),
            parent=None,
            branch=MAIN,
            seq=0,
            kind=CommitKind.INIT,
            created_at_ms=self.clock.now_ms(),
            schema_hash=self.schemas.put(catalog, source),
            changes=tuple(
                TableChange(
                    key=entity.table_key,
                    ref=self.datasets.create(table_path(entity), table_schema(entity)),
                    row_count=0,
                )
                for entity in catalog.entities
            ),
            actor=actor,
            manifest_version=1,
        )
        # Last: a graph whose manifest is there is whole.
        Manifest.create(self.datasets, MAIN, first.entries, first.to_row())

    @cached_property
    def graph_id(self) -> str:
        """Given at init, and the graph's own wherever it is moved."""
        data = self.objects.get(GRAPH)
        try:
            return str(json.loads(data or b"")["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise StorageFailed(doing="read", path=GRAPH, reason=str(error)) from error

    # Reading -------------------------------------------------------------------------------------

    def snapshot(self, branch: BranchName = MAIN) -> Snapshot:
        """The branch's head, held still."""
        state = self.state(self.branches.resolve(branch))
        warm = self._snapshots.get(branch)
        if warm is not None and warm[0] is state:
            return warm[1]
        snapshot = self._snapshot(self._commit(state.recent[-1]), branch, state.tables)
        self._snapshots[branch] = (state, snapshot)
        return snapshot

    def snapshot_at(self, commit_id: CommitId) -> Snapshot:
        """Any commit that a branch here descends from, held still."""
        for branch in self.branches.list():
            history = History(self._line(branch))
            if commit_id in history:
                commit = history[commit_id]
                keys = (e.table_key for e in self.schemas.catalog(commit.schema_hash).entities)
                return self._snapshot(commit, commit.branch, tables_at(history, commit, keys))
        raise CommitMissing(commit_id)

    def commit(self, commit_id: CommitId) -> Commit:
        """Any commit that a branch here descends from; a recent one is found without a scan."""
        branches = self.branches.list()
        for branch in branches:
            for row in self.state(branch).recent:
                if row.id == commit_id:
                    return self._commit(row)
        return History(c for branch in branches for c in self._line(branch))[commit_id]

    def commits(self, branch: BranchName = MAIN, *, limit: int | None = None) -> list[Commit]:
        """The line of a branch, newest first. A short limit reads no cold history."""
        state = self.state(self.branches.resolve(branch))
        is_recent = limit is not None and limit <= len(state.recent)
        rows = state.recent if is_recent else self.manifest.commits(state)
        return [self._commit(row) for row in islice(reversed(rows), limit)]

    def history(self) -> History:
        """The commits of all branches."""
        return History(commit for branch in self.branches.list() for commit in self._line(branch))

    def state(self, branch: Branch) -> ManifestState:
        return self.manifest.newest(branch.lance_branch)

    def _snapshot(
        self, commit: Commit, branch: BranchName, tables: Mapping[TableKey, TableEntry]
    ) -> Snapshot:
        catalog = self.schemas.catalog(commit.schema_hash)
        return Snapshot(commit, branch, catalog, tables, self.datasets)

    def _line(self, branch: Branch) -> list[Commit]:
        return [self._commit(row) for row in self.manifest.commits(self.state(branch))]

    def _commit(self, row: CommitRow) -> Commit:
        if row.id not in self._commits:
            self._commits[row.id] = Commit.from_row(row)
        return self._commits[row.id]

    # Branches ------------------------------------------------------------------------------------

    def create_branch(self, name: BranchName, from_: BranchName = MAIN) -> Branch:
        """A new branch whose head is the head of `from_`. Takes no longer for a larger graph."""
        check_branch_name(name)
        # Two makers of one name would not collide in Lance: each fork has a name of its own.
        with self._hold(BRANCH_NAMES), self.fence(from_) as source:
            state = self.state(source.branch)
            return self.branches.create(name, DatasetRef(MANIFEST, state.branch, state.version))

    @contextmanager
    def fence(self, name: BranchName, *, timeout_s: float | None = None) -> Iterator[FencedBranch]:
        """Keep every other writer of the branch out, in this process and in others."""
        branch = self.branches.resolve(name)
        with self._hold(branch.incarnation, timeout_s=timeout_s):
            yield FencedBranch(branch)

    def _hold(self, name: str, *, timeout_s: float | None = None) -> AbstractContextManager[None]:
        waiting_s = self._fence_timeout_s if timeout_s is None else timeout_s
        return self._fences.hold(name, timeout_s=waiting_s)


def _make_empty_place(root: Path, uri: str) -> bool:
    """Make sure of an empty directory; True if it is a new one."""
    try:
        root.mkdir(parents=True)
        return True
    except FileExistsError:
        if not root.is_dir() or any(root.iterdir()):
            raise AlreadyInitialized(uri) from None
        return False
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageFailed(doing="create", path=uri, reason=reason) from error


def _clear(root: Path, *, is_ours: bool) -> None:
    for entry in root.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    if is_ours:
        root.rmdir()
