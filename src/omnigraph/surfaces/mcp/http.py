"""An agent over HTTP: each request by itself, answered with one JSON document.

Nothing is kept between requests: who asks is known from the token, and what they wrote from their
branch. So any server of a graph may answer the next one.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from omnigraph.base.frozen import frozen

__all__ = ["HttpAnswer", "answer_over_http"]

Message = MutableMapping[str, Any]

# The server that this runs in has its own limits and tokens.
SECURITY = TransportSecuritySettings(enable_dns_rebinding_protection=False)
TAKEN = {
    b"accept": b"application/json, text/event-stream",
    b"content-type": b"application/json",
}
"""There is one kind of answer, whatever else a client takes."""
NOT_KEPT = frozenset({b"content-encoding", b"content-length", b"transfer-encoding", *TAKEN})


@frozen
class HttpAnswer:
    status: int
    media_type: str
    body: bytes


async def answer_over_http(server: Server[Any], scope: Message, body: bytes) -> HttpAnswer:
    """What the server answers to a request, whose body was read already."""
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=SECURITY,
        max_request_body_size=max(len(body), 1),
    )
    headers = [(name, value) for name, value in scope["headers"] if name not in NOT_KEPT]
    headers += [*TAKEN.items(), (b"content-length", str(len(body)).encode())]
    out = _Out()
    async with manager.run():
        await manager.handle_request({**scope, "headers": headers}, _replayed(body), out.send)
    return HttpAnswer(out.status, out.media_type, bytes(out.body))


def _replayed(body: bytes) -> Callable[[], Awaitable[Message]]:
    """A body that is there, from a client that stays: whether it went is listened for elsewhere."""
    is_read = False

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            await anyio.sleep_forever()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


class _Out:
    """Takes an answer, whole."""

    def __init__(self) -> None:
        self.status = 500
        self.media_type = ""
        self.body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = {name.lower(): value for name, value in message.get("headers", ())}
            self.media_type = headers.get(b"content-type", b"").decode("latin-1")
        else:
            self.body += message.get("body", b"")
