"""Merge and revert: what another side changed becomes one commit on a branch.

The change is replayed on the target's own datasets. The target never names files that lie on the
source's forks, so the source can go at any time.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    ChoicesOutdated,
    OmnigraphError,
    PolicyDenied,
    PreconditionFailed,
)
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.change_results import ReadChanges
from omnigraph.engine.engine import Engine
from omnigraph.engine.history import branch_delete, found_commit
from omnigraph.engine.merge_files import MergeFiles
from omnigraph.engine.merge_permit import PermittedMerge, refusal_of
from omnigraph.engine.merge_results import MergeResult, RevertResult
from omnigraph.engine.messages import merge_message, revert_message
from omnigraph.engine.requests import BranchDelete, Merge, Read, Revert
from omnigraph.engine.results import ChangeCounts, CommitInfo
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.merge.choices import MadeFor, choices_of
from omnigraph.merge.writer import (
    MergeOutcome,
    MergeWork,
    MergeWriter,
    RevertOutcome,
    RevertWriter,
)
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.datasets import EditCounts
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, Target
from omnigraph.write.writer import require_head, write

__all__ = ["merge", "revert"]


def merge(engine: Engine, request: Merge) -> MergeResult:
    """Bring what a branch changed since the merge base into another, as one commit."""
    refusals = [_allow(engine, request, request.source)]
    store, source, target = engine.store, request.source, request.branch
    if source == target:
        raise ArgumentInvalid(
            argument="source",
            value=source,
            rule="a branch can't be merged into itself",
            advice="name another branch to merge into, with into= or --into",
        )
    theirs = store.snapshot(source)
    refusals.append(refusal_of(request, lambda: _require_no_wider_sight(engine, request, theirs)))
    made_for = choices_of(request.resolve).made_for
    note = CommitNote(CommitKind.MERGE, request.actor, request.message or merge_message(source))
    files = MergeFiles(engine, target, request.actor)
    writer = MergeWriter(
        store=store,
        sql=engine.sql,
        branch=target,
        note=note,
        resolve=request.resolve,
        tells_conflicts=request.preview,
        in_files=files,
        source=source,
        theirs=theirs,
    )
    with _choices_that_hold(made_for):
        for expected in (request.if_source_commit, made_for.source_commit_id):
            _require_source(engine, theirs, expected)
        work, commit = _carried_out(engine, writer, request, note, files, made_for)
    deleted, refusal = _delete_source(engine, request, theirs)
    return MergeResult(
        source=source,
        target=target,
        outcome=cast(MergeOutcome, work.outcome),
        source_commit_id=theirs.commit.id,
        branch_deleted=deleted,
        branch_delete_error=refusal,
        **_brought(engine, request, work, commit, source, refusals),
    )


def revert(engine: Engine, request: Revert) -> RevertResult:
    """Undo what one commit changed, as a commit of its own."""
    refusals = [_allow(engine, request, request.branch)]
    store, branch = engine.store, request.branch
    commit = _revertible(engine, request)
    refusals.append(
        refusal_of(request, lambda: _require_revert_shows_no_more(engine, request, commit))
    )
    made_for = choices_of(request.resolve).made_for
    if made_for.reverted_commit_id not in (None, commit.id):
        raise ArgumentInvalid(
            argument="resolve",
            value=None,
            rule=f"the choices were made for a revert of commit {made_for.reverted_commit_id}",
            advice="preview the revert of this commit, and choose between what it tells",
        )
    message = request.message or revert_message(commit, branch)
    note = CommitNote(CommitKind.REVERT, request.actor, message)
    files = MergeFiles(engine, branch, request.actor)
    writer = RevertWriter(
        store=store,
        sql=engine.sql,
        branch=branch,
        note=note,
        resolve=request.resolve,
        tells_conflicts=request.preview,
        in_files=files,
        source=commit.id,
        commit=commit,
    )
    with _choices_that_hold(made_for):
        work, made = _carried_out(engine, writer, request, note, files, made_for)
    return RevertResult(
        branch=branch,
        reverted_commit_id=commit.id,
        outcome=cast(RevertOutcome, work.outcome),
        **_brought(engine, request, work, made, commit.branch, refusals),
    )


def _allow(engine: Engine, request: Merge | Revert, source: BranchName) -> str | None:
    """Ask the gate. A preview takes the right to read both sides, and reports why the caller may
    not write."""
    if request.preview:
        for branch in (source, request.branch):
            engine.gate.allow(Read(branch=branch, actor=request.actor))
    return refusal_of(request, lambda: engine.gate.allow(request))


def _require_no_wider_sight(engine: Engine, request: Merge, theirs: Snapshot) -> None:
    """A source that is hidden from the actor is missing."""
    try:
        engine.gate.require_no_wider_sight(theirs, request, to=request.branch)
    except PolicyDenied:
        if engine.gate.knows(request.actor, request.source):
            raise
        raise BranchMissing(request.source) from None


def _carried_out(
    engine: Engine,
    writer: MergeWriter | RevertWriter,
    request: Merge | Revert,
    note: CommitNote,
    files: MergeFiles,
    made_for: MadeFor,
) -> tuple[MergeWork, CommitInfo | None]:
    """The work as it was prepared last, and its commit; a preview prepares it and writes none."""
    to = Target(request.branch, if_commit=request.if_commit or made_for.target_commit_id)
    permitted = PermittedMerge(engine, request, writer)
    try:
        if request.preview:
            ours = engine.store.snapshot(to.branch)
            require_head(engine.store, ours, to.if_commit)
            work = permitted.prepare(ours)
            files.end(work, None)
            return work, None
        written = write(engine.store, permitted, to=to, note=note, faults=engine.faults)
    except (Exception, KeyboardInterrupt):
        files.fail()
        raise
    assert written is not None, "a merge is not known before it is prepared"
    files.end(written.work, written.commit)
    commit = CommitInfo.of(written.commit) if written.commit is not None else None
    return written.work, commit


@contextmanager
def _choices_that_hold(made_for: MadeFor) -> Iterator[None]:
    """Say of choices, not of an argument, that a branch has moved since they were made."""
    try:
        yield
    except PreconditionFailed as moved:
        if moved.expected not in (made_for.source_commit_id, made_for.target_commit_id):
            raise
        raise ChoicesOutdated(
            branch=moved.branch, made_for=moved.expected, actual=moved.actual
        ) from None


def _require_source(engine: Engine, theirs: Snapshot, expected: CommitId | None) -> None:
    """The source must show the rows that the caller has looked at."""
    if expected is None or theirs.commit.id == expected:
        return
    history = engine.store.history()
    history.get(expected)
    if history.origin_of_rows(expected) != history.origin_of_rows(theirs.commit.id):
        raise PreconditionFailed(branch=theirs.branch, expected=expected, actual=theirs.commit.id)


def _delete_source(engine: Engine, request: Merge, merged: Snapshot) -> tuple[bool, str | None]:
    """Delete the source if that was asked for. The merge is done: a refusal is only told."""
    if not request.delete or request.preview:
        return False, None
    try:
        # Not if it has moved on: what came since is in no other branch.
        delete = BranchDelete(
            branch=request.source, actor=request.actor, if_commit=merged.commit.id
        )
        branch_delete(engine, delete)
    except PreconditionFailed:
        return False, f"{request.source} has commits that came after those that were merged"
    except OmnigraphError as refusal:
        return False, refusal.message
    return True, None


def _revertible(engine: Engine, request: Revert) -> Commit:
    """The commit, if it is one of the branch's whose inverse is a change of rows."""
    history = engine.store.history()
    commit = found_commit(engine, Read(actor=request.actor), request.commit)
    head = engine.store.snapshot(request.branch).commit.id

    def refused(rule: str, advice: str) -> ArgumentInvalid:
        return ArgumentInvalid(argument="commit", value=commit.id, rule=rule, advice=advice)

    if commit.kind is CommitKind.INIT:
        rule = "the first commit of a graph can't be reverted"
        raise refused(rule, "delete the rows that should go")
    if commit.kind is CommitKind.SCHEMA:
        rule = "it changed the schema, and a revert brings back rows only"
        raise refused(rule, "apply the earlier schema instead")
    if commit.kind.keeps_rows:
        rule = f"it is a commit of kind {commit.kind.value}, which changed no rows"
        raise refused(rule, "there is nothing to revert")
    if commit.id not in history.ancestors(head):
        rule = f"it is not in the history of branch {request.branch}"
        raise refused(rule, "name a branch that has it")
    return commit


def _require_revert_shows_no_more(engine: Engine, request: Revert, commit: Commit) -> None:
    if engine.gate.guard is not None:
        made = engine.store.snapshot_at(commit.id)
        engine.gate.require_no_wider_sight(made, request, to=request.branch)


def _brought(
    engine: Engine,
    request: Merge | Revert,
    work: MergeWork,
    commit: CommitInfo | None,
    source: BranchName,
    refusals: Iterable[str | None],
) -> dict[str, Any]:
    """What the results of merges and reverts have in common."""
    catalog = _catalog(engine, request, work, source)
    return {
        "commit": commit,
        "is_preview": request.preview,
        "target_commit_id": work.onto.id,
        "counts": _counts(work, catalog),
        "changes": _changes(work, catalog) if request.preview else None,
        "conflicts": work.conflicts,
        "more_conflicts": work.more_conflicts,
        "left_out": work.left_out,
        "refusal": next((why for why in (*refusals, work.refusal) if why is not None), None),
    }


def _catalog(
    engine: Engine, request: Merge | Revert, work: MergeWork, source: BranchName
) -> Catalog:
    """Types and properties as the branch that takes the rows calls them, and as the actor sees
    them."""
    if engine.gate.guard is None:
        return engine.store.schemas.catalog(work.onto.schema_hash)
    onto = replace(engine.store.snapshot_at(work.onto.id), branch=request.branch)
    return engine.gate.view(onto, request, (request.branch, source)).catalog


def _counts(work: MergeWork, catalog: Catalog) -> Mapping[str, ChangeCounts]:
    """How many rows of each type change."""
    counts = {entity.name: work.counts.get(entity.table_key) for entity in catalog.entities}
    return {
        str(name): ChangeCounts(c.inserted, c.updated, c.deleted)
        for name, c in counts.items()
        if c is not None and c != EditCounts()
    }


def _changes(work: MergeWork, catalog: Catalog) -> ReadChanges | None:
    """The rows that change, with both images; None: there are too many to hold."""
    if work.changes is None:
        return None
    tables = work.changes.tables
    keys = ((entity, entity.table_key) for entity in catalog.entities)
    return ReadChanges(tuple((entity, tables[key]) for entity, key in keys if key in tables))
