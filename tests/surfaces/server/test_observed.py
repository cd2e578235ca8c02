"""What operators see: a log of JSON lines, slow reads. Nothing of the data is in any."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.logs import JsonLines
from tests.surfaces.server.world import ADD, PEOPLE, G, World, serve_here

SECRET = "xyzzy-plugh"


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The log as a server writes it."""
    ours = [r for r in caplog.records if r.name.startswith("omnigraph")]
    return [json.loads(JsonLines().format(record)) for record in ours]


def test_every_request_is_a_line_with_its_id_route_and_status(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        answer = world.query(PEOPLE)
    (line,) = lines(caplog)
    assert line["request_id"] == answer.headers["x-request-id"]
    assert (line["level"], line["route"], line["graph"]) == ("info", "cluster_query", "people")
    assert (line["status"], line["query"], line["rows"]) == (200, "people", 3)
    assert line["bytes"] == len(answer.content)
    assert line["ms"] > 0


def test_nothing_of_the_data_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    named = f'match {{ $p: Person {{ name: "{SECRET}" }} }}'
    source = f"query q($x: String) {{ {named} return {{ $x as x }} }}"
    with caplog.at_level("DEBUG"):
        world.query(source, params={"x": SECRET})
        world.query(source, params={SECRET: SECRET})
        world.post(f"{G}/mutate", json={"query": ADD, "params": {"name": SECRET}})
        world.get(f"{G}/blob?entity=node&type=Person&id={SECRET}&property=avatar")
        world.get(f"{G}/{SECRET}?q={SECRET}", headers={"cookie": SECRET, "x-request-id": "a b"})
        line = json.dumps({"type": "Person", "data": {"name": SECRET, "age": "no"}})
        world.post(f"{G}/load", json={"data": line})
    told = lines(caplog)
    assert len(told) >= 6
    assert SECRET not in json.dumps(told)
    assert SECRET not in world.get("/metrics").text


def test_a_slow_read_is_told_and_counted(graph: Graph, caplog: pytest.LogCaptureFixture) -> None:
    world = serve_here(graph, limits=ServerLimits(slow_query_s=0))
    with caplog.at_level("WARNING"):
        world.query(PEOPLE)
        world.post(f"{G}/mutate", json={"query": ADD, "params": {"name": "x"}})
    (slow,) = lines(caplog)
    assert (slow["message"], slow["query"], slow["rows"]) == ("slow read", "people", 3)
    assert len(slow["source"]) == 16
    assert "omnigraph_slow_reads_total 1.0" in world.get("/metrics").text


def test_a_defect_is_logged_whole_and_told_in_general_words(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: Any) -> None:
        raise AssertionError("a defect of ours")

    served = world.app.serving.registry.graphs["people"]
    object.__setattr__(served, "guarded", broken)
    answer = world.get(f"{G}/schema")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "defect" not in answer.text and "Traceback" not in answer.text
    (line, *_) = [line for line in lines(caplog) if line["level"] == "error"]
    assert line["request_id"] == answer.json()["request_id"]
    assert "Traceback" in line["traceback"]


def test_the_failure_of_a_disk_is_told_without_its_paths(
    graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    world = serve_here(graph)
    for file in Path(graph.uri).glob("nodes/*/data/*"):
        file.write_bytes(b"no longer what it was")
    answer = world.query(PEOPLE)
    assert answer.status_code == 500
    assert graph.uri not in answer.text
    assert answer.json()["details"] == {"code": "storage_error"}
    assert any("traceback" in line for line in lines(caplog))


def test_lines_are_json_whatever_they_hold() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "two\nlines \ud800 %s", ("a",), None)
    text = JsonLines().format(record)
    assert "\n" not in text
    assert json.loads(text)["message"].startswith("two\nlines")
