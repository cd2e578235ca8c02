"""Connections that send too much of a header, or too slowly, are closed before they cost anything.

uvicorn's parser has no limit for headers and no time for them. This is the one module that knows
uvicorn's inside.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from omnigraph.surfaces.server.limits import ServerLimits

__all__ = ["guarded"]


def guarded(limits: ServerLimits) -> type[HttpToolsProtocol]:
    """The protocol with these limits; uvicorn makes one for each connection."""

    class Guarded(HttpToolsProtocol):
        _deadline: asyncio.TimerHandle | None = None
        _is_in_headers = True
        _header_bytes = 0
        _ended = 0
        """Requests that came to their end."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_headers()

        def data_received(self, data: bytes) -> None:
            if self._is_in_headers and self._deadline is None:
                self._await_headers()  # the first byte of the next request
            ended = self._ended
            # The parser first: a body that came in the same packet is no header.
            super().data_received(data)
            is_all_header = self._is_in_headers and self._ended == ended
            if is_all_header and not self.transport.is_closing():
                self._header_bytes += len(data)
                if self._header_bytes > limits.max_header_bytes:
                    self._refuse(431, "the headers are too large")

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._is_in_headers = True

        def on_headers_complete(self) -> None:
            self._stop_waiting()
            self._is_in_headers = False
            self._header_bytes = 0
            size = sum(len(name) + len(value) for name, value in self.headers) + len(self.url)
            if size > limits.max_header_bytes:
                # They came in one packet, so they were not counted on the way.
                self._refuse(431, "the headers are too large")
                return
            is_upgrade = self.parser.should_upgrade()
            if is_upgrade and self._has_body():
                # The parser takes what follows for another protocol, and the body would be lost.
                self._refuse(400, "nothing is upgraded here; leave out the header Upgrade")
                return
            super().on_headers_complete()
            if is_upgrade and self.cycle is not None:
                self.cycle.keep_alive = False  # the parser reads no other request from here

        def on_body(self, body: bytes) -> None:
            if self.cycle is not None and not self.transport.is_closing():
                super().on_body(body)

        def on_message_complete(self) -> None:
            if self.cycle is not None and not self.transport.is_closing():
                super().on_message_complete()
            self._is_in_headers = True
            self._ended += 1

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, "this is no request of HTTP")

        def _await_headers(self) -> None:
            self._stop_waiting()
            self._deadline = self.loop.call_later(limits.header_timeout_s, self._give_up)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _has_body(self) -> bool:
            given = dict(self.headers)
            return b"transfer-encoding" in given or given.get(b"content-length", b"0") != b"0"

        def _give_up(self) -> None:
            self._deadline = None
            if self.cycle is not None and not self.cycle.response_complete:
                # The request before is being answered, and its answer must not be torn.
                self._await_headers()
                return
            self._refuse(408, "the headers did not come in time")

        def _refuse(self, status: int, reason: str) -> None:
            if self.transport.is_closing():
                return
            body = b'{"error":"%s","code":"bad_request"}' % reason.encode("ascii")
            head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n"
            self.transport.write(STATUS_LINE[status] + head % len(body) + b"\r\n" + body)
            self.transport.close()

    return Guarded
