"""Calls of our own client: a request as the engine takes it, a result as the engine gives it."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar
from urllib.parse import quote

from omnigraph.base.errors import RequestMalformed
from omnigraph.engine.blob import find_blob
from omnigraph.engine.change_requests import Baseline
from omnigraph.engine.export import export as export_use_case
from omnigraph.engine.feed import baseline as baseline_use_case
from omnigraph.engine.load.load import load as load_use_case
from omnigraph.engine.query import ask
from omnigraph.engine.requests import Ask, BlobRead
from omnigraph.engine.schema_apply import schema_apply
from omnigraph.engine.signatures import query_text
from omnigraph.surfaces.crossing.calls import (
    NOT_SENT,
    QUERY_NAME,
    BaselineLines,
    BlobFound,
    ExportLines,
    LoadLines,
    RemoteCall,
    StoredFound,
    StoredRead,
)
from omnigraph.surfaces.crossing.rows import rows_to_wire
from omnigraph.surfaces.crossing.values import Unreadable, decoded, encoded
from omnigraph.surfaces.named_lines import NamedLines
from omnigraph.surfaces.server.access import Where
from omnigraph.surfaces.server.calls import ARROW, NDJSON, Call, Pulled, Pushed, Reply, Sink, Whole
from omnigraph.surfaces.server.decode import decode_json
from omnigraph.surfaces.server.handlers.queries import offered
from omnigraph.surfaces.server.handlers.writes import no_declared_schema
from omnigraph.surfaces.server.rows import SNAPSHOT_ID, arrow_pieces, refuse_too_large

__all__ = [
    "baseline",
    "blob",
    "carried_out",
    "export",
    "has_preview",
    "load",
    "query",
    "stored_queries",
]

T = TypeVar("T")


def carried_out(remote: RemoteCall) -> Callable[[Call], Reply]:
    """The handler of a call whose request and result are sent as they are."""

    def handler(call: Call) -> Reply:
        request = _request(call, remote.request)
        if has_preview(remote.request) and not request.preview:
            call.access.allow(call.actor, request.action, Where())
        if remote.use_case is schema_apply:
            no_declared_schema(call)
        return Whole(encoded(call.graph.backend.run(remote.use_case, request)))

    return handler


def has_preview(request: type[Any]) -> bool:
    """True if a request of this kind may ask what a write would do."""
    return any(field.name == "preview" for field in fields(request))


def query(call: Call) -> Reply:
    """Rows as Arrow, whatever else the client takes."""
    result = call.graph.backend.run(ask, _request(call, Ask))
    call.notes.update({"query": result.query_name, "rows": len(result)})
    refuse_too_large(call, result.to_arrow())
    headers = {SNAPSHOT_ID: result.graph_commit_id, QUERY_NAME: quote(result.query_name)}
    return Pulled(arrow_pieces(rows_to_wire(result)), ARROW, headers=headers)


def load(call: Call) -> Reply:
    head, _, rows = call.body.partition(b"\n")
    asked = _decoded(head, LoadLines)
    lines = NamedLines(rows, asked.source_name)
    result = call.graph.backend.run(load_use_case, asked.load(lines, actor=_actor(call)))
    call.notes["rows"] = result.total_entities
    return Whole(encoded(result))


def export(call: Call) -> Reply:
    asked = _decoded(call.body, ExportLines)

    def produce(sink: Sink) -> Any:
        return call.graph.backend.run(export_use_case, asked.export(sink, actor=_actor(call)))

    return _lines(produce)


def baseline(call: Call) -> Reply:
    asked = _decoded(call.body, BaselineLines)

    def produce(sink: Sink) -> Any:
        request = Baseline(
            target=sink, branch=asked.branch, filter=asked.filter, actor=_actor(call)
        )
        return call.graph.backend.run(baseline_use_case, request)

    return _lines(produce)


def _lines(produce: Callable[[Sink], Any]) -> Pushed:
    """Lines, and the result as the last one: without it a client knows that the answer is torn."""

    def written(sink: Sink) -> None:
        sink.write(encoded(produce(sink)) + b"\n")

    return Pushed(written, NDJSON)


def blob(call: Call) -> Reply:
    found = call.graph.backend.run(find_blob, _request(call, BlobRead))
    return Whole(encoded(BlobFound(**{f.name: getattr(found, f.name) for f in fields(BlobFound)})))


def stored_queries(call: Call) -> Reply:
    """Those that the actor may run; they are run by the same routes as anybody's."""
    asked = _decoded(call.body, StoredRead)
    found = [
        StoredFound(each, query_text(call.of.queries.source(each.name), each.name))
        for each in offered(call, call.graph.schema(asked.branch))
    ]
    return Whole(encoded(found))


# Requests -----------------------------------------------------------------------------------------


def _request(call: Call, kind: type[T]) -> T:
    """The request of the body, by the actor of the token, within the limits of the call."""
    request: Any = _decoded(call.body, kind)
    names = {field.name for field in fields(request)}
    known = {"timeout_s": call.timeout_s, "memory_bytes": call.memory_bytes}
    limits = {name: _least(getattr(request, name), known[name]) for name in known.keys() & names}
    if "cancel" in names:
        limits["cancel"] = call.cancel
    limited: T = replace(request, actor=_actor(call), **limits)
    return limited


def _decoded(body: bytes, kind: type[T]) -> T:
    members = decode_json(body, dict)
    if given := NOT_SENT & members.keys():
        raise RequestMalformed("body", f"there is no member {min(given)}")
    try:
        return decoded(kind, body)
    except Unreadable as error:
        raise RequestMalformed("body", str(error)) from None


def _actor(call: Call) -> str | None:
    return call.graph.backend.actor


def _least(*limits: Any) -> Any:
    return min((limit for limit in limits if limit is not None), default=None)
