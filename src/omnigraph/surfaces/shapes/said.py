"""Errors, events and commits: shapes that many commands print."""

from typing import Any, Literal, NotRequired, TypedDict

__all__ = [
    "Commit",
    "Commits",
    "Failure",
    "Log",
    "LostCondition",
    "ProgressEvent",
    "Row",
    "TargetEvent",
]

Row = dict[str, Any]
"""Values by name, as JSON has them."""


class LostCondition(TypedDict):
    """The commit that a branch should be at, and the one that it is at."""

    expected: str
    actual: str


class Failure(TypedDict):
    """What every command prints instead of its answer, if it fails. The code is stable."""

    error: str
    code: str
    details: dict[str, Any]
    hint: str | None
    precondition_failure: NotRequired[LostCondition]


class TargetEvent(TypedDict):
    """Which graph is written: a line on standard error, before the write."""

    event: Literal["target"]
    uri: str
    branch: str | None


class ProgressEvent(TypedDict):
    """How far work is: a line on standard error. A total of 0 is unknown."""

    event: Literal["progress"]
    phase: str
    done: int
    total: int


class Commit(TypedDict):
    """A commit. `drops`: what a change of schema dropped, and how (soft or hard)."""

    graph_commit_id: str
    graph_branch: str
    graph_manifest_version: int
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    actor_id: str | None
    created_at: str
    kind: str
    message: str | None
    load_id: str | None
    drops: dict[str, str]


class Commits(TypedDict):
    """The commits of a branch, newest first."""

    commits: list[Commit]


class Log(TypedDict):
    """The commits of all branches, newest first, and the head of each branch."""

    commits: list[Commit]
    branches: dict[str, str]
