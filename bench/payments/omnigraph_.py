"""Ours, through the Python API."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph
from omnigraph import Graph
from payments.data import EDGES
from payments.questions import CLOSED, CLOSED_DAY, CLOSED_ON_THE_FORK, FEW

SCHEMA = """
node Account { number: I64 @key  name: String  country: String  kind: String }
edge Transfer: Account -> Account { amount: I64  fee: F64  currency: String  day: I64 }
edge Trusts: Account -> Account
"""

OF_FEW = f"""
    match {{ $a: Account  $a.number < {FEW}  $a $t:transfer $b }}
    return {{
        $a.number as source, $b.number as target, $t.amount as amount, $t.currency, $t.day as day
    }}"""
AMOUNTS = "count($t) as n, sum($t.amount) as total"

ASKED = {
    "sum over a filter": f"match {{ $a $t:transfer $b  $t.amount > 9000 }} return {{ {AMOUNTS} }}",
    "by currency": f"""
        match {{ $a $t:transfer $b }}
        return {{ $t.currency as c, {AMOUNTS}, avg($t.fee) as fee }} order {{ c }}""",
    "by day": f"""
        match {{ $a $t:transfer $b }}
        return {{ $t.day as day, {AMOUNTS}, avg($t.fee) as fee }} order {{ day }}""",
    "by country": """
        match { $a $t:transfer $b }
        return { $a.country as c, sum($t.amount) as total } order { c }""",
    "by both countries": f"""
        match {{ $a $t:transfer $b }}
        return {{ $a.country as c, $b.country as d, {AMOUNTS} }} order {{ c, d }}""",
    "filtered at both ends": f"""
        match {{
            $a $t:transfer $b  $a.country = "country 03"  $b.kind = "shop"  $t.day < 90
        }}
        return {{ $t.currency as c, {AMOUNTS} }} order {{ c }}""",
    "top senders": """
        match { $a $t:transfer $b }
        return { $a.number as number, $a.name as name, sum($t.amount) as total }
        order { total desc, number } limit 10""",
    "largest transfers": """
        match { $a $t:transfer $b  $t.currency = "EUR" }
        return { $t.amount as amount, $a.number as source, $b.number as target, $t.day as day }
        order { amount desc, source, target, day } limit 20""",
    "mutual trust": "match { $a trusts $b  $b trusts $a } return { count($a) as n }",
    "mutual trust by country": """
        match { $a trusts $b  $b trusts $a }
        return { $a.country as c, count($b) as n } order { c }""",
    "mutual transfers": """
        match { $a $t:transfer $b  $b $u:transfer $a  $t.amount > $u.amount }
        return { count($t) as n }""",
    "triangles": "match { $a trusts $b  $b trusts $c  $c trusts $a } return { count($a) as n }",
    "triangles through a hub": """
        match {
            $a: Account { number: $n }  $a $t:transfer $b  $b $u:transfer $c  $c $v:transfer $a
        }
        return { count($t) as n }""",
    "edges of 2,000": OF_FEW,
    "edges of 2,000 in order": f"{OF_FEW} order {{ amount, source, target, day }}",
    "edges of 2,000, Python": OF_FEW,
    "two steps from all": "match { $a trusts{1,2} $b } return { count($b) as n }",
    "three steps from 2,000": f"""
        match {{ $a: Account  $a.number < {FEW}  $a trusts{{1,3}} $b }}
        return {{ count($b) as n }}""",
    "who reaches most": """
        match { $a trusts{1,2} $b }
        return { $a.number as number, count($b) as n } order { n desc, number } limit 5""",
    "point read": """
        match { $a: Account { number: $n } }
        return { $a.number as number, $a.name as name, $a.country as country }""",
    "one hop": """
        match { $a: Account { number: $n }  $a trusts $b }
        return { $b.number as number } order { number }""",
    "one hop with edges": """
        match { $a: Account { number: $n }  $a $t:transfer $b }
        return { $b.number as number, $t.amount as amount, $t.day as day }
        order { day, amount, number }""",
    "two hops": """
        match { $a: Account { number: $n }  $a trusts $b  $b trusts $c }
        return distinct { $c.number as number } order { number }""",
}

CHANGES = """
query close_day($day: I64) { delete Transfer where day = $day }
query close($numbers: [I64]) { delete Account where number in $numbers }
query commit($s: String, $t: String) {
    insert Transfer { from: $s, to: $t, amount: 5, fee: 0.5, currency: "EUR", day: 100 }
    insert Trusts { from: $s, to: $t }
}
"""


class Payments:
    def version(self) -> str:
        return omnigraph.__version__

    def load(self, files: Path, place: Path) -> None:
        frames = {"Account": pq.read_table(files / "Account.parquet")}
        for name in EDGES:
            rows = pq.read_table(files / f"{name}.parquet")
            frames[name] = rows.rename_columns(["from", "to", *rows.column_names[2:]])
        with Graph.init(str(place), SCHEMA) as graph:
            graph.load(frames, mode="overwrite", engine="local")
            graph.optimize()

    def open(self, place: Path) -> None:
        self.graph = Graph.open(str(place))
        self.branch = "main"
        self.texts = {
            name: f"query q({'$n: I64' if '$n' in body else ''}) {{ {body} }}"
            for name, body in ASKED.items()
        }

    def ask(self, name: str, number: int | None) -> list[tuple[Any, ...]]:
        table = self._run(name, number)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def fetch(self, name: str) -> pa.Table:
        return self._run(name, None)

    def delete(self) -> None:
        self.graph.mutate(CHANGES, "close_day", {"day": CLOSED_DAY})
        self._close(CLOSED)

    def fork(self) -> None:
        self.branch = "fork"
        self.graph.branch_create(self.branch)
        self._close(CLOSED_ON_THE_FORK)

    def commit(self, source: int, target: int) -> None:
        ends = {"s": str(source), "t": str(target)}
        self.graph.mutate(CHANGES, "commit", ends, branch=self.branch)

    def _close(self, numbers: list[int]) -> None:
        self.graph.mutate(CHANGES, "close", {"numbers": numbers}, branch=self.branch)

    def _run(self, name: str, number: int | None) -> pa.Table:
        given = {} if number is None else {"n": number}
        return self.graph.query(self.texts[name], params=given, branch=self.branch).to_arrow()
