"""Every request is observed: an id, a span, a count, a line of the log, an answer to failures."""

import logging
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio.to_thread
import msgspec
from opentelemetry import propagate, trace
from starlette.datastructures import Headers

from omnigraph.base.errors import OmnigraphError, StorageError
from omnigraph.surfaces.crossing.calls import OUR_CLIENT
from omnigraph.surfaces.server.calls import Whole
from omnigraph.surfaces.server.errors import (
    as_message,
    defect_output,
    error_headers,
    error_output,
    for_clients,
)
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.logs import MEMBERS
from omnigraph.surfaces.server.metrics import Metrics
from omnigraph.surfaces.server.operations import Operation, Work
from omnigraph.surfaces.server.presence import ClientGone, Message, Send
from omnigraph.surfaces.server.registry import ServedGraph, Serving
from omnigraph.surfaces.server.sending import Sender, Sending

__all__ = ["Account", "Observer"]

log = logging.getLogger("omnigraph.server")

REQUEST_ID = "X-Request-Id"
GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

# No page of another site may guess a type, and no cache keeps an answer that a token was asked for.
ALWAYS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

CLIENT_GONE = 499
"""In log and metrics only: there was nobody to send a status to."""
UNREAD = (401, 403, 404, 405, 408, 413, 415, 429)
"""The body may not have been read to its end: the connection is of no use any more."""


@dataclass(slots=True)
class Account:
    """What is known of a request so far."""

    id: str
    method: str
    began_s: float
    operation: Operation | None = None
    work: Work | None = None
    served: ServedGraph | None = None
    actor: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    answer_headers: dict[str, str] = field(default_factory=dict)

    @property
    def route(self) -> str:
        return self.operation.id if self.operation is not None else "none"

    @property
    def members(self) -> dict[str, Any]:
        return {
            "request_id": self.id,
            "route": self.route,
            "graph": self.served.id if self.served is not None else None,
            "actor": self.actor,
        }


class Observer:
    def __init__(self, metrics: Metrics, limits: ServerLimits, sender: Sender) -> None:
        self._metrics = metrics
        self._slow_s = limits.slow_query_s
        self._sender = sender
        self._tracer = trace.get_tracer("omnigraph.server")

    @asynccontextmanager
    async def request(
        self, scope: Message, headers: Headers, send: Send, serving: Serving
    ) -> AsyncIterator[tuple[Account, Sending]]:
        """Observe one request. What it raises is answered here and goes no further."""
        account = Account(_request_id(headers), scope["method"], time.perf_counter())
        out = Sending(send, {**ALWAYS, REQUEST_ID: account.id})
        self._metrics.requests_under_way += 1
        parent = propagate.extract(dict(headers))
        with self._tracer.start_as_current_span(
            "http",
            context=parent,
            kind=trace.SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield account, out
            except ClientGone:
                account.notes["client_gone"] = True
            except Exception as error:  # noqa: BLE001 - the outermost surface
                await self._answer(error, account, out, headers)
            finally:
                self._metrics.requests_under_way -= 1
                status = self._tell(account, out)
                span.update_name(f"{account.method} {account.route}")
                span.set_attribute("http.route", account.route)
                span.set_attribute("http.response.status_code", status)

    async def _answer(
        self, error: Exception, account: Account, out: Sending, asked: Headers
    ) -> None:
        """Tell an error to the client, or break off what was begun."""
        if not isinstance(error, OmnigraphError) or isinstance(error, StorageError):
            log.error("request failed", exc_info=error, extra={MEMBERS: account.members})
        if out.has_begun:
            # The body stays without its end, by which a client knows that it is torn.
            account.notes["broken_off"] = True
            return
        headers: dict[str, str] = {}
        if isinstance(error, OmnigraphError):
            served = account.served
            shown = for_clients(error, served)
            if shown is not error:
                # The client is not told where; the log is.
                log.warning("%s", error.message, extra={MEMBERS: account.members})
            kind_of = served.kind_of if served is not None else None
            shape = partial(
                error_output,
                shown,
                request_id=account.id,
                kind_of=kind_of,
                is_for_us=OUR_CLIENT in asked,
            )
            # In a thread: to name what is in conflict, a schema may have to be read.
            status, body = await anyio.to_thread.run_sync(shape)
            headers = {**account.answer_headers, **error_headers(error)}
            account.notes["code"] = error.code
        else:
            status, body = 500, defect_output(account.id)
            account.notes["code"] = body.details["code"]
        of_agents = account.operation is not None and account.operation.is_for_agents
        told = msgspec.json.encode(as_message(body) if of_agents else body)
        is_streamed = account.operation is not None and account.operation.intake is not None
        if _has_body(asked) and (status in UNREAD or is_streamed):
            headers["Connection"] = "close"
        reply = Whole(told, status=status, headers=headers)
        await self._sender.send(reply, out, _nothing)

    def _tell(self, account: Account, out: Sending) -> int:
        seconds = time.perf_counter() - account.began_s
        status = out.status or CLIENT_GONE
        self._metrics.answered(
            route=account.route, status=status, seconds=seconds, sent_bytes=out.sent_bytes
        )
        numbers = {"ms": round(seconds * 1000, 3), "bytes": out.sent_bytes}
        members = {**account.members, "status": status, **numbers, **account.notes}
        log.info("%s %s", account.method, account.route, extra={MEMBERS: members})
        if account.work is Work.READ and seconds > self._slow_s:
            self._metrics.slow_reads.inc()
            log.warning("slow read", extra={MEMBERS: members})
        return status


def _request_id(headers: Headers) -> str:
    """The client's, if it is a plain word; so one id leads through the logs of both."""
    given = headers.get(REQUEST_ID)
    return given if given is not None and GIVEN_ID.fullmatch(given) else secrets.token_hex(8)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


async def _nothing() -> Message:
    raise AssertionError("a whole answer asks for nothing")
