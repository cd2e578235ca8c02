"""Ladybug: one node table with a primary key and one table of relationships."""

from pathlib import Path

import ladybug
import pyarrow as pa

from changing.base import Base


class Changes:
    durability = "its default: a write-ahead log"

    def version(self) -> str:
        return ladybug.__version__

    def make(self, base: Base, place: Path) -> None:
        place.mkdir(parents=True)
        self.db = ladybug.Connection(ladybug.Database(str(place / "graph.ladybug")))
        self.db.execute(
            "create node table Person(number int64 primary key, name string, age int32)"
        )
        self.db.execute("create rel table Follows(from Person to Person)")
        self.db.execute("copy Person from $rows", {"rows": base.people})
        self.db.execute("copy Follows from $rows", {"rows": base.follows})

    def insert(self, number: int) -> None:
        self.db.execute(
            "create (:Person {number: $n, name: $name, age: 1})",
            {"n": number, "name": f"Person {number}"},
        )

    def upsert(self, people: pa.Table) -> None:
        self.db.execute(
            "load from $rows merge (p:Person {number: number}) set p.name = name, p.age = age",
            {"rows": people},
        )

    def delete(self, number: int) -> None:
        self.db.execute("match (p:Person) where p.number = $n detach delete p", {"n": number})

    def counts(self) -> tuple[int, int, int]:
        people, ages = self.db.execute("match (p:Person) return count(*), sum(p.age)").get_next()
        (follows,) = self.db.execute("match ()-[f:Follows]->() return count(*)").get_next()
        return int(people), int(follows), int(ages)
