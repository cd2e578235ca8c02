"""Ours: the load runs on Spark and checks every row; the session's start is not counted."""

from pathlib import Path

import omnigraph
from data import Data
from omnigraph import Graph
from omnigraph.pipeline.spark.session import Spark, SparkSettings

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32  city: String }
edge Follows: Person -> Person
"""

QUERIES = """
query one_hop($n: I64) {
    match { $p: Person { number: $n }  $p follows $q }
    return { count($q) as n }
}
query two_hop($n: I64) {
    match { $p: Person { number: $n }  $p follows $q  $q follows $r }
    return { count($r) as n }
}
query all_two_hop() {
    match { $p: Person  $p follows $q  $q follows $r }
    return { count($r) as n }
}
"""


class System:
    name = "omnigraph"

    def version(self) -> str:
        return omnigraph.__version__

    def prepare(self) -> None:
        self.spark = Spark.open(SparkSettings())

    def load(self, data: Data, place: Path) -> None:
        with Graph.init(str(place), SCHEMA) as graph:
            files = [str(data.people_file), str(data.follows_file)]
            graph.load(files, mode="overwrite", spark=self.spark)

    def open(self, place: Path) -> None:
        self.graph = Graph.open(str(place))

    def one_hop(self, person: int) -> int:
        return self._number("one_hop", {"n": person})

    def two_hop(self, person: int) -> int:
        return self._number("two_hop", {"n": person})

    def all_two_hop(self) -> int:
        return self._number("all_two_hop", {})

    def _number(self, name: str, params: dict[str, int]) -> int:
        return int(self.graph.query(QUERIES, name=name, params=params).to_pylist()[0]["n"])
