"""`Caller`: an agent, the graph as it may use it, and the branches that it reads and writes.

An agent reads its base branch (main, unless told otherwise). What it writes goes to a branch of its
own, `agent/NAME/…`, which its first write makes at the head of the base; from then on it reads that
branch. So nothing that an agent does is on the base before somebody merges it.
"""

import hashlib
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import TypeVar

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchExists,
    BranchMissing,
    MissingError,
    OmnigraphError,
    PolicyDenied,
    ReadOnly,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.gate import Action
from omnigraph.engine.handles.graph import Graph
from omnigraph.engine.history import branch_delete
from omnigraph.engine.requests import BranchDelete
from omnigraph.engine.results import LoadResult, MutationResult
from omnigraph.surfaces.mcp.offered import Offered, nothing

__all__ = [
    "Allow",
    "Caller",
    "Limits",
    "Place",
    "Writing",
    "Written",
    "allow_all",
    "distinct_slug",
    "slug",
]

# A branch is called `agent/NAME-DIGEST/SESSION`: each fits into a name of 90 characters.
MAX_SLUG_CHARACTERS = 36
DIGEST_CHARACTERS = 8
MAX_TAKEN_AWAY = 4
"""So often a branch is made again that another call of the same agent took away."""

Written = TypeVar("Written", MutationResult, LoadResult)

Allow = Callable[[Action, str | None, str | None], None]
"""Raises if an action on a branch, with the target of a merge, is denied. The engine asks its
policy all the same; this is for what is known without it."""


@frozen
class Limits:
    """Of what goes to a model: its context is small, and all of it costs."""

    page_rows: int = 100
    max_page_rows: int = 1000
    page_bytes: int = 48_000
    """Of one page, as JSON: some 15,000 tokens."""
    max_answer_bytes: int = 1 << 20
    """Of what has no pages, such as a schema."""
    max_argument_bytes: int = 8 << 20
    """Of all arguments of a call. A larger load is one for the command line."""


@frozen(kw_only=True)
class Writing:
    """Where changes go."""

    name: str
    """Of the agent, as branches have it."""
    session: str
    """The last part of the name of its branch."""
    on: str | None = None
    """The branch to write instead."""
    is_any_branch: bool = False
    """A call may name any branch to write."""
    made: set[str] = field(default_factory=set, compare=False)
    """Branches that the agent has made: they are its own, too."""

    @property
    def prefix(self) -> str:
        return f"agent/{self.name}/"

    @property
    def own(self) -> str:
        return self.on or self.prefix + self.session

    def may_write(self, branch: str) -> bool:
        return (
            self.is_any_branch
            or branch == self.own
            or branch in self.made
            or branch.startswith(self.prefix)
        )

    def may_delete(self, branch: str) -> bool:
        """A branch that a person named to be written is not the agent's to delete."""
        return self.may_write(branch) and (self.is_any_branch or branch != self.on)


@frozen
class Place:
    """How a person names the graph on a command line."""

    words: tuple[str, ...]


def allow_all(action: Action, branch: str | None, target: str | None) -> None:
    return


@frozen(kw_only=True)
class Caller:
    graph: Graph
    """As the agent: who acts is set, and what is hidden from them is not in it."""
    place: Place
    base: str = MAIN
    writing: Writing | None = None
    """None: it reads, and nothing else."""
    offered: Offered = nothing
    """The stored queries that there are for this agent."""
    allow: Allow = allow_all
    timeout_s: float | None = None
    memory_bytes: int | None = None
    cancel: threading.Event = field(default_factory=threading.Event, compare=False)
    limits: Limits = field(default_factory=Limits)
    how_to_write: str = "start it with --write"
    """What whoever runs this has to do for an agent to write."""

    # Branches -------------------------------------------------------------------------------------

    def branch_to_read(self, asked: str | None) -> str:
        """The branch that a call names; else the agent's own, if it is there, else the base."""
        if asked is not None:
            return asked
        if self.writing is not None and self.has_branch(self.writing.own):
            return self.writing.own
        return self.base

    def branch_to_write(self, asked: str | None) -> str:
        writing = self.must_write()
        branch = asked or writing.own
        if not writing.may_write(branch):
            rule = f"your changes go to {writing.own}, and to branches that you made"
            advice = "leave out `branch`; when you are done, `propose` says how to merge it"
            raise ArgumentInvalid("branch", branch, rule, advice)
        return branch

    def must_write(self) -> Writing:
        if self.writing is None:
            raise ReadOnly("this graph")
        return self.writing

    def has_branch(self, branch: str) -> bool:
        try:
            self.graph.branch(branch)
        except (BranchMissing, PolicyDenied):
            return False
        return True

    def head(self, branch: str) -> CommitId | None:
        """The commit at which a branch is; None where it is not, or may not be read."""
        try:
            return CommitId(self.graph.snapshot(branch).graph_commit_id)
        except (MissingError, PolicyDenied):
            return None

    def may(self, action: Action, branch: str | None = None, target: str | None = None) -> bool:
        try:
            self.allow(action, branch, target)
        except PolicyDenied:
            return False
        return True

    def may_use(self, action: Action) -> bool:
        """True if there may be a branch on which the agent may do it: tools that do it are
        offered."""
        if action.is_reading:
            return True
        if self.writing is None:
            return False
        own, base = self.writing.own, self.base
        if action is Action.BRANCH_MERGE:
            return self.may(action, own, base)
        if action is Action.BRANCH_CREATE:
            return self.may(action, base, own)
        return self.may(action, own) or self.may(action, base)

    def write(
        self, branch: str, change: Callable[[str], Written], *, from_: str | None = None
    ) -> tuple[Written, bool]:
        """Write to a branch. One of the agent's own that is not there yet is made first, at `from_`
        or at the base; True if it was, and the write came to something.

        A write that fails, or that changes nothing, leaves no branch: reads would stay at the
        moment at which it was made. So it may take the branch away from another call of the same
        agent, which then makes it again.
        """
        writing = self.must_write()
        for _ in range(MAX_TAKEN_AWAY):
            try:
                return self._written(writing, branch, change, from_)
            except BranchMissing as missing:
                if missing.branch != branch or not branch.startswith(writing.prefix):
                    raise
        return self._written(writing, branch, change, from_)

    def _written(
        self, writing: Writing, branch: str, change: Callable[[str], Written], from_: str | None
    ) -> tuple[Written, bool]:
        is_made = branch.startswith(writing.prefix) and self._make(branch, from_ or self.base)
        before = self._untouched(branch) if is_made else None
        has_changed = False
        try:
            result = change(branch)
            has_changed = result.commit is not None
        finally:
            # What was written stands, and a write that failed is told as it failed: so an agent
            # that may not delete its branch hears of neither.
            if before is not None and not has_changed:
                with suppress(OmnigraphError):
                    self._unmake(branch, before)
        return result, is_made and has_changed

    def _make(self, branch: str, from_: str) -> bool:
        if self.has_branch(branch):
            return False
        # Of which branch a commit is, the engine finds out, and asks again.
        self.allow(Action.BRANCH_CREATE, None if is_ulid(from_) else from_, branch)
        try:
            self.graph.branch_create(branch, from_)
        except BranchExists as taken:
            if taken.existing != branch:
                raise
            return False
        return True

    def _untouched(self, branch: str) -> CommitId | None:
        """The commit at which a new branch began; None if somebody of the same name has written it
        already, so that it stays."""
        newest = self.graph.commits(branch, limit=1)
        if not newest or newest[0].graph_branch == branch:
            return None
        return newest[0].graph_commit_id

    def _unmake(self, branch: str, at: CommitId) -> None:
        """Delete a branch, if it is still at a commit: somebody of the same name may have written
        it meanwhile."""
        backend = self.graph.backend
        request = BranchDelete(branch=BranchName(branch), actor=backend.actor, if_commit=at)
        backend.run(branch_delete, request)


def slug(name: str | None, otherwise: str) -> str:
    """A name as a part of the name of a branch."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name or "").strip("-_")
    return plain[:MAX_SLUG_CHARACTERS].strip("-_") or otherwise


def distinct_slug(name: str, otherwise: str) -> str:
    """The same, other for each name: what it leaves out of a name a digest stands for."""
    plain = slug(name, otherwise)
    if plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:DIGEST_CHARACTERS]}"
