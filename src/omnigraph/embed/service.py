"""A provider's HTTP API: send one JSON document, receive one, before a deadline.

Temporary failures are tried again: a broken connection, a failing server, a rate limit. The wait
doubles with each try, unless the service says how long to wait. Secrets (the values of headers, and
user, password and query of the base URL) never appear in an error, even if the service repeats one.
"""

import io
import json
import math
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import socket
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from omnigraph.base.errors import (
    ArgumentInvalid,
    EmbedAnswerInvalid,
    EmbedQuotaSpent,
    EmbedRateLimited,
    EmbedRefused,
    EmbedTimeout,
    EmbedUnreachable,
    OmnigraphError,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.words import clipped
from omnigraph.embed.provider import Purpose

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["Complaint", "Service", "Timing"]

# Somebody waits for the answer to a query.
QUERY_TIMEOUT_S = 30.0

MAX_TRIES = 6
FIRST_WAIT_S = 0.5

# Two thousand vectors of four thousand numbers, as text, are half of it.
MAX_ANSWER_BYTES = 256 << 20
CHUNK_BYTES = 1 << 16
MAX_REASON_CHARACTERS = 300

# Shorter values of a URL's query are versions and switches ("v=1"), not secrets.
MIN_SECRET_CHARACTERS = 4

TRIED_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})

# Some servers of one's own say so with status 500. The same text is too long the next time, too.
TOO_LONG = re.compile(r"too (long|large)|context (length|size)|number of tokens", re.IGNORECASE)


@frozen
class Timing:
    """Time as a service sees it, passed in so that tests need not wait."""

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


@frozen
class Complaint:
    """What an error's document says, in the words of all providers."""

    reason: str = ""
    is_quota: bool = False
    retry_after_s: float | None = None


@frozen(slots=False)
class Service:
    name: str
    """The provider's."""
    base_url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    complaint: Callable[[Any], Complaint]
    """Reads the document of an error."""
    timeout_s: float
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        if not _is_url(self.base_url):
            rule = (
                "it must be http:// or https:// and a host, without blanks; after the host, "
                "letters beyond ASCII are written as %XX"
            )
            raise ArgumentInvalid(argument="OMNIGRAPH_EMBED_BASE_URL", value=None, rule=rule)
        # Python's own error about such a header would show it.
        if not all(value.isascii() and value.isprintable() for value in self.headers.values()):
            rule = "it must be ASCII that can be printed"
            raise ArgumentInvalid(argument="OMNIGRAPH_EMBED_API_KEY", value=None, rule=rule)

    @property
    def title(self) -> str:
        """The service as a message names it: without what a URL may hide."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = f":{parts.port}" if parts.port else ""
        return f"{self.name} at {parts.scheme}://{host}{port}{parts.path.rstrip('/')}"

    def post(
        self, path: str, document: object, purpose: Purpose, limit_s: float | None = None
    ) -> bytes:
        """The answer to a document, before the deadline."""
        limits = [self.timeout_s, *([QUERY_TIMEOUT_S] if purpose == "query" else [])]
        limit_s = min(limits if limit_s is None else [*limits, limit_s])
        deadline_s = self.timing.now_s() + limit_s
        body = json.dumps(document).encode()
        wait_s = FIRST_WAIT_S
        for number in range(1, MAX_TRIES + 1):
            try:
                answer = self._try(path, body, deadline_s)
            except TimeoutError:
                raise EmbedTimeout(service=self.title, timeout_s=limit_s) from None
            if isinstance(answer, bytes):
                return answer
            if not answer.passes or number == MAX_TRIES:
                raise answer.error(number)
            # Up to half as long again, so that many who failed together don't come back together.
            asked_s = answer.retry_after_s
            pause_s = wait_s * (1 + self.timing.chance() / 2) if asked_s is None else asked_s
            if pause_s >= deadline_s - self.timing.now_s():
                raise answer.error(number)
            self.timing.sleep(pause_s)
            wait_s *= 2
        raise AssertionError("the last try returns or raises")

    def _try(self, path: str, body: bytes, deadline_s: float) -> "bytes | _Failure":
        try:
            response, answer = self._exchange(path, body, deadline_s)
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            told = self._shown(str(error) or type(error).__name__)
            return _Failure(
                lambda tries: EmbedUnreachable(service=self.title, reason=told, tries=tries)
            )
        if 200 <= response.status < 300:
            return answer
        return self._failure(response, answer)

    def _exchange(self, path: str, body: bytes, deadline_s: float) -> tuple[HTTPResponse, bytes]:
        parts = urlsplit(self.base_url)
        assert parts.hostname is not None
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname, parts.port, timeout=self._left_s(deadline_s))
        timed = partial(_TimedResponse, left_s=lambda: self._left_s(deadline_s))
        connection.response_class = cast("type[HTTPResponse]", timed)
        target = f"{parts.path.rstrip('/')}{path}" + (f"?{parts.query}" if parts.query else "")
        try:
            # What is left after connecting and its handshake is for the request.
            connection.connect()
            connection.sock.settimeout(self._left_s(deadline_s))
            connection.request(
                "POST", target, body, {**self.headers, "Content-Type": "application/json"}
            )
            # Closed here: a response that is not read to its end outlives its connection.
            with connection.getresponse() as response:
                return response, self._read(response, deadline_s)
        finally:
            connection.close()

    def _read(self, response: HTTPResponse, deadline_s: float) -> bytes:
        read = bytearray()
        while chunk := response.read1(CHUNK_BYTES):
            read += chunk
            self._left_s(deadline_s)
            if len(read) > MAX_ANSWER_BYTES:
                reason = f"it is longer than {MAX_ANSWER_BYTES >> 20} MiB"
                raise EmbedAnswerInvalid(service=self.title, reason=reason)
        if response.length:
            raise HTTPException(f"the answer broke off {response.length} bytes before its end")
        return bytes(read)

    def _left_s(self, deadline_s: float) -> float:
        left_s = deadline_s - self.timing.now_s()
        if left_s <= 0:
            raise TimeoutError
        return left_s

    def _failure(self, response: HTTPResponse, answer: bytes) -> "_Failure":
        status, title = response.status, self.title
        said = self._complaint(answer)
        reason = self._shown(said.reason or response.reason or "it gives no reason")
        asked_s = said.retry_after_s
        if asked_s is None:
            asked_s = _seconds(response.getheader("Retry-After"))
        if said.is_quota:
            quota = EmbedQuotaSpent(service=title, reason=reason)
            return _Failure(lambda _: quota, passes=False)
        if status == 429:
            limited = EmbedRateLimited(service=title, reason=reason, retry_after_s=asked_s)
            return _Failure(lambda _: limited, retry_after_s=asked_s)
        is_too_long = status >= 500 and TOO_LONG.search(reason) is not None
        if status in TRIED_AGAIN and not is_too_long:
            told = f"status {status}, {reason}"
            return _Failure(
                lambda tries: EmbedUnreachable(service=title, reason=told, tries=tries),
                retry_after_s=asked_s,
            )
        refused = EmbedRefused(service=title, status=status, reason=reason)
        return _Failure(lambda _: refused, passes=False)

    def _complaint(self, answer: bytes) -> Complaint:
        try:
            return self.complaint(json.loads(answer))
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            return Complaint(answer.decode("utf-8", "replace"))

    def _shown(self, reason: str) -> str:
        for secret in self._secrets():
            reason = reason.replace(secret, "…")
        return clipped(reason, MAX_REASON_CHARACTERS)

    def _secrets(self) -> list[str]:
        """Texts that no error may show, longest first: a part must not uncover the whole."""
        parts = urlsplit(self.base_url)
        values = [value for _, value in parse_qsl(parts.query)]
        values += [pair.partition("=")[2] for pair in parts.query.split("&")]
        values += [unquote(login) for login in (parts.username, parts.password) if login]
        secrets = {*self.headers.values(), parts.query, parts.username, parts.password, *values}
        secrets |= {value.removeprefix("Bearer ") for value in self.headers.values()}
        return sorted(
            (each for each in secrets if each and len(each) >= MIN_SECRET_CHARACTERS),
            key=len,
            reverse=True,
        )


class _TimedResponse(HTTPResponse):
    """A response whose every read, of headers and body, waits no longer than the deadline."""

    def __init__(
        self,
        sock: socket,
        debuglevel: int = 0,
        method: str | None = None,
        url: str | None = None,
        *,
        left_s: Callable[[], float],
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        unread = self.fp.detach()  # nothing has been read into the buffer yet
        self.fp = io.BufferedReader(_TimedReads(unread, sock, left_s))


class _TimedReads(io.RawIOBase):
    def __init__(self, unread: io.RawIOBase, sock: socket, left_s: Callable[[], float]) -> None:
        self._unread = unread
        self._sock = sock
        self._left_s = left_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        self._sock.settimeout(self._left_s())
        return self._unread.readinto(buffer)

    def close(self) -> None:
        self._unread.close()
        super().close()


@frozen
class _Failure:
    """One try that gave nothing."""

    error: Callable[[int], OmnigraphError]
    """What it is, after so many tries."""
    passes: bool = True
    """Whether another try may do better."""
    retry_after_s: float | None = None


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    is_plain = text.isprintable() and " " not in text
    # Python's own error about such a path or query would show it.
    is_plain = is_plain and (parts.path + parts.query).isascii()
    return is_plain and parts.scheme in ("http", "https") and _is_host(parts.hostname or "")


def _is_host(name: str) -> bool:
    """Whether a resolver can be asked for it."""
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def _seconds(retry_after: str | None) -> float | None:
    """The wait that a `Retry-After` header asks for; None if the header cannot be read."""
    if retry_after is None:
        return None
    try:
        wait_s = float(retry_after)
    except ValueError:
        try:
            wait_s = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, OverflowError, TypeError):
            return None
    return max(0.0, wait_s) if math.isfinite(wait_s) else None
