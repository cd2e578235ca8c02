"""An error becomes an answer: a status, the class of the error, and members to act on.

A failure of storage or a defect is reported in general words, with the id under which the log has
all of it. No error shows clients where the server keeps a graph.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import msgspec

from omnigraph.base.errors import (
    BlobChanged,
    ChangeDiffRefused,
    ChangeFeedGap,
    GraphMissing,
    HeadMoved,
    KeyTaken,
    LimitExceeded,
    MergeConflicts,
    MethodUnknown,
    OmnigraphError,
    PreconditionFailed,
    RangeOutside,
    ReadSetMoved,
    RecoveryRequired,
    RequestsTooMany,
    StorageError,
    Unauthorized,
)
from omnigraph.surfaces.crossing.errors import error_to_wire
from omnigraph.surfaces.server.models.errors import (
    BlobRangeOutput,
    ChangeDiffRefusalOutput,
    ChangeDiffRefusalReason,
    ChangeFeedGapOutput,
    ErrorCode,
    ErrorOutput,
    KeyConflictOutput,
    MergeConflictKindOutput,
    MergeConflictOutput,
    PreconditionFailureOutput,
    ReadSetConflictOutput,
    RecoveryRequiredOutput,
    ResourceLimitOutput,
)
from omnigraph.surfaces.server.models.numbers import EntityKindOutput
from omnigraph.surfaces.server.registry import ServedGraph
from omnigraph.surfaces.wire import http_status

__all__ = ["KindOf", "as_message", "defect_output", "error_headers", "error_output", "for_clients"]

CLASSES = {
    400: ErrorCode.BAD_REQUEST,
    401: ErrorCode.UNAUTHORIZED,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    408: ErrorCode.BAD_REQUEST,
    409: ErrorCode.CONFLICT,
    413: ErrorCode.BAD_REQUEST,
    415: ErrorCode.BAD_REQUEST,
    416: ErrorCode.BAD_REQUEST,
    429: ErrorCode.TOO_MANY_REQUESTS,
    500: ErrorCode.INTERNAL,
}
"""Other statuses say all by themselves: 410, 412 of a commit, 503."""

REFUSED = -32600
"""Of the protocol: the request was not taken."""
LESS = "send less in one call"

KindOf = Callable[[str], EntityKindOutput]
"""Whether a type of the graph is one of nodes or of edges."""


def for_clients(
    error: OmnigraphError, served: ServedGraph | None, *, called: str | None = None
) -> OmnigraphError:
    """The error with the address of the graph, or with what it is `called`, in place of where the
    server keeps it."""
    if served is None:
        return error
    name = called or served.address
    if isinstance(error, GraphMissing):
        return GraphMissing(name, is_served=True)
    changed = {}
    for each in fields(error):
        value = getattr(error, each.name)
        if isinstance(value, str) and (shown := _without(served.places, value, name)) != value:
            changed[each.name] = shown
    return replace(error, **changed) if changed else error


def _without(places: tuple[str, ...], text: str, name: str) -> str:
    for place in places:
        text = text.replace(place, name)
    return text


def error_output(
    error: OmnigraphError, *, request_id: str, kind_of: KindOf | None, is_for_us: bool = False
) -> tuple[int, ErrorOutput]:
    """The status and the body of an error; for our own client with the error itself."""
    status = http_status(error)
    code = CLASSES.get(status)
    if isinstance(error, BlobChanged):
        code = ErrorCode.CONFLICT
    if isinstance(error, StorageError) and status == 500:
        return status, _unspoken(error.code, request_id)
    body = ErrorOutput(
        error=error.message,
        code=code,
        details=_details(error),
        hint=error.hint,
        request_id=request_id,
        raised=error_to_wire(error) if is_for_us else None,
        **({} if is_for_us else _members(error, kind_of)),
    )
    return status, body


def defect_output(request_id: str) -> ErrorOutput:
    """A defect of ours: it is in the log, whole."""
    return _unspoken("internal", request_id)


def as_message(body: ErrorOutput) -> dict[str, Any]:
    """The same as an answer of the protocol of agents, whose clients show a model nothing else."""
    plain: dict[str, Any] = msgspec.to_builtins(body)
    hint = body.hint or (LESS if body.resource_limit is not None else None)
    said = f"{body.error}; {hint}" if hint else body.error
    error = {"code": REFUSED, "message": said, "data": plain}
    # Of which request it is was not read.
    return {**plain, "jsonrpc": "2.0", "id": None, "error": error}


def error_headers(error: OmnigraphError) -> dict[str, str]:
    match error:
        case Unauthorized():
            return {"WWW-Authenticate": 'Bearer realm="omnigraph"'}
        case MethodUnknown(allowed=allowed):
            return {"Allow": ", ".join(allowed)}
        case RangeOutside(size=size):
            return {"Content-Range": f"bytes */{size}"}
        case RequestsTooMany(retry_after_s=seconds):
            return {"Retry-After": str(seconds)}
        case _:
            return {}


def _unspoken(code: str, request_id: str) -> ErrorOutput:
    return ErrorOutput(
        error="the server could not carry this out",
        code=ErrorCode.INTERNAL,
        details={"code": code},
        hint=f"its log says why, under the request id {request_id}; look before you retry",
        request_id=request_id,
    )


def _details(error: OmnigraphError) -> dict[str, Any]:
    """The error's own, with its code. The code of a finding (`T5`, `P001`) is its `reason`."""
    details = error.details
    if "code" in details:
        details = {**details, "reason": details["code"]}
    # Text of clients may hold what JSON can't; the answer must be one all the same.
    return {**msgspec.to_builtins(details), "code": error.code}


def _members(error: OmnigraphError, kind_of: KindOf | None) -> dict[str, Any]:
    match error:
        case MergeConflicts(conflicts=conflicts):
            return {
                "merge_conflicts": [
                    MergeConflictOutput(
                        entity_kind=EntityKindOutput(conflict.entity_kind),
                        type_name=conflict.type_name,
                        kind=MergeConflictKindOutput(conflict.kind),
                        message=conflict.message,
                        entity_id=conflict.entity_id,
                        property=conflict.property,
                    )
                    for conflict in conflicts
                ]
            }
        case KeyTaken(violations=violations):
            first = violations.examples[0]
            if first.type_name is None or kind_of is None:
                return {}
            return {
                "key_conflict": KeyConflictOutput(
                    entity_kind=kind_of(first.type_name),
                    type_name=first.type_name,
                    entity_id=first.entity_id,
                )
            }
        case PreconditionFailed(expected=expected, actual=actual):
            failure = PreconditionFailureOutput(expected=expected, actual=actual)
            return {"precondition_failure": failure}
        case HeadMoved(branch=branch, expected=expected, actual=actual):
            moved = ReadSetConflictOutput(
                member=f"branch:{branch}", expected=expected, actual=actual
            )
            return {"read_set_conflict": moved}
        case ReadSetMoved(tables=tables):
            return {"read_set_conflict": ReadSetConflictOutput(member=", ".join(tables))}
        case ChangeFeedGap(first_unreadable_commit_id=commit, cursor=cursor):
            gap = ChangeFeedGapOutput(first_unreadable_commit_id=commit, cursor=cursor)
            return {"change_feed_gap": gap}
        case ChangeDiffRefused(reason=reason, graph_commit_id=commit, type_name=type_name):
            refusal = ChangeDiffRefusalOutput(
                reason=ChangeDiffRefusalReason(reason), graph_commit_id=commit, type_name=type_name
            )
            return {"change_diff_refusal": refusal}
        case RangeOutside(start=start, end=end, size=size):
            return {"blob_range": BlobRangeOutput(start=start, end=end, length=size)}
        case RecoveryRequired(sidecar=sidecar):
            return {"recovery_required": RecoveryRequiredOutput(operation_id=_name(sidecar))}
        case LimitExceeded(what=what, limit=int(limit), found=found):
            reached = max(limit if found is None else found, 0)
            limited = ResourceLimitOutput(resource=what, limit=max(limit, 0), actual=reached)
            return {"resource_limit": limited}
        case _:
            return {}


def _name(path: str) -> str:
    return path.rpartition("/")[2]
