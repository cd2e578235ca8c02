"""History: branches, their making and their end, and commits."""

import logging
from itertools import islice

from omnigraph.base.errors import BranchMissing, CommitMissing
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import (
    BranchCreate,
    BranchDelete,
    BranchesRead,
    BranchRead,
    CommitRead,
    CommitsRead,
    Moment,
)
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.travel import check_moment, commit_at
from omnigraph.store.branches import Branch
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.sidecar import drop_orphans

__all__ = ["branch", "branch_create", "branch_delete", "branches", "commit", "commits"]

log = logging.getLogger(__name__)


def branches(engine: Engine, request: BranchesRead) -> list[str]:
    """The names of all branches, main first."""
    engine.gate.allow(request)
    found = engine.store.branches.list()
    engine.store.state(found[0])  # main is listed even where the graph is gone
    return [branch.name for branch in found]


def branch(engine: Engine, request: BranchRead) -> str:
    """The name of a branch that is there."""
    engine.gate.allow(request)
    return engine.store.branches.resolve(request.branch).name


def branch_create(engine: Engine, request: BranchCreate) -> None:
    """Make a branch at the head of another, or at any commit. The log says who did it: there is
    no commit of it."""
    engine.gate.allow(request)
    match _start(engine.store, request.from_):
        case Branch(name=source):
            create_branch(engine.store, request.branch, from_=source)
        case commit_id:
            create_branch(engine.store, request.branch, at=commit_id)
    log.info(
        "branch %s was made from %s by %s: %s",
        request.branch,
        request.from_,
        request.actor,
        request.message,
    )


def _start(store: GraphStore, from_: Moment) -> Branch | CommitId:
    """The branch or the commit that a new branch starts from. A name goes before a moment."""
    check_moment("from_", from_)
    if not isinstance(from_, str):
        return commit_at(store, from_, MAIN)
    try:
        return store.branches.resolve(BranchName(from_))
    except BranchMissing as missing:
        try:
            return commit_at(store, from_, MAIN)
        except CommitMissing:
            raise missing from None  # neither an id nor a time: most likely a mistyped name


def branch_delete(engine: Engine, request: BranchDelete) -> None:
    """Remove a branch, whole. No commit is made: the log says who did it."""
    engine.gate.allow(request)
    delete_branch(engine.store, request.branch, if_commit=request.if_commit)
    drop_orphans(engine.store)
    log.info("branch %s was deleted by %s: %s", request.branch, request.actor, request.message)


def commits(engine: Engine, request: CommitsRead) -> list[CommitInfo]:
    """The commits of a branch, newest first."""
    engine.gate.allow(request)
    line = engine.store.history().line(request.branch)
    found = (commit for commit in line if request.by in (None, commit.actor))
    return [CommitInfo.of(commit) for commit in islice(found, request.limit)]


def commit(engine: Engine, request: CommitRead) -> CommitInfo:
    """One commit, of whichever branch."""
    engine.gate.allow(request)
    return CommitInfo.of(engine.store.history().get(request.id))
