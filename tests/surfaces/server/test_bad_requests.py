"""Bad input of every kind gets a typed error that says where and what, and nothing is written."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.surfaces.server.limits import ServerLimits
from tests.surfaces.server.world import ADD, PEOPLE, G, World, make_graph, serve_here

JSON = {"content-type": "application/json"}
LINES = {"content-type": "application/x-ndjson"}
FEW_BYTES = 2000
PAIRS = "query pairs() { match { $p: Person  $q: Person } return { $p.name, $q.name } }"


def packed(body: bytes) -> bytes:
    """Without the time: the rows of a test must be the same in every process."""
    return gzip.compress(body, mtime=0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A server with small limits; a module only asks it what it refuses."""
    limits = ServerLimits(max_body_bytes=FEW_BYTES, max_load_bytes=2 * FEW_BYTES)
    return serve_here(make_graph(tmp_path_factory.mktemp("small")), limits=limits)


def refused(answer: Any) -> tuple[int, str, str]:
    body = answer.json()
    assert body["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    return answer.status_code, body["code"], body["details"]["code"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "there is none"),
        (b"{", "truncated"),
        (b"[]", "object"),
        (b'{"query": 3}', "$.query"),
        (b'{"query": "a", "querry": "b"}', "querry"),
        (b'{"query": "a", "query": "b"}', "`query` is there twice"),
        (b'{"query": "a", "params": {"x": 1, "x": 2}}', "`x` is there twice"),
        (b'{"query": "a", "params": {"x": NaN}}', "invalid"),
        (b'{"query": "a", "params": {"x": 1e999}}', ""),
        (b'{"query": "a", "params": {"x": %s}}' % (b"9" * 600), ""),
        (b'{"query": "\xff"}', "UTF-8"),
        (b'\xef\xbb\xbf{"query": "a"}', ""),
        (b'{"query": "\\ud800"}', ""),
        (b'{"query": "a", "params": %s}' % (b"[" * 900 + b"]" * 900), ""),
        (b'{"params": {}}', "query"),
        (b"null", ""),
    ],
)
def test_a_body_that_is_not_exactly_as_declared_is_refused(
    small: World, body: bytes, says: str
) -> None:
    answer = small.post(f"{G}/query", content=body, headers=JSON)
    status, code, _ = refused(answer)
    assert (status, code) == (400, "bad_request")
    assert says in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("commits?branch=main&branch=other", "`branch` is there twice"),
        ("commits?brunch=main", "no parameter `brunch`"),
        ("commits?limit=-1", "limit"),
        ("commits?limit=1.5", "limit"),
        ("commits?limit=null", "limit"),
        ("changes?kind=nodes", "kind"),
        ("changes?limit=0", "limit"),
        ("changes?start=tomorrow", "start"),
        ("changes?cursor=torn", "cursor"),
        ("changes?cursor=", "cursor"),
        ("blob?entity=node&type=Person&id=ada", "property"),
        ("blob?entity=thing&type=Person&id=ada&property=avatar", "entity"),
        ("schema?x=%00", "no parameter"),
    ],
)
def test_a_query_string_that_is_not_exactly_as_declared_is_refused(
    small: World, path: str, says: str
) -> None:
    answer = small.get(f"{G}/{path}")
    assert refused(answer)[:2] == (400, "bad_request")
    assert says in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/graphs/other/schema", 404, "not_found"),
        ("GET", "/graphs/../etc/passwd", 404, "not_found"),
        ("GET", "/graphs/%2e%2e%2fpeople/schema", 404, "not_found"),
        ("GET", f"{G}/commits/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404, "not_found"),
        ("GET", f"{G}/commits/%2e%2e", 404, "not_found"),
        ("GET", f"{G}/snapshot?branch=nobody", 404, "not_found"),
        ("GET", f"{G}/blob?entity=node&type=Person&id=nobody&property=avatar", 404, "not_found"),
        ("GET", f"{G}/blob?entity=node&type=Person&id=bob&property=avatar", 404, "not_found"),
        ("GET", f"{G}/blob?entity=node&type=Person&id=bob&property=age", 400, "bad_request"),
        ("DELETE", f"{G}/branches/nobody", 404, "not_found"),
        ("DELETE", f"{G}/branches/main", 400, "bad_request"),
        ("DELETE", f"{G}/branches/a%00b", 404, "not_found"),
        ("DELETE", f"{G}/branches/%2e%2e%2f%2e%2e", 404, "not_found"),
        ("POST", f"{G}/schema", 405, "method_not_allowed"),
        ("OPTIONS", f"{G}/query", 405, "method_not_allowed"),
        ("TRACE", "/healthz", 405, "method_not_allowed"),
        ("HEAD", "/healthz", 405, None),
    ],
)
def test_what_is_not_there_is_named_and_what_may_not_be_is_said(
    small: World, method: str, path: str, status: int, code: str | None
) -> None:
    answer = small.request(method, path)
    assert answer.status_code == status
    if code is not None:
        assert refused(answer)[1] == code
    if status == 405:
        assert answer.headers["allow"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "../../etc"}, 400),
        ({"name": "a//b"}, 400),
        ({"name": ""}, 400),
        ({"name": "x" * 500}, 400),
        ({"name": "main"}, 409),
        ({"name": "b", "from": "nobody"}, 404),
        ({"name": "b", "from": "file:///etc/passwd"}, 404),
    ],
)
def test_a_branch_that_can_not_be_is_not_made(small: World, body: Any, status: int) -> None:
    assert small.post(f"{G}/branches", json=body).status_code == status
    assert small.get(f"{G}/branches").json() == {"branches": ["main"]}


def test_a_text_is_never_taken_for_the_path_of_a_file(small: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret.gq"
    secret.write_text("query secret() { match { $p: Person } return { $p.name } }")
    (tmp_path / "secret.pg").write_text("node Secret { name: String }")
    rows = tmp_path / "secret.jsonl"
    rows.write_text('{"type": "Person", "data": {"name": "secret"}}')
    for path, body in (
        ("query", {"query": str(secret)}),
        ("read", {"query_source": str(secret)}),
        ("mutate", {"query": str(secret)}),
        ("schema/apply", {"schema_source": str(tmp_path / "secret.pg")}),
        ("load", {"data": str(rows)}),
        ("load", {"data": rows.as_uri()}),
        ("ingest", {"data": "-"}),
    ):
        answer = small.post(f"{G}/{path}", json=body)
        assert answer.status_code == 400, path
        assert "Person" not in answer.text, path
    lines = small.post(f"{G}/load/ndjson", content=str(rows).encode(), headers=LINES)
    assert lines.status_code == 400
    blob = json.dumps({"type": "Person", "data": {"name": "x", "avatar": rows.as_uri()}})
    answer = small.post(f"{G}/load/ndjson", content=blob.encode(), headers=LINES)
    assert answer.status_code == 400
    assert small.names() == ["ada", "bob", "cleo"]


def test_a_body_that_is_too_large_is_refused_before_and_while_it_is_read(small: World) -> None:
    large = json.dumps({"query": " " * FEW_BYTES}).encode()
    declared = small.post(f"{G}/query", content=large, headers=JSON)
    assert declared.json()["resource_limit"] == {
        "resource": "the body in bytes",
        "limit": FEW_BYTES,
        "actual": len(large),
    }

    def parts() -> Any:
        yield from (large[:100], large[100:])

    chunked = small.post(f"{G}/query", content=parts(), headers=JSON)
    for answer in (declared, chunked):
        assert refused(answer) == (413, "bad_request", "resource_limit")
        assert answer.headers["connection"] == "close"
    load = small.post(f"{G}/load", content=large, headers=JSON)
    assert load.status_code == 400  # a load may be larger; this one is none


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-encoding": "gzip"}, packed(b'{"query": "x"}'), 400),
        ({"content-encoding": "gzip"}, packed(b" " * 10_000_000), 413),
        ({"content-encoding": "gzip"}, b"no gzip", 400),
        ({"content-encoding": "gzip"}, packed(b"{}")[:-4], 400),
        ({"content-encoding": "gzip"}, packed(b"{}") + b"more", 400),
        ({"content-encoding": "br"}, b"{}", 415),
        ({"content-encoding": "gzip, gzip"}, b"{}", 415),
        ({"content-type": "text/plain"}, b"{}", 415),
        ({"content-type": "application/json; charset=utf-8"}, b"{}", 400),
    ],
)
def test_packed_bodies_are_unpacked_within_the_limit(
    small: World, headers: dict[str, str], body: bytes, status: int
) -> None:
    answer = small.post(f"{G}/query", content=body, headers={**JSON, **headers})
    assert refused(answer)[0] == status


def test_a_packed_body_is_as_good_as_a_plain_one(small: World) -> None:
    packed = gzip.compress(json.dumps({"query": PEOPLE}).encode())
    answer = small.post(f"{G}/query", content=packed, headers={**JSON, "content-encoding": "gzip"})
    assert answer.json()["row_count"] == 3


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Omnigraph-Timeout-Ms": "0"}, 400, "bad_request"),
        ({"Omnigraph-Timeout-Ms": "-5"}, 400, "bad_request"),
        ({"Omnigraph-Timeout-Ms": "1e3"}, 400, "bad_request"),
        ({"Omnigraph-Memory-Bytes": "lots"}, 400, "bad_request"),
        ({"Omnigraph-Memory-Bytes": "1"}, 413, "resource_limit"),
    ],
)
def test_a_request_may_ask_for_less_and_for_nothing_else(
    small: World, headers: dict[str, str], status: int, code: str
) -> None:
    answer = small.post(f"{G}/query", json={"query": PAIRS}, headers=headers)
    assert (answer.status_code, answer.json()["details"]["code"]) == (status, code)


def test_a_request_never_gets_more_than_the_server_gives(tmp_path: Path) -> None:
    limits = ServerLimits(query_memory_bytes=1)
    world = serve_here(make_graph(tmp_path), limits=limits)
    more = {"Omnigraph-Memory-Bytes": "1000000000"}
    assert world.post(f"{G}/query", json={"query": PAIRS}, headers=more).status_code == 413


def test_findings_in_a_query_have_their_code_and_place(small: World) -> None:
    answer = small.query("query q() { match { $p: Persn } return { $p.name } }")
    details = answer.json()["details"]
    assert (answer.status_code, details["code"], details["reason"]) == (400, "type_error", "T1")
    assert (details["line"], details["diagnostics"][0]["hint"]) == (1, "did you mean Person?")
    missing = small.query("query q($a: I32) { match { $p: Person } return { $a as a } }")
    details = missing.json()["details"]
    assert (details["code"], details["reason"]) == ("param_error", "P001")


def test_a_limit_may_be_as_large_as_one_likes(small: World) -> None:
    assert len(small.get(f"{G}/commits?limit={10**30}").json()["commits"]) == 2


def test_no_page_of_another_site_is_let_in(small: World) -> None:
    origin = {"origin": "https://elsewhere.example", "access-control-request-method": "POST"}
    answers = (small.options(f"{G}/query", headers=origin), small.get("/healthz", headers=origin))
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_request_id_is_the_clients_if_it_is_a_plain_word(small: World) -> None:
    given = small.get("/healthz", headers={"X-Request-Id": "from-a-client.1"})
    assert given.headers["x-request-id"] == "from-a-client.1"
    odd = small.get("/healthz", headers={"X-Request-Id": "a b"}).headers["x-request-id"]
    assert len(odd) == 16


def test_nothing_that_was_refused_has_changed_the_graph(small: World) -> None:
    assert small.names() == ["ada", "bob", "cleo"]
    assert len(small.graph.commits()) == 2
    assert small.post(f"{G}/mutate", json={"query": ADD, "params": {"name": None}}).is_error


def test_a_call_changes_the_schema_of_main_alone(tmp_path: Path) -> None:
    world = serve_here(make_graph(tmp_path))
    world.graph.branch_create("side")
    before = world.graph.schema(branch="side").text
    source = {"text": f"{before}\nnode Extra {{ name: String @key }}", "name": "wanted.pg"}
    for branch, status in (("side", 400), ("nowhere", 400), ("main", 200)):
        body = {"branch": branch, "source": source}
        answer = world.post(f"{G}/calls/schema_apply", json=body)
        assert answer.status_code == status, answer.text
    assert world.graph.schema(branch="side").text == before
