"""DuckDB: tables with keys and an index on the source of each edge."""

from pathlib import Path

import duckdb

from data import Data


class System:
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
