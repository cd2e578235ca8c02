"""Load jobs of actors: each sees their own, and loads what a policy lets them load."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from tests.processes import wait_until
from tests.surfaces.server.uploads import JOBS, Jobs, names, people
from tests.surfaces.server.world import World, make_graph, serve_here

TOKENS = {name: f"token-{name}" for name in ("ada", "bob", "eve", "root")}
POLICY = """
version: 1
protected_branches: [main]
rules:
  - {id: read, allow: {actors: [ada, bob, eve, root], actions: [read]}}
  - {id: write, allow: {actors: [ada, bob, root], actions: [change], branch_scope: unprotected}}
  - {id: all, allow: {actors: [root], actions: [admin]}}
  - id: grown
    deny: {actors: [bob], actions: [change], types: [Person], when: "resource.age < 18"}
"""


@pytest.fixture(scope="module")
def policed(tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("policed")
    make_graph(place).branch_create("work")
    (place / "policy.yaml").write_text(POLICY)
    return policed_by(place, place / "policy.yaml")


def policed_by(place: Path, *policy: Path) -> World:
    graph = Graph.open(place / "people.omni", settings=Settings())
    world = serve_here(graph)
    config = ServerConfig(
        store=graph.uri,
        policy=policy,
        settings=Settings(token_sources=TokenSources(json=json.dumps(TOKENS))),
    )
    world.app.serving = serving_of(config, {"people": graph})
    return world


def by(world: World, actor: str) -> Jobs:
    return Jobs(world, TOKENS[actor])


def test_another_actor_sees_nothing_of_a_job(policed: World) -> None:
    ada, bob, root = (by(policed, name) for name in ("ada", "bob", "root"))
    id_ = ada.upload(people(2, "mine"), branch="work")
    assert ada.ids()[0] == id_ and id_ not in bob.ids()
    for method, path, body in (
        ("GET", "", {}),
        ("DELETE", "", {}),
        ("GET", "/rejected", {}),
        ("PUT", "/parts/1", {"content": b"mine now"}),
        ("POST", "/start", {"json": {"part_count": 1}}),
    ):
        hidden = bob.ask(method, f"{JOBS}/{id_}{path}", **body)
        unknown = bob.ask(method, f"{JOBS}/01ARZ3NDEKTSV4RRFFQ69G5FAV{path}", **body)
        assert hidden.status_code == unknown.status_code == 404
        assert hidden.json()["error"] == f"no load job {id_}"
    assert id_ in root.ids() and root.get(id_)["actor_id"] == "ada"
    ada.start(id_, 1)
    job = ada.ended(id_)
    assert job["state"] == "succeeded" and job["result"]["actor_id"] == "ada"
    assert policed.graph.commits("work")[0].actor_id == "ada"


def test_nobody_fills_or_starts_a_job_of_another_actor(policed: World) -> None:
    """Its commit names the actor that began it: an administrator looks at it, or ends it."""
    ada, root = by(policed, "ada"), by(policed, "root")
    id_ = ada.upload(people(2, "own"), branch="work")
    for refused in (root.put(id_, 1, people(1, "slipped-in")), root.start(id_, 1)):
        assert refused.status_code == 403
        assert refused.json()["details"]["code"] == "policy_denied"
        assert "only the actor that began" in refused.json()["error"]
    assert root.get(id_)["state"] == "uploading"
    ada.start(id_, 1)
    assert ada.ended(id_)["state"] == "succeeded"
    found = names(policed.graph, "work")
    assert {"own0", "own1"} <= {*found} and "slipped-in0" not in found
    mine = ada.upload(people(1, "ended"), branch="work")
    assert root.cancel(mine)["state"] == "cancelled"


@pytest.mark.parametrize(("actor", "branch"), [("eve", "work"), ("ada", "main")])
def test_who_may_not_change_a_branch_begins_no_job(policed: World, actor: str, branch: str) -> None:
    refused = by(policed, actor).create(upload={}, branch=branch)
    assert refused.status_code == 403 and refused.json()["details"]["code"] == "policy_denied"


def test_rows_of_a_job_are_judged_as_those_of_any_load(policed: World) -> None:
    bob = by(policed, "bob")
    grown = b'{"type": "Person", "data": {"name": "grown", "age": 40}}\n'
    child = b'{"type": "Person", "data": {"name": "child", "age": 7}}\n'
    assert bob.ended(bob.load(grown, branch="work"))["state"] == "succeeded"
    denied = bob.ended(bob.load(grown.replace(b"grown", b"other") + child, branch="work"))
    assert denied["error_status"] == 403
    assert denied["error"]["details"]["code"] == "policy_denied"
    assert {"grown", "other", "child"} & {*names(policed.graph, "work")} == {"grown"}


def test_a_right_that_was_taken_away_is_missed_when_the_job_runs(
    tmp_path: Path,
) -> None:
    make_graph(tmp_path).branch_create("work")
    (tmp_path / "policy.yaml").write_text(POLICY)
    world = policed_by(tmp_path, tmp_path / "policy.yaml")
    ada = by(world, "ada")
    begun = ada.upload(people(2, "late"), branch="work")
    (tmp_path / "policy.yaml").write_text(
        POLICY.replace("[ada, bob, root], actions: [change]", "[bob], actions: [change]")
    )
    less = policed_by(tmp_path, tmp_path / "policy.yaml")
    world.app.serving = less.app.serving
    assert ada.start(begun, 1).status_code == 403
    assert ada.put(begun, 1, b"x").status_code == 403
    assert ada.cancel(begun)["state"] == "cancelled", "one's own job can always be ended"


def test_with_tokens_and_no_policy_nobody_begins_a_job(policed: World, tmp_path: Path) -> None:
    make_graph(tmp_path).close()
    world = policed_by(tmp_path)
    ada = by(world, "ada")
    assert ada.create(upload={}).status_code == 403 and ada.ids() == []
    assert Jobs(world).ask("GET", JOBS).status_code == 401


def test_a_job_of_nobody_is_not_run_once_there_are_actors(tmp_path: Path) -> None:
    make_graph(tmp_path).close()
    graph = Graph.open(tmp_path / "people.omni", settings=Settings())
    open_ = serve_here(graph, spool=tmp_path / "spool")
    id_ = Jobs(open_).upload(people(2, "nobody"))
    guarded = policed_by(tmp_path)
    open_.app.serving = guarded.app.serving
    job = open_.app.jobs.get("people", id_, None)
    open_.app.jobs.start(job, 1)
    wait_until(lambda: open_.app.jobs.get("people", id_, None).state.is_over, "it never ended")
    error = open_.app.jobs.get("people", id_, None).error
    assert error is not None and error.code == "policy_denied"
    assert "nobody0" not in names(graph)
