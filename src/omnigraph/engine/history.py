"""History: branches, their making and their end, and commits."""

import logging
from itertools import islice

from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import (
    BranchCreate,
    BranchDelete,
    BranchesRead,
    BranchRead,
    CommitRead,
    CommitsRead,
)
from omnigraph.engine.results import CommitInfo
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
    """Make a branch at the head of another. No commit is made: the log says who did it."""
    engine.gate.allow(request)
    engine.store.create_branch(request.branch, from_=request.from_)
    log.info(
        "branch %s was made from %s by %s: %s",
        request.branch,
        request.from_,
        request.actor,
        request.message,
    )


def branch_delete(engine: Engine, request: BranchDelete) -> None:
    """Remove a branch, whole. No commit is made: the log says who did it."""
    engine.gate.allow(request)
    engine.store.delete_branch(request.branch)
    drop_orphans(engine.store)
    log.info("branch %s was deleted by %s: %s", request.branch, request.actor, request.message)


def commits(engine: Engine, request: CommitsRead) -> list[CommitInfo]:
    """The commits of a branch, newest first."""
    engine.gate.allow(request)
    found = islice(engine.store.history().line(request.branch), request.limit)
    return [CommitInfo.of(commit) for commit in found]


def commit(engine: Engine, request: CommitRead) -> CommitInfo:
    """One commit, of whichever branch."""
    engine.gate.allow(request)
    return CommitInfo.of(engine.store.history().get(request.id))
