"""Rights beside those of the graph: to start Spark, to read metrics, and to send a large body."""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.backend import engine_of
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.policy.policy import Policy
from omnigraph.surfaces.server.access import Access, DefaultDeny, Open
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from omnigraph.surfaces.server.tokens import Tokens
from tests.surfaces.server.asgi import Client, call
from tests.surfaces.server.uploads import JOBS, Jobs, people
from tests.surfaces.server.world import G, World, make_graph, serve_here

ACTORS = ("reader", "writer", "agent", "sparky", "watcher", "nobody", "stopped")
TOKENS = {name: f"token-{name}" for name in ACTORS}
POLICY = """
version: 1
groups: {staff: [reader, writer, sparky, watcher, stopped]}
rules:
  - {id: read, allow: {actors: {group: staff}, actions: [read]}}
  - {id: write, allow: {actors: [writer, sparky, stopped], actions: [change]}}
  - {id: spark, allow: {actors: [sparky, stopped], actions: [run_spark]}}
  - {id: no-spark, deny: {actors: [stopped], actions: [run_spark]}}
  - {id: watch, allow: {actors: [watcher], actions: [metrics]}}
  - id: agents
    allow: {actors: [agent], actions: [change, read], when: 'context.branch like "agent/*"'}
"""
SPARK = {"algorithm": {"~": "Degrees"}, "edges": ["Knows"], "engine": "spark"}


@pytest.fixture(scope="module")
def policed(tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("rights")
    make_graph(place).branch_create("agent/1")
    (place / "policy.yaml").write_text(POLICY)
    (place / "in").mkdir()
    (place / "in/people.jsonl").write_bytes(people(3, "file"))
    graph = Graph.open(place / "people.omni", settings=Settings())
    world = serve_here(graph, load_from=[str(place / "in")])
    sources = TokenSources(json=json.dumps(TOKENS))
    config = ServerConfig(
        store=graph.uri,
        policy=(place / "policy.yaml",),
        settings=Settings(token_sources=sources),
    )
    world.app.serving = serving_of(config, {"people": graph})
    return world


def as_(actor: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[actor]}"}


# Spark --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actor", ["reader", "writer", "stopped"])
def test_spark_is_started_for_those_with_the_right_alone(policed: World, actor: str) -> None:
    """A test that began a session would fail: it is in no group of Spark."""
    refused = policed.post(f"{G}/calls/analytics", json=SPARK, headers=as_(actor))
    assert refused.status_code == 403
    assert refused.json()["error"].startswith("the policy denies run_spark")
    job = Jobs(policed, TOKENS[actor]).create(upload={"name": "a.jsonl"}, engine="spark")
    assert job.status_code == 403


@pytest.mark.parametrize(
    ("access", "status"),
    [(Open(), 403), (DefaultDeny(Tokens.of(TOKENS)), 403)],
)
def test_without_a_policy_spark_is_not_started(tmp_path: Path, access: Access, status: int) -> None:
    world = serve_here(make_graph(tmp_path), access=access)
    refused = world.post(f"{G}/calls/analytics", json=SPARK, headers=as_("reader"))
    assert refused.status_code == status
    assert refused.json()["details"]["code"] == "spark_not_allowed"
    assert "--allow-spark" in refused.json()["hint"]
    local = {**SPARK, "engine": "local"}
    assert world.post(f"{G}/calls/analytics", json=local, headers=as_("reader")).is_success


def test_those_with_the_right_may_start_it(policed: World) -> None:
    access = policed.app.serving.access
    served = policed.app.serving.registry.get("people").guarded
    allowed = {
        actor: engine_of(access.handle(served, actor).backend).gate.allows_spark(actor)
        for actor in ACTORS
    }
    assert allowed == {actor: actor == "sparky" for actor in ACTORS}
    graph = policed.graph
    assert engine_of(Open(may_run_spark=True).handle(graph, None).backend).gate.allows_spark(None)


def test_files_are_loaded_without_spark_for_those_who_may_not_start_it(policed: World) -> None:
    """If no engine is named, files are Spark's; it is not worth a refusal."""
    jobs = Jobs(policed, TOKENS["writer"])
    begun = jobs.create(files=[str(Path(policed.graph.uri).parent / "in/people.jsonl")])
    assert begun.status_code == 202, begun.text
    ended = jobs.ended(begun.json()["id"])
    assert ended["state"] == "succeeded" and ended["report"]["engine"] != "spark"


# Previews -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("call_name", ["branch_merge", "revert"])
@pytest.mark.parametrize("is_policed", [True, False], ids=["policy", "tokens"])
def test_a_reader_is_shown_a_preview_and_refused_the_write(
    tmp_path: Path, call_name: str, is_policed: bool
) -> None:
    graph = make_graph(tmp_path)
    graph.mutate('query q() { update Person set { age: 3 } where name = "Ada" }')
    graph.branch_create("work")
    graph.mutate('query q() { update Person set { age: 4 } where name = "Ada" }', branch="work")
    head = graph.commits(limit=1)[0].graph_commit_id
    (tmp_path / "policy.yaml").write_text(POLICY)
    sources = TokenSources(json=json.dumps(TOKENS))
    rules = (tmp_path / "policy.yaml",) if is_policed else ()
    config = ServerConfig(store=graph.uri, policy=rules, settings=Settings(token_sources=sources))
    world = serve_here(graph)
    world.app.serving = serving_of(config, {"people": graph})
    bodies: dict[str, dict[str, Any]] = {
        "branch_merge": {"source": "work"},
        "revert": {"commit": head},
    }
    asked = bodies[call_name]

    def status(actor: str, **more: Any) -> int:
        path = f"{G}/calls/{call_name}"
        return int(world.post(path, json={**asked, **more}, headers=as_(actor)).status_code)

    assert status("reader", preview=True) == 200
    assert status("reader", preview=False) == status("reader") == 403
    assert status("nobody", preview=True) == (403 if is_policed else 200)
    assert [c.graph_commit_id for c in graph.commits(limit=1)] == [head]


# Bodies -------------------------------------------------------------------------------------------

BODIES = {
    "load lines": ("POST", f"{G}/load/ndjson", "application/x-ndjson"),
    "load": ("POST", f"{G}/load", "application/json"),
    "mutate": ("POST", f"{G}/mutate", "application/json"),
    "a part": ("PUT", f"{JOBS}/01ARZ3NDEKTSV4RRFFQ69G5FAV/parts/1", "application/octet-stream"),
    "a call": ("POST", f"{G}/calls/load", "application/x-ndjson"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("actor", ["reader", "watcher", "nobody"])
def test_an_actor_who_may_write_nowhere_is_refused_before_the_body(
    policed: World, name: str, actor: str
) -> None:
    """The body never comes: whoever waited for it would answer 408, much later."""
    method, path, type_ = BODIES[name]
    client = Client(body=[b"{", None])
    headers: Any = {**as_(actor), "content_type": type_}
    call(policed.app, client, method, path, **{n.lower(): v for n, v in headers.items()})
    assert client.status == 403
    assert len(client._parts) == 2, "nothing of the body was read"


def test_an_actor_who_may_write_somewhere_is_asked_for_the_body(policed: World) -> None:
    row = '{"type": "Person", "data": {"name": "by-agent"}}'
    headers = {**as_("agent"), "Content-Type": "application/x-ndjson"}
    for branch, status in (("agent/1", 200), ("main", 403)):
        path = f"{G}/load/ndjson?branch={branch}"
        assert policed.post(path, content=row, headers=headers).status_code == status


def test_what_an_actor_may_ever_do_is_known_without_a_branch(policed: World) -> None:
    fitted = Policy.of_text(POLICY).fitted(policed.graph.schema().catalog, "any")
    ever = {
        action: {a for a in ACTORS if fitted.may_ever(actor=a, action=action)}
        for action in ("read", "change", "run_spark", "metrics", "admin")
    }
    assert ever == {
        "read": {"reader", "writer", "agent", "sparky", "watcher", "stopped"},
        "change": {"writer", "agent", "sparky", "stopped"},
        "run_spark": {"sparky"},
        "metrics": {"watcher"},
        "admin": set(),
    }
    assert not fitted.may_ever(actor=None, action="read")


# Metrics ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actor", ACTORS)
def test_metrics_are_for_those_with_the_right(policed: World, actor: str) -> None:
    status = policed.get("/metrics", headers=as_(actor)).status_code
    assert status == (200 if actor == "watcher" else 403)


def test_metrics_of_a_server_without_tokens_are_for_anyone(tmp_path: Path) -> None:
    assert serve_here(make_graph(tmp_path), access=Open()).get("/metrics").status_code == 200
