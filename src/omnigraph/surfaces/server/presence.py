"""Work for a client goes on for as long as the client is there.

`send` does nothing and says nothing after a client has gone, so a task listens for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

import anyio

__all__ = ["ClientGone", "Message", "Receive", "Send", "in_thread", "while_there"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

T = TypeVar("T")


class ClientGone(Exception):
    """The client went away, or took nothing for too long."""


async def in_thread(
    receive: Receive, work: Callable[[], Awaitable[T]], *, stop: Callable[[], None]
) -> T:
    """What work in a thread comes to; raises ClientGone if the client went before that.

    A thread can't be broken off: `stop` tells it to end, also when the server gives up waiting.
    Every small request comes this way, so it makes do with one task, where a group takes several
    times as long.
    """
    is_gone = False

    async def listen() -> None:
        nonlocal is_gone
        await _disconnected(receive)
        is_gone = True
        stop()

    listening = asyncio.get_running_loop().create_task(listen())
    try:
        result = await work()
    except asyncio.CancelledError:
        stop()
        raise
    except Exception:
        if is_gone:
            raise ClientGone from None
        raise
    finally:
        listening.cancel()
    if is_gone:
        raise ClientGone
    return result


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def while_there(
    receive: Receive,
    work: Callable[[], Awaitable[T]],
) -> T:
    """What the work comes to; it is cancelled where it waits, and ClientGone raised, if the client
    goes before that."""
    results: list[T] = []
    failure: Exception | None = None
    is_gone = False

    async def listen() -> None:
        nonlocal is_gone
        await _disconnected(receive)
        is_gone = True
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        try:
            results.append(await work())
        except Exception as error:  # noqa: BLE001 - raised below, out of the group
            failure = error
        tasks.cancel_scope.cancel()
    if is_gone:
        raise ClientGone
    if failure is not None:
        raise failure
    return results[0]
