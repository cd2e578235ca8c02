"""Loads that were made already: the same name finds the commit that brought the first one.

A name counts for callers who may know of its load: they made it, or they may read the branch that
it was made on. For everybody else the name is free, as it would be if the load did not exist.
"""

from collections.abc import Iterator

from omnigraph.base.errors import BranchMissing
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import Load
from omnigraph.store.commits import Commit, CommitKind, standing, undone_by_reverts
from omnigraph.store.history import CommitLog

__all__ = ["loaded_before", "merged_loads"]


def loaded_before(engine: Engine, request: Load) -> Commit | None:
    """The commit that brought an earlier load with this load id, by itself or by a merge.

    A commit that was reverted does not count: its rows are not there, so a caller who loads them
    again wants them back.
    """
    if request.load_id is None:
        return None
    history, has_merged = engine.store.history(), False
    try:
        for commit in standing(history.line(request.branch)):
            has_merged = has_merged or commit.is_merge
            loads = {load.id for load in _named(engine, request, commit)}
            # Reverts of other lines come with merges only.
            if loads and (not has_merged or loads - _gone(history, request.branch)):
                return commit
    except BranchMissing:
        if request.from_ is None:
            raise
    return None


def merged_loads(engine: Engine, commit: Commit) -> Iterator[Commit]:
    """The named loads that a merge brought to its branch, as the commits that they were."""
    history = engine.store.history()
    for id_ in _merged_by(history, commit):
        if (load := history.get(id_)).load_id is not None:
            yield load


def _named(engine: Engine, request: Load, commit: Commit) -> Iterator[Commit]:
    """The loads of the request's name that came with a commit, and that its actor may know."""
    # The id of a commit names its load too: an error may have told it instead of a result.
    is_id = commit.kind is CommitKind.LOAD and commit.id == request.load_id
    if not is_id and request.load_id not in commit.load_ids:
        return
    merged = [c for c in merged_loads(engine, commit) if c.load_id == request.load_id]
    yield from (load for load in merged or [commit] if _counts(engine, request, load))


def _counts(engine: Engine, request: Load, load: Commit) -> bool:
    if load.actor == request.actor:
        return True
    return not request.is_own_name and engine.gate.knows(request.actor, load.branch)


def _gone(history: CommitLog, branch: BranchName) -> frozenset[CommitId]:
    """The commits that have been reverted, here or on a line that was merged since, and those that
    came with such a commit."""
    head = next(history.line(branch)).id
    undone = undone_by_reverts(map(history.get, history.ancestors(head)))
    return undone.union(*(_merged_by(history, history.get(id_)) for id_ in undone))


def _merged_by(history: CommitLog, commit: Commit) -> frozenset[CommitId]:
    """The commits that came with a merge; none with any other commit."""
    if commit.parent is None or commit.merged_parent is None:
        return frozenset()
    return history.ancestors(commit.merged_parent) - history.ancestors(commit.parent)
