"""Mutations that were made already: the same request id finds the commit of the first one.

A request that ended in an error has made no commit, so its id is free. The id of a commit serves as
the request id of the mutation that made it: `outcome_pending` names it, and the mutation can be
repeated with that name even if the first try had none.
"""

import hashlib
import json
from itertools import takewhile
from typing import Any

from omnigraph.base.errors import RequestIdReused
from omnigraph.engine.requests import Mutation
from omnigraph.engine.results import CommitInfo, MutationResult
from omnigraph.store.commits import REQUEST, Commit
from omnigraph.store.graph_store import GraphStore

__all__ = ["earlier", "kept_request", "repeated"]


def kept_request(
    request: Mutation, *, query_name: str, affected_nodes: int, affected_edges: int
) -> dict[str, str]:
    """What a commit keeps of its request, so that a repetition can be answered."""
    kept = {
        "id": request.request_id,
        "digest": _digest(request),
        "query_name": query_name,
        "affected_nodes": affected_nodes,
        "affected_edges": affected_edges,
    }
    return {REQUEST: json.dumps(kept, ensure_ascii=False)}


def earlier(store: GraphStore, request: Mutation) -> Commit | None:
    """The commit that an earlier request of this id has made on the branch, by the same actor."""
    if request.request_id is None:
        return None
    line = store.history().line(request.branch)
    mine = takewhile(lambda commit: commit.branch == request.branch, line)
    for commit in mine:
        kept = _kept(commit)
        if kept is None or commit.actor != request.actor:
            continue
        if request.request_id in (commit.id, kept["id"]):
            if kept["digest"] != _digest(request):
                raise RequestIdReused(request.request_id, commit.id)
            return commit
    return None


def repeated(request: Mutation, commit: Commit) -> MutationResult:
    """The result of the first request, told again."""
    kept = _kept(commit)
    assert kept is not None, "it was found by what it keeps"
    return MutationResult(
        query_name=kept["query_name"],
        branch=request.branch,
        affected_nodes=kept["affected_nodes"],
        affected_edges=kept["affected_edges"],
        actor_id=commit.actor,
        commit=CommitInfo.of(commit),
        is_repeat=True,
    )


def _kept(commit: Commit) -> dict[str, Any] | None:
    found: dict[str, Any] | None = json.loads(commit.extra.get(REQUEST, "null"))
    return found


def _digest(request: Mutation) -> str | None:
    """The same for the same question, with the same parameters in any order; None for parameters
    that no query can have."""
    try:
        params = json.dumps(request.params, sort_keys=True, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return None
    asked = "\0".join((request.source.text, request.name or "", params))
    return hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    """A parameter that JSON does not know: a date, bytes, an array."""
    as_list = getattr(value, "tolist", None)
    return as_list() if callable(as_list) else repr(value)
