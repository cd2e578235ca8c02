"""Ours. The load runs on Spark and checks every row; then indexes are built, as in daily use."""

from pathlib import Path
from typing import Any

import omnigraph
from omnigraph import Graph

SCHEMA = """
node Country  { number: I64 @key  name: String }
node State    { number: I64 @key  name: String }
node City     { number: I64 @key  name: String }
node Interest { number: I64 @key  name: String }
node Person   { number: I64 @key  name: String  gender: String  age: I64 }
edge StateIn: State -> Country
edge CityIn: City -> State
edge LivesIn: Person -> City
edge HasInterest: Person -> Interest
edge Follows: Person -> Person
"""

ASKED = {
    "most followed": """
        match { $f follows $p }
        return { $p.number as number, $p.name as name, count($f) as n }
        order { n desc, number } limit 3""",
    "most followed, with place": """
        match { $f follows $p  $p livesIn $c  $c cityIn $s  $s stateIn $k }
        return {
            $p.number as number, count($f) as n, $c.name as city, $s.name as st, $k.name as country
        }
        order { n desc, number } limit 1""",
    "youngest cities": """
        match { $p livesIn $c  $c cityIn $s  $s stateIn $k  $k.name = "Norway" }
        return { $c.name as name, avg($p.age) as mean } order { mean, name } limit 5""",
    "people by country": """
        match { $p livesIn $c  $c cityIn $s  $s stateIn $k  $p.age >= 30  $p.age <= 40 }
        return { $k.name as name, count($p) as n } order { n desc }""",
    "men with an interest in a city": """
        match {
            $p: Person { gender: "male" }  $p hasInterest $i  $i.name = "interest 07"
            $p livesIn $c  $c.name = "city 0100"  $c cityIn $s  $s stateIn $k
        }
        return { $k.name as name, count($p) as n }""",
    "women with an interest by city": """
        match {
            $p: Person { gender: "female" }  $p hasInterest $i  $i.name = "interest 11"
            $p livesIn $c
        }
        return { $c.name as name, count($p) as n } order { n desc, name } limit 5""",
    "state of an interest": """
        match {
            $p: Person  $p.age >= 23  $p.age <= 30  $p hasInterest $i  $i.name = "interest 23"
            $p livesIn $c  $c cityIn $s  $s stateIn $k  $k.name = "Norway"
        }
        return { $s.name as name, count($p) as n } order { n desc, name } limit 1""",
    "paths of two": "match { $a follows $b  $b follows $c } return { count($c) as n }",
    "paths of two, filtered": """
        match { $a follows $b  $b follows $c  $b.age < 50  $c.age > 25 }
        return { count($c) as n }""",
    "point read": """
        match { $p: Person { number: $n } }
        return { $p.number as number, $p.name as name, $p.age as age }""",
    "one hop": """
        match { $a: Person { number: $n }  $a follows $b }
        return { $b.number as number } order { number }""",
    "two hops": """
        match { $a: Person { number: $n }  $a follows{2,2} $b }
        return { $b.number as number } order { number }""",
    "reach": "match { $a: Person { number: $n }  $a follows{1,3} $b } return { count($b) as n }",
}


class Study:
    def version(self) -> str:
        return omnigraph.__version__

    def load(self, files: Path, place: Path) -> None:
        with Graph.init(str(place), SCHEMA) as graph:
            graph.load(str(files / "graph.jsonl"), mode="overwrite")
            graph.optimize()

    def open(self, place: Path) -> None:
        self.graph = Graph.open(str(place))
        self.texts = {
            name: f"query q({'$n: I64' if '$n' in body else ''}) {{ {body} }}"
            for name, body in ASKED.items()
        }

    def ask(self, name: str, person: int | None) -> list[tuple[Any, ...]]:
        given = {} if person is None else {"n": person}
        table = self.graph.query(self.texts[name], params=given).to_arrow()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
