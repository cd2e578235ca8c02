"""Travel: which commit of a branch a moment means.

A moment is a commit's id, a version of the branch's manifest, or a point in time. As text it is an
id or a time in ISO 8601; a time that names no zone is in UTC.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import ArgumentInvalid, CommitMissing, MomentMissing
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore

__all__ = ["Moment", "commit_at"]

Moment = CommitId | str | int | date

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def commit_at(store: GraphStore, moment: object, branch: BranchName) -> CommitId:
    """The newest commit of the branch that is not after the moment; an id means itself."""
    match moment:
        case int() if not isinstance(moment, bool):
            newest = store.state(store.branches.resolve(branch)).version
            return _newest(store, branch, moment, lambda c: c.manifest_version <= moment <= newest)
        case date() if not isinstance(moment, datetime):
            midnight = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
            return commit_at(store, midnight, branch)
        case datetime():
            time_ms = _milliseconds(moment)
            return _newest(store, branch, moment, lambda c: c.created_at_ms <= time_ms)
        case str() if is_ulid(moment):
            return CommitId(moment)
        case str():
            return commit_at(store, _time(moment), branch)
        case _:
            rule = "it is a commit, the id of one, a manifest version, or a time"
            raise ArgumentInvalid(argument="snapshot", value=str(moment), rule=rule)


def _newest(
    store: GraphStore,
    branch: BranchName,
    moment: int | datetime,
    is_not_after: Callable[[Commit], bool],
) -> CommitId:
    for commit in store.line(branch):
        if is_not_after(commit):
            return commit.id
    named = f"manifest version {moment}" if isinstance(moment, int) else moment.isoformat()
    raise MomentMissing(moment=named, branch=branch)


def _milliseconds(time: datetime) -> int:
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        # Neither: most likely an id that was cut short.
        raise CommitMissing(text) from None
