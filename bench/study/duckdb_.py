"""DuckDB: tables with keys, and an index over both ends of the follows."""

from pathlib import Path
from typing import Any

import duckdb

from study.data import EDGES, NODES

HOME = """
    join LivesIn l on l.src = p.number join City c on c.number = l.dst
    join CityIn ci on ci.src = c.number join State s on s.number = ci.dst
    join StateIn si on si.src = s.number join Country k on k.number = si.dst
"""
LIKES = "join HasInterest h on h.src = p.number join Interest i on i.number = h.dst"
NEAR = "select dst from Follows where src = $n"

ASKED = {
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
    def version(self) -> str:
        return duckdb.__version__

    def load(self, files: Path, place: Path) -> None:
        place.mkdir(parents=True)
        with duckdb.connect(str(place / "graph.duckdb")) as db:
            for name in (*NODES, *EDGES):
                db.execute(f"create table {name} as from '{files / f'{name}.parquet'}'")
            for name in NODES:
                db.execute(f"alter table {name} add primary key (number)")
            db.execute("create index follows_src on Follows (src)")
            db.execute("create index follows_dst on Follows (dst)")

    def open(self, place: Path) -> None:
        self.db = duckdb.connect(str(place / "graph.duckdb"))

    def ask(self, name: str, person: int | None) -> list[tuple[Any, ...]]:
        given = {} if person is None else {"n": person}
        return self.db.execute(ASKED[name], given).fetchall()
