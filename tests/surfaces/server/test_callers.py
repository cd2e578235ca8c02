"""Who may call a server that asks for no token: programs, its own pages, and no other page."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import ArgumentInvalid
from omnigraph.surfaces.server.access import Access, DefaultDeny, Open
from omnigraph.surfaces.server.callers import Callers
from omnigraph.surfaces.server.tokens import Tokens
from tests.surfaces.server.world import ADD, PEOPLE, G, World, make_graph, serve_here

TOKENS = Tokens.of({"ada": "token-of-ada"})
ADA = {"authorization": "Bearer token-of-ada"}
ROW = '{"type": "Person", "data": {"name": "evil"}}'
JSON, NDJSON = "application/json", "application/x-ndjson"

OPEN = {"bound": "127.0.0.1", "allowed": (), "is_open": True}
BEHIND = {**OPEN, "allowed": ("graphs.example",)}
WITH_TOKENS = {**OPEN, "is_open": False}
NAMED = {**WITH_TOKENS, "allowed": ("graphs.example:8443",)}


def world_of(place: Path, how: dict[str, Any]) -> World:
    access: Access = Open() if how["is_open"] else DefaultDeny(TOKENS)
    return serve_here(make_graph(place), access=access, callers=Callers.of(**how))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    places = {"open": OPEN, "behind": BEHIND, "tokens": WITH_TOKENS, "named": NAMED}
    return {name: world_of(tmp_path_factory.mktemp(name), how) for name, how in places.items()}


def read(world: World, **headers: str) -> int:
    """A query: the least that a server does for a caller."""
    body = json.dumps({"query": PEOPLE})
    sent = {"content-type": JSON, **{n.replace("_", "-"): v for n, v in headers.items()}}
    return int(world.post(f"{G}/query", content=body, headers=sent).status_code)


# Names of the server ------------------------------------------------------------------------------

HOSTS = {
    # host: the status if the server is open, behind a proxy, has tokens, has tokens and a name
    "localhost": (200, 200, 200, 200),
    "LocalHost:8080": (200, 200, 200, 200),
    "127.0.0.1:8080": (200, 200, 200, 200),
    "[::1]:8080": (200, 200, 200, 200),
    "graphs.example": (400, 200, 200, 400),
    "graphs.example:8443": (400, 200, 200, 200),
    "graphs.example:8444": (400, 200, 200, 400),
    "evil.example": (400, 400, 200, 400),
    "localhost.evil.example": (400, 400, 200, 400),
    "evil.example:127.0.0.1": (400, 400, 200, 400),
    "127.0.0.1.evil.example": (400, 400, 200, 400),
    "": (400, 400, 200, 400),
}


@pytest.mark.parametrize("host", HOSTS)
def test_a_server_answers_to_its_own_names(worlds: dict[str, World], host: str) -> None:
    found = tuple(
        read(worlds[name], host=host, **({} if name in ("open", "behind") else ADA))
        for name in ("open", "behind", "tokens", "named")
    )
    assert found == HOSTS[host]


def test_a_name_that_is_not_known_says_which_option_adds_it(worlds: dict[str, World]) -> None:
    refused = worlds["open"].get("/healthz", headers={"host": "evil.example"})
    assert refused.status_code == 400 and "--allowed-hosts NAME" in refused.json()["hint"]


@pytest.mark.parametrize("bound", ["0.0.0.0", "::", "192.0.2.7", "::1", "Box.local"])
def test_the_address_that_is_listened_to_is_a_name(bound: str) -> None:
    names = Callers.of(bound=bound, allowed=(), is_open=True).hosts
    own = {"192.0.2.7": "192.0.2.7", "::1": "[::1]", "Box.local": "box.local"}.get(bound)
    loopback = ("localhost", "127.0.0.1", "[::1]")
    assert names == frozenset((*loopback, own) if own else loopback)


@pytest.mark.parametrize("name", ["http://graphs.example", "a/b", "", "*", "a b", "x:y", "x:1:2"])
def test_a_host_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ArgumentInvalid, match="--allowed-hosts"):
        Callers.of(bound="127.0.0.1", allowed=(name,), is_open=True)


# Pages --------------------------------------------------------------------------------------------

OWN, LOCAL = "127.0.0.1:8080", "http://127.0.0.1:8080"
PAGES = [
    # host, origin, Sec-Fetch-Site: the status on a server that is open, is behind a proxy
    (OWN, None, None, 200, 200),  # a program
    (OWN, None, "none", 200, 200),
    (OWN, None, "same-origin", 200, 200),
    (OWN, LOCAL, "same-origin", 200, 200),
    (OWN, LOCAL, None, 200, 200),
    (OWN, None, "same-site", 403, 403),
    (OWN, None, "cross-site", 403, 403),
    (OWN, None, "nonsense", 403, 403),
    (OWN, "http://localhost:8080", "cross-site", 403, 403),
    (OWN, "http://127.0.0.1:3000", "same-site", 403, 403),
    (OWN, "http://127.0.0.1:3000", None, 403, 403),
    (OWN, "https://evil.example", "cross-site", 403, 403),
    (OWN, "https://evil.example", None, 403, 403),
    (OWN, "null", "cross-site", 403, 403),
    (OWN, "null", None, 403, 403),
    (OWN, "", None, 403, 403),
    (OWN, "file://", None, 403, 403),
    (OWN, "https://127.0.0.1:8080", "cross-site", 403, 403),
    ("graphs.example", "https://graphs.example", "same-origin", 400, 200),
    ("graphs.example", "https://graphs.example:443", "same-origin", 400, 200),
    ("graphs.example", "https://evil.example", "cross-site", 400, 403),
    ("graphs.example", "https://graphs.example.evil.example", None, 400, 403),
    # A proxy that calls the server by another name than the browser called the proxy.
    (OWN, "https://graphs.example", "same-origin", 403, 200),
    (OWN, "https://graphs.example:444", "cross-site", 403, 403),
]


@pytest.mark.parametrize(("host", "origin", "site", "is_open", "behind"), PAGES)
def test_pages_of_other_sites_can_not_use_a_server_without_tokens(
    worlds: dict[str, World],
    host: str,
    origin: str | None,
    site: str | None,
    is_open: int,
    behind: int,
) -> None:
    given = {"host": host, "origin": origin, "sec_fetch_site": site}
    headers = {name: value for name, value in given.items() if value is not None}
    assert (read(worlds["open"], **headers), read(worlds["behind"], **headers)) == (is_open, behind)
    # A token is sent by no page that does not know it.
    assert read(worlds["tokens"], **headers, **ADA) == 200
    assert read(worlds["tokens"], **headers) == 401


WRITES: dict[str, tuple[str, str, str, str | None]] = {
    "mutate": (
        "POST",
        f"{G}/mutate",
        json.dumps({"query": ADD, "params": {"name": "evil"}}),
        JSON,
    ),
    "a load": ("POST", f"{G}/load", json.dumps({"data": ROW}), JSON),
    "a load of lines": ("POST", f"{G}/load/ndjson", ROW, NDJSON),
    "a call": ("POST", f"{G}/calls/branch_create", json.dumps({"branch": "evil"}), JSON),
    "a load of our client": (
        "POST",
        f"{G}/calls/load",
        '{"mode": "append", "source_name": "rows"}\n' + ROW,
        NDJSON,
    ),
    "a branch": ("POST", f"{G}/branches", json.dumps({"name": "evil"}), JSON),
    "an end of a branch": ("DELETE", f"{G}/branches/kept", "", None),
    "a load job": ("POST", f"{G}/load/jobs", json.dumps({"upload": {"name": "a.jsonl"}}), JSON),
    "an agent": (
        "POST",
        f"{G}/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        JSON,
    ),
}
TYPES = (
    None,
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain; application/json",
)
"""What a browser may send for a page of another site without asking first, and no type at all."""


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = world_of(tmp_path_factory.mktemp("unharmed"), OPEN)
    world.graph.branch_create("kept")
    return world


def state_of(world: World) -> tuple[Any, ...]:
    jobs = world.get(f"{G}/load/jobs", headers={"host": OWN}).json()["jobs"]
    return len(world.graph.log().commits), world.graph.branches(), jobs


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("type_", [*TYPES, "its own"])
def test_nothing_that_a_page_of_another_site_can_send_is_carried_out(
    unharmed: World, name: str, type_: str | None
) -> None:
    """With any type of a body, marked as of another site by the browser or not marked at all."""
    method, path, body, own = WRITES[name]
    is_own = type_ == "its own" or (own is None and method == "DELETE")
    sent = own if type_ == "its own" else type_
    typed = {} if sent is None else {"content-type": sent}
    before = state_of(unharmed)
    of_pages = itertools.product(("https://evil.example", "null", None), ("cross-site", None))
    for origin, site in of_pages:
        marks = {"origin": origin, "sec-fetch-site": site}
        marked = {k: v for k, v in marks.items() if v is not None}
        if not marked and is_own:
            continue  # so a program sends it
        answer = unharmed.request(
            method, path, content=body, headers={"host": OWN, **typed, **marked}
        )
        assert answer.status_code == (403 if marked else 415), answer.text
    assert state_of(unharmed) == before


@pytest.mark.parametrize("name", WRITES)
def test_what_was_refused_to_pages_is_carried_out_for_programs(tmp_path: Path, name: str) -> None:
    world = world_of(tmp_path, OPEN)
    world.graph.branch_create("kept")
    method, path, body, own = WRITES[name]
    typed = {} if own is None else {"content-type": own}
    answer = world.request(method, path, content=body, headers={"host": OWN, **typed})
    assert answer.is_success, answer.text


def test_a_stored_change_without_a_body_is_refused_to_other_pages(tmp_path: Path) -> None:
    """Nothing of it is checked by the type of its body: there is none."""
    world = world_of(tmp_path, OPEN)
    marked = {"host": OWN, "origin": "https://evil.example"}
    assert world.post(f"{G}/queries/any", headers=marked).status_code == 403


def test_the_page_of_the_explorer_may_be_linked_to(worlds: dict[str, World]) -> None:
    linked = {"host": OWN, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    for path in ("/explore", "/docs", "/healthz", "/openapi.json"):
        assert worlds["open"].get(path, headers=linked).status_code in (200, 404), path
    for path in (f"{G}/schema", "/graphs", "/me", "/metrics"):
        assert worlds["open"].get(path, headers=linked).status_code == 403, path


def test_marks_that_are_there_twice_are_refused(worlds: dict[str, World]) -> None:
    for name, value in (("host", "localhost"), ("origin", LOCAL), ("sec-fetch-site", "none")):
        twice = [(name, value), (name, value), *([] if name == "host" else [("host", OWN)])]
        assert worlds["open"].get(f"{G}/schema", headers=twice).status_code == 400
