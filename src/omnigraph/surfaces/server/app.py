"""The ASGI application: each request goes through the same steps, in this order.

    host ─► route ─► page ─► who asks ─► which graph ─► may they
         ─► body ─► admission ─► handler ─► answer

The body comes after the token: a stranger can't make the server read. A write is admitted after its
policy was asked as far as that goes without the engine, which asks again. Everything that can go
wrong ends in `observed.py`, as an answer, a line of the log and a count.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec
from starlette.datastructures import Headers, QueryParams

from omnigraph.base.errors import (
    LimitExceeded,
    QueryCancelled,
    RequestMalformed,
    RequestsTooMany,
)
from omnigraph.base.words import clipped
from omnigraph.engine.gate import Action
from omnigraph.surfaces.explorer.files import Bundle
from omnigraph.surfaces.server.access import INVOKE_QUERY, Where
from omnigraph.surfaces.server.admission import Admission, HeldBytes
from omnigraph.surfaces.server.agents import Agents
from omnigraph.surfaces.server.bodies import read_body, receive_body
from omnigraph.surfaces.server.callers import ANY_CALLER, Callers, only_header
from omnigraph.surfaces.server.calls import Call, Reply
from omnigraph.surfaces.server.decode import decode_params
from omnigraph.surfaces.server.jobs.jobs import Jobs
from omnigraph.surfaces.server.jobs.places import Places
from omnigraph.surfaces.server.jobs.spool import Spool
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.metrics import Metrics
from omnigraph.surfaces.server.observed import Account, Observer
from omnigraph.surfaces.server.openapi import openapi
from omnigraph.surfaces.server.operations import Operation, Routes, Work
from omnigraph.surfaces.server.packing import packed, packing_for
from omnigraph.surfaces.server.page import page
from omnigraph.surfaces.server.presence import Message, Receive, Send, in_thread
from omnigraph.surfaces.server.registry import Serving
from omnigraph.surfaces.server.routes import operations
from omnigraph.surfaces.server.sending import Sender, Sending

__all__ = ["App"]

T = TypeVar("T")

NO_WAIT_S = 0.01
"""A read that waited less has all of its time, so that an error names the limit that was given."""
WAITING = "the time in milliseconds at waiting for other reads"
TIMEOUT, MEMORY = "Omnigraph-Timeout-Ms", "Omnigraph-Memory-Bytes"


class App:
    """One server. `serving` is replaced as a whole by a reload."""

    def __init__(
        self,
        serving: Serving,
        limits: ServerLimits,
        *,
        spool: Spool | None = None,
        places: Places | None = None,
        may_agents_write: bool = False,
        bundle: Bundle | None = None,
        callers: Callers = ANY_CALLER,
    ) -> None:
        self.serving = serving
        self.limits = limits
        self._callers = callers
        self.admission = Admission(limits)
        self.jobs = Jobs(spool, limits, serving=lambda: self.serving, places=places)
        self.metrics = Metrics(self.admission)
        self.metrics.watch(self.jobs)
        self.reading = anyio.CapacityLimiter(limits.read_threads)
        """Of reads of graphs. What the server says of itself waits for none of them."""
        self._speaking = anyio.CapacityLimiter(limits.own_threads)
        self._writing = anyio.CapacityLimiter(limits.write_threads)
        self._any = anyio.CapacityLimiter(math.inf)
        exporting = anyio.CapacityLimiter(limits.export_threads)
        self._sender = Sender(limits, pulling=self.reading, pushing=exporting)
        self._observer = Observer(self.metrics, limits, self._sender)
        documented = operations(
            metrics=self.metrics.text,
            document=self._document,
            page=self._page,
            bundle=bundle or Bundle(),
        )
        self._routes = Routes(documented)
        self._agents = Agents(self, may_write=may_agents_write)
        self.document = openapi(documented)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "nothing else is served"
        headers = Headers(scope=scope)
        async with self._observer.request(scope, headers, send, self.serving) as (account, out):
            await self._answer(scope, receive, headers, account, out)

    async def _answer(
        self,
        scope: Message,
        receive: Receive,
        headers: Headers,
        account: Account,
        out: Sending,
    ) -> None:
        self._callers.check_host(headers)
        operation, path = self._routes.find(scope["method"], scope["path"])
        account.operation = operation
        if not operation.is_public:
            # A link of another site may lead to the page of the Explorer.
            self._callers.check_page(headers)
        call = self._call(operation, path, scope, headers, account)
        with self.admission.body(call.actor) as held:
            if operation.intake is not None:
                reply = await self._take_in(operation, call, receive, account, held)
            else:
                if operation.body is not None:
                    body = await read_body(
                        receive,
                        headers,
                        is_required=operation.is_body_required,
                        held=held,
                        **self._of_body(operation),
                    )
                    call = replace(call, body=body)
                if operation.is_for_agents:
                    answer = partial(self._agents.answer, call, scope, account)
                    reply = await in_thread(receive, answer, stop=call.cancel.set)
                else:
                    reply = await self._run(operation, call, receive, account)
        if operation.successor is not None:
            reply = _with_successor(reply, operation, path)
        await self._sender.send(reply, out, receive)

    async def _take_in(
        self,
        operation: Operation,
        call: Call,
        receive: Receive,
        account: Account,
        held: HeldBytes,
    ) -> Reply:
        """Write the body to the disk as it comes, and run the handler if all of it came."""
        assert operation.intake is not None
        incoming = await anyio.to_thread.run_sync(operation.intake, call)
        try:
            more = self._of_body(operation)
            await receive_body(incoming, receive, call.headers, held=held, **more)
            call = replace(call, incoming=incoming)
            return await self._run(operation, call, receive, account)
        finally:
            # In any case, and at once: it does nothing where the handler has kept it.
            incoming.abandon()

    def _of_body(self, operation: Operation) -> dict[str, Any]:
        limits = self.limits
        return {
            "media_type": operation.body_type,
            "limit_bytes": limits.max_load_bytes if operation.is_load else limits.max_body_bytes,
            "timeout_s": limits.body_timeout_s,
        }

    def _call(
        self,
        operation: Operation,
        path: Mapping[str, str],
        scope: Message,
        headers: Headers,
        account: Account,
    ) -> Call:
        """The request without its body; raises if the answer is no whatever that is."""
        serving, actor, served, handle = self.serving, None, None, None
        if not operation.is_public:
            actor = account.actor = serving.access.actor(only_header(headers, "authorization"))
            if operation.is_of_a_graph:
                served = account.served = serving.registry.get(path["graph_id"])
                handle = serving.access_to(served).handle(served.guarded, actor)
            # Of a stored query its handler asks: a denied one is missing.
            if operation.action is not None and operation.action != INVOKE_QUERY:
                action = Action.READ if operation.has_preview else operation.action
                serving.access_to(served).allow(actor, action, Where())
        query = scope["query_string"]
        params = QueryParams(query).multi_items() if query else []
        return Call(
            serving=serving,
            served=served,
            handle=handle,
            actor=actor,
            path=path,
            params=decode_params(params, operation.params),
            headers=headers,
            limits=self.limits,
            jobs=self.jobs,
            body=b"",
            timeout_s=self._timeout_s(headers),
            memory_bytes=self._memory_bytes(headers),
            cancel=threading.Event(),
            notes=account.notes,
            answer_headers=account.answer_headers,
        )

    async def _run(
        self, operation: Operation, call: Call, receive: Receive, account: Account
    ) -> Reply:
        """Run the handler in a thread; it is told when its client has gone."""
        work = partial(_worked, operation, call)
        account.work = operation.work_of(call)
        if account.work is Work.WRITE:
            try:
                place = self.admission.write(call.actor)
            except RequestsTooMany:
                # Who may not do it at all is told so, and not to try again.
                await anyio.to_thread.run_sync(_refuse, operation, call)
                raise
            with place:
                # A mutation stops unless its commit is being written; other writes go on.
                write = partial(self.as_write, work)
                return await in_thread(receive, write, stop=call.cancel.set)
        if not operation.is_of_a_graph:
            return await anyio.to_thread.run_sync(work, limiter=self._speaking)
        read = partial(self.in_turn, call, partial(_worked, operation))
        return await in_thread(receive, read, stop=call.cancel.set)

    async def as_write(self, work: Callable[[], T]) -> T:
        """Run a write, which has its place, in a thread of writes."""
        return await anyio.to_thread.run_sync(work, limiter=self._writing)

    async def in_turn(self, call: Call, work: Callable[[Call], T]) -> T:
        """Run a read when there is a thread for it. The wait is a part of its time."""
        ours, began_s = object(), time.monotonic()
        async with AsyncExitStack() as places:
            with anyio.move_on_after(call.timeout_s) as waiting:
                # First a place of the actor's own, so that no actor fills the queue for threads.
                await places.enter_async_context(self.admission.read(call.actor))
                await self.reading.acquire_on_behalf_of(ours)
                places.callback(self.reading.release_on_behalf_of, ours)
            waited_s = time.monotonic() - began_s
            if waiting.cancelled_caught:
                limit, found = round(call.timeout_s * 1000), round(waited_s * 1000)
                raise LimitExceeded(what=WAITING, limit=limit, found=max(found, limit))
            if call.cancel.is_set():
                raise QueryCancelled("waiting for other reads")
            if waited_s > NO_WAIT_S:
                call = replace(call, timeout_s=max(call.timeout_s - waited_s, 0.0))
            return await anyio.to_thread.run_sync(work, call, limiter=self._any)

    def _document(self) -> bytes:
        return msgspec.json.encode(self.document)

    def _page(self) -> bytes:
        return page(self.document).encode()

    def _timeout_s(self, headers: Headers) -> float:
        asked = _positive(headers, TIMEOUT)
        limit = self.limits.query_timeout_s
        return limit if asked is None else min(asked / 1000, limit)

    def _memory_bytes(self, headers: Headers) -> int | None:
        asked = _positive(headers, MEMORY)
        limit = self.limits.query_memory_bytes
        return min((each for each in (asked, limit) if each is not None), default=None)


def _allow(operation: Operation, call: Call, where: Where) -> None:
    if operation.action is not None:
        call.access.allow(call.actor, operation.action, where)


def _refuse(operation: Operation, call: Call) -> None:
    """Raise if the policy denies a write, as far as that is known without the engine."""
    _allow(operation, call, operation.where(call))


def _worked(operation: Operation, call: Call) -> Reply:
    """In the thread: the handler's answer, packed there as well."""
    reply = operation.handler(call)
    return packed(reply, packing_for(call.headers.get("accept-encoding")))


def _positive(headers: Headers, name: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0):
        raise RequestMalformed(name, f"{clipped(text)!r} is not a whole number above 0")
    return int(text)


def _with_successor(reply: Reply, operation: Operation, path: Mapping[str, str]) -> Reply:
    link = f'</graphs/{path["graph_id"]}/{operation.successor}>; rel="successor-version"'
    return replace(reply, headers={**reply.headers, "Deprecation": "true", "Link": link})
