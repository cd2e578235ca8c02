"""What pictures of the Explorer say of keys of several parts, of edge types, and of a schema."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from omnigraph import Graph
from omnigraph.engine.stored_queries import StoredQueries
from omnigraph.surfaces.server.registry import ServedGraph
from tests.explorer.world import Explorer

pytestmark = pytest.mark.xdist_group("explorer")

Open = Callable[..., Page]

SCHEMA = """
node Flight {
    air_time: I32?  arrival: I32?  delay: I32?  distance: I32?  gate: String?
    minute: I32?  plane: String?  runway: String?  seats: I32?
    time_hour: DateTime
    carrier: String
    number: I32
    @key(time_hour, carrier, number)
}
node Airport { code: String @key }
edge Leaves: Flight -> Airport
"""
LEAVING = "query leaving() { match { $f: Flight  $f leaves $a } return { $f, $a } }"


@pytest.fixture
def flights(served_demo: Callable[..., Explorer], tmp_path: Path) -> Iterator[Explorer]:
    rows: list[dict[str, object]] = [{"type": "Airport", "data": {"code": "JFK"}}]
    for number in range(12):
        time = f"2013-01-01T{number:02}:00:00Z"
        key = {"time_hour": time, "carrier": "DL", "number": number}
        rows.append({"type": "Flight", "data": key})
    with Graph.init(tmp_path / "flights.omni", SCHEMA) as graph:
        graph.load(rows, mode="append", engine="local")
        ids = graph.query("query i() { match { $f: Flight } return { $f.id as id } }").to_pylist()
        edges = [{"edge": "Leaves", "from": row["id"], "to": "JFK"} for row in ids]
        graph.load(edges, mode="append", engine="local")
        yield served_demo(beside={"flights": ServedGraph("flights", graph, graph, StoredQueries())})


def test_a_picture_shows_the_parts_of_a_key_and_names_an_edge_type_once(
    flights: Explorer, open_page: Open
) -> None:
    asked = urlencode({"run": "1", "q": LEAVING, "as": "graph", "wide": "1"})
    page = open_page(f"{flights.url}/explore/flights/query#{asked}")
    page.get_by_role("button", name="List", exact=True).click()
    nodes = page.get_by_role("region", name="Nodes of the picture")
    legend = page.get_by_role("region", name="Legend")
    expect(legend.get_by_role("listitem").filter(has_text="Leaves")).to_contain_text("12")
    expect(nodes).to_contain_text("2013-01-01 03:00 · DL · 3")
    expect(nodes).not_to_contain_text('["')


def test_a_card_of_the_schema_begins_with_the_key(flights: Explorer, open_page: Open) -> None:
    page = open_page(f"{flights.url}/explore/flights/schema")
    card = page.locator(".schema-card").filter(has_text="Flight")
    lines = card.locator(".schema-line")
    for at, name in enumerate(("time_hour", "carrier", "number")):
        expect(lines.nth(at)).to_contain_text(f"key{name}")
