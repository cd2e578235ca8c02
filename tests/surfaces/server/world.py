"""A small graph and a server over it, called in this process."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.engine.stored_queries import StoredQueries, read_queries
from omnigraph.surfaces.server.access import Access, Open
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.callers import ANY_CALLER, Callers
from omnigraph.surfaces.server.jobs.places import Places
from omnigraph.surfaces.server.jobs.spool import Spool
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.registry import Registry, ServedGraph, Serving

SCHEMA = """
node Person {
  name: String @key
  age: I32?
  big: I64?
  born: DateTime?
  avatar: Blob?
}
node Company { name: String @key }
node Note { text: String }
edge Knows: Person -> Person { since: I32? }
edge WorksAt: Person -> Company
"""
ROWS = """\
{"type": "Person", "data": {"name": "ada", "age": 36, "born": "1815-12-10T06:00:00Z", \
"avatar": "base64:aGVsbG8gd29ybGQ="}}
{"type": "Person", "data": {"name": "bob", "age": 41, "big": 9007199254740993}}
{"type": "Person", "data": {"name": "cleo"}}
{"type": "Company", "data": {"name": "Analytical"}}
{"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": 1833}}
{"edge": "Knows", "from": "bob", "to": "cleo", "data": {}}
{"edge": "WorksAt", "from": "ada", "to": "Analytical", "data": {}}
"""
QUERIES = """
query find_person($name: String) @description("Find one.") @instruction("Ask by name.") {
  match { $p: Person { name: $name } }
  return { $p.name, $p.age }
}
query with_big($big: I64) { match { $p: Person { big: $big } } return { $p.name } }
query add_person($name: String, $age: I32?) { insert Person { name: $name, age: $age } }
query of_types($names: [String]?, $on: Date?, $ok: Bool?, $x: F64?) {
  match { $p: Person }
  return { $p.name, $names as names, $on as day, $ok as ok, $x as x }
}
"""
PEOPLE = "query people() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"
ADD = "query add($name: String) { insert Person { name: $name } }"
G = "/graphs/people"


@dataclass(frozen=True)
class World:
    graph: Graph
    app: App
    client: TestClient

    def __getattr__(self, name: str) -> Any:
        """`world.get(…)`, `world.post(…)`: a request in this process."""
        return getattr(self.client, name)

    def query(self, source: str, **more: Any) -> Any:
        return self.client.post(f"{G}/query", json={"query": source, **more})

    def names(self) -> list[str]:
        return [row["p.name"] for row in self.query(PEOPLE).json()["rows"]]


def make_graph(place: Path) -> Graph:
    graph = Graph.init(place / "people.omni", SCHEMA, settings=Settings())
    graph.load(ROWS.encode(), mode="append", engine="local")
    return graph


def stored(folder: Path) -> StoredQueries:
    (folder / "stored.gq").write_text(QUERIES)
    return read_queries([folder])


def serve_here(
    graph: Graph,
    *,
    access: Access | None = None,
    guarded: Graph | None = None,
    queries: StoredQueries | None = None,
    limits: ServerLimits | None = None,
    headers: Mapping[str, str] | None = None,
    spool: Path | None = None,
    load_from: Sequence[str] = (),
    serving: Serving | None = None,
    may_agents_write: bool = True,
    callers: Callers = ANY_CALLER,
) -> World:
    served = ServedGraph("people", graph, guarded or graph, queries or StoredQueries())
    app = App(
        serving or Serving(Registry({"people": served}), access or Open(may_run_spark=True)),
        limits or ServerLimits(),
        spool=Spool.open(spool or Path(tempfile.mkdtemp(dir=Path(graph.uri).parent))),
        places=Places.named(load_from),
        may_agents_write=may_agents_write,
        callers=callers,
    )
    # Bodies stay packed unless a test asks for it.
    usual = {"accept-encoding": "identity", **(headers or {})}
    return World(graph, app, TestClient(app, headers=usual, raise_server_exceptions=False))
