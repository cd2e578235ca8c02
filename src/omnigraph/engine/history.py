"""History: branches, their making and their end, and commits."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import (
    BranchExists,
    BranchHasChildren,
    BranchMissing,
    CommitMissing,
    MissingError,
    PolicyDenied,
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
    Read,
)
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.travel import check_moment, commit_at, told
from omnigraph.store.branches import Branch
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.commits import Commit
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
    "denying_taken_names",
    "found_commit",
    "known",
    "known_start",
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
        start = _start(engine, request)
    except MissingError:
        engine.gate.allow_into(request, MAIN, request.branch)
        raise
    allow_start(engine, request, start)
    with denying_taken_names(engine, request, start):
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
    source = _source(engine, start)
    gate.allow_into(request, source, request.branch)
    if gate.guard is not None:
        at = store.snapshot(source) if isinstance(start, Branch) else store.snapshot_at(start)
        gate.require_no_wider_sight(at, request, to=request.branch)


def known_start(engine: Engine, actor: str | None, name: BranchName) -> Branch:
    """The branch that a new one starts from. One that is hidden from the actor is missing. That
    main is there is no secret."""
    found = engine.store.branches.resolve(name)
    if not engine.gate.knows(actor, found.name):
        raise BranchMissing(name)
    return found


def _start(engine: Engine, request: BranchCreate) -> Branch | CommitId:
    """The branch or the commit that a new branch starts from. A name goes before a moment."""
    from_ = request.from_
    check_moment("from_", from_)
    if not isinstance(from_, str):
        return _known_commit(engine, request, commit_at(engine.store, from_, MAIN))
    try:
        return known_start(engine, request.actor, BranchName(from_))
    except BranchMissing as missing:
        try:
            return _known_commit(engine, request, commit_at(engine.store, from_, MAIN))
        except CommitMissing:
            if is_ulid(from_):
                raise
            raise missing from None  # neither an id nor a time: most likely a mistyped name


def _known_commit(engine: Engine, request: BranchCreate, commit: CommitId) -> CommitId:
    if not engine.gate.knows(request.actor, _branch_of(engine, commit)):
        # Whoever asked for a time or a version has no id to learn from.
        is_named = isinstance(request.from_, str | CommitInfo)
        raise CommitMissing(commit if is_named else str(request.from_))
    return commit


def _source(engine: Engine, start: Branch | CommitId) -> BranchName:
    return start.name if isinstance(start, Branch) else _branch_of(engine, start)


def _branch_of(engine: Engine, commit_id: CommitId) -> BranchName:
    """The branch that a commit was made on; of one that is missing, main."""
    try:
        return engine.store.history().get(commit_id).branch
    except CommitMissing:
        return MAIN


def branch_delete(engine: Engine, request: BranchDelete) -> None:
    """Remove a branch, whole. No commit is made: the log says who did it."""
    engine.gate.allow(request)
    with _naming_known_children(engine, request.actor):
        delete_branch(engine.store, request.branch, if_commit=request.if_commit)
    drop_orphans(engine.store)
    log.info("branch %s was deleted by %s: %s", request.branch, request.actor, request.message)


@contextmanager
def denying_taken_names(
    engine: Engine, request: BranchCreate, start: Branch | CommitId
) -> Iterator[None]:
    """Deny a name that a hidden branch has, or overlaps, in the words of a rule that denies it. So
    the actor knows that it may be taken, and not that it is."""
    try:
        yield
    except BranchExists as found:
        if engine.gate.knows(request.actor, found.existing):
            raise
        source = _source(engine, start)
        raise PolicyDenied(request.action, request.actor, source, request.branch) from None


@contextmanager
def _naming_known_children(engine: Engine, actor: str | None) -> Iterator[None]:
    """Say of branches that stand in the way the names that the actor may know."""
    try:
        yield
    except BranchHasChildren as found:
        asked = Read(actor=actor)
        children = tuple(c for c in found.children if engine.gate.allows(asked, c))
        raise BranchHasChildren(found.branch, children) from None


def commits(engine: Engine, request: CommitsRead) -> list[CommitInfo]:
    """The commits of a branch, newest first."""
    engine.gate.allow(request)
    engine.finish_pending(request.branch, request.actor)
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
    engine.finish_pending(None, request.actor)
    engine.gate.allow_commit(request, id_, _branch_of(engine, id_))
    return engine.store.history().get(id_)
