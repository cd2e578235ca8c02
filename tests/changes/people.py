"""A small graph whose history the tests of this folder read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omnigraph import Graph

SCHEMA = """
node Person { email: String @key  name: String  age: I32?  height: F32?  photo: Blob?
              face: Vector(2)?  tags: [String]?  born: Date? }
node City { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge Lives: Person -> City { @key(src, dst) }
"""

AGE = "query age($who: String, $age: I32?) { update Person set { age: $age } where email = $who }"
REMOVE = "query remove($who: String) { delete Person where email = $who }"


def person(email: str, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"email": email, "name": email.title(), **values}}


def knows(one: str, other: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": one, "to": other, "data": {}}


def lives(who: str, city: str) -> dict[str, Any]:
    return {"edge": "Lives", "from": who, "to": city, "data": {}}


START = [
    person("ada", age=36, height=1.1, photo="base64:aGk=", face=[0.5, 1.5], tags=["a", "b"]),
    person("alan", born="1912-06-23"),
    {"type": "City", "data": {"name": "london"}},
    knows("ada", "alan"),
    lives("ada", "london"),
]


def made(place: str | Path) -> Graph:
    graph = Graph.init(place, SCHEMA, durability="relaxed")
    add(graph, START)
    return graph


def add(graph: Graph, rows: Iterable[dict[str, Any]], branch: str = "main") -> str:
    loaded = graph.load(list(rows), mode="merge", branch=branch, engine="local")
    assert loaded.commit is not None
    return loaded.commit.graph_commit_id


def age(graph: Graph, who: str, years: int | None, branch: str = "main") -> str:
    made = graph.mutate(AGE, {"who": who, "age": years}, branch=branch)
    assert made.commit is not None
    return made.commit.graph_commit_id


def remove(graph: Graph, who: str, branch: str = "main") -> str:
    made = graph.mutate(REMOVE, {"who": who}, branch=branch)
    assert made.commit is not None
    return made.commit.graph_commit_id


def another_schema(graph: Graph) -> str:
    """A commit that adds a type, and changes no row."""
    applied = graph.schema_apply(f"{SCHEMA}\nnode Place {{ name: String @key }}")
    assert applied.commit is not None
    return applied.commit.graph_commit_id
