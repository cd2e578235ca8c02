"""`OfferedQuery`: a stored query of an agent, from a file beside it or from a server.

One of a file is checked and run here, under the rules that are passed in. One of a server is listed
and run by the server's own routes, so its policy holds for it as for every other client.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from omnigraph.base.errors import OmnigraphError, PathMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN
from omnigraph.engine.handles.graph import Graph
from omnigraph.engine.results import MutationResult, QueryResult
from omnigraph.engine.signatures import QuerySignature, query_text
from omnigraph.engine.stored_queries import StoredQueries, with_bigints
from omnigraph.surfaces.client.stored import ServedQueries
from omnigraph.surfaces.crossing.calls import STORED

__all__ = ["Asked", "FileQueries", "Offered", "OfferedQuery", "ServerQueries", "all_of", "nothing"]

Params = Mapping[str, Any]


@frozen(kw_only=True)
class Asked:
    """A moment to read, and how much that may cost."""

    branch: str | None
    moment: str | None
    timeout_s: float | None = None
    memory_bytes: int | None = None
    cancel: threading.Event | None = None


class OfferedQuery(Protocol):
    @property
    def signature(self) -> QuerySignature:
        """By the schema of the base branch."""
        ...

    @property
    def text(self) -> str:
        """The query by itself: others of its file may be hidden from this agent."""
        ...

    def readied(
        self, params: Params, *, branch: str | None, moment: str | None, is_new: bool
    ) -> Params:
        """The parameters as `ask` and `change` take them; raises if the query does not fit the
        moment. A branch that `is_new` may be made by the call."""
        ...

    def ask(self, params: Params, asked: Asked) -> QueryResult: ...

    def change(
        self,
        params: Params,
        *,
        branch: str,
        message: str | None,
        if_commit: str | None,
        request_id: str | None,
    ) -> MutationResult: ...


Offered = Callable[[], Mapping[str, OfferedQuery]]
"""Gives the stored queries that there are for an agent now, by name: those that fit the base branch
and that the agent may run. It raises if the base is missing or denied."""


def nothing() -> Mapping[str, OfferedQuery]:
    return {}


def all_of(*sources: Offered) -> Offered:
    """Those of several sources; of a name that two have, that of the later one."""

    def offered() -> Mapping[str, OfferedQuery]:
        found = {name: query for source in sources for name, query in source().items()}
        return {name: found[name] for name in sorted(found)}

    return offered


@frozen(kw_only=True)
class FileQueries:
    """An `Offered` of files that this process has read."""

    graph: Graph
    queries: StoredQueries
    base: str = MAIN
    may_invoke: Callable[[str], bool] = lambda name: True
    """Whether there is a stored query for this agent."""
    is_told: bool = True
    """Whether it may be told why a stored query does not fit: nothing is hidden from it."""

    def __call__(self) -> Mapping[str, OfferedQuery]:
        if not self.queries.sources:
            return {}
        catalog = self.queries.catalog(self.graph.schema(self.base))
        return {
            name: _FileQuery(self, catalog[name])
            for name in sorted(catalog)
            if self.may_invoke(name)
        }


@frozen
class _FileQuery:
    of: FileQueries
    signature: QuerySignature

    @property
    def text(self) -> str:
        return query_text(self.of.queries.source(self.signature.name), self.signature.name)

    def readied(
        self, params: Params, *, branch: str | None, moment: str | None, is_new: bool
    ) -> Params:
        graph, base, name = self.of.graph, self.of.base, self.signature.name
        try:
            schema = graph.schema(
                base if branch is None and moment is None else branch, snapshot=moment
            )
        except OmnigraphError:
            if not is_new:
                raise
            schema = graph.schema(base)
        # Where something is hidden from the agent, a query that does not fit is one that is not
        # there.
        there = self.of.queries.signature(name, schema, is_told=self.of.is_told)
        ready: Params = with_bigints(there, params)
        return ready

    def ask(self, params: Params, asked: Asked) -> QueryResult:
        return self.of.graph.query(
            self.of.queries.source(self.signature.name),
            self.signature.name,
            params,
            branch=asked.branch,
            snapshot=asked.moment,
            timeout_s=asked.timeout_s,
            memory_bytes=asked.memory_bytes,
            cancel=asked.cancel,
        )

    def change(
        self,
        params: Params,
        *,
        branch: str,
        message: str | None,
        if_commit: str | None,
        request_id: str | None,
    ) -> MutationResult:
        return self.of.graph.mutate(
            self.of.queries.source(self.signature.name),
            self.signature.name,
            params,
            branch=branch,
            message=message,
            if_commit=if_commit,
            request_id=request_id,
        )


@frozen(kw_only=True)
class ServerQueries:
    """An `Offered` of a server."""

    served: ServedQueries
    base: str = MAIN

    def __call__(self) -> Mapping[str, OfferedQuery]:
        try:
            found = self.served.found(self.base)
        except PathMissing as missing:
            if not missing.path.endswith(f"/{STORED}"):
                raise
            # A server of an earlier version: its agents work as they did, without these tools.
            return {}
        return {
            each.signature.name: _ServerQuery(self.served, each.signature, each.text)
            for each in found
        }


@frozen
class _ServerQuery:
    served: ServedQueries
    signature: QuerySignature
    text: str

    def readied(
        self, params: Params, *, branch: str | None, moment: str | None, is_new: bool
    ) -> Params:
        return params

    def ask(self, params: Params, asked: Asked) -> QueryResult:
        return self.served.ask(
            self.signature.name,
            params,
            branch=asked.branch,
            moment=asked.moment,
            timeout_s=asked.timeout_s,
            cancel=asked.cancel,
        )

    def change(
        self,
        params: Params,
        *,
        branch: str,
        message: str | None,
        if_commit: str | None,
        request_id: str | None,
    ) -> MutationResult:
        return self.served.change(
            self.signature.name,
            params,
            branch=branch,
            message=message,
            if_commit=if_commit,
            request_id=request_id,
        )
