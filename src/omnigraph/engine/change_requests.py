"""Requests for what has changed: between two moments, by a commit, on a branch since a cursor."""

import threading
from typing import ClassVar

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.engine.arguments import check_cancel, check_limit
from omnigraph.engine.gate import Action
from omnigraph.engine.requests import Moment, OfCommits, Read, Target
from omnigraph.read.changes.filter import EVERYTHING, ChangeFilter
from omnigraph.store.snapshot import Snapshot

__all__ = ["Baseline", "ChangesRead", "CommitChanges", "DiffRead"]

MAX_PAGE_CHANGES = 100_000
"""A caller who wants more asks again: a page is held in memory, both images of each row."""


@frozen(kw_only=True)
class DiffRead(OfCommits):
    """What differs from one moment to another. Text may also be the name of a branch."""

    from_: Moment | Snapshot
    to: Moment | Snapshot
    since_base: bool = False
    """Begin at the merge base of the two: what a merge would look at."""
    filter: ChangeFilter = EVERYTHING
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)


@frozen(kw_only=True)
class CommitChanges(OfCommits):
    """What a commit changed, against its first parent."""

    id: CommitId
    filter: ChangeFilter = EVERYTHING
    limit: int | None = None
    page_token: str | None = None
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        _check_page(self.limit)
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)


@frozen(kw_only=True)
class ChangesRead(Read):
    """What was published to a branch since a cursor, or since a start."""

    cursor: str | None = None
    start: str = "now"
    filter: ChangeFilter = EVERYTHING
    limit: int | None = None
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        _check_page(self.limit)
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        if self.start not in ("now", "beginning") and not str(self.start).startswith("after:"):
            raise ArgumentInvalid(
                argument="start",
                value=str(self.start),
                rule="it must be now, beginning, or after: and the id of a commit",
                advice="omnigraph commit list shows commits",
            )
        if self.cursor is not None and self.start != "now":
            rule = "a cursor is a start already: pass one of them"
            raise ArgumentInvalid(argument="start", value=self.start, rule=rule)


@frozen(kw_only=True)
class Baseline(Read):
    """The rows of a branch's head, and the cursor that goes on from there."""

    action: ClassVar[Action] = Action.EXPORT

    target: Target
    filter: ChangeFilter = EVERYTHING
    overwrite: bool = False


def _check_page(limit: object) -> None:
    is_count = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and not (is_count and 1 <= limit <= MAX_PAGE_CHANGES):  # type: ignore[operator]
        rule = f"a page has 1 to {MAX_PAGE_CHANGES:,} changes"
        raise ArgumentInvalid(argument="limit", value=str(limit), rule=rule)
