"""Replies are sent: whole, or piece by piece at the pace of the client.

Pieces are made in threads. Made on the event loop, by something that never waits, they would run
to their end for a client that has gone.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from omnigraph.surfaces.server.calls import Pulled, Pushed, Reply, Whole
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.presence import ClientGone, Receive, Send, while_there

__all__ = ["Sender", "Sending"]

# A piece is being sent, one waits, and one is made.
PIECES_WAITING = 1


class Sending:
    """`send`, with headers that every answer has, and an account of what went out."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self.status: int | None = None
        self.sent_bytes = 0
        self.is_complete = False

    @property
    def has_begun(self) -> bool:
        return self.status is not None

    async def begin(self, reply: Reply, length: int | None) -> None:
        headers = {**self._headers, **reply.headers}
        if reply.media_type:
            headers["Content-Type"] = reply.media_type
        if length is not None:
            headers["Content-Length"] = str(length)
        self.status = 200 if isinstance(reply, Pushed) else reply.status
        encoded = [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in headers.items()]
        start = {"type": "http.response.start", "status": self.status, "headers": encoded}
        await self._send(start)

    async def piece(self, body: bytes, *, is_last: bool) -> None:
        self.sent_bytes += len(body)
        await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})
        self.is_complete = is_last


class Sender:
    """Sends replies. Pieces of exports are made in threads of their own (`pushing`)."""

    def __init__(
        self,
        limits: ServerLimits,
        *,
        pulling: anyio.CapacityLimiter,
        pushing: anyio.CapacityLimiter,
    ) -> None:
        self._stall_s = limits.stall_timeout_s
        self._pulling = pulling
        self._pushing = pushing

    async def send(self, reply: Reply, out: Sending, receive: Receive) -> None:
        match reply:
            case Whole(body=body, length=length):
                # A length of a 304 would be that of the bytes which the client has already.
                is_told = reply.status != 304
                usual = len(body) if length is None else length
                await out.begin(reply, usual if is_told else None)
                await out.piece(body, is_last=True)
            case Pulled():
                await while_there(receive, lambda: self._pull(reply, out))
            case Pushed():
                await while_there(receive, lambda: self._push(reply, out))

    async def _pull(self, reply: Pulled, out: Sending) -> None:
        pieces = reply.pieces
        while (piece := await self._in_thread(next, pieces, None)) is not None:
            if not out.has_begun:
                await out.begin(reply, reply.length)
            await self._piece(out, piece)
        if not out.has_begun:
            await out.begin(reply, reply.length)
        await out.piece(b"", is_last=True)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self._pulling)

    async def _push(self, reply: Pushed, out: Sending) -> None:
        into, pieces = anyio.create_memory_object_stream[bytes](PIECES_WAITING)
        sink = _Pipe(into)
        failure: BaseException | None = None

        async def produce() -> None:
            nonlocal failure
            async with into:
                try:
                    await anyio.to_thread.run_sync(reply.produce, sink, limiter=self._pushing)
                except _NobodyReads:
                    pass
                except Exception as error:  # noqa: BLE001 - raised below, out of the group
                    failure = error

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(produce)
            try:
                await self._forward(pieces, reply, out)
            except ClientGone as gone:
                failure = gone
            finally:
                # The thread is waited for; it must find out that nobody reads.
                sink.is_closed.set()
                pieces.close()
        if failure is not None:
            raise failure
        if not out.has_begun:
            await out.begin(reply, None)
        await out.piece(b"", is_last=True)

    async def _forward(
        self, pieces: MemoryObjectReceiveStream[bytes], reply: Pushed, out: Sending
    ) -> None:
        async for piece in pieces:
            if not out.has_begun:
                await out.begin(reply, None)
            await self._piece(out, piece)

    async def _piece(self, out: Sending, piece: bytes) -> None:
        with anyio.move_on_after(self._stall_s) as waiting:
            await out.piece(piece, is_last=False)
        if waiting.cancelled_caught:
            raise ClientGone


class _NobodyReads(Exception):
    pass


class _Pipe:
    """What an export writes to, in its thread: it waits until the piece before was taken."""

    def __init__(self, into: MemoryObjectSendStream[bytes]) -> None:
        self._into = into
        self.is_closed = threading.Event()

    def write(self, data: bytes | memoryview) -> None:
        if self.is_closed.is_set():
            raise _NobodyReads
        if len(data):
            with suppress(anyio.ClosedResourceError):
                try:
                    anyio.from_thread.run(self._into.send, bytes(data))
                    return
                except anyio.BrokenResourceError:
                    pass
            raise _NobodyReads
