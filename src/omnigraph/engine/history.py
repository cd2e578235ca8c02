"""History: branches, their making and their end, and commits."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from omnigraph.base.errors import (
    BranchExists,
    BranchHasChildren,
    BranchMissing,
    CommitMissing,
    MissingError,
)
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
    Read,
)
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.travel import check_moment, commit_at, told
from omnigraph.store.branches import Branch
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.sidecar import drop_orphans

__all__ = [
    "allow_start",
    "at_most",
    "branch",
    "branch_create",
    "branch_delete",
    "branches",
    "commit",
    "commits",
    "found_commit",
    "known",
    "naming_known_branches",
    "readable",
]

log = logging.getLogger(__name__)


def branches(engine: Engine, request: BranchesRead) -> list[str]:
    """The names of the branches that the actor may read, main first."""
    found = readable(engine, request)
    engine.store.state(found[0])  # main is listed even where the graph is gone
    return [branch.name for branch in found]


def readable(engine: Engine, request: Read) -> list[Branch]:
    """The branches that the actor may read, main first; without any, the request is denied."""
    engine.gate.allow(request)
    found = engine.store.branches.list()
    shown = [branch for branch in found if engine.gate.allows(request, branch.name)]
    if not shown:
        engine.gate.allow_on(request, MAIN)
    return shown


def branch(engine: Engine, request: BranchRead) -> str:
    """The name of a branch that is there."""
    engine.gate.allow(request)
    return engine.store.branches.resolve(request.branch).name


def branch_create(engine: Engine, request: BranchCreate) -> None:
    """Make a branch at the head of another, or at any commit. The log says who did it: there is
    no commit of it."""
    engine.gate.allow(request)
    try:
        start = _start(engine.store, request.from_)
    except MissingError:
        engine.gate.allow_into(request, MAIN, request.branch)
        raise
    allow_start(engine, request, start)
    with naming_known_branches(engine, request.actor):
        match start:
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


def allow_start(engine: Engine, request: BranchCreate, start: Branch | CommitId) -> None:
    """Return if the actor may make a branch here, and will see no more on it than here."""
    store, gate = engine.store, engine.gate
    source = start.name if isinstance(start, Branch) else _branch_of(engine, start)
    gate.allow_into(request, source, request.branch)
    if gate.guard is not None:
        at = store.snapshot(source) if isinstance(start, Branch) else store.snapshot_at(start)
        gate.require_no_wider_sight(at, request, to=request.branch)


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


def _branch_of(engine: Engine, commit_id: CommitId) -> BranchName:
    """The branch that a commit was made on; of one that is missing, main."""
    try:
        return engine.store.history().get(commit_id).branch
    except CommitMissing:
        return MAIN


def branch_delete(engine: Engine, request: BranchDelete) -> None:
    """Remove a branch, whole. No commit is made: the log says who did it."""
    engine.gate.allow(request)
    with naming_known_branches(engine, request.actor):
        delete_branch(engine.store, request.branch, if_commit=request.if_commit)
    drop_orphans(engine.store)
    log.info("branch %s was deleted by %s: %s", request.branch, request.actor, request.message)


@contextmanager
def naming_known_branches(engine: Engine, actor: str | None) -> Iterator[None]:
    """Say of branches that stand in the way the names that the actor may know."""
    asked = Read(actor=actor)
    try:
        yield
    except BranchHasChildren as found:
        children = tuple(c for c in found.children if engine.gate.allows(asked, c))
        raise BranchHasChildren(found.branch, children) from None
    except BranchExists as found:
        if engine.gate.allows(asked, found.existing):
            raise
        raise BranchExists(found.branch, found.branch) from None


def commits(engine: Engine, request: CommitsRead) -> list[CommitInfo]:
    """The commits of a branch, newest first."""
    engine.gate.allow(request)
    line = known(engine, request, engine.store.history().line(request.branch))
    found = (commit for commit in line if request.by in (None, commit.actor))
    return [told(engine, request, commit) for commit in at_most(request.limit, found)]


def known(engine: Engine, request: Read, found: Iterator[Commit]) -> Iterator[Commit]:
    """The commits that were made on branches that the actor may read."""
    return (commit for commit in found if engine.gate.allows(request, commit.branch))


def at_most(limit: int | None, found: Iterator[Commit]) -> Iterator[Commit]:
    """The first of them. A limit may be larger than any number of things."""
    return islice(found, None if limit is None else min(limit, sys.maxsize))


def commit(engine: Engine, request: CommitRead) -> CommitInfo:
    """One commit, of whichever branch."""
    engine.gate.allow(request)
    return told(engine, request, found_commit(engine, request, request.id))


def found_commit(engine: Engine, request: Read, id_: CommitId) -> Commit:
    """A commit, if the actor may read the branch that it was made on."""
    engine.gate.allow_on(request, _branch_of(engine, id_))
    return engine.store.history().get(id_)
