"""A call and its reply: what a handler gets, and what it gives back.

Handlers are plain functions that run in a thread. They decode, work and encode there, so that the
event loop is left to those that wait.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from omnigraph.base.frozen import frozen
from omnigraph.surfaces.server.decode import decode_json

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from omnigraph.engine.handles.graph import Graph
    from omnigraph.surfaces.server.access import Access
    from omnigraph.surfaces.server.jobs.incoming import Incoming
    from omnigraph.surfaces.server.jobs.jobs import Jobs
    from omnigraph.surfaces.server.limits import ServerLimits
    from omnigraph.surfaces.server.registry import ServedGraph, Serving

__all__ = [
    "ARROW",
    "BYTES",
    "JSON",
    "NDJSON",
    "Call",
    "Pulled",
    "Pushed",
    "Reply",
    "Sink",
    "Whole",
    "json_reply",
]

JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
BYTES = "application/octet-stream"

T = TypeVar("T")


@frozen(kw_only=True)
class Call:
    """One request, read and allowed as far as that can be told without its body."""

    serving: "Serving"
    served: "ServedGraph | None"
    """None where the route is of no graph."""
    handle: "Graph | None"
    """The graph, as the actor."""
    actor: str | None
    path: Mapping[str, str]
    params: Any
    headers: "Headers"
    limits: "ServerLimits"
    jobs: "Jobs"
    body: bytes = field(repr=False)
    incoming: "Incoming | None" = None
    """The body where it went to the disk as it came."""
    timeout_s: float
    memory_bytes: int | None
    cancel: threading.Event
    """Set when nobody waits for the answer any more."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What the log says beside the route: names and numbers, nothing of the data."""
    answer_headers: dict[str, str] = field(default_factory=dict)
    """Headers that the answer has even if it is an error."""

    @property
    def graph(self) -> "Graph":
        assert self.handle is not None, "the route is of no graph"
        return self.handle

    @property
    def of(self) -> "ServedGraph":
        assert self.served is not None, "the route is of no graph"
        return self.served

    @property
    def access(self) -> "Access":
        """What actors may do here."""
        return self.serving.access_to(self.served)

    def request(self, type_: type[T]) -> T:
        """The body as a struct."""
        return decode_json(self.body, type_)

    def request_if_any(self, type_: type[T]) -> T | None:
        """The body as a struct; None where there is none, or it is null."""
        return None if self.body.strip() in (b"", b"null") else self.request(type_)


class Sink(Protocol):
    def write(self, data: bytes | memoryview, /) -> None: ...


@frozen
class Whole:
    """An answer that is there at once."""

    body: bytes = field(repr=False)
    media_type: str = JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    """Of an answer to HEAD: the length that the body would have."""
    may_be_packed: bool = True


@frozen
class Pulled:
    """An answer in pieces: the next is made when its client has taken the one before."""

    pieces: Iterator[bytes]
    media_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    may_be_packed: bool = True


@frozen
class Pushed:
    """An answer that something else writes, at the pace at which its client takes it."""

    produce: Callable[[Sink], None]
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


Reply = Whole | Pulled | Pushed


def json_reply(answer: msgspec.Struct, *, status: int = 200) -> Whole:
    return Whole(msgspec.json.encode(answer), status=status)
