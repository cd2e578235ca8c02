"""DuckDB: tables with keys, and indexes over the ends of edges."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.workloads import payments, study
from bench.workloads.payments import CLOSED, CLOSED_DAY, CLOSED_ON_THE_FORK, FEW
from bench.workloads.people import Data

# People -------------------------------------------------------------------------------------------


class People:
    """DuckDB: tables with keys and an index on the source of each edge."""

    name = "duckdb"

    def version(self) -> str:
        return duckdb.__version__

    def prepare(self) -> None:
        pass

    def load(self, data: Data, place: Path) -> None:
        place.mkdir(parents=True)
        with duckdb.connect(str(place / "graph.duckdb")) as db:
            db.execute(
                "create table person (number bigint primary key, name text, age int, city text)"
            )
            db.execute("create table follows (src bigint, dst bigint)")
            db.execute(
                "insert into person select data.* from read_ndjson(?, columns = "
                "{data: 'struct(number bigint, name text, age int, city text)'})",
                [str(data.people_file)],
            )
            db.execute(
                """insert into follows select "from", "to" from read_ndjson(?, columns = """
                """{"from": 'bigint', "to": 'bigint'})""",
                [str(data.follows_file)],
            )
            db.execute("create index follows_src on follows (src)")

    def open(self, place: Path) -> None:
        self.db = duckdb.connect(str(place / "graph.duckdb"))

    def one_hop(self, person: int) -> int:
        return self._number("select count(*) from follows where src = ?", [person])

    def two_hop(self, person: int) -> int:
        return self._number(
            "select count(*) from follows a join follows b on b.src = a.dst where a.src = ?",
            [person],
        )

    def all_two_hop(self) -> int:
        return self._number("select count(*) from follows a join follows b on b.src = a.dst", [])

    def _number(self, sql: str, values: list[int]) -> int:
        row = self.db.execute(sql, values).fetchone()
        assert row is not None
        return int(row[0])


# Study --------------------------------------------------------------------------------------------

HOME = """
    join LivesIn l on l.src = p.number join City c on c.number = l.dst
    join CityIn ci on ci.src = c.number join State s on s.number = ci.dst
    join StateIn si on si.src = s.number join Country k on k.number = si.dst
"""

LIKES = "join HasInterest h on h.src = p.number join Interest i on i.number = h.dst"

NEAR = "select dst from Follows where src = $n"

STUDY_ASKED = {
    "most followed": """
        select p.number, p.name, count(*) n from Follows f join Person p on p.number = f.dst
        group by all order by n desc, p.number limit 3""",
    "most followed, with place": f"""
        with top as (
            select dst number, count(*) n from Follows group by dst order by n desc, dst limit 1
        )
        select p.number, n, c.name, s.name, k.name from top p {HOME}""",
    "youngest cities": f"""
        select c.name, avg(p.age) mean from Person p {HOME} where k.name = 'Norway'
        group by c.name order by mean, c.name limit 5""",
    "people by country": f"""
        select k.name, count(*) n from Person p {HOME} where p.age between 30 and 40
        group by k.name order by n desc""",
    "men with an interest in a city": f"""
        select k.name, count(*) n from Person p {LIKES} {HOME}
        where p.gender = 'male' and i.name = 'interest 07' and c.name = 'city 0100'
        group by k.name""",
    "women with an interest by city": f"""
        select c.name, count(*) n from Person p {LIKES}
        join LivesIn l on l.src = p.number join City c on c.number = l.dst
        where p.gender = 'female' and i.name = 'interest 11'
        group by c.name order by n desc, c.name limit 5""",
    "state of an interest": f"""
        select s.name, count(*) n from Person p {LIKES} {HOME}
        where p.age between 23 and 30 and i.name = 'interest 23' and k.name = 'Norway'
        group by s.name order by n desc, s.name limit 1""",
    "paths of two": "select count(*) from Follows a join Follows b on b.src = a.dst",
    "paths of two, filtered": """
        select count(*) from Follows a join Person b on b.number = a.dst
        join Follows f on f.src = b.number join Person c on c.number = f.dst
        where b.age < 50 and c.age > 25""",
    "point read": "select number, name, age from Person where number = $n",
    "one hop": f"{NEAR} order by dst",
    "two hops": f"""
        select distinct b.dst from Follows a join Follows b on b.src = a.dst
        where a.src = $n and b.dst <> $n and b.dst not in ({NEAR}) order by 1""",
    "reach": """
        with recursive walk(number, depth) as (
            select $n::bigint, 0
            union select f.dst, w.depth + 1 from walk w join Follows f on f.src = w.number
            where w.depth < 3
        )
        select count(distinct number) from walk where number <> $n""",
}


class Study:
    """DuckDB: tables with keys, and an index over both ends of the follows."""

    def version(self) -> str:
        return duckdb.__version__

    def load(self, files: Path, place: Path) -> None:
        place.mkdir(parents=True)
        with duckdb.connect(str(place / "graph.duckdb")) as db:
            for name in (*study.NODES, *study.EDGES):
                db.execute(f"create table {name} as from '{files / f'{name}.parquet'}'")
            for name in study.NODES:
                db.execute(f"alter table {name} add primary key (number)")
            db.execute("create index follows_src on Follows (src)")
            db.execute("create index follows_dst on Follows (dst)")

    def open(self, place: Path) -> None:
        self.db = duckdb.connect(str(place / "graph.duckdb"))

    def ask(self, name: str, person: int | None) -> list[tuple[Any, ...]]:
        given = {} if person is None else {"n": person}
        return self.db.execute(STUDY_ASKED[name], given).fetchall()


# Payments -----------------------------------------------------------------------------------------

SENDER = "from Transfer t join Account a on a.number = t.src"

BOTH = f"{SENDER} join Account b on b.number = t.dst"

OF_FEW = f"""
    select a.number, b.number, t.amount, t.currency, t.day {BOTH} where a.number < {FEW}"""

TWO_STEPS = """
    select distinct src, dst from (
        select src, dst from Trusts
        union all select x.src, y.dst from Trusts x join Trusts y on y.src = x.dst
    ) where src <> dst"""

PAYMENTS_ASKED = {
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
    "equal in two values": f"""
        select count(*) from Account a join Account b
        on a.country = b.country and a.kind = b.kind and a.number < b.number
        where a.number < {FEW} and b.number < {FEW}""",
    "pairs in order": f"""
        select count(*) from Account a join Account b on a.number < b.number
        where a.number < {FEW} and b.number < {FEW}""",
    "not the last of its kind": """
        select count(*) from Account a
        where exists (select 1 from Account b where b.kind = a.kind and b.number > a.number)""",
    "largest of each receiver": """
        select count(*) from (
            select amount, max(amount) over (partition by dst) as most from Transfer
        ) where amount = most""",
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
    """DuckDB: tables with keys, and an index over the ends of edges."""

    def version(self) -> str:
        return duckdb.__version__

    def load(self, files: Path, place: Path) -> None:
        place.mkdir(parents=True)
        with duckdb.connect(str(place / "graph.duckdb")) as db:
            for name in (*payments.NODES, *payments.EDGES):
                db.execute(f"create table {name} as from '{files / f'{name}.parquet'}'")
            db.execute("alter table Account add primary key (number)")
            for name in payments.EDGES:
                db.execute(f"create index {name}_src on {name} (src)")
                db.execute(f"create index {name}_dst on {name} (dst)")

    def open(self, place: Path) -> None:
        self.db = duckdb.connect(str(place / "graph.duckdb"))

    def ask(self, name: str, number: int | None) -> list[tuple[Any, ...]]:
        return self._run(name, number).fetchall()

    def fetch(self, name: str) -> pa.Table:
        return self.db.sql(PAYMENTS_ASKED[name]).to_arrow_table()

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
        for name in payments.EDGES:
            either = "src in (select unnest($n)) or dst in (select unnest($n))"
            self.db.execute(f"delete from {name} where {either}", {"n": numbers})
        self.db.execute("delete from Account where number in (select unnest($n))", {"n": numbers})

    def _run(self, name: str, number: int | None) -> duckdb.DuckDBPyConnection:
        return self.db.execute(PAYMENTS_ASKED[name], {} if number is None else {"n": number})
