"""Whole sessions with the SDK's own client: with a process on standard input and output, and with a
server over HTTP."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from omnigraph import Graph
from tests.processes import PATIENCE_S
from tests.surfaces.cli import CommandLine
from tests.surfaces.mcp.agents import ADD, PEOPLE, heard
from tests.surfaces.server.process import TOKENS, server_process
from tests.surfaces.server.world import QUERIES

POLICY = """
version: 1
rules:
  - {id: read, allow: {actors: [helper], actions: [read, invoke_query, change]}}
  - {id: make, allow: {actors: [helper], actions: [branch_create, branch_delete, branch_merge]}}
"""


async def work(client: Client) -> str:
    """Discover, search, write, look at it, merge it: what an agent does, on any line."""

    async def call(tool: str, **arguments: Any) -> Any:
        answer = await heard(client, tool, arguments)
        assert not answer.is_error, answer.text
        return answer

    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"schema", "search", "mutate", "propose", "branch_merge", "find_person"} <= names
    assert "node Person" in (await client.read_resource("omnigraph://schema")).contents[0].text  # type: ignore[union-attr]
    hit = (await call("search", text="ada"))["hits"][0]
    assert (await call("find_person", name=hit["id"]))["rows"] == [{"p.name": "ada", "p.age": 36}]
    added = await call("mutate", query=ADD, params={"name": "zoe"}, message="by an agent")
    assert added["branch"].startswith("agent/helper/")
    wrong = await heard(client, "mutate", {"query": "query a( {"})
    assert wrong.code == "parse_error" and "Traceback" not in wrong.text
    assert (await call("query", query=PEOPLE)).names == ["ada", "bob", "cleo", "zoe"]
    proposed = await call("propose")
    assert proposed["summary"] == "1 change (Person +1)"
    merge = proposed["how_to_merge"]["tool"]
    assert (await call(merge["name"], **merge["arguments"], delete=True))["branch_deleted"]
    return str(added["branch"])


def test_a_session_of_an_agent_that_leaves_merging_to_people(graph: Graph) -> None:
    command = ["-m", "omnigraph", "mcp", "--store", graph.uri, "--write", "--no-merge"]
    started = StdioServerParameters(command=sys.executable, args=command, env={**os.environ})

    async def session() -> Any:
        async with Client(started) as client:
            assert "branch_merge" not in {tool.name for tool in (await client.list_tools()).tools}
            await heard(client, "mutate", {"query": ADD, "params": {"name": "zoe"}})
            refused = await heard(client, "branch_merge", {})
            assert refused.code == "policy_denied" and "--no-merge" in refused.text
            return await heard(client, "propose", {})

    proposed = asyncio.run(session())
    assert proposed["merge"]["outcome"] == "fast_forward"
    assert [*proposed["how_to_merge"]] == ["command_line"]


def test_a_session_with_a_process(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "stored.gq").write_text(QUERIES)
    command = ["-m", "omnigraph", "mcp", "--store", graph.uri, "--write", "--as", "helper"]
    started = StdioServerParameters(
        command=sys.executable, args=[*command, "--queries", str(tmp_path)], env={**os.environ}
    )

    async def session() -> str:
        async with Client(started) as client:
            return await work(client)

    branch = asyncio.run(session())
    assert graph.branches() == ["main"]
    merged = graph.commits()[0]
    assert (merged.actor_id, merged.message) == ("helper", f"merge {branch}")


def test_a_session_with_a_server(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "stored.gq").write_text(QUERIES)
    (tmp_path / "policy.yaml").write_text(POLICY)
    options = ["--queries", str(tmp_path / "stored.gq"), "--policy", str(tmp_path / "policy.yaml")]
    tokens = {TOKENS: json.dumps({"helper": "of-helper"})}
    with server_process(Path(graph.uri), *options, "--mcp-write", environment=tokens) as server:
        url = f"{server.url}/graphs/people/mcp"
        assert httpx2.post(url, json={}).status_code == 401

        async def session() -> str:
            headers = {"Authorization": "Bearer of-helper"}
            async with (
                httpx2.AsyncClient(headers=headers) as line,
                Client(streamable_http_client(url, http_client=line)) as client,
            ):
                return await work(client)

        assert asyncio.run(session()) == "agent/helper/mcp"
        said = server.wait_for("POST mcp")
        assert server.stop() == 0
    assert said["actor"] == "helper" and "branch_merge" in {
        line.get("tool") for line in server.lines
    }
    assert graph.commits()[0].actor_id == "helper"


def test_lines_that_are_no_messages_end_nothing(graph: Graph) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    }
    asked: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "nope/nope"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "branches"}},
    ]
    lines = ["{]", "\x00\xff", *map(json.dumps, asked), "rubbish", ""]
    answers: dict[Any, Any] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "omnigraph", "mcp", "--store", graph.uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n".join(lines))
        process.stdin.flush()
        while 3 not in answers:
            said = json.loads(process.stdout.readline())
            answers[said.get("id")] = said
        rest, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0 and "Traceback" not in complaints, complaints
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert answers[1]["result"]["instructions"].startswith("This is an OmniGraph")
    assert answers[2]["error"]["code"] == -32601
    assert answers[3]["result"]["structuredContent"]["branches"] == ["main"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--on", "main"], "need --write"),
        (["--branch", "mian"], "did you mean main?"),
        (["--write", "--on", "mian"], "did you mean main?"),
        (["--queries", "nothing.gq"], "nothing.gq"),
    ],
)
def test_a_wrong_command_line_is_refused_before_an_agent_is_heard(
    omnigraph: CommandLine, graph: Graph, options: list[str], said: str
) -> None:
    ran = omnigraph("mcp", "--store", graph.uri, *options)
    assert ran.exit_code != 0 and said in ran.err and ran.out == ""
