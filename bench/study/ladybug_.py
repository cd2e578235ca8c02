"""Ladybug (the successor of Kùzu), with prepared statements."""

from pathlib import Path
from typing import Any

import ladybug
import pyarrow.parquet as pq

from study.data import EDGES, ENDS, NODES

HOME = "(p)-[:LivesIn]->(c:City)-[:CityIn]->(s:State)-[:StateIn]->(k:Country)"
LIKES = "(p:Person)-[:HasInterest]->(i:Interest)"
HOP = "(a:Person {number: $n})-[:Follows]->(b:Person)"

ASKED = {
    "most followed": """
        match (f:Person)-[:Follows]->(p:Person)
        return p.number, p.name, count(*) as n order by n desc, p.number limit 3""",
    "most followed, with place": f"""
        match (f:Person)-[:Follows]->(p:Person)
        with p, count(*) as n order by n desc, p.number limit 1
        match {HOME} return p.number, n, c.name, s.name, k.name""",
    "youngest cities": f"""
        match {HOME.replace("(p)", "(p:Person)")} where k.name = 'Norway'
        return c.name as name, avg(p.age) as mean order by mean, name limit 5""",
    "people by country": f"""
        match {HOME.replace("(p)", "(p:Person)")} where p.age >= 30 and p.age <= 40
        return k.name, count(*) as n order by n desc""",
    "men with an interest in a city": f"""
        match {LIKES}, {HOME}
        where p.gender = 'male' and i.name = 'interest 07' and c.name = 'city 0100'
        return k.name, count(*)""",
    "women with an interest by city": f"""
        match {LIKES}, (p)-[:LivesIn]->(c:City)
        where p.gender = 'female' and i.name = 'interest 11'
        return c.name as name, count(*) as n order by n desc, name limit 5""",
    "state of an interest": f"""
        match {LIKES}, {HOME}
        where p.age >= 23 and p.age <= 30 and i.name = 'interest 23' and k.name = 'Norway'
        return s.name as name, count(*) as n order by n desc, name limit 1""",
    "paths of two": """
        match (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person) return count(*)""",
    "paths of two, filtered": """
        match (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person)
        where b.age < 50 and c.age > 25 return count(*)""",
    "point read": "match (p:Person) where p.number = $n return p.number, p.name, p.age",
    "one hop": f"match {HOP} return b.number as number order by number",
    "two hops": """
        match (a:Person {number: $n})-[:Follows]->(:Person)-[:Follows]->(b:Person)
        where b.number <> $n and not (a)-[:Follows]->(b)
        return distinct b.number as number order by number""",
    "reach": """
        match (a:Person {number: $n})-[:Follows* shortest 1..3]->(b:Person)
        where b.number <> $n return count(distinct b.number)""",
}
TYPES = {"number": "int64", "name": "string", "gender": "string", "age": "int64"}


class Study:
    def version(self) -> str:
        return ladybug.__version__

    def load(self, files: Path, place: Path) -> None:
        place.mkdir(parents=True)
        self._connect(place)
        for name in (*NODES, *EDGES):
            rows = pq.read_table(files / f"{name}.parquet")
            if name in NODES:
                columns = ", ".join(f"{c} {TYPES[c]}" for c in rows.column_names)
                self.db.execute(f"create node table {name}({columns}, primary key (number))")
            else:
                self.db.execute(f"create rel table {name}(from {ENDS[name][0]} to {ENDS[name][1]})")
            self.db.execute(f"copy {name} from $rows", {"rows": rows})
        self.db.close()
        self.database.close()

    def open(self, place: Path) -> None:
        self._connect(place)
        self.statements = {name: self.db.prepare(text) for name, text in ASKED.items()}

    def ask(self, name: str, person: int | None) -> list[tuple[Any, ...]]:
        given = {} if person is None else {"n": person}
        return [tuple(row) for row in self.db.execute(self.statements[name], given).get_all()]

    def _connect(self, place: Path) -> None:
        self.database = ladybug.Database(str(place / "graph.ladybug"))
        self.db = ladybug.Connection(self.database)
