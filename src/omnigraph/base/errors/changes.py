"""Changes that can't be followed: a cursor, a commit or a pair of moments that won't do."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from omnigraph.base.errors.tree import ConflictError, InputError

__all__ = ["ChangeCursorRejected", "ChangeDiffRefused", "ChangeFeedGap"]

CURSOR_ADVICE = {
    "torn": "pass the cursor whole, as it was handed out",
    "graph": "open the graph that it came from, or take a baseline of this one",
    "branch": "name the branch that it came from, or take a baseline of this one",
    "incarnation": "take a baseline of the branch that has this name now, and its cursor",
    "filter": "ask for the types, kinds and operations that it was made with",
    "position": "take a baseline, and go on with its cursor",
}


@dataclass(eq=False)
class ChangeCursorRejected(InputError):
    """A cursor or page token that does not fit what is asked; `reason` says in which way."""

    code: ClassVar[str] = "change_cursor_rejected"
    reason: Literal["torn", "graph", "branch", "incarnation", "filter", "position"]
    explanation: str

    def __str__(self) -> str:
        return f"the cursor can't be used here: {self.explanation}"

    @property
    def hint(self) -> str | None:
        return CURSOR_ADVICE[self.reason]


@dataclass(eq=False)
class ChangeFeedGap(ConflictError):
    """The rows of a commit, or those before it, are not stored any more."""

    code: ClassVar[str] = "change_feed_gap"
    first_unreadable_commit_id: str
    cursor: str | None = None
    """The last one that works; it stands just before the commit."""
    deleted_branch: str | None = None
    """The branch that the rows were deleted with; None: a cleanup has removed them."""

    def __str__(self) -> str:
        why = "were cleaned up"
        if self.deleted_branch is not None:
            why = f"were deleted with branch {self.deleted_branch}"
        return (
            f"what commit {self.first_unreadable_commit_id} changed can't be told: rows that it"
            f" replaced, or its own, {why}"
        )

    @property
    def hint(self) -> str | None:
        if self.deleted_branch is not None:
            return "look at the commit that merged the branch: omnigraph log --graph shows it"
        if self.cursor is None:
            return (
                "compare later moments: omnigraph log lists the commits, cleanup says which it kept"
            )
        return (
            "start anew: load a baseline (omnigraph changes baseline --out FILE) and go on with"
            " its cursor"
        )


@dataclass(eq=False)
class ChangeDiffRefused(InputError):
    """Two moments whose rows can't be laid side by side."""

    code: ClassVar[str] = "change_diff_refused"
    reason: Literal["parentless_commit", "schema_boundary"]
    graph_commit_id: str
    """The commit that stands in the way."""
    type_name: str | None = None

    def __str__(self) -> str:
        match self.reason:
            case "parentless_commit":
                why = "is the first of its graph: there is nothing to compare it with"
            case "schema_boundary":
                why = "brought another schema: rows before and after it can't be compared"
        return f"commit {self.graph_commit_id} {why}"

    @property
    def hint(self) -> str | None:
        if self.reason == "parentless_commit":
            return "a graph begins without rows: ask for the commits after it"
        return (
            "compare moments on one side of it; a feed goes on with a baseline, or with"
            f" start=after:{self.graph_commit_id} where the new schema was applied by hand"
        )
