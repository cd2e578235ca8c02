"""Ours: mutations for single rows, a merging load in this process for many."""

import json
from pathlib import Path

import pyarrow as pa

import omnigraph
from changing.base import Base
from omnigraph import Graph

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32 }
edge Follows: Person -> Person { @key(src, dst) }
"""

QUERIES = """
query insert($n: I64, $name: String) { insert Person { number: $n, name: $name, age: 1 } }
query delete($n: I64) { delete Person where number = $n }
query people() { match { $p: Person } return { count($p) as n, sum($p.age) as ages } }
query follows() { match { $p: Person  $p $f:follows $q } return { count($f) as n } }
"""


class Changes:
    durability = "fsync of every file, before it is acknowledged"

    def version(self) -> str:
        return omnigraph.__version__

    def make(self, base: Base, place: Path) -> None:
        place.mkdir(parents=True)
        self.file = place / "rows.jsonl"
        self.graph = Graph.init(str(place / "graph"), SCHEMA)
        follows = base.follows.to_pylist()
        edges = ({"edge": "Follows", "from": f["src"], "to": f["dst"]} for f in follows)
        self._write([*_envelopes(base.people), *edges])
        self.graph.load(self.file, mode="append", engine="local")
        self.graph.optimize()

    def insert(self, number: int) -> None:
        self.graph.mutate(QUERIES, "insert", {"n": number, "name": f"Person {number}"})

    def prepare_upsert(self, people: pa.Table) -> None:
        self._write(_envelopes(people))

    def upsert(self, people: pa.Table) -> None:
        self.graph.load(self.file, mode="merge", engine="local")

    def delete(self, number: int) -> None:
        self.graph.mutate(QUERIES, "delete", {"n": number})

    def counts(self) -> tuple[int, int, int]:
        people = self.graph.query(QUERIES, "people").to_pylist()[0]
        follows = self.graph.query(QUERIES, "follows").to_pylist()[0]
        return people["n"], follows["n"], people["ages"]

    def _write(self, envelopes: list[dict[str, object]]) -> None:
        self.file.write_text("".join(json.dumps(e) + "\n" for e in envelopes))


def _envelopes(people: pa.Table) -> list[dict[str, object]]:
    return [{"type": "Person", "data": row} for row in people.to_pylist()]
