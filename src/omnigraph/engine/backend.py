"""`Backend`: where the requests of a handle are carried out. `Engine` does it in this process; a
connection (`surfaces/client`) sends them to a server.

Handles know nothing else of the difference, so the same code works with either.
"""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from omnigraph.base.errors import LocalOnly
from omnigraph.engine.engine import Engine

__all__ = ["Backend", "engine_of"]

P = ParamSpec("P")
T = TypeVar("T")


class Backend(Protocol):
    @property
    def uri(self) -> str: ...

    @property
    def is_read_only(self) -> bool: ...

    @property
    def actor(self) -> str | None:
        """Who acts where a call does not say it."""

    def acting_for(self, actor: str | None) -> "Backend": ...

    def run(
        self, use_case: Callable[Concatenate[Engine, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """Carry out a use case: its request, and what it takes beside."""

    def close(self) -> None: ...


def engine_of(backend: Backend, *, to: str = "reach its engine") -> Engine:
    """The engine in this process; a connection has none, and the error says what it was `to` do."""
    if not isinstance(backend, Engine):
        raise LocalOnly(to)
    return backend
