"""Two servers whose graphs differ only in what is hidden give an actor the same answers, at every
door: the HTTP routes, with what our own client is told of errors, and the tools of agents.

The requests of a walk are sent to both servers in the same order. Some of them write, so later
ones see what was written. Requests of which the documentation says that they tell of something
hidden, such as an insert of a key that a hidden row has, are left out.
"""

import base64
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from mcp.shared.exceptions import MCPError

from omnigraph import Graph
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.read.limits import ReadLimits
from omnigraph.surfaces.crossing.calls import OUR_CLIENT
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from tests.policy.test_same_answers import COMMITS, EVERYTHING, PLAIN, POLICY, Hidden, make
from tests.surfaces.mcp.agents import agent_at
from tests.surfaces.server.world import World, serve_here

RIGHTS = """
  - id: more
    allow: {actors: [ann], actions: [change, branch_create, branch_merge, branch_delete,
            schema_apply, invoke_query, graph_list, metrics]}
  - id: hush-writes
    deny: {actors: [ann], actions: [change, branch_delete], when: 'context.branch like "hush*"'}
"""
STORED = """
query people() { match { $p: Person } return { $p.key, $p.team } order { $p.key } }
query secrets() { match { $s: Secret } return { $s.code } }
query add($key: String) { insert Person { key: $key, team: "red" } }
"""
TOKENS = {"ann": "token-ann", "boss": "token-boss"}
G = "/graphs/g"
QUERIES = (
    "match { $p: Person } return { $p.key } order { $p.key }",
    "match { $p: Person } return { count($p) as n, min($p.key) as a, max($p.key) as b }",
    "match { $p: Person  $p knows $q } return { $p.key, count($q) as n } order { $p.key }",
    "match { $p: Person  $p knows{1,4} $q } return { $p.key, $q.key } order { $p.key, $q.key }",
    "match { $p: Person  $p holds $q } return { $p.key }",
    "match { $s: Secret } return { $s.code }",
    "match { $s: Secrt } return { $s.code }",
    "match { $p: Person } return { $p.tem }",
    'match { $p: Person { key: "b0" } } return { $p.key }',
)
MUTATIONS = (
    'insert Person { key: "r0", team: "red" }',
    'insert Person { key: "n0", team: "blue" }',
    'update Person set { bio: "x" } where team = "blue"',
    'update Person set { team: "blue" } where key = "r0"',
    'delete Person where key = "z0"',
    'delete Person where key = "nobody"',
    'insert Secret { code: "s1" }',
    'insert Knows { from: "r0", to: "nobody" }',
)
ROWS = (
    {"type": "Person", "data": {"key": "q", "team": "red"}},
    {"type": "Person", "data": {"key": "q", "team": "blue"}},
    {"type": "Secret", "data": {"code": "x"}},
    {"edge": "Knows", "from": "r0", "to": "nobody"},
    {"edge": "Holds", "from": "r0", "to": "s0"},
)
BRANCHES = ("hush", "hush/x", "open", "open/x", "mine", "nowhere")
GETS = (
    "me",
    "schema",
    "snapshot",
    "branches",
    "commits",
    "commits?limit=3",
    "commits?actor=boss",
    "queries",
    "load/jobs",
    "changes?start=beginning",
    "changes?start=now",
    "neighborhood?type=Person&id=r0&depth=3",
    "neighborhood?type=Person&id=r0&depth=2&limit=1",
    "neighborhood?type=Person&id=b0",
    "neighborhood?type=Secret&id=s0",
    "blob?entity=node&type=Secret&id=s0&property=code",
    "blob?entity=node&type=Person&id=b0&property=bio",
    *(f"{path}?branch={name}" for path in ("schema", "snapshot", "commits") for name in BRANCHES),
)


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Served:
    place: Path
    world: World
    commits: list[str]
    """Of all branches, newest first."""


def serve(place: Path, hidden: Hidden) -> Served:
    with make(place, hidden) as boss:
        commits = [str(commit.graph_commit_id) for commit in boss.log().commits]
    (place / "policy.yaml").write_text(POLICY + RIGHTS)
    (place / "stored.gq").write_text(STORED)
    settings = Settings(
        token_sources=TokenSources(json=json.dumps(TOKENS)),
        read_limits=ReadLimits(max_history_commits=COMMITS),
    )
    graph = Graph.open(place / "g.omni", settings=settings)
    config = ServerConfig(
        store=graph.uri,
        policy=(place / "policy.yaml",),
        queries=(place / "stored.gq",),
        settings=settings,
    )
    world = serve_here(graph, serving=serving_of(config, {"g": graph}))
    return Served(place, world, commits)


def asked_of(server: Served) -> Iterator[Asked]:
    yield Asked("GET", "/graphs")
    yield Asked("GET", "/me")
    yield from (Asked("GET", f"{G}/{path}") for path in GETS)
    count = {"query": "query q() { match { $p: Person } return { count($p) as n } }"}
    for number, commit in enumerate(server.commits):
        yield Asked("GET", f"{G}/commits/{commit}")
        yield Asked("GET", f"{G}/commits/{commit}/changes")
        yield Asked("POST", f"{G}/query", {**count, "snapshot": commit})
        yield Asked("POST", f"{G}/branches", {"name": f"at-{number}", "from": commit})
        yield Asked("DELETE", f"{G}/branches/at-{number}")
    for text in QUERIES:
        body = {"query": f"query q() {{ {text} }}"}
        for more in ({}, {"branch": "open"}, {"branch": "hush"}, {"branch": "hush/x"}):
            yield Asked("POST", f"{G}/query", {**body, **more})
        arrow = {"Accept": "application/vnd.apache.arrow.stream"}
        yield Asked("POST", f"{G}/query", body, arrow)
    for name, answer in itertools.product(("people", "secrets", "nobody"), ("", "/answer")):
        yield Asked("POST", f"{G}/queries/{name}{answer}", {})
    for names in ([], ["Person"], ["Secret"], ["Holds"], ["Secrt"]):
        yield Asked("POST", f"{G}/export", {"type_names": names})
        yield Asked("POST", f"{G}/changes/baseline", {"type": names})
    yield from _writes()
    yield from (Asked("GET", f"{G}/{path}") for path in GETS)


def _writes() -> Iterator[Asked]:
    for text, branch in itertools.product(MUTATIONS, ("main", "open", "hush")):
        yield Asked("POST", f"{G}/mutate", {"query": f"query q() {{ {text} }}", "branch": branch})
    for key, _ in itertools.product(("one", "three", "new"), range(2)):
        line = json.dumps({"type": "Person", "data": {"key": f"by {key}", "team": "red"}})
        headers = {"Idempotency-Key": key}
        yield Asked("POST", f"{G}/load", {"data": line, "mode": "append"}, headers)
    for row, mode in itertools.product(ROWS, ("append", "merge", "overwrite")):
        yield Asked("POST", f"{G}/load", {"data": json.dumps(row), "mode": mode})
    for name in BRANCHES:
        yield Asked("POST", f"{G}/branches", {"name": name})
        yield Asked("POST", f"{G}/branches/merge", {"source": name})
        yield Asked("POST", f"{G}/branches", {"name": f"of-{name[:4]}", "from": name})
        yield Asked("DELETE", f"{G}/branches/{name.replace('/', '%2F')}")
    yield Asked("POST", f"{G}/schema/apply", {"schema_source": "node A { b: String }"})


def answer(server: Served, asked: Asked, actor: str = "ann") -> str:
    headers = {"Authorization": f"Bearer {TOKENS[actor]}", **asked.headers}
    found = server.world.request(asked.method, asked.path, json=asked.body, headers=headers)
    text = found.text
    if "arrow" in found.headers.get("content-type", ""):
        text = repr(pa.ipc.open_stream(found.content).read_all().to_pylist())
    assert str(server.place) not in text
    kept = {"content-type", "etag", "idempotency-replayed", "location", "link"}
    shown = sorted((n, v) for n, v in found.headers.items() if n in kept)
    return masked(server, f"{found.status_code} {shown} {text}")


def masked(server: Served, text: str) -> str:
    """The text with numbers for commits, and without times and numbers of versions."""

    def opened(token: re.Match[str]) -> str:
        """What a token says; a checksum stands before it."""
        content = base64.urlsafe_b64decode(token[2] + "=" * (-len(token[2]) % 4))
        starts = 8 if token[1].startswith("og") else 0
        return token[1] + content[starts:].decode()

    text = re.sub(r"\b(og[a-z]1_)([A-Za-z0-9_-]+)", opened, text)
    text = re.sub(r'(next_cursor\\*": ?\\*")([A-Za-z0-9_-]{20,})', opened, text)
    for number, commit in enumerate(server.commits):
        text = text.replace(commit, f"commit-{number}")
    text = re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", "commit", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\dT[\d:.]+(\+00:00|Z)", "time", text)
    numbers = r'(ms|created_at|authored_at|(graph_)?manifest_version|graph_version)\\*": ?[\d.]+'
    text = re.sub(numbers, r"\1", text)
    return re.sub(r'request_id\\*": ?\\*"[^"]*"', "request_id", text)


@pytest.fixture(params=["other programs", pytest.param("our own client", marks=pytest.mark.deep)])
def client(request: pytest.FixtureRequest) -> dict[str, str]:
    return {OUR_CLIENT: "test"} if request.param == "our own client" else {}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Served, Served]:
    """Two servers to which the tests of this file send the same requests."""
    one, other = (serve(tmp_path_factory.mktemp("graph"), each) for each in (PLAIN, EVERYTHING))
    return one, other


def test_a_walk_through_the_routes_tells_the_same(
    servers: tuple[Served, Served], client: dict[str, str]
) -> None:
    for pair in zip(*map(asked_of, servers), strict=True):
        with_client = (replace(asked, headers={**asked.headers, **client}) for asked in pair)
        told = [answer(*each) for each in zip(servers, with_client, strict=True)]
        assert told[0] == told[1], pair[0]


def test_the_owner_is_told_what_differs(servers: tuple[Served, Served]) -> None:
    """Without this, a walk in which everything is refused would pass."""
    same = {
        path
        for path in GETS
        if len({answer(each, Asked("GET", f"{G}/{path}"), "boss") for each in servers}) == 1
    }
    assert {"branches", "commits", "snapshot", "neighborhood?type=Person&id=b0"}.isdisjoint(same)


TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("schema", {}),
    ("branches", {}),
    ("commits", {"limit": 2}),
    ("diff", {"from": "open", "to": "main"}),
    ("diff", {"from": "hush", "to": "main"}),
    *(("query", {"query": f"query q() {{ {text} }}"}) for text in QUERIES),
    ("search", {"text": "b"}),
    ("search", {"text": "b0", "type": "Person"}),
    ("search", {"text": "s0", "type": "Secret"}),
    ("propose", {"branch": "open"}),
    ("propose", {"branch": "hush"}),
    *(("mutate", {"query": f"query q() {{ {text} }}"}) for text in MUTATIONS),
    *(("load", {"data": [row]}) for row in ROWS),
    ("load", {"data": [ROWS[0]], "load_id": "three"}),
    ("branch_create", {"name": "hush/x"}),
    ("branch_create", {"name": "mine", "from": "hush"}),
    ("branch_merge", {"source": "hush", "preview": True}),
    ("branch_merge", {"source": "open", "preview": True}),
    ("branches", {}),
    ("secrets", {}),
    ("people", {}),
)


def test_the_tools_of_agents_tell_the_same(servers: tuple[Served, Served]) -> None:
    for tool, arguments in TOOLS:
        told = [called(each, tool, arguments) for each in servers]
        assert told[0] == told[1], (tool, arguments)


def called(server: Served, tool: str, arguments: dict[str, Any]) -> str:
    agent = agent_at(server.world.app, "g", authorization="Bearer token-ann")
    try:
        heard = agent(tool, **arguments)
    except MCPError as refused:
        return masked(server, repr(refused))
    return masked(server, json.dumps([heard.is_error, heard.value, heard.text]))
