"""The change feed: what was published to a branch, commit by commit, from a cursor on.

Commits stand on the branch's own line: a merge is one commit, compared with its first parent. A
branch's line is never rewritten, so a cursor, which says how far a consumer got on it, means the
same for ever: every change after it comes exactly once.
"""

from dataclasses import replace

from omnigraph.base.errors import (
    ArgumentInvalid,
    ChangeCursorRejected,
    ChangeDiffRefused,
    ChangeFeedGap,
    CommitReclaimed,
)
from omnigraph.base.ids import CommitId
from omnigraph.engine.change_requests import Baseline, ChangesRead
from omnigraph.engine.change_results import (
    ChangeBaseline,
    ChangeBlock,
    ChangeCause,
    ChangePage,
    ReadChanges,
)
from omnigraph.engine.cursor import Cursor
from omnigraph.engine.diff import DEFAULT_PAGE, comparison, gap_where_rows_are_gone
from omnigraph.engine.engine import Engine
from omnigraph.engine.export import export
from omnigraph.engine.messages import readable_message
from omnigraph.engine.requests import Export
from omnigraph.read.changes.compare import Page
from omnigraph.read.context import Budget
from omnigraph.store.branches import Branch
from omnigraph.store.commits import Commit
from omnigraph.store.snapshot import Snapshot

__all__ = ["baseline", "changes"]

NOW, BEGINNING, AFTER = "now", "beginning", "after:"

MAX_COMMITS = 1_000
"""A page looks at no more commits, so that a poll with a narrow filter ends."""


def changes(engine: Engine, request: ChangesRead) -> ChangePage:
    """The next page of what was published to a branch."""
    engine.gate.allow(request)
    branch = engine.store.branches.resolve(request.branch)
    cursor = None
    if request.cursor is not None:
        cursor = Cursor.parse(request.cursor)
        cursor.check(graph=engine.store.graph_id, branch=branch, filter_=request.filter)
    after, pending = _pending(engine, request, cursor)
    if cursor is None:
        cursor = _cursor_at(engine, request, branch, after)
    return _Reader(engine, request, cursor).page(pending)


def baseline(engine: Engine, request: Baseline) -> ChangeBaseline:
    """Export the head of a branch, and give the cursor of what comes after it."""
    engine.gate.allow(request)
    branch = engine.store.branches.resolve(request.branch)
    snapshot = engine.store.snapshot(request.branch)
    catalog = engine.gate.view(snapshot, request).catalog
    types = frozenset(str(entity.name) for entity in request.filter.entities(catalog))
    exported = export(
        engine,
        Export(
            target=request.target,
            types=types,
            overwrite=request.overwrite,
            branch=request.branch,
            moment=snapshot,
            actor=request.actor,
        ),
    )
    cursor = _cursor_at(engine, request, branch, snapshot.commit.id)
    return ChangeBaseline(snapshot.commit.id, cursor.to_text(), exported)


def _cursor_at(
    engine: Engine, request: ChangesRead | Baseline, branch: Branch, after: CommitId
) -> Cursor:
    store, filter_ = engine.store, request.filter
    if store.branches.resolve(branch.name) != branch:
        # Made again while we read: the cursor would be of one branch and the rows of another.
        raise ChangeCursorRejected(
            reason="incarnation",
            explanation=f"branch {branch.name} was deleted and made again meanwhile",
        )
    filter_.entities(engine.gate.view(store.snapshot(branch.name), request).catalog)
    return Cursor(store.graph_id, branch.name, branch.incarnation, filter_, after)


class _Reader:
    """Reads one page, from a cursor on."""

    def __init__(self, engine: Engine, request: ChangesRead, cursor: Cursor) -> None:
        self._engine = engine
        self._request = request
        self._cursor = cursor
        self._budget = Budget(timeout_s=request.timeout_s, cancel=request.cancel)
        self._blocks: list[ChangeBlock] = []
        self._left = DEFAULT_PAGE if request.limit is None else request.limit
        self._left_bytes = engine.settings.read_limits.max_page_bytes

    def page(self, pending: list[Commit]) -> ChangePage:
        """The changes of these commits, as many as a page holds."""
        if pending:
            before, first = self._start(pending[0]), self._cursor
            for commit in pending[:MAX_COMMITS]:
                if self._budget.is_spent and self._cursor != first:
                    # A page that ends early is a page: the next one goes on from its cursor.
                    break
                try:
                    after = self._take(before, commit)
                except (ChangeDiffRefused, ChangeFeedGap):
                    # First what comes before it; the next page says so.
                    if not self._blocks:
                        raise
                    return self._ended(caught_up=False)
                if self._cursor.within is not None or self._left == 0 or self._left_bytes <= 0:
                    break
                before = after
        return self._ended(caught_up=not pending or self._cursor.after == pending[-1].id)

    def _start(self, next_: Commit) -> Snapshot:
        """The rows that the next commit is compared with."""
        try:
            return self._engine.store.snapshot_at(self._cursor.after)
        except CommitReclaimed as reclaimed:
            raise ChangeFeedGap(
                first_unreadable_commit_id=next_.id, cursor=self._cursor.to_text()
            ) from reclaimed

    def _take(self, before: Snapshot, commit: Commit) -> Snapshot:
        """Add what a commit changed, and move the cursor behind it, or into it."""
        if commit.schema_hash != before.schema_hash:
            raise ChangeDiffRefused(reason="schema_boundary", graph_commit_id=commit.id)
        after = before.followed_by(commit)
        page = self._read(before, after)
        if page.tables:
            self._blocks.append(self._block(commit, page))
            self._left -= page.rows
            self._left_bytes -= page.bytes
        if page.last is not None:
            self._cursor = replace(self._cursor, within=page.last)
        else:
            self._cursor = replace(self._cursor, after=commit.id, within=None)
        return after

    def _block(self, commit: Commit, page: Page) -> ChangeBlock:
        message = readable_message(self._engine.gate, self._request.actor, commit)
        return ChangeBlock(ChangeCause.of(commit, message), ReadChanges(page.tables))

    def _read(self, before: Snapshot, after: Snapshot) -> Page:
        newest = self._engine.store.snapshot(self._request.branch)
        newest = self._engine.gate.view(newest, self._request).snapshot
        filter_ = self._request.filter.as_named_in(after.catalog, by=newest.catalog)
        # What was done before the branch was made was done on another.
        self._engine.gate.allow_origin(
            self._request, after.commit.branch, asked=self._request.branch
        )
        if after.commit.kind.keeps_rows:
            return Page((), None)
        with gap_where_rows_are_gone(before, after, cursor=self._cursor.to_text()):
            branches = tuple(dict.fromkeys((self._request.branch, after.commit.branch)))
            compared = comparison(
                self._engine, self._request, before, after, filter_, branches, self._budget
            )
            page = compared.page(
                after=self._cursor.within, limit=self._left, limit_bytes=self._left_bytes
            )
        self._engine.places.keep(compared.before, compared.after, compared.found)
        return page

    def _ended(self, *, caught_up: bool) -> ChangePage:
        is_within = self._cursor.within is not None
        return ChangePage(tuple(self._blocks), self._cursor.to_text(), caught_up, is_within)


# Where to begin -----------------------------------------------------------------------------------


def _pending(
    engine: Engine, request: ChangesRead, cursor: Cursor | None
) -> tuple[CommitId, list[Commit]]:
    """The commit to begin after, and the commits of the branch's line after it, oldest first."""
    history = engine.store.history()
    line = history.line(request.branch)
    if cursor is None and request.start == NOW:
        return next(line).id, []
    if cursor is None and request.start == BEGINNING:
        # The first commit of a graph has no rows: they all come after it.
        *later, first = line
        return first.id, later[::-1]
    after = cursor.after if cursor is not None else CommitId(request.start.removeprefix(AFTER))
    pending: list[Commit] = []
    for commit in line:
        if commit.id == after:
            return after, pending[::-1]
        pending.append(commit)
    if cursor is not None:
        raise ChangeCursorRejected(
            reason="position",
            explanation=f"commit {after} is not on the line of branch {request.branch}",
        )
    history.get(after)  # missing altogether?
    raise ArgumentInvalid(
        argument="start",
        value=request.start,
        rule=f"commit {after} is not on the line of branch {request.branch}",
        advice=f"take one of: omnigraph commit list --branch {request.branch}",
    )
