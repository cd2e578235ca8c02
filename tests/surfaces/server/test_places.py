"""What a server shows of itself: an index at `/`, and never where it keeps a graph."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.surfaces.crossing.calls import OUR_CLIENT
from tests.surfaces.mcp.agents import agent_at
from tests.surfaces.server.world import ADD, PEOPLE, SCHEMA, G, World, make_graph, serve_here

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


# The root -----------------------------------------------------------------------------------------


def test_a_browser_is_led_from_the_root_to_the_explorer(shared: World) -> None:
    answer = shared.get("/", headers={"accept": BROWSER}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (302, "/explore")
    assert answer.headers["vary"] == "Accept"
    page = shared.get("/", headers={"accept": BROWSER}, follow_redirects=True)
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("accept", [None, "*/*", "application/json"])
def test_a_program_finds_at_the_root_where_to_go_on(shared: World, accept: str | None) -> None:
    answer = shared.get("/", headers={} if accept is None else {"accept": accept})
    index = answer.json()
    assert (index["name"], index["version"]) == ("omnigraph", omnigraph.__version__)
    for name in ("explorer", "graphs", "documentation", "openapi"):
        assert shared.get(index[name]).status_code == 200, name


def test_a_path_that_is_not_there_is_still_missing(shared: World) -> None:
    assert shared.get("/nothing", headers={"accept": BROWSER}).status_code == 404


# Places on the server's disk ----------------------------------------------------------------------

ROWS = '{"type": "Person", "data": {"name": "yan"}}\n{"type": "Person", "data": {"name": 5}}'


def answers(world: World) -> Iterator[tuple[str, str]]:
    """What clients of every kind hear: our own, others, and agents."""
    calls: list[tuple[str, str, Any]] = [
        ("GET", "/", None),
        ("GET", "/graphs", None),
        ("GET", "/readyz", None),
        ("GET", "/me", None),
        ("GET", f"{G}/me", None),
        ("GET", f"{G}/snapshot", None),
        ("GET", f"{G}/schema", None),
        ("GET", f"{G}/commits", None),
        ("GET", f"{G}/commits/nope", None),
        ("GET", f"{G}/branches", None),
        ("POST", f"{G}/branches", {"name": "made"}),
        ("DELETE", f"{G}/branches/made", None),
        ("DELETE", f"{G}/branches/nope", None),
        ("POST", f"{G}/query", {"query": PEOPLE}),
        ("POST", f"{G}/query", {"query": PEOPLE, "branch": "nope"}),
        ("POST", f"{G}/mutate", {"query": ADD, "params": {"name": "zoe"}}),
        ("POST", f"{G}/load", {"data": ROWS}),
        ("POST", f"{G}/load", {"data": ROWS.splitlines()[0]}),
        ("POST", f"{G}/schema/apply", {"schema_source": SCHEMA}),
        ("POST", f"{G}/branches/merge", {"source": "nope"}),
        ("GET", f"{G}/load/jobs", None),
        ("POST", f"{G}/load/jobs", {"files": ["/etc/passwd"]}),
        *(
            ("POST", f"{G}/calls/{name}", {})
            for name in ("tables", "stats", "log", "loads", "indexes", "branches", "schema")
        ),
    ]
    for ours in ({}, {OUR_CLIENT: omnigraph.__version__}):
        for method, path, body in calls:
            answer = world.request(method, path, json=body, headers=ours)
            yield f"{method} {path}", f"{answer.text} {dict(answer.headers)}"
    agent = agent_at(world.app)
    for tool in ("schema", "branches", "commits", "mutate", "load"):
        try:
            given = {"query": ADD, "params": {"name": "x"}} if tool == "mutate" else {}
            heard = agent(tool, **given)
            yield tool, f"{heard.text} {json.dumps(heard.value)}"
        except Exception as refused:  # noqa: BLE001 - what the protocol says is looked at as well
            yield tool, f"{refused} {getattr(refused, 'error', '')}"


def well(path: Path) -> None:
    return


def moved(path: Path) -> None:
    path.rename(path.with_name("away"))


def without_manifest(path: Path) -> None:
    (path / "__manifest" / "_versions").rename(path / "__manifest" / "away")


def replaced(path: Path) -> None:
    path.rename(path.with_name("away"))
    Graph.init(path, SCHEMA).close()


def damaged(path: Path) -> None:
    for table in path.rglob("*.lance"):
        if table.is_file():
            table.write_bytes(b"no rows")


@pytest.mark.parametrize("fate", [well, moved, without_manifest, replaced, damaged])
def test_no_answer_shows_where_the_server_keeps_a_graph(tmp_path: Path, fate: Any) -> None:
    place = tmp_path / "secret-place"
    place.mkdir()
    world = serve_here(make_graph(place))
    world.query(PEOPLE)
    fate(Path(world.graph.uri))
    for what, told in answers(world):
        assert "secret-place" not in told, (what, told)


def test_a_handle_that_only_reads_is_told_by_its_address(tmp_path: Path) -> None:
    make_graph(tmp_path).close()
    with Graph.open(tmp_path / "people.omni", read_only=True) as graph:
        world = serve_here(graph)
        answer = world.post(f"{G}/mutate", json={"query": ADD, "params": {"name": "x"}})
        assert answer.status_code == 403 and G in answer.json()["error"]
        assert str(tmp_path) not in answer.text


def test_a_graph_whose_storage_is_gone_says_whom_to_tell(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = serve_here(make_graph(tmp_path))
    world.query(PEOPLE)
    moved(Path(world.graph.uri))
    answer = world.query(PEOPLE)
    assert str(tmp_path) in caplog.text, "the log says where"
    ready = world.get("/readyz")
    assert ready.status_code == 404 and "one of its graphs" in ready.json()["error"]
    assert "people" not in ready.text
    told = answer.json()
    assert (answer.status_code, told["details"]["uri"]) == (404, G)
    assert "storage" in told["error"] and "person who runs the server" in told["hint"]


def test_rows_of_a_request_are_called_by_the_request(world: World) -> None:
    for answer in (
        world.post(f"{G}/load", json={"data": ROWS}),
        world.post(
            f"{G}/load/ndjson", content=ROWS, headers={"content-type": "application/x-ndjson"}
        ),
    ):
        assert answer.status_code == 400
        (example,) = answer.json()["details"]["examples"]
        assert (example["file"], example["line"]) == ("request body", 2)
        assert "bytes" not in answer.text
