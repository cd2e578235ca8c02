"""`AsyncGraph`: the methods of a graph as coroutines, for programs that run an event loop.

    graph = await AsyncGraph.open("people.omni")
    found = await graph.query("people.gq", "staff")

Each call runs in a thread, so the loop goes on meanwhile. A task that is cancelled ends its query.
Other calls can't be ended: they run on in their thread, and a write may still land.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from omnigraph.base.choices import DurabilityName, EntityKind
from omnigraph.engine.blob import Blob
from omnigraph.engine.guard import PolicyArgument
from omnigraph.engine.handles.analytics import Analytics
from omnigraph.engine.handles.at import At
from omnigraph.engine.handles.branch import Branch
from omnigraph.engine.requests import Moment
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.settings import Settings
from omnigraph.engine.text import Text
from omnigraph.graph import Graph

__all__ = ["AsyncAnalytics", "AsyncAt", "AsyncBlob", "AsyncBranch", "AsyncGraph"]

H = TypeVar("H")
H_co = TypeVar("H_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")


class _Handle(Generic[H_co]):
    """A handle whose methods wait in threads."""

    def __init__(self, handle: H_co) -> None:
        self.handle = handle
        """The handle that does the work; its methods block."""

    def __repr__(self) -> str:
        return f"<Async{repr(self.handle).removeprefix('<')}"


def in_thread(
    method: Callable[Concatenate[H, P], T],
) -> Callable[Concatenate[_Handle[H], P], Coroutine[Any, Any, T]]:
    """The method as a coroutine."""

    @wraps(method)
    async def call(self: _Handle[H], /, *args: P.args, **more: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.handle, *args, **more)

    return call


def query_in_thread(
    method: Callable[Concatenate[H, P], T],
) -> Callable[Concatenate[_Handle[H], P], Coroutine[Any, Any, T]]:
    """A query as a coroutine: it ends when its task is cancelled."""

    @wraps(method)
    async def call(self: _Handle[H], /, *args: P.args, **more: P.kwargs) -> T:
        given: dict[str, Any] = dict(more)
        if given.get("cancel") is None:
            given["cancel"] = threading.Event()
        try:
            return await asyncio.to_thread(method, self.handle, *args, **given)
        except asyncio.CancelledError:
            given["cancel"].set()
            raise

    return call


class AsyncBlob(_Handle[Blob]):
    """The bytes of a property; see `Blob`."""

    read = in_thread(Blob.read)

    @property
    def size(self) -> int:
        return self.handle.size

    @property
    def etag(self) -> str:
        return self.handle.etag

    @property
    def graph_commit_id(self) -> str:
        return self.handle.graph_commit_id

    async def chunks(
        self, start: int | None = None, end: int | None = None
    ) -> AsyncIterator[bytes]:
        """The same bytes in pieces of a few megabytes, read one after the other."""
        pieces = self.handle.chunks(start, end)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece


class AsyncAnalytics(_Handle[Analytics]):
    """Algorithms over the edges; see `Analytics`. A task that is cancelled ends its run."""

    pagerank = query_in_thread(Analytics.pagerank)
    connected_components = query_in_thread(Analytics.connected_components)
    strongly_connected_components = query_in_thread(Analytics.strongly_connected_components)
    label_propagation = query_in_thread(Analytics.label_propagation)
    triangle_count = query_in_thread(Analytics.triangle_count)
    degrees = query_in_thread(Analytics.degrees)
    k_core = query_in_thread(Analytics.k_core)
    betweenness = query_in_thread(Analytics.betweenness)
    shortest_paths = query_in_thread(Analytics.shortest_paths)


class AsyncAt(_Handle[At]):
    """A graph at one commit, held still; see `At`."""

    query = query_in_thread(At.query)
    explain = in_thread(At.explain)
    spark = in_thread(At.spark)
    export = in_thread(At.export)
    schema = in_thread(At.schema)
    stats = in_thread(At.stats)
    tables = in_thread(At.tables)
    indexes = in_thread(At.indexes)
    neighborhood = in_thread(At.neighborhood)
    find = query_in_thread(At.find)
    entity = in_thread(At.entity)
    entity_history = query_in_thread(At.entity_history)
    lint = in_thread(At.lint)

    async def blob(self, kind: EntityKind, type: str, id: str, prop: str) -> AsyncBlob:
        return AsyncBlob(await asyncio.to_thread(self.handle.blob, kind, type, id, prop))

    @property
    def analytics(self) -> AsyncAnalytics:
        return AsyncAnalytics(self.handle.analytics)

    @property
    def commit(self) -> CommitInfo:
        """Where another method takes a moment, it takes this."""
        return self.handle.commit

    @property
    def graph_commit_id(self) -> str:
        return self.handle.graph_commit_id

    @property
    def branch(self) -> str:
        return self.handle.branch


class AsyncBranch(_Handle[Branch]):
    """One branch, to read and to write; see `Branch`."""

    query = query_in_thread(Branch.query)
    explain = in_thread(Branch.explain)
    spark = in_thread(Branch.spark)
    export = in_thread(Branch.export)
    schema = in_thread(Branch.schema)
    stats = in_thread(Branch.stats)
    tables = in_thread(Branch.tables)
    indexes = in_thread(Branch.indexes)
    neighborhood = in_thread(Branch.neighborhood)
    find = query_in_thread(Branch.find)
    entity = in_thread(Branch.entity)
    entity_history = query_in_thread(Branch.entity_history)
    lint = in_thread(Branch.lint)
    mutate = in_thread(Branch.mutate)
    load = in_thread(Branch.load)
    import_ = in_thread(Branch.import_)
    stream = in_thread(Branch.stream)
    embed = in_thread(Branch.embed)
    optimize = in_thread(Branch.optimize)
    commits = in_thread(Branch.commits)

    @property
    def analytics(self) -> AsyncAnalytics:
        return AsyncAnalytics(self.handle.analytics)

    @property
    def name(self) -> str:
        return self.handle.name

    async def blob(self, kind: EntityKind, type: str, id: str, prop: str) -> AsyncBlob:
        return AsyncBlob(await asyncio.to_thread(self.handle.blob, kind, type, id, prop))

    async def snapshot(self) -> AsyncAt:
        return AsyncAt(await asyncio.to_thread(self.handle.snapshot))

    async def at(self, moment: Moment) -> AsyncAt:
        return AsyncAt(await asyncio.to_thread(self.handle.at, moment))


class AsyncGraph(_Handle[Graph]):
    """One graph; see `Graph`. `open` opens it here, `connect` reaches that of a server."""

    @classmethod
    async def init(
        cls,
        uri: str | os.PathLike[str],
        schema: Text,
        *,
        durability: DurabilityName = "fsync",
        settings: Settings | None = None,
        actor: str | None = None,
        message: str | None = None,
        force: bool = False,
    ) -> Self:
        """Make a graph in an empty place; see `Graph.init`."""
        return cls(
            await asyncio.to_thread(
                Graph.init,
                uri,
                schema,
                durability=durability,
                settings=settings,
                actor=actor,
                message=message,
                force=force,
            )
        )

    @classmethod
    async def open(
        cls,
        uri: str | os.PathLike[str],
        *,
        read_only: bool = False,
        durability: DurabilityName = "fsync",
        settings: Settings | None = None,
        policy: PolicyArgument | None = None,
        actor: str | None = None,
    ) -> Self:
        """Open a graph; see `Graph.open`."""
        return cls(
            await asyncio.to_thread(
                Graph.open,
                uri,
                read_only=read_only,
                durability=durability,
                settings=settings,
                policy=policy,
                actor=actor,
            )
        )

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        graph: str | None = None,
        token: str | None = None,
        timeout_s: float | None = None,
    ) -> Self:
        """A graph on a server; see `Graph.connect`."""
        return cls(
            await asyncio.to_thread(
                Graph.connect, url, graph=graph, token=token, timeout_s=timeout_s
            )
        )

    def as_actor(self, actor: str) -> Self:
        """The same graph for another actor; see `Graph.as_actor`."""
        return type(self)(self.handle.as_actor(actor))

    async def under_policy(self, policy: PolicyArgument) -> Self:
        """The same graph, where every call asks this policy; see `Graph.under_policy`."""
        return type(self)(await asyncio.to_thread(self.handle.under_policy, policy))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def analytics(self) -> AsyncAnalytics:
        return AsyncAnalytics(self.handle.analytics)

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return self.handle.uri

    close = in_thread(Graph.close)
    query = query_in_thread(Graph.query)
    explain = in_thread(Graph.explain)
    spark = in_thread(Graph.spark)
    export = in_thread(Graph.export)
    schema = in_thread(Graph.schema)
    schema_plan = in_thread(Graph.schema_plan)
    schema_apply = in_thread(Graph.schema_apply)
    stats = in_thread(Graph.stats)
    tables = in_thread(Graph.tables)
    indexes = in_thread(Graph.indexes)
    neighborhood = in_thread(Graph.neighborhood)
    find = query_in_thread(Graph.find)
    entity = in_thread(Graph.entity)
    entity_history = query_in_thread(Graph.entity_history)
    lint = in_thread(Graph.lint)
    mutate = in_thread(Graph.mutate)
    load = in_thread(Graph.load)
    import_ = in_thread(Graph.import_)
    stream = in_thread(Graph.stream)
    embed = in_thread(Graph.embed)
    optimize = in_thread(Graph.optimize)
    cleanup = in_thread(Graph.cleanup)
    repair = in_thread(Graph.repair)
    branches = in_thread(Graph.branches)
    branch_create = in_thread(Graph.branch_create)
    branch_delete = in_thread(Graph.branch_delete)
    branch_merge = in_thread(Graph.branch_merge)
    review = in_thread(Graph.review)
    revert = in_thread(Graph.revert)
    commits = in_thread(Graph.commits)
    commit = in_thread(Graph.commit)
    log = in_thread(Graph.log)
    diff = in_thread(Graph.diff)
    commit_changes = in_thread(Graph.commit_changes)
    changes = in_thread(Graph.changes)
    changes_baseline = in_thread(Graph.changes_baseline)

    async def blob(
        self,
        kind: EntityKind,
        type: str,
        id: str,
        prop: str,
        *,
        branch: str | None = None,
        snapshot: Moment | None = None,
    ) -> AsyncBlob:
        """The bytes of a Blob property; see `Graph.blob`."""
        where: Mapping[str, Any] = {"branch": branch, "snapshot": snapshot}
        return AsyncBlob(await asyncio.to_thread(self.handle.blob, kind, type, id, prop, **where))

    async def branch(self, name: str) -> AsyncBranch:
        """A handle of one branch, which must be there."""
        return AsyncBranch(await asyncio.to_thread(self.handle.branch, name))

    async def snapshot(self, branch: str = "main") -> AsyncAt:
        """The head of a branch, held still."""
        return AsyncAt(await asyncio.to_thread(self.handle.snapshot, branch))

    async def at(self, moment: Moment, branch: str | None = None) -> AsyncAt:
        """The past, held still; see `Graph.at`."""
        return AsyncAt(await asyncio.to_thread(self.handle.at, moment, branch))
