"""`Idempotency-Key`: a request that is sent twice is carried out once, on every route that adds."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from tests.surfaces.server.world import ADD, PEOPLE, G, World, serve_here

LINE = '{"type": "Person", "data": {"name": "yan"}}'
NAME = {"params": {"name": "zoe"}}
BODIES: dict[str, dict[str, Any]] = {
    "mutate": {"query": ADD, **NAME},
    "change": {"query": ADD, **NAME},
    "queries/add_person": NAME,
    "load": {"data": LINE, "mode": "append"},
    "ingest": {"data": LINE, "mode": "append"},
}
KEY = {"Idempotency-Key": "order-17"}


def commits(world: World) -> list[str]:
    return [each["graph_commit_id"] for each in world.get(f"{G}/commits").json()["commits"]]


@pytest.mark.parametrize("route", BODIES)
def test_a_request_with_a_key_is_carried_out_once(world: World, route: str) -> None:
    first = world.post(f"{G}/{route}", json=BODIES[route], headers=KEY)
    assert first.status_code == 200, first.text
    assert "Idempotency-Replayed" not in first.headers
    before = commits(world)
    again = world.post(f"{G}/{route}", json=BODIES[route], headers=KEY)
    assert again.status_code == 200, again.text
    assert again.headers["Idempotency-Replayed"] == "true"
    assert commits(world) == before
    if route not in ("load", "ingest"):
        assert again.json() == first.json(), "a repeated load says that nothing was loaded now"


def test_lines_with_a_key_are_loaded_once(world: World) -> None:
    path, body = f"{G}/load/ndjson?mode=append", LINE.encode()
    headers = {**KEY, "Content-Type": "application/x-ndjson"}
    assert world.post(path, content=body, headers=headers).status_code == 200
    before = commits(world)
    again = world.post(path, content=body, headers=headers)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (200, "true")
    assert commits(world) == before


def test_a_key_of_another_request_is_refused(world: World) -> None:
    first = world.post(f"{G}/mutate", json=BODIES["mutate"], headers=KEY).json()
    other = {"query": ADD, "params": {"name": "yan"}}
    answer = world.post(f"{G}/mutate", json=other, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert first["commit"]["graph_commit_id"] in answer.json()["error"]


@pytest.mark.parametrize("route", ["load", "ingest"])
def test_two_actors_may_choose_the_same_key(graph: Graph, tmp_path: Path, route: str) -> None:
    """Also where the load of the one came to the branch by a merge."""
    policy = tmp_path / "policy.yaml"
    allowed = "[read, change, branch_create, branch_merge]"
    policy.write_text(
        f"version: 1\nrules: [{{id: a, allow: {{actors: [ada, bob], actions: {allowed}}}}}]\n"
    )
    world = serve_here(graph)
    tokens = TokenSources(json='{"ada": "token-ada", "bob": "token-bob"}')
    settings = Settings(token_sources=tokens)
    config = ServerConfig(store=graph.uri, policy=(policy,), settings=settings)
    world.app.serving = serving_of(config, {"people": graph})

    def load(actor: str, name: str, branch: str, key: str) -> str | None:
        body = {"data": LINE.replace("yan", name), "mode": "append", "branch": branch}
        headers = {"Idempotency-Key": key, "Authorization": f"Bearer token-{actor}"}
        answer = world.post(f"{G}/{route}", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        replayed: str | None = answer.headers.get("Idempotency-Replayed")
        return replayed

    graph.branch_create("work")
    assert load("ada", "of ada", "main", "1") is None
    assert load("ada", "of ada on work", "work", "2") is None
    graph.branch_merge("work")
    for key in ("1", "2"):
        assert load("bob", f"of bob {key}", "main", key) is None
        assert load("bob", f"of bob {key}", "main", key) == "true"
        assert load("ada", "not again", "main", key) == "true"
    people = graph.query(PEOPLE.replace("$p.age", "$p.name as again")).to_pylist()
    found = {row["p.name"] for row in people}
    assert found >= {"of ada", "of ada on work", "of bob 1", "of bob 2"}
    assert "not again" not in found


@pytest.mark.parametrize("key", ["x" * 300, " "])
def test_a_key_that_is_no_name_is_refused(shared: World, key: str) -> None:
    headers = {"Idempotency-Key": key}
    answer = shared.post(f"{G}/mutate", json=BODIES["mutate"], headers=headers)
    assert answer.status_code == 400 and "request_id" in answer.json()["error"]


def test_a_query_that_only_reads_takes_a_key_and_reads(shared: World) -> None:
    body = {"params": {"name": "ada"}}
    for _ in range(2):
        answer = shared.post(f"{G}/queries/find_person", json=body, headers=KEY)
        assert answer.json()["rows"] == [{"p.name": "ada", "p.age": 36}]
