"""Cleanup: remove what no commit needs that is kept, and files that nobody names.

The fences of all branches are held while it is decided what goes, and while the versions that go
are made unreadable. Their other files go afterwards, while writers are at work again: nobody can
come to name them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import PurePosixPath
from urllib.parse import unquote

from omnigraph.base.errors import BranchBusy, RecoveryRequired
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.damage import require_readable_heads
from omnigraph.engine.engine import Engine
from omnigraph.engine.staged_work import StagedWork, staged_work
from omnigraph.engine.upkeep_requests import Cleanup
from omnigraph.engine.upkeep_results import CleanupResult, TableCleanup
from omnigraph.store.branches import Branch
from omnigraph.store.commits import Commit
from omnigraph.store.datasets.versions import replaced_before
from omnigraph.store.fence import Hold
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import AUDIT, LOCKS, MANIFEST, RECOVERY, SCHEMAS
from omnigraph.store.manifest import ManifestState
from omnigraph.store.objects import StoredObject
from omnigraph.store.retention import Retained, Retention, retained
from omnigraph.store.snapshot import IN_USE
from omnigraph.store.survey import FileKind, Survey, survey
from omnigraph.store.sweep import DatasetSweep, dead_dataset, remove_objects, sweep_of
from omnigraph.store.transactions import DatasetRef
from omnigraph.write.recover import recover
from omnigraph.write.sidecar import drop_orphans

__all__ = ["cleanup"]

OTHERS = "other files"
LOAD_FENCE = "load/"


def cleanup(engine: Engine, request: Cleanup) -> CleanupResult:
    """Remove old commits and files that nobody names; of a dry run, say what would go."""
    engine.gate.allow(request)
    store = engine.store
    heads: dict[Branch, ManifestState] = {}
    with ExitStack() as fences:
        holds = [fences.enter_context(store.fence_over_names())]
        for name in sorted(branch.name for branch in store.branches.list()):
            fenced = fences.enter_context(store.fence(name))
            holds.append(fenced.hold)
            heads[fenced.branch] = recover(store, fenced)
        _require_nothing_pending(store)
        require_readable_heads(store, {branch.name: state for branch, state in heads.items()})
        plan = _Planner(store, request, heads).plan()
        if not request.dry_run:
            _forget_versions(store, plan, holds)
    if not request.dry_run:
        _remove_files(store, plan)
    return plan.result


@frozen(slots=False)
class _Plan:
    sweeps: tuple[DatasetSweep, ...]
    others: tuple[StoredObject, ...]
    """Files of no dataset that go."""
    fences: tuple[str, ...]
    """Fences of loads: those that nobody holds go."""
    result: CleanupResult


def _forget_versions(store: GraphStore, plan: _Plan, holds: Iterable[Hold]) -> None:
    for hold in holds:
        hold.confirm()
    # Tables before the manifest: while the fork of a dead branch is there, its tables are known.
    for sweep in sorted(plan.sweeps, key=lambda sweep: sweep.path == MANIFEST):
        for hold in holds:
            hold.check()
        sweep.forget_versions(store.datasets, store.objects)


def _remove_files(store: GraphStore, plan: _Plan) -> None:
    for sweep in plan.sweeps:
        sweep.remove_files(store.objects)
    remove_objects(store.objects, plan.others)
    for name in plan.fences:
        with suppress(BranchBusy), store.fences.hold(name, timeout_s=0, is_lasting=False):
            pass


def _require_nothing_pending(store: GraphStore) -> None:
    """Refuse while a note of an unfinished write lies there: recovery needs files that it names."""
    drop_orphans(store)
    for name in store.objects.list(RECOVERY):
        reason = "an unfinished write lies there, and no branch has it: a cleanup could harm it"
        raise RecoveryRequired(sidecar=name, reason=reason)


class _Planner:
    """Finds what goes. Nothing is changed."""

    def __init__(
        self, store: GraphStore, request: Cleanup, heads: Mapping[Branch, ManifestState]
    ) -> None:
        self._store = store
        self._request = request
        self._heads = heads
        self._names = [branch.name for branch in heads]
        self._survey: Survey = survey(store.objects)
        now_ms = self._survey.taken_at_ms
        self._idle_before_ms = round(now_ms - 1000 * request.writers_grace_s)
        self._staged: StagedWork = staged_work(
            store, self._survey, branches=self._names, idle_before_ms=self._idle_before_ms
        )
        self._stored = {
            DatasetRef(path, file.branch, file.version)
            for path, files in self._survey.datasets.items()
            for file in files
            if file.kind is FileKind.VERSION and file.version is not None
        }
        since = self._staged.since_ms
        self._unnamed_before_ms = min(self._idle_before_ms, now_ms if since is None else since)

    def plan(self) -> _Plan:
        kept = self._retained()
        sweeps = tuple(self._sweeps(kept))
        others = tuple(self._others())
        titles = self._titles()
        tables = {titles.get(sweep.path, sweep.path): _counts(sweep) for sweep in sweeps}
        if others:
            size = sum(stored.size for stored in others)
            tables[OTHERS] = TableCleanup(files=len(others), bytes=size)
        readable, going = self._readable(), _versions_that_go(sweeps)
        result = CleanupResult(
            dry_run=self._request.dry_run,
            commits=tuple(commit for commit, refs in readable.items() if refs & going),
            kept=Counter(str(why) for commit, why in kept.commits.items() if commit in readable),
            tables=dict(sorted(tables.items())),
            loads=self._staged.loads,
        )
        return _Plan(sweeps, others, tuple(self._load_fences()), result)

    def _retained(self) -> Retained:
        clock = self._store.clock
        since_ms = round(clock.now_ms() - 1000 * self._request.readers_grace_s)
        retention = Retention(self._request.keep, since_ms)
        return retained(self._store, self._names, retention, IN_USE.of(self._store.root))

    # Datasets ------------------------------------------------------------------------------------

    def _sweeps(self, kept: Retained) -> Iterator[DatasetSweep]:
        lines = self._lines(kept)
        datasets, objects = self._store.datasets, self._store.objects
        for path, files in sorted(self._survey.datasets.items()):
            if path not in lines:
                yield dead_dataset(path, files, may_go=self._is_old, protected=self._staged.files)
            else:
                yield sweep_of(
                    datasets,
                    objects,
                    path,
                    files,
                    {line: frozenset(versions) for line, versions in lines[path].items()},
                    may_go=self._is_old,
                    protected=self._staged.files,
                )

    def _lines(self, kept: Retained) -> dict[str, dict[str | None, set[int]]]:
        """The versions that stay, by dataset and line."""
        lines = defaultdict[str, dict[str | None, set[int]]](lambda: defaultdict(set))
        # An earlier cleanup may have kept less. What a head needs is asked for in any case.
        for ref in kept.refs & self._stored:
            lines[ref.path][ref.branch].add(ref.version)
        for branch, state in self._heads.items():
            for entry in state.tables.values():
                lines[entry.ref.path][entry.ref.branch].add(entry.ref.version)
                if branch.owns(entry.ref):
                    # What was restored after the head: the next writer looks back at it.
                    later = self._versions_since(entry.ref)
                    lines[entry.ref.path][entry.ref.branch] |= later
        lines[AUDIT][None] |= self._young_versions(AUDIT, None)
        for fork in (None, *self._store.branches.forks_in_use()):
            lines[MANIFEST][fork] |= self._young_versions(MANIFEST, fork)
        return lines

    def _versions_since(self, ref: DatasetRef) -> set[int]:
        return {
            file.version
            for file in self._survey.datasets.get(ref.path, ())
            if file.branch == ref.branch and (file.version or 0) >= ref.version
            if file.version is not None
        }

    def _young_versions(self, path: str, branch: str | None) -> set[int]:
        """Versions that a reader may have opened a moment ago: those that were the newest then."""
        grace_s = max(self._store.limits.keep_versions_s, self._request.readers_grace_s)
        written_at = {
            file.version: file.stored.changed_at_ms
            for file in self._survey.datasets.get(path, ())
            if file.branch == branch and file.version is not None
        }
        since_ms = self._survey.taken_at_ms - 1000 * grace_s
        return written_at.keys() - {*replaced_before(written_at, since_ms)}

    def _is_old(self, stored: StoredObject) -> bool:
        return stored.changed_at_ms < self._unnamed_before_ms

    # Other files ---------------------------------------------------------------------------------

    def _others(self) -> Iterator[StoredObject]:
        yield from self._staged.left
        hashes = {commit.schema_hash for commit in self._commits()}
        for stored in self._survey.others:
            file = PurePosixPath(stored.name)
            if not self._is_old(stored) or stored in self._staged.left:
                continue
            is_unfinished = file.name.startswith(".unfinished-")
            is_schema = file.parent.name == SCHEMAS and file.stem not in hashes
            if is_unfinished or is_schema or self._is_lock_of_dead_branch(file):
                yield stored

    def _is_lock_of_dead_branch(self, file: PurePosixPath) -> bool:
        name = unquote(file.name.removesuffix(".lock"))
        return file.parent.name == LOCKS and self._store.branches.is_dead(name)

    def _load_fences(self) -> Iterator[str]:
        for stored in self._survey.below(LOCKS):
            name = unquote(PurePosixPath(stored.name).name.removesuffix(".lock"))
            if name.startswith(LOAD_FENCE) and self._is_old(stored):
                yield name

    # The report ----------------------------------------------------------------------------------

    def _commits(self) -> Iterator[Commit]:
        for state in self._heads.values():
            yield from map(Commit.from_row, self._store.manifest.commits(state))

    def _titles(self) -> dict[str, str]:
        """The table of each dataset: the last name that a commit gave it."""
        named = sorted(self._commits(), key=lambda commit: commit.seq)
        return {change.ref.path: change.key for commit in named for change in commit.changes}

    def _readable(self) -> dict[CommitId, frozenset[DatasetRef]]:
        """The commits of all lines that can be read now, each with the versions that it pins."""
        return {
            commit.id: refs
            for name in self._names
            for commit, refs in _states(self._store, name)
            if refs <= self._stored
        }


def _states(
    store: GraphStore, branch: BranchName
) -> Iterator[tuple[Commit, frozenset[DatasetRef]]]:
    """The commits of a branch's line, oldest first, each with all versions that it pins."""
    tables = dict[str, DatasetRef]()
    for commit in reversed([*store.history().line(branch)]):
        for key in commit.dropped:
            tables.pop(key, None)
        tables.update({change.key: change.ref for change in commit.changes})
        yield commit, frozenset(tables.values())


def _versions_that_go(sweeps: Iterable[DatasetSweep]) -> frozenset[DatasetRef]:
    return frozenset(
        DatasetRef(sweep.path, file.branch, file.version)
        for sweep in sweeps
        for file in sweep.versions
        if file.version is not None
    )


def _counts(sweep: DatasetSweep) -> TableCleanup:
    going = (*sweep.versions, *sweep.files)
    return TableCleanup(
        versions=len(sweep.versions),
        files=len(going),
        bytes=sum(file.stored.size for file in going),
        kept_versions=sum(file.kind is FileKind.VERSION for file in sweep.kept),
        kept_files=len(sweep.kept),
        kept_bytes=sum(file.stored.size for file in sweep.kept),
        waiting_files=len(sweep.waiting),
        waiting_bytes=sum(file.stored.size for file in sweep.waiting),
    )
