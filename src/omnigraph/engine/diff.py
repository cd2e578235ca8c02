"""Diff: what differs between two moments, and what one commit changed."""

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import (
    BranchMissing,
    ChangeDiffRefused,
    ChangeFeedGap,
    CommitMissing,
    CommitReclaimed,
    MissingError,
    StorageFailed,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.change_requests import CommitChanges, DiffRead
from omnigraph.engine.change_results import ChangeCause, CommitChangePage, Diff, ReadChanges
from omnigraph.engine.cursor import PageToken
from omnigraph.engine.engine import Engine
from omnigraph.engine.history import found_commit
from omnigraph.engine.messages import readable_message
from omnigraph.engine.requests import Moment, Read
from omnigraph.engine.travel import commit_at, names_commit
from omnigraph.merge.base import base_of
from omnigraph.read.changes.compare import Comparison
from omnigraph.read.changes.filter import ChangeFilter
from omnigraph.read.context import Budget
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "DEFAULT_PAGE",
    "Sides",
    "commit_changes",
    "compared",
    "comparison",
    "diff",
    "gap_where_rows_are_gone",
]

DEFAULT_PAGE = 1_000


@frozen
class Sides:
    """Two moments that are compared."""

    before: Snapshot
    after: Snapshot
    branches: tuple[BranchName, ...]
    """By whose rules both are read."""
    asked: tuple[CommitId, CommitId]
    """The commits that were named; `before` may be the merge base of the two."""


def diff(engine: Engine, request: DiffRead) -> Diff:
    """What turns one moment into another, as the caller may see both."""
    with compared(engine, request) as (found, _):
        return Diff.of(found)


@contextmanager
def compared(engine: Engine, request: DiffRead) -> Iterator[tuple[Comparison, Sides]]:
    """The two moments of a request side by side, while rows of them are read."""
    sides = _sides(engine, request)
    before, after = sides.before, sides.after
    with gap_where_rows_are_gone(before, after):
        budget = Budget(timeout_s=request.timeout_s, cancel=request.cancel)
        by = sides.branches
        yield comparison(engine, request, before, after, request.filter, by, budget), sides


def _sides(engine: Engine, request: DiffRead) -> Sides:
    engine.gate.allow(request)
    try:
        before, after = (_side(engine, request, moment) for moment in (request.from_, request.to))
    except CommitReclaimed as reclaimed:
        if reclaimed.by != "cleanup":
            raise
        raise ChangeFeedGap(first_unreadable_commit_id=reclaimed.commit) from reclaimed
    asked = before.commit.id, after.commit.id
    branches = tuple(dict.fromkeys((before.branch, after.branch)))
    if request.since_base:
        before = base_of(engine.store, before, after)
        # It may have been made on a third branch, and is read by its rules too.
        engine.gate.allow_origin(request, before.branch, asked=None)
        branches = tuple(dict.fromkeys((*branches, before.branch)))
    return Sides(before, after, branches, asked)


def commit_changes(engine: Engine, request: CommitChanges) -> CommitChangePage:
    """What a commit changed, against its first parent, a page at a time."""
    engine.gate.allow(request)
    store = engine.store
    commit = found_commit(engine, request, request.id)
    token = None
    if request.page_token is not None:
        token = PageToken.parse(request.page_token)
        token.check(graph=store.graph_id, commit=commit.id, filter_=request.filter)
    if commit.parent is None:
        raise ChangeDiffRefused(reason="parentless_commit", graph_commit_id=commit.id)
    try:
        before, after = store.snapshot_at(commit.parent), store.snapshot_at(commit.id)
    except CommitReclaimed as reclaimed:
        deleted = reclaimed.branch if reclaimed.by == "branch_delete" else None
        raise ChangeFeedGap(
            first_unreadable_commit_id=commit.id, deleted_branch=deleted
        ) from reclaimed
    with gap_where_rows_are_gone(before, after):
        compared = comparison(
            engine,
            request,
            before,
            after,
            request.filter,
            (commit.branch,),
            Budget(timeout_s=request.timeout_s, cancel=request.cancel),
        )
        page = compared.page(
            after=None if token is None else token.last,
            limit=DEFAULT_PAGE if request.limit is None else request.limit,
        )
        engine.places.keep(compared.before, compared.after, compared.found)
    more = None
    if page.last is not None:
        more = PageToken(store.graph_id, commit.id, request.filter, page.last).to_text()
    cause = ChangeCause.of(commit, readable_message(engine.gate, request.actor, commit))
    return CommitChangePage(cause, ReadChanges(page.tables), more)


def comparison(
    engine: Engine,
    request: Read,
    before: Snapshot,
    after: Snapshot,
    filter_: ChangeFilter,
    branches: tuple[BranchName, ...],
    budget: Budget,
) -> Comparison:
    """What the caller of the request may see of both moments by the rules of all these branches;
    of two schemas it is refused."""
    if before.schema_hash != after.schema_hash:
        culprit = _schema_commit(engine.store, before, after)
        raise ChangeDiffRefused(reason="schema_boundary", graph_commit_id=culprit)
    one, other = (engine.gate.view(snapshot, request, branches) for snapshot in (before, after))
    found = engine.places.get(one, other)
    return Comparison(one, other, filter_, found, engine.settings.read_limits, budget)


@contextmanager
def gap_where_rows_are_gone(
    before: Snapshot, after: Snapshot, *, cursor: str | None = None
) -> Iterator[None]:
    """Raise `ChangeFeedGap` for a failure to read rows that are not stored any more."""
    try:
        yield
    except StorageFailed as failure:
        for snapshot in (after, before):
            if not all(snapshot.is_stored(entity) for entity in snapshot.catalog.entities):
                gap = ChangeFeedGap(first_unreadable_commit_id=after.commit.id, cursor=cursor)
                raise gap from failure
        raise


def _side(engine: Engine, request: Read, moment: Moment | Snapshot) -> Snapshot:
    """The snapshot that is meant, if the actor may read its branch."""
    try:
        snapshot = _meant(engine.store, moment)
    except MissingError as missing:
        engine.gate.allow_on(request, MAIN)
        if isinstance(missing, BranchMissing):
            # As of one that is hidden: whether it is there can't be told from the answer.
            engine.gate.allow_on(request, missing.branch)
        raise
    if names_commit(moment):
        engine.gate.allow_commit(request, snapshot.commit.id, snapshot.branch)
    else:
        engine.gate.allow_origin(request, snapshot.branch, asked=moment)
    return snapshot


def _meant(store: GraphStore, moment: Moment | Snapshot) -> Snapshot:
    """A text is a commit, else a branch, else a time on main."""
    if isinstance(moment, Snapshot):
        return moment
    if isinstance(moment, str) and not is_ulid(moment):
        try:
            return store.snapshot(BranchName(moment))
        except BranchMissing as missing:
            try:
                return store.snapshot_at(commit_at(store, moment, MAIN))
            except CommitMissing:
                # It is no time either: most likely a branch that was misspelt.
                raise missing from None
    return store.snapshot_at(commit_at(store, moment, MAIN))


def _schema_commit(store: GraphStore, before: Snapshot, after: Snapshot) -> str:
    """The commit that brought the schema of the later side; of the earlier side, where the later
    one has the schema that the graph began with."""
    history = store.history()
    for side in (after, before):
        brought = side.commit
        for commit in history.line_of(side.commit.id):
            if commit.schema_hash != side.schema_hash:
                return brought.id
            brought = commit
    return after.commit.id
