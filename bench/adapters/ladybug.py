"""Ladybug (the successor of Kùzu), with prepared statements."""

from pathlib import Path
from typing import Any

import ladybug
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from bench.workloads import payments, study
from bench.workloads.changes import Base
from bench.workloads.payments import CLOSED, CLOSED_DAY, CLOSED_ON_THE_FORK, FEW
from bench.workloads.people import Data

# People -------------------------------------------------------------------------------------------


class People:
    """Ladybug (the successor of Kùzu). Its JSON reader is a download, so Arrow reads the lines."""

    name = "ladybug"

    def version(self) -> str:
        return str(ladybug.__version__)

    def prepare(self) -> None:
        pass

    def load(self, data: Data, place: Path) -> None:
        place.mkdir(parents=True)
        self.open(place)
        self.db.execute(
            "create node table Person"
            "(number int64 primary key, name string, age int64, city string)"
        )
        self.db.execute("create rel table Follows(from Person to Person)")
        person = pa.struct(
            [
                ("number", pa.int64()),
                ("name", pa.string()),
                ("age", pa.int64()),
                ("city", pa.string()),
            ]
        )
        people = _read(data.people_file, pa.schema([("data", person)])).flatten()
        people = people.rename_columns([n.removeprefix("data.") for n in people.column_names])
        follows = _read(data.follows_file, pa.schema([("from", pa.int64()), ("to", pa.int64())]))
        self.db.execute("copy Person from $rows", {"rows": people})
        self.db.execute("copy Follows from $rows", {"rows": follows})
        self.db.close()
        self.database.close()

    def open(self, place: Path) -> None:
        self.database = ladybug.Database(str(place / "graph.ladybug"))
        self.db = ladybug.Connection(self.database)
        hop = "-[:Follows]->(:Person)"
        self.statements = {
            "one": self.db.prepare(f"match (p:Person){hop} where p.number = $n return count(*)"),
            "two": self.db.prepare(
                f"match (p:Person){hop * 2} where p.number = $n return count(*)"
            ),
            "all": self.db.prepare(f"match (p:Person){hop * 2} return count(*)"),
        }

    def one_hop(self, person: int) -> int:
        return self._number("one", {"n": person})

    def two_hop(self, person: int) -> int:
        return self._number("two", {"n": person})

    def all_two_hop(self) -> int:
        return self._number("all", {})

    def _number(self, statement: str, values: dict[str, int]) -> int:
        return int(self.db.execute(self.statements[statement], values).get_next()[0])


def _read(file: Path, schema: pa.Schema) -> pa.Table:
    return pj.read_json(
        file,
        read_options=pj.ReadOptions(block_size=1 << 24),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )


# Study --------------------------------------------------------------------------------------------

HOME = "(p)-[:LivesIn]->(c:City)-[:CityIn]->(s:State)-[:StateIn]->(k:Country)"

LIKES = "(p:Person)-[:HasInterest]->(i:Interest)"

HOP = "(a:Person {number: $n})-[:Follows]->(b:Person)"

STUDY_ASKED = {
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
    """Ladybug (the successor of Kùzu), with prepared statements."""

    def version(self) -> str:
        return str(ladybug.__version__)

    def load(self, files: Path, place: Path) -> None:
        place.mkdir(parents=True)
        self._connect(place)
        for name in (*study.NODES, *study.EDGES):
            rows = pq.read_table(files / f"{name}.parquet")
            if name in study.NODES:
                columns = ", ".join(f"{c} {TYPES[c]}" for c in rows.column_names)
                self.db.execute(f"create node table {name}({columns}, primary key (number))")
            else:
                self.db.execute(
                    f"create rel table {name}(from {study.ENDS[name][0]} to {study.ENDS[name][1]})"
                )
            self.db.execute(f"copy {name} from $rows", {"rows": rows})
        self.db.close()
        self.database.close()

    def open(self, place: Path) -> None:
        self._connect(place)
        self.statements = {name: self.db.prepare(text) for name, text in STUDY_ASKED.items()}

    def ask(self, name: str, person: int | None) -> list[tuple[Any, ...]]:
        given = {} if person is None else {"n": person}
        return [tuple(row) for row in self.db.execute(self.statements[name], given).get_all()]

    def _connect(self, place: Path) -> None:
        self.database = ladybug.Database(str(place / "graph.ladybug"))
        self.db = ladybug.Connection(self.database)


# Payments -----------------------------------------------------------------------------------------

TRANSFER = "match (a:Account)-[t:Transfer]->(b:Account)"

TRUST = "match (a:Account)-[:Trusts]->(b:Account)"

OF_FEW = f"""
    {TRANSFER} where a.number < {FEW}
    return a.number as source, b.number as target, t.amount as amount, t.currency, t.day as day"""

ONE = "(a:Account {number: $n})"

PAYMENTS_ASKED = {
    "sum over a filter": f"""
        {TRANSFER} where t.amount > 9000 return count(*), cast(sum(t.amount) as int64)""",
    "by currency": f"""
        {TRANSFER} return t.currency as c, count(*), cast(sum(t.amount) as int64), avg(t.fee)
        order by c""",
    "by day": f"""
        {TRANSFER} return t.day as day, count(*), cast(sum(t.amount) as int64), avg(t.fee)
        order by day""",
    "by country": f"""
        {TRANSFER} return a.country as c, cast(sum(t.amount) as int64) order by c""",
    "by both countries": f"""
        {TRANSFER} return a.country as c, b.country as d, count(*), cast(sum(t.amount) as int64)
        order by c, d""",
    "filtered at both ends": f"""
        {TRANSFER} where a.country = 'country 03' and b.kind = 'shop' and t.day < 90
        return t.currency as c, count(*), cast(sum(t.amount) as int64) order by c""",
    "top senders": f"""
        {TRANSFER} return a.number as number, a.name, cast(sum(t.amount) as int64) as total
        order by total desc, number limit 10""",
    "largest transfers": f"""
        {TRANSFER} where t.currency = 'EUR'
        return t.amount as amount, a.number as source, b.number as target, t.day as day
        order by amount desc, source, target, day limit 20""",
    "mutual trust": f"{TRUST}, (b)-[:Trusts]->(a) return count(*)",
    "mutual trust by country": f"""
        {TRUST}, (b)-[:Trusts]->(a) return a.country as c, count(*) order by c""",
    "mutual transfers": f"""
        {TRANSFER}, (b)-[u:Transfer]->(a) where t.amount > u.amount return count(*)""",
    "triangles": f"{TRUST}, (b)-[:Trusts]->(c:Account), (c)-[:Trusts]->(a) return count(*)",
    "triangles through a hub": f"""
        match {ONE}-[t:Transfer]->(b:Account)-[u:Transfer]->(c:Account)-[v:Transfer]->(a)
        return count(*)""",
    "equal in two values": f"""
        match (a:Account), (b:Account) where a.country = b.country and a.kind = b.kind
        and a.number < b.number and a.number < {FEW} and b.number < {FEW} return count(*)""",
    "pairs in order": f"""
        match (a:Account), (b:Account)
        where a.number < b.number and a.number < {FEW} and b.number < {FEW} return count(*)""",
    "not the last of its kind": """
        match (b:Account) with b.kind as kind, max(b.number) as last
        match (a:Account) where a.kind = kind and a.number < last return count(*)""",
    "largest of each receiver": """
        match (:Account)-[t:Transfer]->(b:Account) with b, max(t.amount) as most
        match (:Account)-[t:Transfer]->(b) where t.amount = most return count(*)""",
    "edges of 2,000": OF_FEW,
    "edges of 2,000 in order": f"{OF_FEW} order by amount, source, target, day",
    "edges of 2,000, Python": OF_FEW,
    "two steps from all": """
        match (a:Account)-[:Trusts* shortest 1..2]->(b:Account) where a.number <> b.number
        return count(*)""",
    "three steps from 2,000": f"""
        match (a:Account)-[:Trusts* shortest 1..3]->(b:Account)
        where a.number < {FEW} and a.number <> b.number return count(*)""",
    "who reaches most": """
        match (a:Account)-[:Trusts* shortest 1..2]->(b:Account) where a.number <> b.number
        return a.number as number, count(*) as n order by n desc, number limit 5""",
    "point read": "match (a:Account) where a.number = $n return a.number, a.name, a.country",
    "one hop": f"match {ONE}-[:Trusts]->(b:Account) return b.number as number order by number",
    "one hop with edges": f"""
        match {ONE}-[t:Transfer]->(b:Account)
        return b.number as number, t.amount as amount, t.day as day order by day, amount, number""",
    "two hops": f"""
        match {ONE}-[:Trusts]->(:Account)-[:Trusts]->(b:Account)
        return distinct b.number as number order by number""",
}


class Payments:
    """Ladybug (the successor of Kùzu), with prepared statements."""

    def version(self) -> str:
        return str(ladybug.__version__)

    def load(self, files: Path, place: Path) -> None:
        place.mkdir(parents=True)
        self._connect(place)
        for statement in (
            "node table Account(number int64, name string, country string, kind string, "
            "primary key (number))",
            "rel table Transfer(from Account to Account, "
            "amount int64, fee double, currency string, day int64)",
            "rel table Trusts(from Account to Account)",
        ):
            self.db.execute(f"create {statement}")
        for name in ("Account", *payments.EDGES):
            rows = pq.read_table(files / f"{name}.parquet")
            self.db.execute(f"copy {name} from $rows", {"rows": rows})
        self.db.close()
        self.database.close()

    def open(self, place: Path) -> None:
        self._connect(place)
        self.statements = {name: self.db.prepare(text) for name, text in PAYMENTS_ASKED.items()}

    def ask(self, name: str, number: int | None) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._run(name, number).get_all()]

    def fetch(self, name: str) -> pa.Table:
        return self._run(name, None).get_as_arrow()

    def delete(self) -> None:
        self.db.execute(f"{TRANSFER} where t.day = {CLOSED_DAY} delete t")
        self._close(CLOSED)

    def fork(self) -> None:
        """It has no branches: the change is made where it is."""
        self._close(CLOSED_ON_THE_FORK)

    def commit(self, source: int, target: int) -> None:
        for edge in (
            "[:Transfer {amount: 5, fee: 0.5, currency: 'EUR', day: 100}]",
            "[:Trusts]",
        ):
            self.db.execute(
                f"match (a:Account {{number: {source}}}), (b:Account {{number: {target}}}) "
                f"create (a)-{edge}->(b)"
            )

    def _close(self, numbers: list[int]) -> None:
        self.db.execute("match (a:Account) where a.number in $n detach delete a", {"n": numbers})

    def _run(self, name: str, number: int | None) -> Any:
        return self.db.execute(self.statements[name], {} if number is None else {"n": number})

    def _connect(self, place: Path) -> None:
        self.database = ladybug.Database(str(place / "graph.ladybug"))
        self.db = ladybug.Connection(self.database)


# Changes ------------------------------------------------------------------------------------------


class Changes:
    """Ladybug: one node table with a primary key and one table of relationships."""

    durability = "its default: a write-ahead log"

    def version(self) -> str:
        return str(ladybug.__version__)

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
