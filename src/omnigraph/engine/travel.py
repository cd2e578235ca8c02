"""Travel: which commit of a branch a moment means.

A moment is a commit's id, a version of the branch's manifest, or a point in time. As text it is an
id or a time in ISO 8601; a time that names no zone is in UTC.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import (
    ArgumentInvalid,
    CommitMissing,
    DeniedError,
    MissingError,
    MomentMissing,
    StorageFailed,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.messages import readable_message
from omnigraph.engine.requests import Read
from omnigraph.engine.results import CommitInfo
from omnigraph.read.view import View
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "Held",
    "check_moment",
    "commit_at",
    "hold",
    "names_commit",
    "page_moment",
    "snapshot_for",
    "told",
    "view_for",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen
class Held:
    """A commit that a handle holds still."""

    branch: BranchName
    """The branch that was asked for; of a commit that was asked for, the one it was made on."""
    commit: CommitInfo
    stored: Snapshot | None
    """What storage has of it; None: a server holds it."""


def hold(engine: Engine, request: Read) -> Held:
    """Hold the commit that a request means."""
    snapshot = snapshot_for(engine, request)
    return Held(snapshot.branch, told(engine, request, snapshot.commit), snapshot)


def told(engine: Engine, request: Read, commit: Commit) -> CommitInfo:
    """A commit as the actor may know it: without names of hidden branches in messages of the
    engine, and of what a schema dropped, only what they would have seen."""
    message = readable_message(engine.gate, request.actor, commit)
    info = replace(CommitInfo.of(commit), message=message)
    if engine.gate.guard is None or not commit.drops or commit.parent is None:
        return info
    try:
        view = engine.gate.view(engine.store.snapshot_at(commit.parent), request)
    except (MissingError, DeniedError):
        return replace(info, drops={})
    known = {str(entity.name): entity for entity in view.catalog.entities}

    def is_known(name: str) -> bool:
        type_name, _, property_ = name.partition(".")
        entity = known.get(type_name)
        return entity is not None and (not property_ or property_ in entity.by_name)

    return replace(info, drops={n: how for n, how in commit.drops.items() if is_known(n)})


@contextmanager
def view_for(engine: Engine, request: Read) -> Iterator[View]:
    """The rows of one snapshot that a request may see, while it reads them.

    Files that can't be read are missing, if the commit or its rows went with its branch meanwhile.
    """
    snapshot = snapshot_for(engine, request)
    try:
        yield engine.gate.view(snapshot, request)
    except StorageFailed as failure:
        try:
            engine.store.snapshot_at(snapshot.commit.id)
        except MissingError as missing:
            raise missing from failure
        raise


def snapshot_for(engine: Engine, request: Read) -> Snapshot:
    """The snapshot that a request means: one held before, a head, or a moment.

    A commit is read by the rules of the branch that it was made on, a head by those of its own; so
    is a head that is named by its commit beside its branch.
    """
    engine.gate.allow(request)
    if not names_commit(request.moment):
        engine.finish_pending(request.branch, request.actor)
    try:
        snapshot = _snapshot(engine.store, request)
    except MissingError:
        # One who may not read main is not told either that a commit is missing.
        engine.gate.allow_on(request, request.branch)
        raise
    if names_commit(request.moment):
        engine.gate.allow_commit(request, snapshot.commit.id, snapshot.branch)
    else:
        engine.gate.allow_origin(request, snapshot.branch, asked=request.branch)
    return snapshot


def page_moment(engine: Engine, asked: object, commit: CommitId) -> CommitId | Snapshot:
    """The moment of a later page, where the first one was of this commit. While it is held, or the
    head of the branch that was asked for, the rules of that branch go on."""
    if isinstance(asked, Snapshot) and asked.commit.id == commit:
        return asked
    if isinstance(asked, str) and not is_ulid(asked):
        with suppress(MissingError):
            head = engine.store.snapshot(BranchName(asked))
            if head.commit.id == commit:
                return head
    return commit


def names_commit(moment: object) -> bool:
    """True if a moment names one commit, and not a place on a branch."""
    return isinstance(moment, CommitInfo) or (isinstance(moment, str) and is_ulid(moment))


def _snapshot(store: GraphStore, request: Read) -> Snapshot:
    match request.moment:
        case Snapshot() as snapshot:
            if snapshot.branch != request.branch:
                _require_on_branch(store, snapshot.commit.id, request)
            return snapshot
        case None:
            return store.snapshot(request.branch)
        case moment:
            check_moment("snapshot", moment)
            commit = commit_at(store, moment, request.branch)
            if names_commit(moment) and request.is_branch_named:
                head = store.snapshot(request.branch)
                if head.commit.id == commit:
                    return head
            snapshot = store.snapshot_at(commit)
            if names_commit(moment):
                _require_on_branch(store, snapshot.commit.id, request)
            return snapshot


def _require_on_branch(store: GraphStore, commit: CommitId, request: Read) -> None:
    """Refuse a commit that the branch does not descend from; without a branch it means itself."""
    if not request.is_branch_named:
        return
    branch = request.branch
    history = store.history()
    head = next(history.line(branch)).id
    if commit != head and commit not in history.ancestors(head):
        raise ArgumentInvalid(
            argument="branch",
            value=branch,
            rule=f"commit {commit} is not on this branch",
            advice="leave out the branch: a commit is read wherever it was made",
        )


def commit_at(store: GraphStore, moment: object, branch: BranchName) -> CommitId:
    """The newest commit of the branch that is not after the moment; an id means itself."""
    match moment:
        case int() if not isinstance(moment, bool):
            newest = store.state(store.branches.resolve(branch)).version
            return _newest(store, branch, moment, lambda c: c.manifest_version <= moment <= newest)
        case date() if not isinstance(moment, datetime):
            midnight = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
            return commit_at(store, midnight, branch)
        case datetime():
            time_ms = _milliseconds(moment)
            return _newest(store, branch, moment, lambda c: c.created_at_ms <= time_ms)
        case CommitInfo(graph_commit_id=commit):
            return commit
        case str() if is_ulid(moment):
            return CommitId(moment)
        case str():
            return commit_at(store, _time(moment), branch)
        case _:
            raise AssertionError(f"{moment!r} was checked to be a moment")


def check_moment(argument: str, moment: object) -> None:
    """Refuse what names no commit. `argument` is what the caller calls it."""
    if isinstance(moment, bool) or not isinstance(moment, str | int | date | CommitInfo):
        rule = "it must be a commit, the id of a commit, a manifest version, or a time"
        raise ArgumentInvalid(argument=argument, value=str(moment), rule=rule)


def _newest(
    store: GraphStore,
    branch: BranchName,
    moment: int | datetime,
    is_not_after: Callable[[Commit], bool],
) -> CommitId:
    for commit in store.history().line(branch):
        if is_not_after(commit):
            return commit.id
    named = f"manifest version {moment}" if isinstance(moment, int) else moment.isoformat()
    raise MomentMissing(moment=named, branch=branch)


def _milliseconds(time: datetime) -> int:
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        # Neither: most likely an id that was cut short.
        raise CommitMissing(text) from None
