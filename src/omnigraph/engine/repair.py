"""Repair: explain where storage and manifests disagree, and publish what can be published.

A table whose newest version no commit names stops every writer of its branch: to build upon it
would publish rows that nobody meant. Whoever moved it left no note, so an operator decides. Where
the rows are the same as those of the commit, only files have moved, and it is safe to go on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial

from omnigraph.base.errors import OmnigraphError, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.engine.damage import damage_at, last_readable
from omnigraph.engine.engine import Engine
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.upkeep_requests import Repair
from omnigraph.engine.upkeep_results import Finding, RepairResult
from omnigraph.read.changes.diff import changes_between
from omnigraph.store.changes import DELETE, INSERT, UPDATE
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.datasets.named_files import files_named_by
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.layout import AUDIT, MANIFEST
from omnigraph.store.manifest import ManifestState
from omnigraph.store.publish import publish
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.survey import FileKind, Survey, survey
from omnigraph.store.transactions import DatasetRef
from omnigraph.write.late_landings import is_late_landing
from omnigraph.write.recover import recover

__all__ = ["repair"]


def repair(engine: Engine, request: Repair) -> RepairResult:
    """Tell what is wrong with the graph's files; if confirmed, publish tables that have moved."""
    engine.gate.allow(request)
    store = engine.store
    found, commits = list[Finding](), list[CommitInfo]()
    states = dict[BranchName, ManifestState]()
    for branch in store.branches.list():
        with store.fence(branch.name) as fenced:
            state = recover(store, fenced)  # raises while an unfinished write can't be settled
            drifts = [*_drifts(store, fenced, state)]
            chosen = [d for d in drifts if d.is_verified or request.force]
            if request.confirm and chosen:
                state, commit = _publish(store, fenced, state, chosen, actor=request.actor)
                commits.append(CommitInfo.of(commit))
            states[branch.name] = state
            is_done = request.confirm
            found += [d.finding(branch.name, is_published=is_done and d in chosen) for d in drifts]
    found += _leftovers(store, states)
    return RepairResult(tuple(found), tuple(commits))


@frozen(slots=False)
class _Drift:
    """A table that has moved past the version that the manifest names."""

    change: TableChange
    """What a commit of its newest version would say."""
    named: DatasetRef
    failure: str | None
    """Why its rows can't be read or compared; None: they can."""

    @property
    def is_verified(self) -> bool:
        """True if it shows the very rows that the commit shows."""
        changed = self.change.inserted + self.change.updated + self.change.deleted
        return self.failure is None and not changed

    def finding(self, branch: BranchName, *, is_published: bool) -> Finding:
        change, newest = self.change, self.change.ref.version
        told = f"the newest version is {newest}, the manifest names {self.named.version}"
        if self.failure is not None:
            why = f"its rows can't be compared: {self.failure}"
        elif self.is_verified:
            why = "its rows are the same"
        else:
            why = (
                f"it has {change.inserted:,} rows more, {change.deleted:,} fewer and "
                f"{change.updated:,} others"
            )
        return Finding(
            "drift",
            f"{change.key} on {branch}",
            f"{told}; {why}",
            is_verified=self.is_verified,
            is_repaired=is_published,
        )


def _drifts(store: GraphStore, fenced: FencedBranch, state: ManifestState) -> Iterator[_Drift]:
    snapshot = store.snapshot_of(fenced.branch.name, state)
    for entity in snapshot.catalog.entities:
        ref = snapshot.tables[entity.table_key].ref
        if not fenced.branch.owns(ref) or not store.datasets.has_version(ref):
            continue
        newest = store.datasets.newest_version(ref.path, ref.branch)
        if newest > ref.version and not _heals_itself(store, fenced, ref):
            yield _compared(snapshot, entity.table_key, replace(ref, version=newest))


def _heals_itself(store: GraphStore, fenced: FencedBranch, ref: DatasetRef) -> bool:
    """True if all later versions are restorations, or of writers that had lost their fence."""
    return all(
        note.restores == ref.version or is_late_landing(store, fenced, note)
        for note in store.datasets.origins_after(ref)
    )


def _compared(snapshot: Snapshot, key: TableKey, newest: DatasetRef) -> _Drift:
    entry = snapshot.tables[key]
    moved = replace(
        snapshot, tables={**snapshot.tables, key: replace(entry, ref=newest)}, _opened={}
    )
    try:
        changes = changes_between(snapshot, moved).tables.get(key)
        rows = snapshot.other_version(newest).row_count
    except OmnigraphError as failure:
        return _Drift(TableChange(key, newest, entry.row_count), entry.ref, str(failure))
    if changes is None:
        return _Drift(TableChange(key, newest, rows), entry.ref, None)
    ops = Counter(changes.op.to_pylist())
    change = TableChange(
        key, newest, rows, inserted=ops[INSERT], updated=ops[UPDATE], deleted=ops[DELETE]
    )
    return _Drift(change, entry.ref, None)


def _publish(
    store: GraphStore,
    fenced: FencedBranch,
    state: ManifestState,
    drifts: Iterable[_Drift],
    *,
    actor: str | None,
) -> tuple[ManifestState, Commit]:
    """Name the newest versions of these tables in a commit. No dataset moves: one swap does it."""
    chosen = [*drifts]
    keeps_rows = all(drift.is_verified for drift in chosen)
    now_ms = store.clock.now_ms()
    commit = Commit(
        id=CommitId(store.clock.ulid()),
        parent=state.head,
        branch=fenced.branch.name,
        seq=state.recent[-1].seq + 1,
        kind=CommitKind.RECOVERY if keeps_rows else CommitKind.MUTATION,
        created_at_ms=now_ms,
        schema_hash=Commit.from_row(state.recent[-1]).schema_hash,
        changes=tuple(drift.change for drift in chosen),
        actor=actor,
        message="repair: tables that had moved without a commit",
    )
    published = publish(store.manifest, fenced, onto=state, commit=commit, now_ms=now_ms)
    return published, store.commit_of(published.recent[-1])


# What is only told --------------------------------------------------------------------------------


def _leftovers(store: GraphStore, states: dict[BranchName, ManifestState]) -> Iterator[Finding]:
    found = survey(store.objects)
    yield from _torn(store, states)
    refs = {entry.ref: key for state in states.values() for key, entry in state.tables.items()}
    yield from _missing(store, found, refs)
    named = {
        (change.ref.path, change.ref.branch)
        for state in states.values()
        for row in store.manifest.commits(state)
        for change in Commit.from_row(row).changes
    }
    tables = {path for path, _ in named} | {MANIFEST, AUDIT}
    for path in sorted(found.datasets):
        if path not in tables:
            advice = "no commit names this table: a cleanup removes it"
            yield Finding("unnamed_table", path, advice)
        elif path not in (MANIFEST, AUDIT):
            for fork in sorted(store.datasets.fork_names(path)):
                if (path, fork) not in named:
                    told = "no commit names this fork of a table: a cleanup removes it"
                    yield Finding("leftover_fork", f"{path}/tree/{fork}", told)


def _torn(store: GraphStore, states: dict[BranchName, ManifestState]) -> Iterator[Finding]:
    saved = cache(partial(last_readable, store))
    for flaw, damage in damage_at(store, states).items():
        if not flaw.is_missing:
            commit = saved(damage.branch)
            advice = "no commit of the branch can be read whole: restore the file from a backup"
            if commit is not None:
                advice = (
                    f"restore it from a backup, or keep the last commit that can be read whole: "
                    f"omnigraph branch create saved --from {commit}"
                )
            yield Finding("torn_file", flaw.name, f"{damage}; {advice}")


def _missing(
    store: GraphStore, found: Survey, refs: dict[DatasetRef, TableKey]
) -> Iterator[Finding]:
    there = {file.name for files in found.datasets.values() for file in files}
    for ref, key in sorted(refs.items(), key=lambda item: (item[1], str(item[0]))):
        try:
            needed = _files_of(store, ref, found)
        except StorageFailed:
            continue  # Lance can't list them past a version that is torn, which is told above
        for name in sorted(needed - there):
            told = f"the newest commit needs this file of {key}: restore it from a backup"
            yield Finding("missing_file", name, told)


def _files_of(store: GraphStore, ref: DatasetRef, found: Survey) -> set[str]:
    versions = [
        file.version
        for file in found.datasets.get(ref.path, ())
        if file.kind is FileKind.VERSION and file.branch == ref.branch and file.version is not None
    ]
    if ref.version not in versions:
        return {f"{ref.path}: version {ref.version}"}
    kept, _ = files_named_by(
        store.datasets, store.objects, ref.path, ref.branch, versions, kept={ref.version}
    )
    return {name for name in kept.files if "/_transactions/" not in name}
