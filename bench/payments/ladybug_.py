"""Ladybug (the successor of Kùzu), with prepared statements."""

from pathlib import Path
from typing import Any

import ladybug
import pyarrow as pa
import pyarrow.parquet as pq

from payments.data import EDGES
from payments.questions import CLOSED, CLOSED_DAY, CLOSED_ON_THE_FORK, FEW

TRANSFER = "match (a:Account)-[t:Transfer]->(b:Account)"
TRUST = "match (a:Account)-[:Trusts]->(b:Account)"
OF_FEW = f"""
    {TRANSFER} where a.number < {FEW}
    return a.number as source, b.number as target, t.amount as amount, t.currency, t.day as day"""
ONE = "(a:Account {number: $n})"

ASKED = {
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
    def version(self) -> str:
        return ladybug.__version__

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
        for name in ("Account", *EDGES):
            rows = pq.read_table(files / f"{name}.parquet")
            self.db.execute(f"copy {name} from $rows", {"rows": rows})
        self.db.close()
        self.database.close()

    def open(self, place: Path) -> None:
        self._connect(place)
        self.statements = {name: self.db.prepare(text) for name, text in ASKED.items()}

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
