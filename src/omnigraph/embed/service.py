"""A provider's HTTP API: one JSON document there, one back, before a deadline.

What passes by itself is tried again: a connection that breaks, a server that fails, a limit of
requests. Waits double from try to try, unless the service says how long to wait. Keys stand in
headers only; an error never shows one, even where the service repeats it.
"""

import json
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

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

__all__ = ["Complaint", "Service", "Timing"]

# Somebody waits for the answer to a query.
QUERY_TIMEOUT_S = 30.0

MAX_TRIES = 6
FIRST_WAIT_S = 0.5

# Two thousand vectors of four thousand numbers, as text, are half of it.
MAX_ANSWER_BYTES = 256 << 20
CHUNK_BYTES = 1 << 16
MAX_REASON_CHARACTERS = 300

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
            rule = "it must be http:// or https:// and a host"
            raise ArgumentInvalid(argument="OMNIGRAPH_EMBED_BASE_URL", value=None, rule=rule)
        # Python's own error about such a header would show it.
        if not all(value.isascii() and value.isprintable() for value in self.headers.values()):
            rule = "it must be ASCII that can be printed"
            raise ArgumentInvalid(argument="OMNIGRAPH_EMBED_API_KEY", value=None, rule=rule)

    @property
    def title(self) -> str:
        """The service as a message names it: without what a URL may hide."""
        parts = urlsplit(self.base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{self.name} at {parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"

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
        target = f"{parts.path.rstrip('/')}{path}" + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(
                "POST", target, body, {**self.headers, "Content-Type": "application/json"}
            )
            # Closed here: a response that is not read to its end outlives its connection.
            with connection.getresponse() as response:
                return response, self._read(response, deadline_s)
        finally:
            connection.close()

    def _read(self, response: HTTPResponse, deadline_s: float) -> bytes:
        """The body; a server that sends a byte now and then does not hold us for ever."""
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
        except (ValueError, TypeError, AttributeError, LookupError):
            return Complaint(answer.decode("utf-8", "replace"))

    def _shown(self, reason: str) -> str:
        for value in self.headers.values():
            for secret in (value, value.removeprefix("Bearer ")):
                reason = reason.replace(secret, "…")
        return clipped(reason, MAX_REASON_CHARACTERS)


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
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After`: seconds, or a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
