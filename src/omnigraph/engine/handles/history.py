"""`History`: the part of `Graph` that is about branches and commits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.backend import Backend
from omnigraph.engine.handles.at import At
from omnigraph.engine.handles.branch import Branch
from omnigraph.engine.handles.changes import Followed
from omnigraph.engine.requests import (
    BranchCreate,
    BranchDelete,
    BranchesRead,
    BranchRead,
    CommitRead,
    LogRead,
    Merge,
    Moment,
    Resolve,
    Revert,
)
from omnigraph.engine.results import CommitInfo, CommitList

if TYPE_CHECKING:
    from omnigraph.engine.log import Log
    from omnigraph.engine.merge_results import MergeResult, RevertResult
    from omnigraph.engine.review import Review

__all__ = ["History"]


class History(Followed):
    """Branches and commits of one graph, and what they changed."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        """For this package's own use."""

    def branch(self, name: str) -> Branch:
        """A handle of one branch, which must be there: `graph.branch("agent/1").mutate(…)`."""
        from omnigraph.engine.history import branch

        request = BranchRead(branch=BranchName(name), actor=self.backend.actor)
        return Branch(self.backend, self.backend.run(branch, request))

    def branches(self) -> list[str]:
        """The names of all branches, main first."""
        from omnigraph.engine.history import branches

        return self.backend.run(branches, BranchesRead(actor=self.backend.actor))

    def branch_create(
        self,
        name: str,
        from_: Moment | At = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
    ) -> None:
        """Make a branch at the head of another: instant, whatever the size of the graph.

        `from_` may also be any moment, as for `at`: a commit of whichever branch, or its id; a time
        or a manifest version of main. The branch then starts at that commit.

        It makes no commit: `actor` and `message` go to the gate and to the log.
        """
        from omnigraph.engine.history import branch_create

        request = BranchCreate(
            branch=BranchName(name),
            from_=from_.commit if isinstance(from_, At) else from_,
            actor=actor or self.backend.actor,
            message=message,
        )
        self.backend.run(branch_create, request)

    def branch_delete(
        self, name: str, *, actor: str | None = None, message: str | None = None
    ) -> None:
        """Remove a branch that no other was made from: gone at once, whole.

        It makes no commit: `actor` and `message` go to the gate and to the log.
        """
        from omnigraph.engine.history import branch_delete

        request = BranchDelete(
            branch=BranchName(name), actor=actor or self.backend.actor, message=message
        )
        self.backend.run(branch_delete, request)

    def branch_merge(
        self,
        source: str,
        into: str = MAIN,
        *,
        preview: bool = False,
        resolve: Resolve | None = None,
        delete: bool = False,
        actor: str | None = None,
        message: str | None = None,
        if_commit: CommitId | str | None = None,
        if_source_commit: CommitId | str | None = None,
    ) -> "MergeResult":
        """Bring what `source` changed since the two parted into `into`, as one commit.

        Raises `MergeConflicts` where both sides changed what only one of them can have; nothing is
        merged then. `resolve` takes a side: `"ours"` or `"theirs"` for all conflicts, or a list of
        choices, `{"type": "Person", "id": "ada", "property": "age", "take": "theirs"}`. With
        `preview` nothing moves, and the result tells the conflicts that are left. `delete` deletes
        the source afterwards. With `if_commit` and `if_source_commit` the two branches must show
        the rows of these commits, such as those that a preview named.
        """
        from omnigraph.engine.merge import merge

        request = Merge(
            source=BranchName(source),
            branch=BranchName(into),
            preview=preview,
            resolve=_held(resolve),
            delete=delete,
            actor=actor or self.backend.actor,
            message=message,
            if_commit=_commit_id(if_commit),
            if_source_commit=_commit_id(if_source_commit),
        )
        return self.backend.run(merge, request)

    def review(self, source: str, into: str = MAIN, *, resolve: Resolve | None = None) -> "Review":
        """What a merge of `source` into another branch would come to, without the rows.

        It tells the conflicts that are left, how many rows would change, the commits that come with
        it, and the heads of both branches: pass them to `branch_merge` as `if_source_commit` and
        `if_commit`, and what is merged is what was reviewed. `diff(into, source, since_base=True)`
        has the rows.
        """
        from omnigraph.engine.explore_requests import ReviewRead
        from omnigraph.engine.review import review

        chosen = _held(resolve)
        request = ReviewRead(
            source=BranchName(source),
            branch=BranchName(into),
            resolve=chosen if chosen is None or isinstance(chosen, str) else tuple(chosen),
            actor=self.backend.actor,
        )
        return self.backend.run(review, request)

    def revert(
        self,
        commit: CommitId | str | CommitInfo,
        branch: str = MAIN,
        *,
        preview: bool = False,
        resolve: Resolve | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: CommitId | str | None = None,
    ) -> "RevertResult":
        """Undo what one commit changed, as a new commit: the history keeps both.

        A merge is undone as far as it changed the branch that it went into. What was changed since
        is in conflict, told and resolved as in a merge: ours is the branch as it is, theirs what
        was there before the commit.
        """
        from omnigraph.engine.merge import revert

        id_ = commit.graph_commit_id if isinstance(commit, CommitInfo) else CommitId(commit)
        request = Revert(
            commit=id_,
            branch=BranchName(branch),
            preview=preview,
            resolve=_held(resolve),
            actor=actor or self.backend.actor,
            message=message,
            if_commit=_commit_id(if_commit),
        )
        return self.backend.run(revert, request)

    def commits(
        self, branch: str = MAIN, *, limit: int | None = None, actor: str | None = None
    ) -> CommitList:
        """The commits of a branch, newest first; with `actor`, only that actor's."""
        return Branch(self.backend, branch).commits(limit=limit, actor=actor)

    def log(self, branch: str | None = None, *, limit: int | None = None) -> "Log":
        """The commits of all branches or one, with those that were merged, and the heads.

        `omnigraph log --graph` draws it.
        """
        from omnigraph.engine.log import log

        request = LogRead(
            branch=BranchName(branch or MAIN),
            is_whole=branch is None,
            limit=limit,
            actor=self.backend.actor,
        )
        return self.backend.run(log, request)

    def commit(self, id: CommitId | str) -> CommitInfo:
        """One commit, of whichever branch."""
        from omnigraph.engine.history import commit

        return self.backend.run(commit, CommitRead(id=CommitId(id), actor=self.backend.actor))

    def snapshot(self, branch: str = MAIN) -> At:
        """The head of a branch, held still: `graph.snapshot().query(…)`."""
        return Branch(self.backend, branch).snapshot()

    def at(self, moment: Moment | At, branch: str | None = None) -> At:
        """The past, held still: `graph.at("2026-03-01").query(…)`.

        `moment` is a commit or its id, a manifest version (`graph_manifest_version` of a commit),
        or a time: the last commit of the branch at or before it counts. Text is an id or a time in
        ISO 8601. A branch that is not named is main, and a commit is then read wherever it was
        made.
        """
        return Branch(self.backend, branch).at(moment)


def _commit_id(given: str | None) -> CommitId | None:
    return None if given is None else CommitId(given)


def _held(resolve: Resolve | None) -> Resolve | None:
    """Choices that can be looked at more than once."""
    return [*resolve] if isinstance(resolve, Iterator) else resolve
