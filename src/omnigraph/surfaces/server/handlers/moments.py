"""Which branch, and which moment of it, a request is about."""

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import RequestMalformed
from omnigraph.base.ids import MAIN

__all__ = ["branch_and_moment", "or_main"]


def branch_and_moment(branch: str | None, snapshot: str | None) -> tuple[str | None, str | None]:
    """Both as the engine takes them; refuses a branch beside a commit, which is of no branch."""
    if branch is not None and snapshot is not None and is_ulid(snapshot):
        rule = "a commit is of no branch: give a branch or a snapshot, not both"
        raise RequestMalformed("snapshot", rule)
    return branch, snapshot


def or_main(branch: str | None) -> str:
    """The branch that is named. A name without a letter names none, and is not main."""
    return MAIN if branch is None else branch
