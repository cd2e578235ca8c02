"""`omnigraph show`: an entity and what is around it, for people and for programs."""

from pathlib import Path

import pytest

from omnigraph import Graph
from tests.surfaces.cli import CommandLine

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""


@pytest.fixture
def store(tmp_path: Path) -> str:
    graph = Graph.init(tmp_path / "g.omni", SCHEMA)
    lines: list[dict[str, object]] = [
        {"type": "Person", "data": {"name": n, "age": 3}} for n in ("ada", "bob", "cleo")
    ]
    ends: list[dict[str, object]] = [
        {"edge": "Knows", "from": "ada", "to": to, "data": {}} for to in ("bob", "cleo")
    ]
    graph.load([*lines, *ends], mode="append", engine="local")
    return graph.uri


def test_an_entity_is_shown_with_its_edges_and_its_neighbours(
    store: str, omnigraph: CommandLine
) -> None:
    answer = omnigraph("show", "Person", "ada", "--store", store)
    assert answer.exit_code == 0, answer.err
    assert ["Knows", "out", "2"] in [line.split() for line in answer.out.splitlines()]
    assert "name: bob, age: 3" in answer.out or "age: 3, name: bob" in answer.out
    assert "2 nodes around it, 0 on other pages" in answer.err


def test_pages_follow_each_other(store: str, omnigraph: CommandLine) -> None:
    asked = ("show", "Person", "ada", "--limit", "1", "--json", "--store", store)
    first = omnigraph(*asked).json
    last = omnigraph(*asked, "--page", first["next_page_token"]).json
    assert [page["nodes"][0]["id"] for page in (first, last)] == ["bob", "cleo"]
    said = omnigraph("show", "Person", "ada", "--limit", "1", "--store", store).err
    assert "--page ogn1_" in said


def test_an_entity_that_is_not_there_is_not_found(store: str, omnigraph: CommandLine) -> None:
    assert omnigraph("show", "Person", "nobody", "--store", store).exit_code == 3
    assert omnigraph("show", "Persn", "ada", "--store", store).exit_code == 3
