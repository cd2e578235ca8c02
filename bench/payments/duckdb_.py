"""DuckDB: tables with keys, and an index over the ends of edges."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from payments.data import EDGES, NODES
from payments.questions import CLOSED, CLOSED_DAY, CLOSED_ON_THE_FORK, FEW

SENDER = "from Transfer t join Account a on a.number = t.src"
BOTH = f"{SENDER} join Account b on b.number = t.dst"
OF_FEW = f"""
    select a.number, b.number, t.amount, t.currency, t.day {BOTH} where a.number < {FEW}"""
TWO_STEPS = """
    select distinct src, dst from (
        select src, dst from Trusts
        union all select x.src, y.dst from Trusts x join Trusts y on y.src = x.dst
    ) where src <> dst"""

ASKED = {
    "sum over a filter": "select count(*), sum(amount)::bigint from Transfer where amount > 9000",
    "by currency": """
        select currency, count(*), sum(amount)::bigint, avg(fee) from Transfer
        group by currency order by currency""",
    "by day": """
        select day, count(*), sum(amount)::bigint, avg(fee) from Transfer
        group by day order by day""",
    "by country": f"""
        select a.country, sum(t.amount)::bigint {SENDER} group by a.country order by a.country""",
    "by both countries": f"""
        select a.country, b.country, count(*), sum(t.amount)::bigint {BOTH}
        group by a.country, b.country order by a.country, b.country""",
    "filtered at both ends": f"""
        select t.currency, count(*), sum(t.amount)::bigint {BOTH}
        where a.country = 'country 03' and b.kind = 'shop' and t.day < 90
        group by t.currency order by t.currency""",
    "top senders": f"""
        select a.number, a.name, sum(t.amount)::bigint total {SENDER}
        group by all order by total desc, a.number limit 10""",
    "largest transfers": f"""
        select t.amount, a.number, b.number, t.day {BOTH} where t.currency = 'EUR'
        order by t.amount desc, a.number, b.number, t.day limit 20""",
    "mutual trust": """
        select count(*) from Trusts t join Trusts u on u.src = t.dst and u.dst = t.src""",
    "mutual trust by country": """
        select a.country, count(*) from Trusts t join Trusts u on u.src = t.dst and u.dst = t.src
        join Account a on a.number = t.src group by a.country order by a.country""",
    "mutual transfers": """
        select count(*) from Transfer t join Transfer u on u.src = t.dst and u.dst = t.src
        where t.amount > u.amount""",
    "triangles": """
        select count(*) from Trusts t join Trusts u on u.src = t.dst
        join Trusts v on v.src = u.dst and v.dst = t.src""",
    "triangles through a hub": """
        select count(*) from Transfer t join Transfer u on u.src = t.dst
        join Transfer v on v.src = u.dst and v.dst = t.src where t.src = $n""",
    "edges of 2,000": OF_FEW,
    "edges of 2,000 in order": f"{OF_FEW} order by t.amount, a.number, b.number, t.day",
    "edges of 2,000, Python": OF_FEW,
    "two steps from all": f"select count(*) from ({TWO_STEPS})",
    "three steps from 2,000": f"""
        with recursive walk(start, number, depth) as (
            select number, number, 0 from Account where number < {FEW}
            union select w.start, t.dst, w.depth + 1 from walk w join Trusts t on t.src = w.number
            where w.depth < 3
        )
        select count(*) from (select distinct start, number from walk) where number <> start""",
    "who reaches most": f"""
        select src, count(*) n from ({TWO_STEPS}) group by src order by n desc, src limit 5""",
    "point read": "select number, name, country from Account where number = $n",
    "one hop": "select dst from Trusts where src = $n order by dst",
    "one hop with edges": """
        select dst, amount, day from Transfer where src = $n order by day, amount, dst""",
    "two hops": """
        select distinct u.dst from Trusts t join Trusts u on u.src = t.dst where t.src = $n
        order by u.dst""",
}


class Payments:
    def version(self) -> str:
        return duckdb.__version__

    def load(self, files: Path, place: Path) -> None:
        place.mkdir(parents=True)
        with duckdb.connect(str(place / "graph.duckdb")) as db:
            for name in (*NODES, *EDGES):
                db.execute(f"create table {name} as from '{files / f'{name}.parquet'}'")
            db.execute("alter table Account add primary key (number)")
            for name in EDGES:
                db.execute(f"create index {name}_src on {name} (src)")
                db.execute(f"create index {name}_dst on {name} (dst)")

    def open(self, place: Path) -> None:
        self.db = duckdb.connect(str(place / "graph.duckdb"))

    def ask(self, name: str, number: int | None) -> list[tuple[Any, ...]]:
        return self._run(name, number).fetchall()

    def fetch(self, name: str) -> pa.Table:
        return self.db.sql(ASKED[name]).to_arrow_table()

    def delete(self) -> None:
        self.db.execute("delete from Transfer where day = $day", {"day": CLOSED_DAY})
        self._close(CLOSED)

    def fork(self) -> None:
        """It has no branches: the change is made where it is."""
        self._close(CLOSED_ON_THE_FORK)

    def commit(self, source: int, target: int) -> None:
        ends = {"s": source, "t": target}
        self.db.execute("insert into Transfer values ($s, $t, 5, 0.5, 'EUR', 100)", ends)
        self.db.execute("insert into Trusts values ($s, $t)", ends)

    def _close(self, numbers: list[int]) -> None:
        for name in EDGES:
            either = "src in (select unnest($n)) or dst in (select unnest($n))"
            self.db.execute(f"delete from {name} where {either}", {"n": numbers})
        self.db.execute("delete from Account where number in (select unnest($n))", {"n": numbers})

    def _run(self, name: str, number: int | None) -> duckdb.DuckDBPyConnection:
        return self.db.execute(ASKED[name], {} if number is None else {"n": number})
