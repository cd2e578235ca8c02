"""Connections to one server, kept open between requests. Any thread may use the pool."""

import http.client
import select
import ssl
import threading
import weakref
from urllib.parse import quote, urlsplit

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen

__all__ = ["Address", "NotConnected", "Pool"]

CONNECT_TIMEOUT_S = 10.0
"""A server that is there answers a connection at once, however long its queries take."""
MOST_IDLE = 8
"""More connections than this are closed when they are done with."""

PATH_CHARACTERS = "/%:@!$&'()*+,;=~"
"""Beside letters and digits, all that a path may hold as it is; `%` has packed the rest already."""


@frozen
class Address:
    """Where a server is. It never holds a secret: a URL with a password is refused."""

    is_secure: bool
    host: str
    port: int | None
    path: str

    @classmethod
    def parse(cls, url: str) -> "Address":
        if not isinstance(url, str):
            raise _no_address("it must be text")
        try:
            parts = urlsplit(url)
            port = parts.port
            (parts.hostname or "").encode("idna")
        # A UnicodeError, of a host whose name can't be one, is among them.
        except ValueError:
            raise _no_address("it is no URL") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _no_address("it must be a URL such as https://host/graphs/people")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise _no_address("it must have no user, query or fragment", "pass token=")
        if not parts.hostname.isprintable():
            raise _no_address("the name of the host can't be printed")
        path = quote(parts.path.rstrip("/"), safe=PATH_CHARACTERS)
        return cls(parts.scheme == "https", parts.hostname, port, path)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"http{'s' * self.is_secure}://{host}{port}{self.path}"


def _no_address(rule: str, advice: str | None = None) -> ArgumentInvalid:
    # The URL itself is not repeated: it may hold a password.
    return ArgumentInvalid(argument="url", value=None, rule=rule, advice=advice)


class NotConnected(Exception):
    """No connection came about, so nothing was sent."""


class Pool:
    def __init__(self, address: Address, *, timeout_s: float) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        # A handle need not be closed: what stands idle then goes with it.
        weakref.finalize(self, _close_all, self._idle)
        self._context = ssl.create_default_context() if address.is_secure else None

    def take(self) -> http.client.HTTPConnection:
        """A connection that is open; raises NotConnected. Give it back with `keep`, or close it."""
        while True:
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            if kept is None:
                return self._new()
            if not _is_closed_there(kept):
                return kept
            kept.close()

    def keep(self, connection: http.client.HTTPConnection) -> None:
        """Take back a connection whose response was read to its end."""
        with self._lock:
            if connection.sock is not None and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            _close_all(self._idle)

    def _new(self) -> http.client.HTTPConnection:
        timeout_s = min(CONNECT_TIMEOUT_S, self._timeout_s)
        where = (self._address.host, self._address.port)
        connection = (
            http.client.HTTPSConnection(*where, timeout=timeout_s, context=self._context)
            if self._context is not None
            else http.client.HTTPConnection(*where, timeout=timeout_s)
        )
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NotConnected(error) from error
        connection.sock.settimeout(self._timeout_s)
        return connection


def _close_all(connections: list[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _is_closed_there(connection: http.client.HTTPConnection) -> bool:
    """True if there is something to read where nothing was asked: the end, most likely."""
    if connection.sock is None:
        return True
    looking = select.poll()
    looking.register(connection.sock, select.POLLIN)
    return bool(looking.poll(0))
