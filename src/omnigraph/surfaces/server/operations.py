"""Operations: a route, what it takes, what it says, and the handler behind it, as one value.

The table of them (`routes.py`) is what requests are matched with and what `/openapi.json` is made
of, so that neither can say another thing than the other.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import msgspec

from omnigraph.base.errors import MethodUnknown, PathMissing
from omnigraph.base.frozen import frozen
from omnigraph.engine.gate import Action
from omnigraph.surfaces.server.access import Where
from omnigraph.surfaces.server.calls import JSON, Call, Reply
from omnigraph.surfaces.server.models.errors import ErrorOutput
from omnigraph.surfaces.server.models.requests import NoParams

if TYPE_CHECKING:
    from omnigraph.surfaces.server.jobs.incoming import Incoming

__all__ = [
    "GRAPH",
    "ON_A_COMMIT",
    "READING",
    "WRITING",
    "Header",
    "OneOf",
    "Operation",
    "Routes",
    "Work",
]

GRAPH = "/graphs/{graph_id}"
READING = (400, 404, 408, 409, 413, 503)
WRITING = (400, 404, 408, 409, 413, 415, 424, 429, 503)
ON_A_COMMIT = (*WRITING, 412)
"""Statuses of errors."""

MANY_SEGMENTS = {"branch": ".+", "page": ".*"}
"""Names of branches hold slashes; clients send %2F, which servers decode before they route. So do
paths of the Explorer, and one of them is empty."""


class Work(Enum):
    """Where a handler runs, and what is counted."""

    READ = auto()
    WRITE = auto()
    STREAM = auto()
    """A read whose answer is written while its client takes it."""


@frozen
class Header:
    name: str
    is_required: bool = False


@frozen
class OneOf:
    """An answer that has one of several shapes, under a name of its own."""

    name: str
    shapes: tuple[type[msgspec.Struct], ...]


@frozen(kw_only=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    handler: Callable[[Call], Reply]
    action: str | None = Action.READ
    """What an actor must be allowed; None: a token is enough."""
    has_preview: bool = False
    """A preview takes the right to read. Which of both is asked for stands in the body, so the
    handler asks for `action`."""
    is_public: bool = False
    """For everybody, without a token."""
    where: Callable[[Call], Where] = lambda call: Where()
    """Of a write: the branches that it is about."""
    work: Work | Callable[[Call], Work] = Work.READ
    """A function where that depends on what is asked for."""
    params: type[msgspec.Struct] = NoParams
    headers: tuple[Header, ...] = ()
    body: Any = None
    """The type of the body; None: there is none."""
    body_type: str = JSON
    is_body_required: bool = True
    is_for_agents: bool = False
    """The body is a message of the Model Context Protocol, and no handler is run."""
    is_load: bool = False
    """The body may be as large as a load."""
    intake: "Callable[[Call], Incoming] | None" = None
    """Of a body that goes to the disk as it comes: where to; raises before any of it is read."""
    answer: Any = None
    answer_types: tuple[str, ...] = (JSON,)
    success: int = 200
    statuses: tuple[int, ...] = ()
    """Of errors, beside those that every route may have."""
    errors: type[msgspec.Struct] = ErrorOutput
    successor: str | None = None
    """Of a deprecated route: the last part of the path that took its place."""
    answer_headers: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def work_of(self, call: Call) -> Work:
        return self.work if isinstance(self.work, Work) else self.work(call)

    @property
    def is_of_a_graph(self) -> bool:
        return self.path.startswith(GRAPH)

    @property
    def names(self) -> list[str]:
        """The names in the path."""
        return re.findall(r"{(\w+)}", self.path)


class Routes:
    """Finds the operation of a request."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = tuple(operations)
        self._patterns = [(_pattern(operation.path), operation) for operation in operations]

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]]:
        """The operation, and what stands for the names in its path."""
        allowed = []
        for pattern, operation in self._patterns:
            if (match := pattern.fullmatch(path)) is not None:
                if operation.method == method:
                    return operation, match.groupdict()
                allowed.append(operation.method)
        if allowed:
            raise MethodUnknown(method=method, path=path, allowed=tuple(dict.fromkeys(allowed)))
        raise PathMissing(path)


def _pattern(path: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        return f"(?P<{match[1]}>{MANY_SEGMENTS.get(match[1], '[^/]+')})"

    return re.compile(re.sub(r"{(\w+)}", group, path), re.DOTALL)
