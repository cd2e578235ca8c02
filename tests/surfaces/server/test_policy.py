"""A policy at the server's doors: what is denied is refused, and what is hidden is not there."""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.errors import ArgumentInvalid, OmnigraphError, PolicyInvalid
from omnigraph.surfaces.server.access import UnderPolicy
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from tests.surfaces.server.world import ADD, PEOPLE, QUERIES, G, World, make_graph, serve_here

TOKENS = {name: f"token-{name}" for name in ("ada", "bob", "eve", "grace")}
POLICY = """
version: 1
groups: {staff: [ada, bob]}
protected_branches: [main]
rules:
  - {id: read, allow: {actors: {group: staff}, actions: [read]}}
  - id: others
    deny: {actors: [bob], actions: [read], types: [Person], unless: resource.name != "ada"}
  - {id: firms, deny: {actors: [bob], actions: [read], types: [Company]}}
  - {id: write, allow: {actors: {group: staff}, actions: [change], branch_scope: unprotected}}
  - {id: stored, allow: {actors: [ada], actions: [invoke_query, export, branch_create]}}
  - id: some
    allow: {actors: [bob], actions: [invoke_query], when: 'context.query == "find_person"'}
  - {id: list, allow: {actors: [ada], actions: [graph_list]}}
  - {id: all, allow: {actors: [grace], actions: [read, change, export, invoke_query]}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policed")
    make_graph(folder).branch_create("work")
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "stored.gq").write_text(
        QUERIES + "query firms() { match { $c: Company } return { $c.name } }"
    )
    return folder


def config(place: Path, **more: Any) -> ServerConfig:
    sources = TokenSources(json=json.dumps(TOKENS))
    given = {
        "store": str(place / "people.omni"),
        "policy": (place / "policy.yaml",),
        "queries": (place / "stored.gq",),
        "settings": Settings(token_sources=sources),
    }
    return ServerConfig(**{**given, **more})


@pytest.fixture(scope="module")
def policed(place: Path) -> World:
    graph = Graph.open(place / "people.omni", settings=Settings())
    world = serve_here(graph)
    world.app.serving = serving_of(config(place), {"people": graph})
    return world


def asked(world: World, actor: str, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {TOKENS[actor]}"}
    return world.request(method, path, json=body, headers=headers)


def names(world: World, actor: str, **more: Any) -> list[str]:
    answer = asked(world, actor, "POST", f"{G}/query", {"query": PEOPLE, **more})
    return [row["p.name"] for row in answer.json()["rows"]]


@pytest.mark.parametrize(
    ("actor", "method", "path", "body", "status"),
    [
        ("ada", "POST", f"{G}/query", {"query": PEOPLE}, 200),
        ("eve", "POST", f"{G}/query", {"query": PEOPLE}, 403),
        ("eve", "GET", f"{G}/schema", None, 403),
        ("eve", "GET", "/metrics", None, 403),
        ("ada", "POST", f"{G}/mutate", {"query": ADD, "params": {"name": "x"}}, 403),
        ("ada", "POST", f"{G}/load", {"data": '{"type": "Note", "data": {"text": "x"}}'}, 403),
        ("ada", "POST", f"{G}/export", {"type_names": ["Note"]}, 200),
        ("eve", "POST", f"{G}/export", {}, 403),
        ("bob", "POST", f"{G}/branches", {"name": "b"}, 403),
        ("ada", "POST", f"{G}/branches/merge", {"source": "work"}, 403),
        ("ada", "DELETE", f"{G}/branches/work", None, 403),
        ("ada", "POST", f"{G}/schema/apply", {"schema_source": "node A { b: String }"}, 403),
        ("ada", "GET", "/graphs", None, 200),
        ("bob", "GET", "/graphs", None, 403),
        ("ada", "POST", f"{G}/queries/find_person", {"params": {"name": "ada"}}, 200),
        ("bob", "POST", f"{G}/queries/find_person", {"params": {"name": "bob"}}, 200),
        ("bob", "POST", f"{G}/queries/with_big", {"params": {"big": 1}}, 404),
        ("eve", "POST", f"{G}/queries/find_person", {"params": {"name": "ada"}}, 404),
        ("ada", "POST", f"{G}/queries/add_person", {"params": {"name": "x"}}, 403),
    ],
)
def test_an_actor_may_do_what_the_policy_allows(
    policed: World, actor: str, method: str, path: str, body: Any, status: int
) -> None:
    answer = asked(policed, actor, method, path, body)
    assert answer.status_code == status, answer.text


def test_an_actor_writes_where_the_policy_lets_them(policed: World) -> None:
    body = {"query": ADD, "params": {"name": "on-work"}, "branch": "work"}
    written = asked(policed, "ada", "POST", f"{G}/mutate", body).json()
    assert written["commit"]["actor_id"] == "ada"
    assert "on-work" in names(policed, "ada", branch="work")
    assert "on-work" not in names(policed, "ada")


def test_hidden_rows_types_and_queries_are_not_there(policed: World) -> None:
    assert names(policed, "ada") == ["ada", "bob", "cleo"]
    assert names(policed, "bob") == ["bob", "cleo"]
    tables = asked(policed, "bob", "GET", f"{G}/snapshot").json()["datasets"]
    assert {t["type_name"]: t["entity_count"] for t in tables}["Person"] == 2
    assert "Company" not in asked(policed, "bob", "GET", f"{G}/schema").text
    blob = f"{G}/blob?entity=node&type=Person&id=ada&property=avatar"
    assert asked(policed, "bob", "GET", blob).status_code == 404
    assert asked(policed, "ada", "GET", blob).status_code == 200

    def listed(actor: str) -> list[str]:
        found = asked(policed, actor, "GET", f"{G}/queries").json()["queries"]
        return [entry["name"] for entry in found]

    assert listed("grace") == ["add_person", "find_person", "firms", "of_types", "with_big"]
    assert listed("bob") == ["find_person"]
    denied = asked(policed, "bob", "POST", f"{G}/queries/firms").json()
    missing = asked(policed, "bob", "POST", f"{G}/queries/nobody").json()
    assert denied["error"].replace("firms", "nobody") == missing["error"]


REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no JSON": {"content": b"{"},
    "a strange member": {"content": b'{"strange": 1}'},
    "a branch that is missing": {"content": b'{"branch": "nowhere"}'},
    "a commit that is missing": {"content": b'{"snapshot": "%s"}' % (b"0" * 26)},
    "both": {"content": b'{"branch": "main", "snapshot": "%s"}' % (b"0" * 26)},
    "a wrong parameter": {"content": b'{"params": {"name": 1}}'},
    "a bad header": {"headers": {"Omnigraph-Timeout-Ms": "soon"}},
    "a condition": {"headers": {"Omnigraph-If-Graph-Commit": "x"}},
    "a large body": {"content": b" " * 2_000_000},
}


BUT_SOME = """
version: 1
rules:
  - {id: all, allow: {actors: everyone, actions: [read, change, invoke_query]}}
  - {id: firms, deny: {actors: [bob], actions: [read], types: [Company]}}
  - {id: one, deny: {actors: [bob], actions: [invoke_query], when: 'context.query == "of_types"'}}
  - {id: two, deny: {actors: [bob], actions: [invoke_query], when: 'context.query == "add_person"'}}
"""


@pytest.mark.parametrize("limits", [ServerLimits(), ServerLimits(max_actor_writes=0)])
def test_a_stored_query_that_is_denied_or_hidden_is_one_that_nobody_stored(
    place: Path, limits: ServerLimits
) -> None:
    """Whatever else is wrong with a request, all have one answer, in every byte."""
    file = place / "but-some.yaml"
    file.write_text(BUT_SOME)
    graph = Graph.open(place / "people.omni", settings=Settings())
    app = App(serving_of(config(place, policy=(file,)), {"people": graph}), limits)
    world = World(graph, app, serve_here(graph).client.__class__(app))
    for what, given in REQUESTS.items():
        headers = {"Authorization": f"Bearer {TOKENS['bob']}", **given.get("headers", {})}
        content = given.get("content")
        for route in ("", "/if-graph-commit"):
            told = set()
            for name in ("nobody", "firms", "of_types", "add_person"):
                path = f"{G}/queries/{name}{route}"
                answer = world.request("POST", path, content=content, headers=headers)
                said = answer.text.replace(name, "it").replace(answer.json()["request_id"], "")
                told.add((answer.status_code, said))
            assert len(told) == 1, (what, route, told)


def test_a_policy_is_asked_before_an_actor_is_told_to_wait(place: Path) -> None:
    graph = Graph.open(place / "people.omni", settings=Settings())
    app = App(serving_of(config(place), {"people": graph}), ServerLimits(max_actor_writes=0))
    world = World(graph, app, serve_here(graph).client.__class__(app))
    full = {"query": ADD, "params": {"name": "x"}, "branch": "work"}
    assert asked(world, "ada", "POST", f"{G}/mutate", full).status_code == 429
    denied = {**full, "branch": "main"}
    assert asked(world, "ada", "POST", f"{G}/mutate", denied).status_code == 403
    for method, path, body in (
        ("POST", "load", {"data": ""}),
        ("POST", "branches/merge", {"source": "work"}),
        ("DELETE", "branches/work", None),
        ("POST", "schema/apply", {"schema_source": ""}),
    ):
        assert asked(world, "ada", method, f"{G}/{path}", body).status_code == 403, path


def test_a_reload_takes_another_policy_and_keeps_what_was_read(place: Path) -> None:
    graph = Graph.open(place / "people.omni", settings=Settings())
    world = serve_here(graph)
    world.app.serving = serving_of(config(place), {"people": graph})
    assert names(world, "bob") == ["bob", "cleo"]
    other = place / "other.yaml"
    other.write_text("version: 1\nrules: [{id: a, allow: {actors: [bob], actions: [read]}}]\n")
    world.app.serving = serving_of(config(place, policy=(other,)), {"people": graph})
    assert names(world, "bob") == ["ada", "bob", "cleo"]
    assert asked(world, "ada", "GET", f"{G}/schema").status_code == 403


def test_after_a_reload_a_feed_goes_on_by_the_new_policy(place: Path) -> None:
    graph = Graph.open(place / "people.omni", settings=Settings())
    world = serve_here(graph)

    def polled(more: str) -> tuple[list[str], str | None]:
        path = f"{G}/changes?type=Person&{more}"
        page = asked(world, "bob", "GET", path).json()
        assert "blocks" in page, page
        found = [c["id"] for block in page["blocks"] for c in block["changes"]]
        return found, page["next_page_token"]

    everything = place / "everything.yaml"
    everything.write_text("version: 1\nrules: [{id: a, allow: {actors: [bob], actions: [read]}}]\n")
    world.app.serving = serving_of(config(place, policy=(everything,)), {"people": graph})
    whole, _ = polled("start=beginning")
    first, token = polled("start=beginning&limit=1")
    assert "ada" in whole and len(first) == 1
    world.app.serving = serving_of(config(place), {"people": graph})
    rest, _ = polled(f"page_token={token}")
    assert rest == [id_ for id_ in whole if id_ not in (*first, "ada")]


@pytest.mark.parametrize(
    ("text", "more", "error"),
    [
        ("version: 1\nrules: [{id: a}]", {}, PolicyInvalid),
        (
            "version: 1\nrules: [{id: a, allow: {actors: [b], actions: [read], types: [Nobody]}}]",
            {},
            PolicyInvalid,
        ),
        (POLICY, {"is_unauthenticated": True, "settings": Settings()}, ArgumentInvalid),
        (POLICY, {"settings": Settings()}, ArgumentInvalid),
    ],
)
def test_a_policy_that_can_not_be_used_keeps_the_server_from_starting(
    place: Path, tmp_path: Path, text: str, more: Any, error: type[OmnigraphError]
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    graph = Graph.open(place / "people.omni", settings=Settings())
    with pytest.raises(error):
        serving_of(config(place, policy=(file,), **more), {"people": graph})


def test_the_state_of_a_server_with_a_policy_is_known(policed: World) -> None:
    assert isinstance(policed.app.serving.access, UnderPolicy)
