"""Requests to a server and its answers: what is tried again, and what each failure means.

A read that was not answered is sent again, a few times. A write never is: it may have been carried
out, and the error says so.
"""

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import Any

import omnigraph
from omnigraph.base.errors import (
    AnswerUnreadable,
    ArgumentInvalid,
    OmnigraphError,
    OutcomeUnknown,
    QueryCancelled,
    ServerFailed,
    ServerUnreachable,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.words import clipped
from omnigraph.surfaces.client.pool import Address, NotConnected, Pool
from omnigraph.surfaces.crossing.calls import OUR_CLIENT
from omnigraph.surfaces.crossing.errors import error_from_wire
from omnigraph.surfaces.crossing.values import Unreadable

__all__ = ["BYTES", "JSON", "NDJSON", "Answer", "Exchange", "Message", "error_in"]

JSON, NDJSON, BYTES = "application/json", "application/x-ndjson", "application/octet-stream"
TRIES = 3
"""Of a read."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
"""A server that asks for a longer one is not waited for."""
CHUNK_BYTES = 1 << 18
WATCH_S = 0.05
"""How often a query looks whether it was cancelled."""


@frozen(kw_only=True)
class Message:
    """A request, below the path of the graph."""

    path: str
    is_write: bool
    body: bytes | None = field(default=None, repr=False)
    method: str = "POST"
    body_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@frozen
class Answer:
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def unreadable(self, reason: str) -> AnswerUnreadable:
        return AnswerUnreadable(url=self.url, status=self.status, reason=reason)


class _Lost(Exception):
    """The answer, or a part of it, did not come."""

    def __init__(self, reason: str, *, was_sent: bool, is_hopeless: bool = False) -> None:
        super().__init__(reason)
        self.was_sent = was_sent
        self.is_hopeless = is_hopeless


class Exchange:
    """Asks one server. The token is in no text that this class makes."""

    def __init__(
        self,
        address: Address,
        *,
        token: str | None,
        timeout_s: float,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        _check_token(token)
        self.address = address
        self._pool = Pool(address, timeout_s=timeout_s)
        self.pause = pause
        self._always = {OUR_CLIENT: omnigraph.__version__, "Accept-Encoding": "identity"}
        if token is not None:
            self._always["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self._pool.close()

    def ask(self, message: Message, cancel: threading.Event | None = None) -> Answer:
        """The whole answer; raises what the server raised."""
        for number in range(1, TRIES + 1):
            is_last = message.is_write or number == TRIES
            try:
                answer = self._once(message, cancel)
            except _Lost as lost:
                if is_last or lost.is_hopeless:
                    raise self._failure(message, lost) from lost.__cause__
                pause_s = FIRST_PAUSE_S * 4 ** (number - 1)
            else:
                if answer.status < 400:
                    return answer
                asked_s = _retry_after_s(answer)
                if is_last or asked_s is None or asked_s > LONGEST_PAUSE_S:
                    raise _error_of(answer)
                pause_s = asked_s
            self.pause(pause_s)
        raise AssertionError("the last try returns or raises")

    def receive(self, message: Message, take: Callable[[bytes], None]) -> Answer:
        """An answer in pieces, as they come. It is asked for once; it is returned without them."""
        answer: Answer | None = None
        try:
            with self._response(message, None) as response:
                answer = _answer(self._url(message), response, b"")
                if answer.status >= 400:
                    raise _error_of(_answer(answer.url, response, response.read()))
                _check_status(answer)
                while piece := response.read(CHUNK_BYTES):
                    take(piece)
                return answer
        except _Lost as lost:
            if answer is not None:
                raise answer.unreadable(str(lost)) from lost.__cause__
            raise self._failure(message, lost) from lost.__cause__

    def _once(self, message: Message, cancel: threading.Event | None) -> Answer:
        with self._response(message, cancel) as response:
            answer = _answer(self._url(message), response, response.read())
        if answer.status < 400:
            _check_status(answer)
        return answer

    @contextmanager
    def _response(
        self, message: Message, cancel: threading.Event | None
    ) -> Iterator[http.client.HTTPResponse]:
        """The response, to be read to its end: then its connection is used again."""
        connection = self._connected()
        try:
            with _watched(connection.sock, cancel):
                response = self._sent(connection, message)
                yield response
                is_done = response.isclosed() and not response.will_close
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if cancel is not None and cancel.is_set():
                raise QueryCancelled(step="waiting for the server") from error
            raise _Lost(_reason(error), was_sent=True) from error
        except BaseException:
            connection.close()
            raise
        if is_done:
            self._pool.keep(connection)
        else:
            connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        try:
            return self._pool.take()
        except NotConnected as error:
            is_hopeless = isinstance(error.__cause__, ssl.SSLError | socket.gaierror)
            reason = _reason(error.__cause__)
            raise _Lost(reason, was_sent=False, is_hopeless=is_hopeless) from error.__cause__

    def _sent(
        self, connection: http.client.HTTPConnection, message: Message
    ) -> http.client.HTTPResponse:
        headers = {**self._always, **message.headers}
        if message.body is not None:
            headers["Content-Type"] = message.body_type
        path = self.address.path + message.path
        # A server that refuses a body answers before it has read it, and hangs up.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request(message.method, path, body=message.body, headers=headers)
        return connection.getresponse()

    def _failure(self, message: Message, lost: _Lost) -> OmnigraphError:
        if message.is_write and lost.was_sent:
            return OutcomeUnknown(url=self._url(message), reason=str(lost))
        return ServerUnreachable(url=self.address.url, reason=str(lost))

    def _url(self, message: Message) -> str:
        return self.address.url + message.path.partition("?")[0]


@contextmanager
def _watched(line: socket.socket, cancel: threading.Event | None) -> Iterator[None]:
    """Hang up when the caller cancels: the server then ends the query."""
    if cancel is None:
        yield
        return
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.wait(WATCH_S):
            if cancel.is_set():
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
                return

    watcher = threading.Thread(target=watch, name="omnigraph-cancel", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_done.set()
        watcher.join()


# Answers ------------------------------------------------------------------------------------------


def _answer(url: str, response: http.client.HTTPResponse, body: bytes) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(url, response.status, headers, body)


def _check_status(answer: Answer) -> None:
    if not 200 <= answer.status < 300:
        where = answer.headers.get("location")
        raise answer.unreadable(f"it sends on to {clipped(where)}" if where else "it is no answer")


def _error_of(answer: Answer) -> OmnigraphError:
    """What the server raised. A proxy, or a server that hides why it failed, says less."""
    try:
        found: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("error"), str):
        return answer.unreadable(f"it is no error of ours: {_beginning(answer.body)}")
    return error_in(found, url=answer.url, status=answer.status)


def error_in(found: Mapping[str, Any], *, url: str, status: int) -> OmnigraphError:
    """The error that an answer tells of."""
    try:
        return error_from_wire(found["raised"])
    except (KeyError, Unreadable, RecursionError):
        id_ = found.get("request_id")
        known = id_ if isinstance(id_, str) else None
        return ServerFailed(url, status, clipped(str(found.get("error"))), known)


def _beginning(body: bytes) -> str:
    return repr(clipped(" ".join(body[:200].decode(errors="replace").split())))


def _retry_after_s(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "")
    is_busy = answer.status in (429, 503)
    return float(text) if is_busy and text.isascii() and text.isdigit() else None


def _reason(error: BaseException | None) -> str:
    match error:
        case ssl.SSLCertVerificationError(verify_message=why):
            return f"its certificate is not trusted ({why})"
        case ssl.SSLError():
            return f"no TLS connection came about ({error.reason or error})"
        case TimeoutError():
            return "no answer came in time"
        case http.client.IncompleteRead():
            return "the answer was cut off"
        case http.client.RemoteDisconnected() | ConnectionResetError():
            return "the connection was closed before an answer came"
        case http.client.HTTPException():
            return "what came is no HTTP"
        case OSError(strerror=str() as why):
            return why
        case _:
            return str(error)


def _check_token(token: str | None) -> None:
    if token is None:
        return
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        # The token itself is not repeated.
        rule = "a token is a word of printable ASCII"
        raise ArgumentInvalid(argument="token", value=None, rule=rule)
