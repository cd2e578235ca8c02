"""The gate: every use case asks it first, with the request, whether the caller may go on.

It keeps writes away from a handle that was opened to read, and asks the policy, if the graph was
opened with one: may this actor do this on this branch, and what may they see of it? No other module
decides who may do a thing, or see a row. With a policy and no actor the answer is no.
"""

from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple, Protocol

from omnigraph.base.errors import CommitMissing, PolicyDenied, ReadOnly, SparkNotAllowed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.guard import Guard, Writable
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.read.scope import Scope
from omnigraph.read.view import View
from omnigraph.store.snapshot import Snapshot

__all__ = ["RUN_SPARK", "SHOWS_MORE", "Action", "Asked", "Gate", "Where"]


RUN_SPARK = "run_spark"
"""The right to start Spark, whatever for. It is asked of main: Spark belongs to no branch."""
NOT_ALL = "it is for those who see everything"
SHOWS_MORE = "it would show rows that are hidden where they come from"


class Action(StrEnum):
    """What a request does, in the words of policies."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    ADMIN = "admin"

    @property
    def is_reading(self) -> bool:
        return self in (Action.READ, Action.EXPORT)


class Where(NamedTuple):
    """The branch that a request is about."""

    branch: BranchName
    target: BranchName | None = None
    """The branch that takes what the first one has."""


class Asked(Protocol):
    """What the gate knows of a request."""

    action: ClassVar[Action]

    @property
    def actor(self) -> str | None: ...

    @property
    def where(self) -> Where | None:
        """None: it is known when a commit is found, and `allow_on` is asked then."""


@frozen
class Gate:
    uri: str
    is_read_only: bool = False
    guard: Guard | None = None
    """None: there is no policy, and everybody may do and see everything."""
    may_run_spark: bool = True
    """False: no caller may start Spark."""

    def allow(self, request: Asked) -> None:
        """Return if the request may be carried out, and raise a `DeniedError` otherwise."""
        if self.is_read_only and not request.action.is_reading:
            raise ReadOnly(self.uri)
        if self.guard is not None and (where := request.where) is not None:
            self.guard.allow(request.actor, request.action, *where)

    def allow_spark(self, actor: str | None) -> None:
        """Return if the actor may start Spark, and raise a `DeniedError` otherwise."""
        if not self.may_run_spark:
            raise SparkNotAllowed
        if self.guard is not None:
            self.guard.allow(actor, RUN_SPARK, MAIN)

    def allows_spark(self, actor: str | None) -> bool:
        """True if the actor may start Spark."""
        return self.may_run_spark and (
            self.guard is None or self.guard.allows(actor, RUN_SPARK, MAIN)
        )

    def allow_on(self, request: Asked, branch: BranchName) -> None:
        """Return if the request may be carried out on this branch, which was found by a commit."""
        if self.guard is not None:
            self.guard.allow(request.actor, request.action, branch)

    def allow_commit(self, request: Asked, commit: CommitId, branch: BranchName) -> None:
        """The same of a commit that the caller has named. One of a hidden branch is missing."""
        if not self.knows(request.actor, branch):
            raise CommitMissing(commit)
        self.allow_on(request, branch)

    def allow_origin(self, request: Asked, branch: BranchName, *, asked: object) -> None:
        """The same of the branch on which a thing was made that was asked for by `asked`. A hidden
        branch that is another one stays unnamed."""
        try:
            self.allow_on(request, branch)
        except PolicyDenied as denied:
            if branch == asked or self.knows(request.actor, branch):
                raise
            reason = "it was made on a branch that may not be read"
            raise PolicyDenied(denied.action, denied.actor, reason=reason) from None

    def knows(self, actor: str | None, branch: BranchName) -> bool:
        """True if the actor may know that a branch is there: they may read it, or it is main."""
        if self.guard is None or branch == MAIN:
            return True
        return self.guard.allows(actor, Action.READ, branch)

    def allow_into(self, request: Asked, branch: BranchName, target: BranchName) -> None:
        """The same of a request that brings what one branch has to another."""
        if self.guard is not None:
            self.guard.allow(request.actor, request.action, branch, target)

    def allows(self, request: Asked, branch: BranchName) -> bool:
        """True if the request may be carried out on this branch."""
        return self.guard is None or self.guard.allows(request.actor, request.action, branch)

    def view(
        self, snapshot: Snapshot, request: Asked, branches: tuple[BranchName, ...] | None = None
    ) -> View:
        """What the request may see of a snapshot: by the rules of its branch, or of all these."""
        return View.of(snapshot, self._scope(snapshot, request, branches))

    def writable(self, snapshot: Snapshot, request: Asked) -> Writable | None:
        """What the request may write on the branch of a snapshot; None: everything.

        A merge is judged by the rules of `branch_merge`, every other write by those of `change`.
        """
        if self.guard is None:
            return None
        if request.action is Action.BRANCH_MERGE and request.where is not None:
            source = request.where.branch
            return self.guard.mergeable(snapshot, request.actor, source=source)
        return self.guard.changeable(snapshot, request.actor)

    def require_whole_sight(self, snapshot: Snapshot, request: Asked) -> None:
        """Raise where something is hidden from the actor: the request is about everything."""
        if self._scope(snapshot, request, None) is not None:
            raise PolicyDenied(request.action, request.actor, snapshot.branch, reason=NOT_ALL)

    def rules_that_would_not_fit(self, desired: Catalog) -> tuple[str, ...]:
        """The rules that name what another schema lacks: under it, nothing would be shown."""
        return () if self.guard is None else self.guard.rules_that_would_not_fit(desired)

    def require_no_wider_sight(self, snapshot: Snapshot, request: Asked, to: BranchName) -> None:
        """Raise where rules of another branch would show what those of the snapshot's own hide.

        The request brings its rows there: what is hidden would be in sight.
        """
        if self.guard is not None and self.guard.shows_more(snapshot, request.actor, on=to):
            raise PolicyDenied(
                request.action, request.actor, snapshot.branch, to, reason=SHOWS_MORE
            )

    def _scope(
        self, snapshot: Snapshot, request: Asked, branches: tuple[BranchName, ...] | None
    ) -> Scope | None:
        if self.guard is None:
            return None
        by = (snapshot.branch,) if branches is None else branches
        sees: Literal["read", "export"] = "export" if request.action is Action.EXPORT else "read"
        scope = self.guard.scope(snapshot, request.actor, sees, by)
        return None if scope.identity is None else scope
