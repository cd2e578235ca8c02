"""A server on a port of this machine, in a thread; and lines that answer anything."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import uvicorn

from omnigraph.surfaces.server.app import App
from tests.processes import PATIENCE_S


@contextmanager
def served(app: App, port: int = 0) -> Iterator[str]:
    """The URL of the server; port 0 is any that is free."""
    with socket.create_server(("127.0.0.1", port)) as line:
        config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[line])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{line.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)


@dataclass
class Line:
    """Answers each connection with the next of its answers, whatever is asked."""

    port: int
    answers: list[bytes | None]
    asked: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/graphs/people"


@contextmanager
def answering(*answers: bytes | None) -> Iterator[Line]:
    """A line that sends these bytes and hangs up; None: it hangs up at once."""
    with _listening() as (listener, start):
        line = Line(listener.getsockname()[1], [*answers])

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    line.asked.append(_request(connection))
                    if answer is not None:
                        connection.sendall(answer)

        start(serve)
        yield line


@contextmanager
def silent(tls: ssl.SSLContext | None = None) -> Iterator[Line]:
    """A line that takes what comes and says nothing, until it is hung up."""
    with _listening() as (listener, start):
        line = Line(listener.getsockname()[1], [])

        def serve() -> None:
            connection, _ = listener.accept()
            # A client that does not trust us hangs up in the middle of the greeting.
            with suppress(OSError), connection:
                if tls is not None:
                    tls.wrap_socket(connection, server_side=True).close()
                line.asked.append(_request(connection))
                connection.recv(1)

        start(serve)
        yield line


@contextmanager
def hurried(answer: bytes) -> Iterator[Line]:
    """A line that answers before anything was asked."""
    with _listening() as (listener, start):

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(answer)
                connection.recv(1 << 16)

        start(serve)
        yield Line(listener.getsockname()[1], [answer])


@contextmanager
def _listening() -> Iterator[tuple[socket.socket, Callable[[Callable[[], None]], None]]]:
    threads = []

    def start(serve: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=serve))
        threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        yield listener, start
        for thread in threads:
            thread.join(PATIENCE_S)


def _request(connection: socket.socket) -> bytes:
    """The request, to the end of its body."""
    connection.settimeout(PATIENCE_S)
    found = b""
    while b"\r\n\r\n" not in found:
        if not (piece := connection.recv(1 << 16)):
            return found
        found += piece
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(
        (int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-le")),
        0,
    )
    while len(body) < length and (piece := connection.recv(1 << 16)):
        body += piece
    return head + b"\r\n\r\n" + body
