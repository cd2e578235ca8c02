"""Agents of a server: its tokens, its policy and its limits hold for them as for everybody."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.surfaces.mcp.caller import distinct_slug, slug
from omnigraph.surfaces.mcp.language import CHANGING, READING
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.registry import Serving
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from tests.surfaces.mcp.agents import ADD, PEOPLE, Agent, agent_at
from tests.surfaces.server.asgi import Client, call
from tests.surfaces.server.world import QUERIES, G, World, make_graph, serve_here, stored

TOKENS = {name: f"token-{name}" for name in ("ada", "bob", "eve")}
POLICY = """
version: 1
protected_branches: [main]
rules:
  - {id: read, allow: {actors: [ada, bob], actions: [read]}}
  - {id: firms, deny: {actors: [bob], actions: [read], types: [Company]}}
  - id: others
    deny: {actors: [bob], actions: [read], types: [Person], unless: resource.name != "ada"}
  - id: write
    allow: {actors: [ada], actions: [change], branch_scope: unprotected}
  - id: branches
    allow:
      actors: [ada]
      actions: [branch_create, branch_delete]
      target_branch_scope: unprotected
  - {id: stored, allow: {actors: [ada], actions: [invoke_query]}}
  - id: some
    allow: {actors: [bob], actions: [invoke_query], when: 'context.query != "with_big"'}
"""
FIRMS = "query firms() { match { $c: Company } return { $c.name } }"


@pytest.fixture(scope="module")
def policed(tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("policed")
    (place / "policy.yaml").write_text(POLICY)
    (place / "stored.gq").write_text(QUERIES + FIRMS)
    graph = make_graph(place)
    return serve_here(graph, serving=serving(place, graph, policy=(place / "policy.yaml",)))


def serving(place: Path, graph: Graph, **more: Any) -> Serving:
    sources = TokenSources(json=json.dumps(TOKENS))
    config = ServerConfig(
        store=graph.uri,
        queries=(place / "stored.gq",),
        settings=Settings(token_sources=sources),
        **more,
    )
    return serving_of(config, {"people": graph})


def agent(world: World, actor: str | None, **headers: str) -> Agent:
    token = {} if actor is None else {"authorization": f"Bearer {TOKENS[actor]}"}
    return agent_at(world.app, **token, **headers)


def everything(agent: Agent) -> Iterator[str]:
    """All that an agent can hear: lists, resources, answers, errors."""
    for tool in agent.tools().values():
        yield tool.model_dump_json()
    yield from agent.resources()
    for uri in agent.resources():
        yield agent.read(uri)
    for tool, arguments in (
        ("schema", {}),
        ("search", {"text": "ada"}),
        ("search", {"text": "analytical"}),
        ("search", {"text": "x", "type": "Compny"}),
        ("query", {"query": PEOPLE}),
        ("query", {"query": "query q() { match { $c: Compani } return { $c } }"}),
        ("query", {"query": "query q() { match { $p: Person  $p worksA $c } return { $p } }"}),
        ("diff", {"from": "main", "to": "main"}),
        ("find_person", {"name": "ada"}),
    ):
        answer = agent(tool, **arguments)
        # What was asked is said again.
        yield answer.text if tool != "search" else answer.text.replace("Compny", "")
    for name in ("firm", "with_bi", "find_perso"):
        yield str(agent.refused(name)).replace(name, "")


def test_what_is_hidden_from_an_actor_is_nowhere(policed: World) -> None:
    # The examples of the language are the same for everybody, and of a graph of their own.
    heard = "\n".join(everything(agent(policed, "bob"))).replace(READING, "").replace(CHANGING, "")
    for hidden in ("Company", "Analytical", "firms", "with_big", "WorksAt", "1815-12"):
        assert hidden not in heard, hidden
    assert "find_person" in heard and "cleo" in heard
    told = "\n".join(everything(agent(policed, "ada"))).replace(READING, "").replace(CHANGING, "")
    for shown in ("Company", "Analytical", "firms", "with_big", "WorksAt", "1815-12"):
        assert shown in told, shown


@pytest.mark.parametrize("name", ["firms", "with_big"])
def test_a_denied_query_is_refused_in_the_words_of_one_that_nobody_stored(
    policed: World, name: str
) -> None:
    bob = agent(policed, "bob")
    denied, missing = bob.refused(name, big=1), bob.refused("zzzzz", big=1)
    assert denied.code == missing.code
    assert str(denied).replace(name, "zzzzz") == str(missing)
    with pytest.raises(Exception, match="no resource named"):
        bob.read(f"omnigraph://queries/{name}")


def test_tools_are_listed_for_those_who_may_use_them(policed: World) -> None:
    writes = {"mutate", "load", "branch_create", "branch_delete", "add_person"}
    assert writes <= agent(policed, "ada").tools().keys()
    assert "branch_merge" not in agent(policed, "ada").tools()
    assert not writes - {"add_person"} & agent(policed, "bob").tools().keys()


def test_an_actor_writes_its_own_branch_and_not_the_protected_one(policed: World) -> None:
    ada = agent(policed, "ada", **{"omnigraph-agent": "Night Shift"})
    added = ada("mutate", query=ADD, params={"name": "zoe"})
    assert (added["branch"], added["actor_id"]) == ("agent/ada/Night-Shift", "ada")
    assert ada("query", query=PEOPLE).names[-1] == "zoe"
    assert agent(policed, "ada")("branches")["reads_see"] == "main"
    refused = ada("mutate", query=ADD, params={"name": "x"}, branch="main")
    assert refused.code == "policy_denied"
    assert ada("branch_merge").code == "policy_denied"
    proposed = ada("propose")
    assert proposed["merge"]["outcome"] and "tool" not in proposed["how_to_merge"]
    assert "--server http://here/graphs/people" in proposed["how_to_merge"]["command_line"]
    assert agent(policed, "bob")("mutate", query=ADD, params={"name": "x"}).code == "policy_denied"
    assert ada("branch_delete", name="agent/ada/Night-Shift")["deleted"]


def test_a_first_write_is_told_to_an_actor_who_may_not_delete_branches(
    graph: Graph, tmp_path: Path
) -> None:
    policy = POLICY.replace("actions: [branch_create, branch_delete]", "actions: [branch_create]")
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "stored.gq").write_text(QUERIES)
    world = serve_here(graph, serving=serving(tmp_path, graph, policy=(tmp_path / "policy.yaml",)))
    assert agent(world, "ada")("mutate", query=ADD, params={"name": "dan"})["branch_created"]
    broken = agent(world, "ada")("mutate", query="query a( {", branch="agent/ada/two")
    assert broken.code == "parse_error"


def test_an_actor_who_may_not_read_main_works_on_other_branches(
    graph: Graph, tmp_path: Path
) -> None:
    graph.branch_create("open")
    policy = POLICY.replace(
        "{actors: [ada, bob], actions: [read]}",
        "{actors: [ada], actions: [read], branch_scope: unprotected}",
    )
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "stored.gq").write_text(QUERIES)
    world = serve_here(graph, serving=serving(tmp_path, graph, policy=(tmp_path / "policy.yaml",)))
    ada = agent(world, "ada")
    assert "query" in ada.tools() and "omnigraph://language" in ada.resources()
    assert ada("query", query=PEOPLE, branch="open").names == ["ada", "bob", "cleo"]
    assert ada("query", query=PEOPLE).code == "policy_denied"


HIDING = """
version: 1
protected_branches: [main, secret, nothing]
rules:
  - {id: read, allow: {actors: [bob], actions: [read], branch_scope: unprotected}}
  - {id: main, allow: {actors: [bob], actions: [read], when: 'context.branch == "main"'}}
  - {id: make, allow: {actors: [bob], actions: [branch_create, branch_delete, change]}}
"""


OF_BRANCHES = """
version: 1
protected_branches: [main]
rules:
  - {id: elsewhere, allow: {actors: [ada], actions: [read], branch_scope: unprotected}}
  - {id: everywhere, allow: {actors: [bob], actions: [read]}}
  - id: not-on-main
    deny:
      {actors: [bob], actions: [read], types: [Person],
       when: 'context.branch == "main" && resource.name == "ada"'}
"""


def named(row: dict[str, Any]) -> str:
    return str(row.get("id") or row["p.name"])


@pytest.mark.parametrize("actor", ["ada", "bob"])
@pytest.mark.parametrize("tool", ["query", "search", "diff"])
def test_all_pages_of_a_branch_go_by_the_rules_of_the_branch(
    graph: Graph, tmp_path: Path, tool: str, actor: str
) -> None:
    """Its head was made on main, where ada may read nothing and bob less."""
    graph.branch_create("before", graph.commits()[-1].graph_commit_id)
    graph.branch_create("open")
    (tmp_path / "policy.yaml").write_text(OF_BRANCHES)
    (tmp_path / "stored.gq").write_text(QUERIES)
    policy = (tmp_path / "policy.yaml",)
    world = serve_here(graph, serving=serving(tmp_path, graph, policy=policy))
    reads = agent(world, actor)
    tools: dict[str, tuple[dict[str, Any], str]] = {
        "query": ({"query": PEOPLE, "branch": "open"}, "rows"),
        "search": ({"text": "ada bob cleo", "branch": "open"}, "hits"),
        "diff": ({"from": "before", "to": "open", "types": ["Person"]}, "changes"),
    }
    asked, rows = tools[tool]
    page, found = reads(tool, **asked, limit=1), []
    while page["next_cursor"] is not None:
        found += page[rows]
        page = reads(tool, **asked, limit=1, cursor=page["next_cursor"])
    assert [named(row) for row in [*found, *page[rows]]] == ["ada", "bob", "cleo"]
    counts = {each["name"]: each["count"] for each in reads("schema", branch="open")["types"]}
    assert counts["Person"] == 3


SHOWING = """
version: 1
rules:
  - {id: read, allow: {actors: [bob], actions: [read]}}"""
HIDING_ADA = """
  - id: ada
    deny: {actors: [bob], actions: [read], types: [Person], when: 'resource.name == "ada"'}
"""


@pytest.mark.parametrize("tool", ["query", "search", "diff"])
def test_pages_end_where_a_policy_shows_less_meanwhile(
    graph: Graph, tmp_path: Path, tool: str
) -> None:
    """Places of rows have moved: to go on there would leave some out."""
    (tmp_path / "stored.gq").write_text(QUERIES)
    first = graph.commits()[-1].graph_commit_id
    tools: dict[str, dict[str, Any]] = {
        "query": {"query": PEOPLE},
        "search": {"text": "ada bob cleo"},
        "diff": {"from": first, "to": "main", "types": ["Person"]},
    }
    asked = tools[tool]
    said: list[Any] = []
    for policy in (SHOWING, SHOWING + HIDING_ADA):
        (tmp_path / "policy.yaml").write_text(policy)
        files = (tmp_path / "policy.yaml",)
        world = serve_here(graph, serving=serving(tmp_path, graph, policy=files))
        cursor = {"cursor": said[0]["next_cursor"]} if said else {}
        said.append(agent(world, "bob")(tool, **asked, limit=1, **cursor))
    assert said[1].code == "invalid_argument" and "begin again" in said[1].text


def test_a_hidden_branch_is_not_known_by_making_one(graph: Graph, tmp_path: Path) -> None:
    graph.branch_create("secret")
    (tmp_path / "policy.yaml").write_text(HIDING)
    (tmp_path / "stored.gq").write_text(QUERIES)
    hiding = serve_here(graph, serving=serving(tmp_path, graph, policy=(tmp_path / "policy.yaml",)))
    bob = agent(hiding, "bob")
    assert bob("branches")["branches"] == ["main"]
    said = set()
    for name in ("secret", "nothing"):
        told = bob("branch_create", name="mine", **{"from": name})
        asked = {"name": "mine", "from": name}
        headers = {"Authorization": f"Bearer {TOKENS['bob']}"}
        answer = hiding.post(f"{G}/branches", json=asked, headers=headers)
        heard = json.dumps(told.value), told.text, answer.status_code, answer.json()["error"]
        said.add(tuple(str(each).replace(name, "?") for each in heard))
    assert len(said) == 1 and told.code == "not_found"
    assert bob("branch_create", name="secret").code == "policy_denied"
    assert bob("branch_create", name="mine")["branch"] == "mine"


def test_an_actor_without_a_right_hears_only_that(policed: World) -> None:
    eve = agent(policed, "eve")
    assert eve("query", query=PEOPLE).code == "policy_denied"
    assert policed.post(f"{G}/mcp", json={}).status_code == 401


def test_actors_whose_names_look_alike_have_branches_of_their_own() -> None:
    names = ("ada", "ada-b", "ada.b", "ada@b", "ada b", "é", "è", "x" * 50, "x" * 51)
    slugs = {distinct_slug(name, "actor") for name in names}
    assert len(slugs) == len(names) and {"ada", "ada-b"} < slugs
    assert all(slug(each, "") == each for each in slugs if len(each) <= 36)
    longest = f"agent/{distinct_slug('x' * 99, 'actor')}/{slug('y' * 99, 'mcp')}"
    assert len(longest) <= 90, "the name of a branch"


def test_without_a_policy_actors_read_and_do_nothing_else(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "stored.gq").write_text(QUERIES)
    world = serve_here(graph, serving=serving(tmp_path, graph))
    ada = agent(world, "ada")
    assert list(ada.tools())[-1] == "propose"
    assert ada("query", query=PEOPLE).names == ["ada", "bob", "cleo"]
    assert ada("mutate", query=ADD, params={"name": "x"}).code == "policy_denied"
    assert ada.refused("find_person", name="ada").code == -32602
    assert graph.branches() == ["main"]


def test_a_server_lets_agents_read_unless_it_is_told_otherwise(
    graph: Graph, tmp_path: Path
) -> None:
    world = serve_here(graph, queries=stored(tmp_path), may_agents_write=False)
    reader = agent(world, None)
    refused = reader("mutate", query=ADD, params={"name": "x"})
    assert refused.code == "read_only" and "--mcp-write" in refused.text
    assert "/" not in refused.text.replace("/mcp", ""), "no path of the server"
    assert reader("add_person", name="x").code == "read_only"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", 400),
        (b"[]", 400),
        (b"nope", 400),
        (b"", 400),
        pytest.param(b"[" * 5000, 400, id="deep"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', 200),
        (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', 202),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nope"}', 200),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 3}', 400),
    ],
)
def test_messages_that_are_none_are_answered(policed: World, body: bytes, status: int) -> None:
    headers = {"authorization": "Bearer token-ada", "content-type": "application/json"}
    answer = policed.post(f"{G}/mcp", content=body, headers=headers)
    assert answer.status_code == status and "Traceback" not in answer.text, answer.text


def test_earlier_versions_of_the_protocol_are_spoken(policed: World) -> None:
    ada = replace(agent(policed, "ada"), mode="legacy")
    assert "find_person" in ada.tools() and "node Person" in ada.read("omnigraph://schema")
    assert ada("find_person", name="ada")["rows"] == [{"p.name": "ada", "p.age": 36}]
    assert "did you mean find_person?" in str(ada.refused("find_persn"))


def test_limits_of_a_server_hold_for_agents(graph: Graph) -> None:
    limits = ServerLimits(max_body_bytes=2000, max_actor_writes=0)
    world = serve_here(graph, limits=limits, may_agents_write=True)
    writer = agent(world, None)
    busy = writer("mutate", query=ADD, params={"name": "x"})
    assert busy.code == "too_many_requests" and "try again" in busy.text
    assert world.post(f"{G}/mcp", json={"x": "y" * 3000}).status_code == 413
    large = writer.refused("query", query="x" * 3000)
    assert "exceeds the limit of 2,000; send less" in str(large), "in the words of the protocol"
    assert large.error.data["code"] == "bad_request"
    lost = world.post("/graphs/nowhere/mcp", json={}).json()
    assert lost["id"] is None and "nothing is served" in lost["error"]["message"]
    answer = world.post(f"{G}/mcp", content=b"{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 415
    assert world.get(f"{G}/mcp").status_code == 405


def test_calls_of_agents_are_counted_and_logged(
    graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    world = serve_here(graph)
    caplog.set_level("INFO", "omnigraph.server")
    agent(world, None)("query", query=PEOPLE.replace("Person", "Persn"))
    lines = [record.__dict__.get("members", {}) for record in caplog.records]
    (line,) = (each for each in lines if each.get("tool") == "query")
    assert (line["route"], line["code"], line["status"]) == ("mcp", "type_error", 200)
    assert b'route="mcp"' in world.app.metrics.text()


def test_an_agent_that_goes_ends_its_read(graph: Graph, caplog: pytest.LogCaptureFixture) -> None:
    params = {"name": "query", "arguments": {"query": PEOPLE}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with caplog.at_level("INFO", logger="omnigraph.server"):
        gone = Client([json.dumps(message).encode()], goes_after=0)
        call(serve_here(graph).app, gone, "POST", f"{G}/mcp")
    assert gone.sent == []
    (line,) = (record.members for record in caplog.records if hasattr(record, "members"))
    assert (line["status"], line["client_gone"], line["route"]) == (499, True, "mcp")


def test_a_server_without_the_package_says_what_to_install(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = serve_here(graph)
    monkeypatch.setitem(sys.modules, "mcp", None)
    answer = world.post(f"{G}/mcp", json={})
    assert answer.status_code == 501 and "omnigraph[mcp]" in answer.json()["hint"]
