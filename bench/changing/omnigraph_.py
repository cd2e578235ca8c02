"""Ours: mutations for single rows, a merging load in this process for many."""

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
        self.graph = Graph.init(str(place), SCHEMA)
        follows = base.follows.rename_columns(["from", "to"])
        frames = {"Person": base.people, "Follows": follows}
        self.graph.load(frames, mode="append", engine="local")
        self.graph.optimize()

    def insert(self, number: int) -> None:
        self.graph.mutate(QUERIES, "insert", {"n": number, "name": f"Person {number}"})

    def upsert(self, people: pa.Table) -> None:
        self.graph.load({"Person": people}, mode="merge", engine="local")

    def delete(self, number: int) -> None:
        self.graph.mutate(QUERIES, "delete", {"n": number})

    def counts(self) -> tuple[int, int, int]:
        people = self.graph.query(QUERIES, "people").to_pylist()[0]
        follows = self.graph.query(QUERIES, "follows").to_pylist()[0]
        return people["n"], follows["n"], people["ages"]
