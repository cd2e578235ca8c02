"""A server on loopback that speaks the wire shapes of two providers, and fails as it is told to.

Its vectors are the mock provider's, so that a test knows which vector belongs to which text.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from omnigraph.embed.mock import Mock

KEY = "sk-SECRET"
WIDTH = 8

Document = dict[str, Any]


@dataclass
class Reply:
    """What the server does with one request, instead of answering it well."""

    status: int = 200
    document: Document | None = None
    headers: dict[str, str] = field(default_factory=dict)
    change: Callable[[Document], None] | None = None
    """Done to the good answer."""
    raw: bytes | None = None
    drops: bool = False
    """The connection ends without an answer."""
    trickles: Literal["", "head", "body"] = ""
    """This part comes one byte after the other, until the server is stopped."""
    stalls_after: int | None = None
    """After so many bytes of the body nothing more comes, until the server is stopped."""


@dataclass
class EmbedServer:
    url: str
    replies: deque[Reply] = field(default_factory=deque)
    """For the next requests; after them all are answered well."""
    requests: list[tuple[str, dict[str, str], Document]] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    bytes_sent: int = 0
    """Of heads and bodies."""
    max_characters: int | None = None
    """A request with a longer text is refused, as the provider would."""
    refused_with: int = 400

    def answer(self, path: str, headers: dict[str, str], document: Document) -> Reply:
        self.requests.append((path, headers, document))
        reply = self.replies.popleft() if self.replies else Reply()
        if self.max_characters is not None and max(map(len, texts(document))) > self.max_characters:
            return Reply(self.refused_with, _too_long(path, self.refused_with))
        if reply.status == 200 and reply.raw is None and reply.document is None:
            good = _gemini(document) if path.startswith("/v1beta/") else _openai(document)
            if "error" in good:
                return Reply(status=good["error"]["code"], document=good)
            if reply.change is not None:
                reply.change(good)
            reply.document = good
        return reply


def texts(document: Document) -> list[str]:
    """The texts of a request in either shape."""
    if "input" in document:
        found: list[str] = document["input"]
        return found
    return [request["content"]["parts"][0]["text"] for request in document["requests"]]


def _too_long(path: str, status: int) -> Document:
    if path.startswith("/v1beta/"):
        message = "The input token count (2600) exceeds the maximum number of tokens (2048)."
        return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    message = (
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens "
        "(9000 in your prompt; 0 for the completion)."
    )
    kind = {"type": "invalid_request_error", "param": None, "code": None}
    return {"error": {"message": message, **kind}}


def _vectors(texts: list[str], width: int) -> list[list[float]]:
    if not texts:
        return []
    made: list[list[float]] = Mock().embed(texts, purpose="row", width=width).tolist()
    return made


def _openai(document: Document) -> Document:
    data = [
        {"object": "embedding", "index": at, "embedding": vector}
        for at, vector in enumerate(_vectors(texts(document), document.get("dimensions", WIDTH)))
    ]
    return {"object": "list", "model": document["model"], "data": data, "usage": {}}


def _gemini(document: Document) -> Document:
    requests = document["requests"]
    if len(requests) > 100:
        message = "BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    vectors = _vectors(texts(document), requests[0]["outputDimensionality"])
    return {"embeddings": [{"values": [3 * n for n in vector]} for vector in vectors]}


@contextmanager
def embed_server() -> Iterator[EmbedServer]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server = EmbedServer(f"http://127.0.0.1:{http.server_port}")
    http.embed = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: EmbedServer = self.server.embed  # type: ignore[attr-defined]
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = server.answer(self.path, headers, document)
        if reply.drops:
            self.close_connection = True
            return
        body = reply.raw if reply.raw is not None else json.dumps(reply.document).encode()
        head = f"HTTP/1.1 {reply.status} Answer\r\n"
        for name, value in {**reply.headers, "Content-Length": str(len(body))}.items():
            head += f"{name}: {value}\r\n"
        head += "\r\n"
        self._send(head.encode(), server.stopped, slowly=reply.trickles == "head")
        if reply.stalls_after is not None:
            self._send(body[: reply.stalls_after], server.stopped, slowly=False)
            server.stopped.wait()
        else:
            self._send(body, server.stopped, slowly=reply.trickles == "body")
        self.close_connection = True

    def _send(self, data: bytes, stopped: threading.Event, *, slowly: bool) -> None:
        pieces = [data[at : at + 1] for at in range(len(data))] if slowly else [data]
        try:
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                self.server.embed.bytes_sent += len(piece)  # type: ignore[attr-defined]
                if slowly and stopped.wait(0.02):
                    return
        except OSError:
            return  # the client has gone

    def log_message(self, format: str, *args: object) -> None:
        pass
