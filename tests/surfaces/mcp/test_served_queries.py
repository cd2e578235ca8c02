"""Stored queries of a server, offered by a process beside the agent, as the server has them."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from omnigraph import Graph
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.engine.stored_queries import StoredQueries, read_queries
from omnigraph.surfaces.cli.mcp import _offered
from omnigraph.surfaces.mcp.caller import Caller, Place, Writing
from omnigraph.surfaces.mcp.protocol import server_for
from omnigraph.surfaces.mcp.stdio import in_a_thread, named_callers
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from tests.surfaces.client.served import served
from tests.surfaces.mcp.agents import Agent, agent_at, heard
from tests.surfaces.server.process import TOKENS, server_process
from tests.surfaces.server.world import G, World, serve_here

SCHEMA = """
node Person {
  name: String @key
  mood: enum(glad, sad)
  steps: U32?
  big: I64?
}
node Secret { name: String @key }
"""
ROWS = "\n".join(
    json.dumps({"type": "Person", "data": {"name": name, "mood": mood, "big": 2**60 + at}})
    for at, (name, mood) in enumerate([("ada", "glad"), ("bob", "sad"), ("cleo", "glad")])
)
QUERIES = """
query moody($mood: enum(glad, sad), $least: U32?) @description("Who feels so.")
  @instruction("Ask for glad or sad.") {
  match { $p: Person { mood: $mood } } return { $p.name } order { $p.name }
}
query everyone() { match { $p: Person } return { $p.name, $p.big } order { $p.name } }
query with_big($big: I64) { match { $p: Person { big: $big } } return { $p.name } }
query cheer($name: String) { update Person set { mood: "glad" } where name = $name }
query secrets() { match { $s: Secret } return { $s.name } }
"""
POLICY = """
version: 1
rules:
  - {id: read, allow: {actors: [ada, bob], actions: [read]}}
  - {id: hide, deny: {actors: [bob], actions: [read], types: [Secret]}}
  - {id: all, allow: {actors: [ada], actions: [invoke_query, change, branch_create, branch_delete]}}
  - id: some
    allow: {actors: [bob], actions: [invoke_query], when: 'context.query != "with_big"'}
"""
ACTORS = {name: f"of-{name}" for name in ("ada", "bob", "eve")}
STORED = {"cheer", "everyone", "moody", "secrets", "with_big"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    graph = Graph.init(tmp_path / "people.omni", SCHEMA, settings=Settings())
    graph.load(ROWS.encode(), mode="append", engine="local")
    (tmp_path / "stored.gq").write_text(QUERIES)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


@dataclass
class Served:
    world: World
    url: str

    def beside(self, actor: str, own: StoredQueries | None = None, *, writes: bool = True) -> Agent:
        """An agent of a process that knows the server by its URL alone."""
        graph = Graph.connect(f"{self.url}{G}", token=ACTORS[actor])
        caller = Caller(
            graph=graph,
            place=Place(()),
            writing=Writing(name=actor, session="mcp", is_any_branch=True) if writes else None,
            offered=_offered(graph, own or StoredQueries(), "main"),
        )
        server = server_for(named_callers(caller), in_a_thread)
        return Agent(lambda: server)

    def at(self, actor: str) -> Agent:
        """An agent of the server's own address."""
        return agent_at(self.world.app, authorization=f"Bearer {ACTORS[actor]}")


@pytest.fixture
def server(place: Path) -> Iterator[Served]:
    graph = Graph.open(place / "people.omni", settings=Settings())
    config = ServerConfig(
        store=graph.uri,
        queries=(place / "stored.gq",),
        policy=(place / "policy.yaml",),
        settings=Settings(token_sources=TokenSources(json=json.dumps(ACTORS))),
    )
    world = serve_here(graph, serving=serving_of(config, {"people": graph}))
    with served(world.app) as url:
        yield Served(world, url)


def test_a_session_with_the_stored_queries_of_a_server(place: Path) -> None:
    options = ["--queries", str(place / "stored.gq"), "--policy", str(place / "policy.yaml")]
    tokens = {TOKENS: json.dumps(ACTORS)}
    with server_process(place / "people.omni", *options, environment=tokens) as server:
        command = ["-m", "omnigraph", "mcp", "--server", server.url, "--graph", "people", "--write"]
        environment = {**os.environ, "OMNIGRAPH_TOKEN": ACTORS["ada"]}
        started = StdioServerParameters(command=sys.executable, args=command, env=environment)

        async def session() -> None:
            async with Client(started) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert tools.keys() >= STORED
                assert tools["moody"].annotations.read_only_hint  # type: ignore[union-attr]
                assert not tools["cheer"].annotations.read_only_hint  # type: ignore[union-attr]
                first = await heard(client, "everyone", {"limit": 2})
                cheered = await heard(client, "cheer", {"name": "bob", "message": "well done"})
                assert cheered["commit"]["message"] == "well done"
                assert cheered["branch"].startswith("agent/")
                glad = await heard(client, "moody", {"mood": "glad"})
                assert glad.names == ["ada", "bob", "cleo"] and glad["branch"] == cheered["branch"]
                more = {"limit": 2, "cursor": first["next_cursor"]}
                rest = await heard(client, "everyone", more)
                assert (rest.names, rest["graph_commit_id"]) == (["cleo"], first["graph_commit_id"])
                assert server.stop() == 0
                # A read that was found before is told what became of the server, and so is a list.
                for lost in (client.list_tools(), client.call_tool("moody", {"mood": "glad"})):
                    with pytest.raises(MCPError, match="does not answer") as told:
                        await lost
                    assert told.value.error.data["code"] == "server_unreachable"

        asyncio.run(session())
    ran = [line for line in server.lines if line.get("route") == "cluster_invoke_query"]
    assert [line["actor"] for line in ran] == ["ada"] * 4


@pytest.mark.parametrize("actor", ["ada", "bob"])
def test_tools_and_resources_are_those_of_the_servers_own_address(
    server: Served, actor: str
) -> None:
    beside, at = server.beside(actor), server.at(actor)
    theirs = {name: tool for name, tool in at.tools().items() if name in STORED}
    ours = {name: tool for name, tool in beside.tools().items() if name in STORED}
    assert ours.keys() == STORED - ({"secrets", "with_big"} if actor == "bob" else set())
    # Whether an actor may change anything is known to the server alone: bob is told when he tries.
    assert ours.keys() - theirs.keys() == ({"cheer"} if actor == "bob" else set())
    assert {name: ours[name] for name in theirs} == theirs
    moods = ours["moody"].input_schema["properties"]
    assert moods["mood"]["enum"] == ["glad", "sad"] and moods["least"]["minimum"] == 0
    assert beside.resources() == at.resources()
    for uri in beside.resources():
        if actor == "ada" or uri != "omnigraph://language":
            assert beside.read(uri) == at.read(uri)


@pytest.mark.parametrize(
    ("actor", "tool", "arguments"),
    [
        ("ada", "moody", {"mood": "sad"}),
        ("ada", "with_big", {"big": str(2**60 + 1)}),
        ("ada", "moody", {"mood": "cross"}),
        ("ada", "moody", {}),
        ("ada", "moody", {"mood": "sad", "branch": "nowhere"}),
        ("ada", "moody", {"mood": "sad", "snapshot": "2020-01-01"}),
        ("ada", "cheer", {"name": "bob", "branch": "main", "if_commit": "0" * 26}),
        ("ada", "cheer", {"name": "nobody", "branch": "main"}),
        ("bob", "everyone", {"limit": 1}),
        ("bob", "cheer", {"name": "bob", "branch": "main"}),
    ],
)
def test_answers_and_errors_are_those_of_the_servers_own_address(
    server: Served, actor: str, tool: str, arguments: dict[str, Any]
) -> None:
    ours, theirs = server.beside(actor)(tool, **arguments), server.at(actor)(tool, **arguments)
    assert (ours.value, ours.is_error) == (theirs.value, theirs.is_error)


def test_queries_that_are_hidden_from_an_actor_are_missing(server: Served) -> None:
    bob = server.beside("bob")
    for name in ("secrets", "with_big"):
        denied, missing = bob.refused(name), bob.refused("zzzzz")
        assert str(denied).replace(name, "zzzzz") == str(missing)


def test_an_actor_who_may_read_nothing_is_told_so(server: Served) -> None:
    eve = server.beside("eve")
    for refused in (eve.refused("everyone"), eve.refused("zzzzz")):
        assert "eve" in str(refused) or "not" in str(refused)
        assert refused.error.data["code"] == "policy_denied"


def test_an_agent_that_reads_is_offered_what_reads(server: Served) -> None:
    ada = server.beside("ada", writes=False)
    assert ada.tools().keys() & STORED == STORED - {"cheer"}
    assert ada("cheer", name="bob").code == "read_only"


def test_queries_of_the_command_line_come_along_and_go_first(server: Served, place: Path) -> None:
    (place / "own.gq").write_text(
        "query everyone() { match { $p: Person } return { count($p) as many } }\n"
        "query own() { match { $p: Person } return { $p.name } }"
    )
    ada = server.beside("ada", read_queries([place / "own.gq"]))
    assert ada.tools().keys() >= STORED | {"own"}
    assert ada("everyone")["rows"] == [{"many": 3}]
    assert ada("moody", mood="sad").names == ["bob"]


def test_a_query_that_was_taken_away_is_missing_with_those_that_are_left(
    server: Served,
) -> None:
    ada = server.beside("ada")
    assert ada("moody", mood="sad").names == ["bob"]
    serving = server.world.app.serving
    people = serving.registry.get("people")
    object.__setattr__(people, "queries", StoredQueries())
    assert "no tool named moody" in str(ada.refused("moody", mood="sad"))
