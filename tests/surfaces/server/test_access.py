"""Who may ask what: tokens, the states of a server, and refusals to start."""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.errors import ArgumentInvalid, FileMissing, OmnigraphError
from omnigraph.surfaces.server.access import DefaultDeny, Open, Where
from omnigraph.surfaces.server.starting import ServerConfig, open_graphs, serving_of
from omnigraph.surfaces.server.tokens import read_tokens
from tests.surfaces.server.world import ADD, PEOPLE, G, World, make_graph, serve_here, stored

TOKENS = {"ada": "token-of-ada", "bob": "token-of-bob"}
ADA = {"Authorization": "Bearer token-of-ada"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("guarded")
    access = DefaultDeny(read_tokens(TokenSources(json=json.dumps(TOKENS))))
    return serve_here(make_graph(place), access=access, queries=stored(place))


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer token-of-nobody",
        "Bearer token-of-ada2",
        "Basic dG9rZW4tb2YtYWRh",
        "token-of-ada",
        "Bearer t\u00e9",
        "Bearer \u00a0token-of-ada",
        "Bearer token-of-ada\u00a0",
        "Bearer \u0085token-of-ada",
    ],
)
def test_without_a_token_that_somebody_has_nothing_is_told(
    guarded: World, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    for method, path in (("POST", f"{G}/query"), ("GET", "/graphs"), ("GET", "/graphs/x/schema")):
        answer = guarded.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "token-of" not in answer.text


def test_two_tokens_at_once_are_none(guarded: World) -> None:
    twice = [("Authorization", "Bearer token-of-ada"), ("Authorization", "Bearer token-of-bob")]
    assert guarded.get(f"{G}/schema", headers=twice).status_code == 400


def test_the_scheme_may_be_written_in_any_case(guarded: World) -> None:
    assert guarded.get(f"{G}/schema", headers={"authorization": "bEaReR token-of-ada"}).is_success


@pytest.mark.parametrize("header", ["Bearer  token-of-ada", "Bearer token-of-ada \t"])
def test_blanks_of_http_around_a_token_are_no_part_of_it(guarded: World, header: str) -> None:
    assert guarded.get(f"{G}/schema", headers={"authorization": header}).is_success


def test_a_stranger_is_refused_before_a_byte_of_the_body_is_read(guarded: World) -> None:
    taken = []

    def body() -> Any:
        taken.append(1)
        yield b" " * 1000

    answer = guarded.post(f"{G}/load/ndjson", content=body())
    assert answer.status_code == 401
    # The client may have offered it; nothing of it counts as an error of the body.
    assert answer.json()["details"]["code"] == "unauthorized"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/openapi.json"])
def test_some_pages_are_for_everybody(guarded: World, path: str) -> None:
    assert guarded.get(path).status_code == 200


def test_metrics_count_what_everybody_does_and_need_a_right(guarded: World) -> None:
    assert guarded.get("/metrics").status_code == 401
    assert guarded.get("/metrics", headers=ADA).status_code == 403


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"{G}/query", {"query": PEOPLE}, 200),
        ("GET", f"{G}/schema", None, 200),
        ("GET", f"{G}/commits", None, 200),
        ("GET", f"{G}/changes", None, 200),
        ("GET", f"{G}/queries", None, 200),
        ("GET", f"{G}/blob?entity=node&type=Person&id=ada&property=avatar", None, 200),
        ("POST", f"{G}/mutate", {"query": ADD, "params": {"name": "x"}}, 403),
        ("POST", f"{G}/change", {"query": ADD, "params": {"name": "x"}}, 403),
        ("POST", f"{G}/load", {"data": ""}, 403),
        ("POST", f"{G}/load/ndjson", None, 403),
        ("POST", f"{G}/export", {}, 403),
        ("POST", f"{G}/changes/baseline", {}, 403),
        ("POST", f"{G}/schema/apply", {"schema_source": ""}, 403),
        ("POST", f"{G}/branches", {"name": "b"}, 403),
        ("POST", f"{G}/branches/merge", {"source": "b"}, 403),
        ("DELETE", f"{G}/branches/b", None, 403),
        ("GET", "/graphs", None, 403),
        ("POST", f"{G}/queries/find_person", {"params": {"name": "ada"}}, 404),
        ("POST", f"{G}/queries/no_such_query", {}, 404),
    ],
)
def test_with_tokens_and_no_policy_an_actor_may_read_and_nothing_else(
    guarded: World, method: str, path: str, body: Any, status: int
) -> None:
    answer = guarded.request(method, path, json=body, headers=ADA)
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["code"] == "forbidden"
        assert answer.json()["details"]["code"] == "policy_denied"


def test_a_stored_query_that_one_may_not_run_looks_like_one_that_is_not_there(
    guarded: World,
) -> None:
    def told(name: str) -> dict[str, Any]:
        answer = guarded.post(f"{G}/queries/{name}", json={}, headers=ADA).json()
        return {k: v for k, v in answer.items() if k != "request_id"}

    there, missing = told("find_person"), told("find_nobody")
    assert json.dumps(there).replace("find_person", "find_nobody") == json.dumps(missing)
    assert guarded.get(f"{G}/queries", headers=ADA).json() == {"queries": []}


def test_the_actor_is_the_one_of_the_token_and_of_nothing_else(graph: Graph) -> None:
    class Anything(DefaultDeny):
        def allow(self, actor: str | None, action: str, where: Where) -> None:
            return

    world = serve_here(graph, access=Anything(read_tokens(TokenSources(json=json.dumps(TOKENS)))))
    body = {"query": ADD, "params": {"name": "x"}}
    answer = world.post(f"{G}/mutate", json=body, headers={**ADA, "X-Actor": "bob"}).json()
    assert (answer["actor_id"], answer["commit"]["actor_id"]) == ("ada", "ada")
    named = world.post(f"{G}/mutate", json={**body, "actor": "bob"}, headers=ADA)
    assert named.status_code == 400
    made = world.post(f"{G}/branches", json={"name": "b"}, headers=ADA).json()
    assert made["actor_id"] == "ada"


def test_tokens_are_shown_nowhere(guarded: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        guarded.get(f"{G}/schema", headers=ADA)
        guarded.get(f"{G}/schema", headers={"Authorization": "Bearer token-of-nobody"})
        guarded.post(f"{G}/query?token=token-of-ada", headers=ADA)
    ours = [record for record in caplog.records if record.name.startswith("omnigraph")]
    assert len(ours) >= 3
    assert "token-of" not in "".join(f"{r.getMessage()}{r.__dict__}" for r in ours)
    sources = TokenSources(json=json.dumps(TOKENS), single="token-of-one")
    assert "token-of" not in repr((sources, read_tokens(sources), guarded.app.serving))
    assert b"token-of" not in guarded.app.metrics.text()


# Starting -----------------------------------------------------------------------------------------


def config(store: Path, sources: TokenSources, **more: Any) -> ServerConfig:
    settings = Settings(token_sources=sources)
    return ServerConfig(store=str(store), settings=settings, **more)


def private(file: Path, text: str, mode: int = 0o600) -> Path:
    file.write_text(text, errors="surrogateescape")
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o601])
def test_a_token_file_that_others_may_use_is_refused(mode: int, tmp_path: Path) -> None:
    file = private(tmp_path / "tokens.json", '{"ada": "secret-one"}', mode)
    with pytest.raises(ArgumentInvalid, match="other users") as refused:
        read_tokens(TokenSources(file=str(file)))
    assert refused.value.hint == f"chmod 600 {file}" and "secret-one" not in str(refused.value)
    file.chmod(0o400)
    assert read_tokens(TokenSources(file=str(file))).actor_of("Bearer secret-one") == "ada"


def test_tokens_come_from_a_file_from_json_and_one_by_itself(tmp_path: Path) -> None:
    file = private(tmp_path / "tokens.json", '{"ada": "one"}')
    tokens = read_tokens(TokenSources(file=str(file), json='{"bob": "two"}', single="three"))
    found = [tokens.actor_of(f"Bearer {token}") for token in ("one", "two", "three")]
    assert found == ["ada", "bob", "default"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '"x"',
        "{",
        '{"ada": 3}',
        '{"ada": ""}',
        '{"ada": " x"}',
        '{"": "x"}',
        '{"ada": "x", "bob": "x"}',
        '{"ada": "x", "ada": "y"}',
        '[["ada", "x"]]',
        '{"ada": "\\ud800"}',
        '{"ada": "\\u00e9"}',
        '{"ada": "x\\u0000y"}',
        '{"a\\nda": "x"}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_tokens_that_are_not_one_for_each_actor_are_refused_and_not_shown(
    text: str, tmp_path: Path
) -> None:
    file = private(tmp_path / "tokens.json", text)
    with pytest.raises(ArgumentInvalid) as refused:
        read_tokens(TokenSources(file=str(file)))
    assert refused.value.argument == "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
    assert refused.value.value is None


def test_a_token_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        read_tokens(TokenSources(file=str(tmp_path / "tokens.json")))


@pytest.mark.parametrize(
    ("sources", "is_unauthenticated", "says"),
    [
        (TokenSources(), False, "a server needs tokens"),
        (TokenSources(single="x"), True, "tokens are given too"),
    ],
)
def test_a_server_that_could_be_open_by_accident_does_not_start(
    graph: Graph, tmp_path: Path, sources: TokenSources, is_unauthenticated: bool, says: str
) -> None:
    given = config(tmp_path / "people.omni", sources, is_unauthenticated=is_unauthenticated)
    with pytest.raises(OmnigraphError, match=says):
        serving_of(given, open_graphs(given))


@pytest.mark.parametrize(
    ("sources", "is_unauthenticated", "state"),
    [(TokenSources(single="x"), False, DefaultDeny), (TokenSources(), True, Open)],
)
def test_a_server_is_in_one_state(
    graph: Graph, tmp_path: Path, sources: TokenSources, is_unauthenticated: bool, state: type
) -> None:
    given = config(tmp_path / "people.omni", sources, is_unauthenticated=is_unauthenticated)
    serving = serving_of(given, open_graphs(given))
    assert isinstance(serving.access, state)
    assert list(serving.registry.graphs) == ["people"]


def test_a_graph_is_served_under_its_name_or_another_one(graph: Graph, tmp_path: Path) -> None:
    store, nobody = tmp_path / "people.omni", TokenSources()
    assert list(open_graphs(config(store, nobody, graph_id="mine"))) == ["mine"]
    with pytest.raises(ArgumentInvalid, match="an id has letters"):
        open_graphs(config(store, nobody, graph_id="a/b"))
