"""Bodies are read: no more of them, and for no longer, than the limits say.

A body is held whole, or it goes to the disk as it comes (`receive_body`).
"""

import asyncio
from collections.abc import AsyncIterator

import anyio
import anyio.to_thread
from starlette.datastructures import Headers

from omnigraph.base.errors import BodySlow, LimitExceeded, MediaTypeUnsupported, RequestMalformed
from omnigraph.surfaces.crossing.calls import BODY_BYTES
from omnigraph.surfaces.server.admission import HeldBytes
from omnigraph.surfaces.server.decode import unpacked
from omnigraph.surfaces.server.jobs.incoming import Incoming
from omnigraph.surfaces.server.presence import ClientGone, Receive

__all__ = ["read_body", "receive_body"]

WRITE_BYTES = 1 << 20
"""Written to the disk at once: a thread for each packet would cost more than the writing."""


async def read_body(
    receive: Receive,
    headers: Headers,
    *,
    media_type: str,
    is_required: bool,
    limit_bytes: int,
    timeout_s: float,
    held: HeldBytes,
) -> bytes:
    """The body, unpacked. Its bytes count as held while they come in."""
    _check_length(headers, limit_bytes)
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            async for part in _parts(receive, limit_bytes, held):
                body += part
    except TimeoutError:
        raise BodySlow(timeout_s) from None
    if not body:
        if is_required:
            raise RequestMalformed("body", f"there is none; send {media_type}")
        return b""
    _check_type(headers.get("content-type"), media_type)
    plain = unpacked(bytes(body), headers.get("content-encoding"), limit_bytes=limit_bytes)
    held.add(max(len(plain) - len(body), 0))
    return plain


async def receive_body(
    incoming: Incoming,
    receive: Receive,
    headers: Headers,
    *,
    media_type: str,
    limit_bytes: int,
    timeout_s: float,
    held: HeldBytes,
) -> None:
    """Write the body down as it comes. It is as it was sent: what is packed stays so."""
    _check_length(headers, limit_bytes)
    _check_type(headers.get("content-type"), media_type)
    if (packing := headers.get("content-encoding", "identity").strip().lower()) != "identity":
        raise MediaTypeUnsupported("the Content-Encoding", packing, ("identity",))
    waiting_bytes = bytearray()
    # Not asyncio's own time limit: that would leave a thread in the middle of a write.
    with anyio.move_on_after(timeout_s) as waiting:
        async for part in _parts(receive, limit_bytes, held):
            waiting_bytes += part
            if len(waiting_bytes) >= WRITE_BYTES:
                await anyio.to_thread.run_sync(incoming.write, bytes(waiting_bytes))
                waiting_bytes.clear()
    if waiting.cancelled_caught:
        raise BodySlow(timeout_s)
    await anyio.to_thread.run_sync(incoming.write, bytes(waiting_bytes))


async def _parts(receive: Receive, limit_bytes: int, held: HeldBytes) -> AsyncIterator[bytes]:
    """The body as it comes; raises if its client goes, or if it is too large."""
    size, is_more = 0, True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part: bytes = message.get("body", b"")
        is_more = message.get("more_body", False)
        held.add(len(part))
        size += len(part)
        if size > limit_bytes:
            raise LimitExceeded(what=BODY_BYTES, limit=limit_bytes)
        yield part


def _check_length(headers: Headers, limit_bytes: int) -> None:
    """A body that says of itself that it is too large is not read at all."""
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit_bytes:
        raise LimitExceeded(what=BODY_BYTES, limit=limit_bytes, found=int(declared[:18]))


def _check_type(given: str | None, wanted: str) -> None:
    """The type must be named: a page of another site can send a body without one, unasked."""
    found = (given or "").partition(";")[0].strip().lower()
    if found != wanted:
        raise MediaTypeUnsupported("the Content-Type", found, (wanted,))
