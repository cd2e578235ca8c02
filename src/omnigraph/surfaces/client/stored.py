"""`ServedQueries`: the stored queries of a graph on a server, listed and run by the server itself.

They are run by the routes that every client has. So an actor may run them who may run nothing
else, and those that are hidden from the actor are not there.
"""

import threading
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import msgspec
import pyarrow as pa

from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.results import CommitInfo, MutationResult, QueryResult
from omnigraph.surfaces.client.exchange import Answer, Exchange, Message
from omnigraph.surfaces.crossing.calls import STORED, StoredFound, StoredRead
from omnigraph.surfaces.crossing.values import Unreadable, decoded, encoded, read_value

__all__ = ["SNAPSHOT_ID", "ServedQueries"]

ARROW = "application/vnd.apache.arrow.stream"
SNAPSHOT_ID = "omnigraph-snapshot-id"
IF_COMMIT = "Omnigraph-If-Graph-Commit"
REQUEST_ID = "Idempotency-Key"
REPEATED = "Idempotency-Replayed"
TIMEOUT = "Omnigraph-Timeout-Ms"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ServedQueries:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def found(self, branch: str) -> tuple[StoredFound, ...]:
        """Those that fit the schema of a branch and that the actor may run, by name."""
        body = encoded(StoredRead(branch=BranchName(branch)))
        message = Message(path=f"/calls/{STORED}", body=body, is_write=False)
        answer = self._exchange.ask(message)
        try:
            return decoded(tuple[StoredFound, ...], answer.body, is_lenient=True)
        except Unreadable as error:
            raise answer.unreadable(str(error)) from None

    def ask(
        self,
        name: str,
        params: Mapping[str, Any],
        *,
        branch: str | None,
        moment: str | None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryResult:
        """The rows of a query that reads."""
        headers = {"Accept": ARROW}
        if timeout_s is not None:
            headers[TIMEOUT] = str(max(round(timeout_s * 1000), 1))
        sent = {"params": params, "branch": branch, "snapshot": moment, "expect_mutation": False}
        answer = self._exchange.ask(_invocation(name, sent, headers=headers), cancel)
        try:
            table = pa.ipc.open_stream(answer.body).read_all()
            commit = answer.headers[SNAPSHOT_ID]
        # Arrow tells of bytes that are cut off, or are no message of its own, as an OSError.
        except (pa.ArrowException, OSError, KeyError) as error:
            raise answer.unreadable(f"it holds no rows ({error})") from error
        return QueryResult(name, CommitId(commit), table)

    def change(
        self,
        name: str,
        params: Mapping[str, Any],
        *,
        branch: str,
        message: str | None = None,
        if_commit: str | None = None,
        request_id: str | None = None,
    ) -> MutationResult:
        """What a query that changes the graph came to."""
        sent = {"params": params, "branch": branch, "expect_mutation": True}
        if message is not None:
            sent["message"] = message
        headers, below = {}, ""
        if if_commit is not None:
            headers, below = {IF_COMMIT: if_commit}, "/if-graph-commit"
        if request_id is not None:
            headers[REQUEST_ID] = request_id
        answer = self._exchange.ask(_invocation(name, sent, below, headers=headers, is_write=True))
        return _changed(answer)


def _invocation(
    name: str,
    sent: Mapping[str, Any],
    below: str = "",
    *,
    headers: Mapping[str, str],
    is_write: bool = False,
) -> Message:
    path = f"/queries/{quote(name, safe='')}{below}"
    return Message(path=path, body=msgspec.json.encode(sent), headers=headers, is_write=is_write)


def _changed(answer: Answer) -> MutationResult:
    """The result in the words of this side. The route tells a time in microseconds."""
    try:
        told = msgspec.json.decode(answer.body, type=dict[str, Any])
        if (commit := told.get("commit")) is not None:
            at = EPOCH + timedelta(microseconds=commit["created_at"])
            names = {field.name for field in fields(CommitInfo)}
            known = {name: each for name, each in commit.items() if name in names}
            told["commit"] = {**known, "created_at": {"~": "datetime", "of": at.isoformat()}}
        told["is_repeat"] = REPEATED.lower() in answer.headers
        result = read_value(MutationResult, told, is_lenient=True)
    except (msgspec.MsgspecError, Unreadable, KeyError, TypeError, OverflowError) as error:
        raise answer.unreadable(f"it tells of no change ({error})") from None
    assert isinstance(result, MutationResult)
    return result
