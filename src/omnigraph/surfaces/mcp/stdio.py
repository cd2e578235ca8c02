"""An agent on standard input and output. Nothing else is written there: the SDK sends what anybody
prints to standard error."""

import signal
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import TypeVar

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from omnigraph.surfaces.mcp.caller import Caller, slug
from omnigraph.surfaces.mcp.protocol import server_for

__all__ = ["in_a_thread", "named_callers", "serve_stdio"]

T = TypeVar("T")


def serve_stdio(caller: Caller) -> None:
    """Serve one agent until it closes the input."""
    # A thread waits for input and can't be broken off. Writes are whole or leave nothing, whenever
    # the process ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve, caller)


async def _serve(caller: Caller) -> None:
    server = server_for(named_callers(caller), in_a_thread)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def named_callers(caller: Caller) -> Callable[[str | None], Caller]:
    """The agent under its own name, or else under the first one that its client tells."""
    known = caller

    def called(client: str | None) -> Caller:
        nonlocal known
        writing = known.writing
        if writing is not None and not writing.name and client is not None:
            known = replace(known, writing=replace(writing, name=slug(client, "mcp")))
        elif writing is not None and not writing.name:
            return replace(known, writing=replace(writing, name="mcp"), cancel=Event())
        return replace(known, cancel=Event())

    return called


async def in_a_thread(
    work: Callable[[Caller], T], caller: Caller, *, is_write: bool, what: str
) -> T:
    """Run work; a read that is cancelled is told to end, a write goes on to its end."""
    try:
        return await anyio.to_thread.run_sync(work, caller, abandon_on_cancel=not is_write)
    except anyio.get_cancelled_exc_class():
        caller.cancel.set()
        raise
