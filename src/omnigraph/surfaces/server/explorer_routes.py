"""The routes of the Explorer: its page, for everybody, and what it asks of the server itself."""

from collections.abc import Callable
from typing import Any

import msgspec

import omnigraph
from omnigraph.base.errors import PathMissing
from omnigraph.surfaces.explorer.files import Bundle
from omnigraph.surfaces.server.access import INVOKE_QUERY
from omnigraph.surfaces.server.calls import Call, Reply, Whole
from omnigraph.surfaces.server.handlers import me, queries
from omnigraph.surfaces.server.models import requests
from omnigraph.surfaces.server.models.me import GraphMeOutput, IndexOutput, MeOutput
from omnigraph.surfaces.server.operations import GRAPH, READING, Operation

__all__ = ["explorer"]

EXPLORER = "/explore"
HTML = "text/html"
# Scripts and styles are files of ours. The editor writes styles of its own, and the layout of a
# picture runs in a worker that is made of text.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
RELOAD = "it is a file of another version of the Explorer: load the page again"
BUILD = "the page of the Explorer is not built: run make web, and start the server again"


def explorer(bundle: Bundle) -> tuple[Operation, ...]:
    page = {
        "method": "GET",
        "action": None,
        "is_public": True,
        "answer": str,
        "answer_types": (HTML,),
        "statuses": (304, 404),
    }
    return (
        _stored(),
        Operation(
            id="index",
            method="GET",
            path="/",
            summary="Lead a browser to the Explorer, and tell others what is where.",
            handler=_index(bundle),
            action=None,
            is_public=True,
            answer=IndexOutput,
            statuses=(302,),
        ),
        Operation(
            id="explore",
            path=EXPLORER,
            summary="The Explorer: a page that shows graphs to people.",
            handler=_sent(bundle),
            **page,  # type: ignore[arg-type]
        ),
        Operation(
            id="explore_path",
            path="/explore/{page}",
            summary="A file of the Explorer, or the page at one of its own paths.",
            handler=_sent(bundle),
            **page,  # type: ignore[arg-type]
        ),
        Operation(
            id="me",
            method="GET",
            path="/me",
            summary="Tell who asks, and what the server is.",
            handler=me.of_server,
            action=None,
            answer=MeOutput,
        ),
        Operation(
            id="graph_me",
            method="GET",
            path=f"{GRAPH}/me",
            summary="Tell who asks, and what they may do on each branch.",
            handler=me.of_graph,
            answer=GraphMeOutput,
            statuses=READING,
        ),
    )


def _stored() -> Operation:
    return Operation(
        id="answer_stored_query",
        method="POST",
        path=f"{GRAPH}/queries/{{name}}/answer",
        summary="Run a stored query that reads, and show its first rows and its graph.",
        handler=queries.answer_stored,
        action=INVOKE_QUERY,
        where=queries.where_of,
        body=requests.InvokeStoredQueryRequest | None,
        is_body_required=False,
        answer=Any,
        statuses=(*READING, 415),
    )


def _index(bundle: Bundle) -> Callable[[Call], Reply]:
    def handler(call: Call) -> Reply:
        vary = {"Vary": "Accept"}
        if bundle.is_built and HTML in call.headers.get("accept", ""):
            return Whole(b"", "", status=302, headers={**vary, "Location": EXPLORER})
        index = IndexOutput(
            name="omnigraph",
            version=omnigraph.__version__,
            explorer=EXPLORER,
            graphs="/graphs",
            documentation="/docs",
            openapi="/openapi.json",
        )
        return Whole(msgspec.json.encode(index), headers=vary)

    return handler


def _sent(bundle: Bundle) -> Callable[[Call], Reply]:
    def handler(call: Call) -> Reply:
        path = call.path.get("page", "")
        if (file := bundle.file(path)) is None:
            advice = RELOAD if bundle.is_built else BUILD
            raise PathMissing(f"/explore/{path}".removesuffix("/"), advice)
        kept = "public, max-age=31536000, immutable" if file.is_immutable else "no-cache"
        headers = {**HEADERS, "Cache-Control": kept, "ETag": file.etag}
        if file.etag in call.headers.get("if-none-match", ""):
            return Whole(b"", "", status=304, headers=headers)
        return Whole(file.body, file.media_type, headers=headers, may_be_packed=file.may_be_packed)

    return handler
