"""One graph's storage: everything a surface or a writer asks of the store, wired together.

It knows no writer. Opening it reads two small files; unfinished writes are the business of
`write.recover`, which every writer runs first.

Writers wait for each other in one order, so that none waits in a circle: the queue for branch names
in this process, the fence over branch names, the queue of a branch in this process, the fence of
that branch. A writer that has one of them never waits for an earlier one, nor for a second branch.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import field, replace
from functools import cached_property

from omnigraph.base.clock import Clock, SystemClock, is_ulid
from omnigraph.base.errors import (
    AlreadyInitialized,
    BranchBusy,
    BranchMissing,
    CommitReclaimed,
    FenceLost,
    GraphMissing,
    StorageFailed,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BRANCH_NAMES, MAIN, BranchName, CommitId, TableKey
from omnigraph.base.process import claim_process
from omnigraph.base.recent import Recent
from omnigraph.base.trace import NO_TRACE, Trace
from omnigraph.base.words import clipped
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.store.address import Address
from omnigraph.store.arrow import table_schema
from omnigraph.store.audit import RecoveryAudit
from omnigraph.store.branches import Branch, Branches
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.durability import Durability
from omnigraph.store.fence import Hold
from omnigraph.store.history import CommitLog, Line, Lines
from omnigraph.store.layout import GRAPH, MANIFEST, table_path
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.location import (
    BucketAccess,
    BucketLocation,
    DiskLocation,
    Location,
    graph_location,
)
from omnigraph.store.manifest import CommitRow, Manifest, ManifestMoved, ManifestState, TableEntry
from omnigraph.store.pending import PendingWrites
from omnigraph.store.schemas import Schemas
from omnigraph.store.snapshot import IN_USE, Snapshot, tables_at
from omnigraph.store.storage import Storage
from omnigraph.store.transactions import DatasetRef
from omnigraph.store.upgrade import UPGRADES, Upgrades
from omnigraph.store.waiting import Queues, Turn

__all__ = ["FencedBranch", "GraphStore"]

# Long enough for a queue of commits, short enough that a forgotten process is noticed.
FENCE_TIMEOUT_S = 60.0

FROM_A_BACKUP = f"restore {GRAPH} from a backup of the graph"
NOT_A_STORE = (
    "the graph is probably not damaged: a proxy or a login page may answer instead of the object "
    "store. Check AWS_ENDPOINT_URL and the network, and retry"
)

log = logging.getLogger(__name__)


@frozen
class FencedBranch:
    """A branch that no one else can write for now; only `GraphStore.fence` gives one."""

    branch: Branch
    hold: Hold = field(repr=False)
    state: ManifestState = field(repr=False)
    """The branch's head when the fence was taken."""

    @property
    def number(self) -> int:
        """The fencing number: every trace that its holder leaves carries it."""
        return self.hold.number


class GraphStore:
    def __init__(
        self,
        storage: Storage,
        *,
        clock: Clock,
        fence_timeout_s: float = FENCE_TIMEOUT_S,
        upgrades: Upgrades = UPGRADES,
        limits: StoreLimits = DEFAULT_LIMITS,
        trace: Trace = NO_TRACE,
    ) -> None:
        self.root = storage.root
        self.objects = storage.objects
        self.datasets = storage.datasets
        self.clock = clock
        self.trace = trace
        self.limits = limits
        self.manifest = Manifest(self.datasets, upgrades, limits)
        self.branches = Branches(self.datasets, clock)
        self.schemas = Schemas(self.objects)
        self.audit = RecoveryAudit(self.datasets)
        self.address = Address(self.objects, self.datasets)
        self.fences = storage.fences
        self.pending = PendingWrites()
        self._queues = Queues()
        self._fence_timeout_s = fence_timeout_s
        self._commits: Recent[CommitId, Commit] = Recent(limits.max_kept_commits)
        self._snapshots: Recent[BranchName, tuple[ManifestState, Snapshot]] = Recent(
            limits.max_kept_snapshots
        )

    # Making and opening --------------------------------------------------------------------------

    @classmethod
    def init(
        cls,
        uri: str,
        catalog: Catalog,
        *,
        source: str,
        actor: str | None = None,
        message: str | None = None,
        clock: Clock | None = None,
        durability: Durability = Durability.FSYNC,
        access: BucketAccess | None = None,
        limits: StoreLimits = DEFAULT_LIMITS,
        force: bool = False,
    ) -> "GraphStore":
        """Make an empty graph with this schema, at an address where nothing is.

        With `force`, where there is at most what a making left that did not finish.
        """
        clock = clock or SystemClock()
        root = graph_location(uri, access)
        storage = Storage.at(root, clock=clock, durability=durability, limits=limits)
        is_new = storage.make_room(force=force)
        store = cls(storage, clock=clock, limits=limits)
        mark = json.dumps({"id": clock.ulid()}).encode()
        try:
            store.require_fences()
            if not store.objects.put_if_absent(GRAPH, mark):
                raise AlreadyInitialized(uri)
            store.address.record(store.address.here)
            store._fill(catalog, source=source, actor=actor, message=message)
        except BaseException:
            storage.give_up(mark, is_new=is_new)
            raise
        storage.sync_name(durability)
        return store

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        clock: Clock | None = None,
        durability: Durability = Durability.FSYNC,
        access: BucketAccess | None = None,
        limits: StoreLimits = DEFAULT_LIMITS,
        trace: Trace = NO_TRACE,
    ) -> "GraphStore":
        clock = clock or SystemClock()
        root = graph_location(uri, access)
        storage = Storage.at(root, clock=clock, durability=durability, limits=limits)
        store = cls(storage, clock=clock, limits=limits, trace=trace)
        if (mark := store.objects.get(GRAPH)) is None:
            raise GraphMissing(uri)
        if not root.is_on_disk:
            _id_of_graph(mark, root)  # a proxy may have answered
        try:
            store.manifest.newest(None)
        except StorageFailed as failure:
            if any(store.objects.walk(MANIFEST)):
                raise
            if GRAPH not in store.objects.walk(""):
                reason = f"it has {GRAPH}, but its list of objects does not show that file"
                raise StorageFailed("open", uri, reason, advice=NOT_A_STORE) from failure
            reason = "its manifest is gone, and only a copy of the graph brings it back"
            if storage.holds_leftovers():
                reason = "creating the graph did not finish: omnigraph init --force makes it anew"
            raise StorageFailed(doing="open", path=uri, reason=reason) from failure
        return store

    def remove(self) -> None:
        """Remove the graph and all that lies below its root: for a maker who has no use for it."""
        match self.root:
            case DiskLocation(path=path):
                shutil.rmtree(path, ignore_errors=True)
            case BucketLocation():
                for name in [*self.objects.walk("")]:
                    if name != GRAPH:
                        self.objects.delete(name)
                self.objects.delete(GRAPH)  # last: nobody makes another one here before

    def require_fences(self) -> None:
        """Raise `StoreUnfit` where two writers could not be kept apart: ask before writing."""
        self.fences.require()

    def _fill(
        self, catalog: Catalog, *, source: str, actor: str | None, message: str | None
    ) -> None:
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
            message=message,
            manifest_version=1,
        )
        # Last: a graph whose manifest is there is whole.
        Manifest.create(self.datasets, MAIN, first.entries, first.to_row())

    @cached_property
    def graph_id(self) -> str:
        """Given at init, and the graph's own wherever it is moved."""
        return _id_of_graph(self.objects.get(GRAPH) or b"", self.root)

    # Reading -------------------------------------------------------------------------------------

    def snapshot(self, branch: BranchName = MAIN) -> Snapshot:
        """The branch's head, held still."""
        return self.snapshot_of(branch, self.state(self.branches.resolve(branch)))

    def snapshot_of(self, branch: BranchName, state: ManifestState) -> Snapshot:
        """The head that a state of the branch names, held still."""
        warm = self._snapshots.get(branch)
        if warm is not None and warm[0] is state:
            return warm[1]
        snapshot = self._snapshot(self.commit_of(state.recent[-1]), branch, state.tables)
        self._snapshots.put(branch, (state, snapshot))
        return snapshot

    def snapshot_at(self, commit_id: CommitId) -> Snapshot:
        """Any commit that a branch here descends from, held still.

        Raises `CommitReclaimed` if the files of its rows went with the branch it was made on, or by
        a clean-up.
        """
        history = self.history()
        commit = history.get(commit_id)
        tables = self.tables_at(history, commit)
        self.require_rows(commit, (entry.ref for entry in tables.values()))
        return self._snapshot(commit, commit.branch, tables)

    def require_rows(self, commit: Commit, refs: Iterable[DatasetRef]) -> None:
        """Raise `CommitReclaimed` if a version that the commit pins is not stored any more."""
        if not self.datasets.have_versions(refs):
            if not self.datasets.is_there(MANIFEST):
                raise GraphMissing(str(self.root))
            is_branch_there = any(each.name == commit.branch for each in self.branches.list())
            raise CommitReclaimed(
                commit=commit.id,
                branch=commit.branch,
                by="cleanup" if is_branch_there else "branch_delete",
            )

    def has_rows_of(self, commit: Commit) -> bool:
        """True if the commit can be read; else its files went with its branch, or by a clean-up."""
        return self.datasets.have_versions(self.refs_at(commit))

    def refs_at(self, commit: Commit) -> frozenset[DatasetRef]:
        """The versions of all tables that the commit pins, those that it did not change too."""
        tables = self.tables_at(self.history(), commit)
        return frozenset(entry.ref for entry in tables.values())

    def tables_at(self, history: CommitLog, commit: Commit) -> Mapping[TableKey, TableEntry]:
        """The version of each table that a commit shows."""
        keys = (e.table_key for e in self.schemas.catalog(commit.schema_hash).entities)
        return tables_at(history.line_of(commit.id), keys)

    def history(self) -> CommitLog:
        """The commits of all branches, as they are now. Nothing is read before it is asked for."""
        return CommitLog(_StoredLines(self))

    def state(self, branch: Branch) -> ManifestState:
        claim_process()  # almost all that is asked of a graph comes by here
        with self._gone_is_missing(branch):
            return self.manifest.newest(branch.lance_branch)

    @contextmanager
    def _gone_is_missing(self, branch: Branch) -> Iterator[None]:
        """Of a branch that is deleted meanwhile, files are missing: that is no failure."""
        try:
            yield
        except StorageFailed as failure:
            if not self.datasets.is_there(MANIFEST):
                raise GraphMissing(str(self.root)) from failure
            if self.branches.is_alive(branch):
                raise
            self.forget(branch)
            known = tuple(b.name for b in self.branches.list())
            raise BranchMissing(branch=branch.name, known=known) from failure

    def _snapshot(
        self, commit: Commit, branch: BranchName, tables: Mapping[TableKey, TableEntry]
    ) -> Snapshot:
        catalog = self.schemas.catalog(commit.schema_hash)
        return IN_USE.add(Snapshot(commit, branch, catalog, tables, self.datasets))

    def commit_of(self, row: CommitRow) -> Commit:
        """The commit that a row of a manifest tells of."""
        if (commit := self._commits.get(row.id)) is None:
            commit = Commit.from_row(row)
            self._commits.put(row.id, commit)
        return commit

    def bring_up_to_date(self) -> None:
        """Walk main forward to the layout we know; any other branch does so when it is written."""
        if self.state(self.branches.resolve(MAIN)).is_behind:
            with suppress(BranchBusy), self.fence(MAIN, timeout_s=0):
                pass

    def forget(self, branch: Branch) -> None:
        """Forget what is cached of a branch that was deleted."""
        self.manifest.forget(branch.lance_branch)
        self._snapshots.forget(branch.name)

    # Waiting for others -----------------------------------------------------------------------

    def turn(self, name: str, *, timeout_s: float | None = None) -> AbstractContextManager[Turn]:
        """Wait until the writers of the branch that came before us to this handle are done.

        It keeps out those who come after us, and no other process: only `fence` does.
        """
        claim_process()  # a forked child would wait for threads that it does not have
        waiting_s = self._fence_timeout_s if timeout_s is None else timeout_s
        return self._queues.turn(name, timeout_s=waiting_s)

    @contextmanager
    def fence(
        self, name: BranchName, *, turn: Turn | None = None, timeout_s: float | None = None
    ) -> Iterator[FencedBranch]:
        """Keep every other writer of the branch out, in this process and in others.

        `turn` is the caller's own for the branch, if it has waited for one before.
        """
        if turn is None:
            with (
                self.turn(name, timeout_s=timeout_s) as turn,
                self.fence(name, turn=turn) as fenced,
            ):
                yield fenced
            return
        is_held = False
        while not is_held:
            branch = self.branches.resolve(name)
            known = self.state(branch).fencing
            with self.hold(branch.incarnation, turn, at_least=known) as hold:
                # While we waited it may have been deleted, and another of its name made.
                is_held = self.branches.is_alive(branch)
                if is_held:
                    self.address.require_here()
                    state = self._keep_earlier_owners_out(branch, hold)
                    # Its maker may have been killed before the branch was durable.
                    self.datasets.secure_fork(
                        DatasetRef(MANIFEST, branch.lance_branch, state.version)
                    )
                    yield FencedBranch(branch, hold, self.manifest.brought_up_to_date(state))

    def _keep_earlier_owners_out(self, branch: Branch, hold: Hold) -> ManifestState:
        """Stamp our fencing number into the manifest, so that earlier owners can no longer publish.

        An earlier owner may still publish before that; then we go on from its commit.
        """
        state = self.state(branch)
        while state.fencing < hold.number:
            try:
                state = self.manifest.renumber(state, name=branch.name, fencing=hold.number)
            except ManifestMoved:
                state = self.state(branch)
        if state.fencing > hold.number:
            raise FenceLost(branch=branch.name, holder="another writer")
        return state

    @contextmanager
    def fence_over_names(self) -> Iterator[Hold]:
        """Let no branch come or go. Other holders wait, in this process and in others.

        The fence of a branch may be taken inside, never the other way round.
        """
        with self.turn(BRANCH_NAMES) as turn, self.hold(BRANCH_NAMES, turn) as names:
            yield names

    @contextmanager
    def hold(self, name: str, turn: Turn, *, at_least: int = 0) -> Iterator[Hold]:
        """Keep other processes out of what has this name, for the time left to the turn."""
        with ExitStack() as stack:
            fence = self.fences.hold(name, timeout_s=turn.left_s, at_least=at_least)
            try:
                hold = stack.enter_context(fence)
            except BranchBusy as busy:
                # In a caller's words: it knows no incarnation, and waited in the queue too.
                raise replace(busy, branch=turn.name, waited_s=turn.timeout_s) from None
            yield hold


@frozen(slots=False)
class _StoredLines(Lines):
    """The lines of a graph's branches, as its manifests keep them."""

    _store: GraphStore

    def names(self) -> list[BranchName]:
        return [branch.name for branch in self._store.branches.list()]

    def open(self, branch: BranchName) -> "_StoredLine":
        resolved = self._store.branches.resolve(branch)
        return _StoredLine(self._store, resolved, self._store.state(resolved))

    def commit(self, row: CommitRow) -> Commit:
        return self._store.commit_of(row)

    def likely_branch(self, commit: CommitId) -> BranchName | None:
        known = self._store._commits.get(commit)
        return known.branch if known is not None else None


def _id_of_graph(mark: bytes, root: Location) -> str:
    """The id that the file of this name holds; raises StorageFailed if it holds something else."""
    try:
        found = str(json.loads(mark)["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        beginning = clipped(" ".join(mark[:80].decode(errors="replace").split()))
        reason = f"{GRAPH} does not describe a graph; it begins with {beginning!r}"
        advice = FROM_A_BACKUP if root.is_on_disk else NOT_A_STORE
        raise StorageFailed("open", str(root), reason, advice=advice) from error
    if not is_ulid(found):
        # Files are named by it: a text that somebody put there could be a path to anywhere.
        reason = f"the id in {GRAPH} is not the id of a graph"
        raise StorageFailed("open", str(root), reason, advice=FROM_A_BACKUP)
    return found


@frozen(slots=False)
class _StoredLine(Line):
    _store: GraphStore
    _branch: Branch
    _state: ManifestState

    @property
    def recent(self) -> tuple[CommitRow, ...]:
        return self._state.recent

    @property
    def merged(self) -> tuple[CommitRow, ...]:
        return self._state.merged

    def older(self) -> tuple[CommitRow, ...]:
        with self._store._gone_is_missing(self._branch):
            return self._store.manifest.commits(self._state)[: -len(self._state.recent)]
