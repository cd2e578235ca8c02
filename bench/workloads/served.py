"""A small graph that many ask and change at once, and the calls they make: here, or of a server.

A write makes a note and its edge in one commit. An answer that has one without the other is torn.
"""

import http.client
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from omnigraph import Graph
from omnigraph.engine.settings import Settings

ACTORS = ("ada", "bo", "cleo", "dan")
PEOPLE = 10_000
FRIENDS = 5

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32 }
edge Knows: Person -> Person
node Note { key: String @key }
edge About: Note -> Person
"""
QUERIES = """
query point($n: I64) { match { $p: Person { number: $n } } return { $p.name, $p.age } }
query friends($n: I64) {
  match { $p: Person { number: $n }  $p knows $f }
  return { $f.name, $f.age }
}
query notes() { match { $n: Note  $n about $p } return { $n.key } }
query torn() { match { $n: Note  not { $n about $p } } return { count($n) as notes } }
query put($key: String, $person: String) {
  insert Note { key: $key }
  insert About { from: $key, to: $person }
}
"""
POLICY = """
version: 1
rules:
  - id: all
    allow: {actors: everyone, actions: [read, change]}
"""


class Door(Protocol):
    """How one client reaches the graph, as one actor."""

    def ask(self, name: str, params: dict[str, Any]) -> list[dict[str, Any]]: ...

    def change(self, name: str, params: dict[str, Any]) -> None: ...


class Here:
    def __init__(self, graph: Graph, actor: str) -> None:
        self._graph = graph.as_actor(actor)

    def ask(self, name: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        return self._graph.query(QUERIES, name, params).to_pylist()

    def change(self, name: str, params: dict[str, Any]) -> None:
        self._graph.mutate(QUERIES, name, params)


class There:
    """A connection that is kept. Plain HTTP: our own client would add its cost to the server's."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._line = http.client.HTTPConnection(host, port, timeout=300)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, name: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._post("query", name, params)["rows"]
        return rows

    def change(self, name: str, params: dict[str, Any]) -> None:
        self._post("mutate", name, params)

    def _post(self, route: str, name: str, params: dict[str, Any]) -> Any:
        body = json.dumps({"query": QUERIES, "name": name, "params": params})
        self._line.request("POST", f"/graphs/served/{route}", body, self._headers)
        answer = self._line.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {text.decode()}")
        return json.loads(text)


def make_served(place: Path) -> None:
    with Graph.init(place, SCHEMA, settings=Settings(load_engine="local")) as graph:
        graph.load(_rows(), mode="append")
        graph.optimize()


def _rows() -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    for number in range(PEOPLE):
        person = {"number": number, "name": f"person {number}", "age": chance.randrange(18, 90)}
        yield {"type": "Person", "data": person}
    for number in range(PEOPLE):
        for _ in range(FRIENDS):
            other = chance.randrange(PEOPLE)
            yield {"edge": "Knows", "from": str(number), "to": str(other), "data": {}}
