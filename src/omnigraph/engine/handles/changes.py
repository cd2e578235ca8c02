"""`Followed`: the part of `Graph` that is about what changed."""

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnigraph.base.choices import ChangeOp, EntityKind
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.backend import Backend, engine_of
from omnigraph.engine.change_requests import Baseline, ChangesRead, CommitChanges, DiffRead
from omnigraph.engine.engine import Engine
from omnigraph.engine.handles.at import At, moment_of
from omnigraph.engine.requests import Moment, Target
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.travel import check_moment
from omnigraph.read.changes.filter import ChangeFilter
from omnigraph.store.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.engine.change_results import ChangeBaseline, ChangePage, CommitChangePage, Diff

__all__ = ["Followed"]

Kinds = Iterable[EntityKind] | EntityKind | None
Ops = Iterable[ChangeOp] | ChangeOp | None
"""One word may stand for a list of one word; None: all of them."""


class Followed:
    """Diffs of a graph, and its change feed."""

    backend: Backend

    @property
    def engine(self) -> Engine:
        """Of a graph that was opened here; for this package's own use."""
        return engine_of(self.backend)

    def diff(
        self,
        from_: Moment | At,
        to: Moment | At,
        *,
        since_base: bool = False,
        types: Iterable[str] | None = None,
        kinds: Kinds = None,
        ops: Ops = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "Diff":
        """What turns one moment into another: every row that differs, as it was and as it is.

        A moment is a branch (its head), a commit or its id, a time, or what `at` and `snapshot`
        hold; a time and a manifest version are of main. With `since_base` it is what changed in
        `to` since the two parted or were last merged, whatever `from_` has of its own. The result
        can be counted, shown, iterated and had as Arrow or a frame.
        """
        from omnigraph.engine.diff import diff

        request = DiffRead(
            from_=self._held("from_", from_),
            to=self._held("to", to),
            since_base=since_base,
            filter=ChangeFilter.of(types, kinds, ops),
            timeout_s=timeout_s,
            cancel=cancel,
            actor=self.backend.actor,
        )
        return self.backend.run(diff, request)

    def commit_changes(
        self,
        id: CommitId | CommitInfo | str,
        *,
        types: Iterable[str] | None = None,
        kinds: Kinds = None,
        ops: Ops = None,
        limit: int | None = None,
        page_token: str | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "CommitChangePage":
        """What a commit changed against its first parent, at most `limit` rows (1,000 if left out).

        The `next_page_token` of a page asks for the one after it.
        """
        from omnigraph.engine.diff import commit_changes

        request = CommitChanges(
            id=id.graph_commit_id if isinstance(id, CommitInfo) else CommitId(id),
            filter=ChangeFilter.of(types, kinds, ops),
            limit=limit,
            page_token=page_token,
            timeout_s=timeout_s,
            cancel=cancel,
            actor=self.backend.actor,
        )
        return self.backend.run(commit_changes, request)

    def changes(
        self,
        cursor: str | None = None,
        *,
        start: str = "now",
        branch: str = MAIN,
        types: Iterable[str] | None = None,
        kinds: Kinds = None,
        ops: Ops = None,
        limit: int | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "ChangePage":
        """What was published to a branch since a cursor, in blocks, one for each commit.

        Without a cursor it begins at `start`: `now`, `beginning` (from the first commit of the
        graph on) or `after:` and the id of a commit. Keep the `cursor` of each page, once its
        changes are applied, and ask again with it: every change comes exactly once. A cursor holds
        for its graph, its branch and the filter it was made with.
        """
        from omnigraph.engine.feed import changes

        request = ChangesRead(
            cursor=cursor,
            start=start,
            branch=BranchName(branch),
            filter=ChangeFilter.of(types, kinds, ops),
            limit=limit,
            timeout_s=timeout_s,
            cancel=cancel,
            actor=self.backend.actor,
        )
        return self.backend.run(changes, request)

    def changes_baseline(
        self,
        target: Target,
        *,
        branch: str = MAIN,
        types: Iterable[str] | None = None,
        kinds: Kinds = None,
        ops: Ops = None,
        overwrite: bool = False,
    ) -> "ChangeBaseline":
        """Write the rows of a branch as JSON lines, and give the cursor that goes on from there.

        `ops` choose among later changes; the rows to start from are all of the chosen types.
        """
        from omnigraph.engine.feed import baseline

        request = Baseline(
            target=target,
            branch=BranchName(branch),
            filter=ChangeFilter.of(types, kinds, ops),
            overwrite=overwrite,
            actor=self.backend.actor,
        )
        return self.backend.run(baseline, request)

    def _held(self, argument: str, moment: Moment | At) -> Moment | Snapshot:
        if not isinstance(moment, At):
            check_moment(argument, moment)
        held = moment_of(self.backend, moment)
        assert held is not None, "nothing is no moment"
        return held
