"""An agent that calls tools, in this process: the SDK's own client with our server behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from omnigraph import Graph
from omnigraph.base.errors import PolicyDenied
from omnigraph.engine.gate import Action
from omnigraph.engine.stored_queries import StoredQueries
from omnigraph.surfaces.mcp.caller import Caller, Limits, Place, Writing
from omnigraph.surfaces.mcp.offered import FileQueries
from omnigraph.surfaces.mcp.protocol import server_for
from omnigraph.surfaces.mcp.stdio import in_a_thread, named_callers
from omnigraph.surfaces.server.app import App

T = TypeVar("T")

PEOPLE = "query people() { match { $p: Person } return { $p.name } order { $p.name } }"
ADD = "query add($name: String) { insert Person { name: $name } }"


@dataclass(frozen=True)
class Heard:
    """What an agent hears of one call."""

    value: Any
    text: str
    is_error: bool

    @property
    def code(self) -> str:
        assert self.is_error, self.text
        return str(self.value["code"])

    def __getitem__(self, member: str) -> Any:
        assert not self.is_error, self.text
        return self.value[member]

    @property
    def names(self) -> list[str]:
        return [row["p.name"] for row in self["rows"]]


@dataclass
class Agent:
    """Each call is a connection of its own; what the server keeps of a session it keeps anyway."""

    connect: Callable[[], Any]
    mode: str = "auto"
    """Which version of the protocol: the newest that both know, or `legacy`."""

    def __call__(self, tool: str, /, **arguments: Any) -> Heard:
        return self.run(lambda client: heard(client, tool, arguments))

    def refused(self, tool: str, **arguments: Any) -> MCPError:
        """The error of the protocol that a call ends in."""
        try:
            found = self(tool, **arguments)
        except MCPError as refused:
            return refused
        raise AssertionError(f"{tool} is there: {found.text}")

    def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        async def run() -> T | MCPError:
            async with Client(self.connect(), mode=self.mode) as client:
                try:
                    return await work(client)
                except MCPError as refused:
                    # Raised here, it would come out in a group.
                    return refused

        found = asyncio.run(run())
        if isinstance(found, MCPError):
            raise found
        return found

    def tools(self) -> dict[str, Any]:
        async def ask(client: Client) -> dict[str, Any]:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

        return self.run(ask)

    def resources(self) -> list[str]:
        async def ask(client: Client) -> list[str]:
            return [str(each.uri) for each in (await client.list_resources()).resources]

        return self.run(ask)

    def read(self, uri: str) -> str:
        async def ask(client: Client) -> str:
            (content,) = (await client.read_resource(uri)).contents
            return str(content.text)  # type: ignore[union-attr]

        return self.run(ask)


async def heard(client: Client, tool: str, arguments: dict[str, Any]) -> Heard:
    result: Any = await client.call_tool(tool, arguments)
    (content,) = result.content
    return Heard(result.structured_content, content.text, bool(result.is_error))


def agent_of(graph: Graph, **more: Any) -> Agent:
    """An agent of this process; `more` as of `caller_of`."""
    server = server_for(named_callers(caller_of(graph, **more)), in_a_thread)
    return Agent(lambda: server)


def caller_of(
    graph: Graph,
    *,
    queries: StoredQueries | None = None,
    writes: bool = False,
    merges: bool = True,
    limits: Limits | None = None,
    on: str | None = None,
    any_branch: bool = False,
    base: str = "main",
) -> Caller:
    writing = Writing(name="", session="s1", on=on, is_any_branch=any_branch) if writes else None

    def allow(action: Action, branch: str | None, target: str | None) -> None:
        if action is Action.BRANCH_MERGE and not merges:
            raise PolicyDenied(action, "this agent", branch, target)

    return Caller(
        graph=graph,
        place=Place(("--store", "people.omni")),
        base=base,
        writing=writing,
        limits=limits or Limits(),
        offered=FileQueries(graph=graph, queries=queries or StoredQueries(), base=base),
        allow=allow,
    )


def agent_at(app: App, graph: str = "people", **headers: str) -> Agent:
    """An agent of a server in this process, over the protocol's HTTP."""

    def connect() -> Any:
        here = httpx2.ASGITransport(app)
        client = httpx2.AsyncClient(transport=here, base_url="http://here", headers=headers)
        return streamable_http_client(f"http://here/graphs/{graph}/mcp", http_client=client)

    return Agent(connect)
