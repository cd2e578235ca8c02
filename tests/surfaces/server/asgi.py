"""The application called directly: a client whose every step a test decides."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio

from omnigraph.surfaces.server.app import App

Message = dict[str, Any]
Step = Callable[["Client"], Awaitable[None]]


@dataclass
class Client:
    """One request. `body` comes in these parts; None: nothing more comes, for ever."""

    body: Iterable[bytes | None] = ()
    sent: list[Message] = field(default_factory=list)
    goes_after: int | None = None
    """The client goes after so many messages of the answer."""
    stalls_after: int | None = None
    """The client takes no more than so many messages."""

    def __post_init__(self) -> None:
        self._parts = list(self.body)
        self._gone = anyio.Event()

    async def receive(self) -> Any:
        if self._parts:
            part = self._parts.pop(0)
            if part is None:
                await anyio.sleep_forever()
            return {"type": "http.request", "body": part, "more_body": bool(self._parts)}
        if self.goes_after is None:
            await anyio.sleep_forever()
        if self.goes_after:
            await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if self.stalls_after is not None and len(self.sent) >= self.stalls_after:
            await anyio.sleep_forever()
        self.sent.append(message)
        if len(self.sent) == self.goes_after:
            self._gone.set()

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    @property
    def is_complete(self) -> bool:
        return bool(self.sent) and self.sent[-1].get("more_body") is False


def call(app: App, client: Client, method: str, path: str, **headers: str) -> Client:
    """Run one request to its end. Its body is JSON unless a header says otherwise."""
    headers.setdefault("content_type", "application/json")
    anyio.run(_call, app, client, method, path, headers)
    return client


async def _call(app: App, client: Client, method: str, path: str, headers: dict[str, str]) -> None:
    await app(scope(method, path, headers), client.receive, client.send)


def scope(method: str, path: str, headers: dict[str, str]) -> Any:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()],
    }


async def pieces(many: int) -> AsyncIterator[bytes]:
    for number in range(many):
        yield str(number).encode()
