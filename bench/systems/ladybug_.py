"""Ladybug (the successor of Kùzu). Its JSON reader is a download, so Arrow reads the lines."""

from pathlib import Path

import ladybug
import pyarrow as pa
import pyarrow.json as pj

from data import Data


class System:
    name = "ladybug"

    def version(self) -> str:
        return ladybug.__version__

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
