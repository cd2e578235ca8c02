"""Ours, through the Python API."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import omnigraph
from bench.workloads import payments
from bench.workloads.changes import Base
from bench.workloads.papers import Papers, Question
from bench.workloads.payments import CLOSED, CLOSED_DAY, CLOSED_ON_THE_FORK, FEW
from bench.workloads.people import Data, Ranked
from omnigraph import Graph
from omnigraph.base.choices import LoadEngine
from omnigraph.pipeline.spark.session import Spark, SparkSettings

# People -------------------------------------------------------------------------------------------

PEOPLE_SCHEMA = """
node Person { number: I64 @key  name: String  age: I32  city: String }
edge Follows: Person -> Person
"""

PEOPLE_QUERIES = """
query one_hop($n: I64) {
    match { $p: Person { number: $n }  $p follows $q }
    return { count($q) as n }
}
query two_hop($n: I64) {
    match { $p: Person { number: $n }  $p follows $q  $q follows $r }
    return { count($r) as n }
}
query all_two_hop() {
    match { $p: Person  $p follows $q  $q follows $r }
    return { count($r) as n }
}
"""


class People:
    """Ours: the load runs on Spark and checks every row; the session's start is not counted."""

    name = "omnigraph"

    def version(self) -> str:
        return omnigraph.__version__

    def prepare(self) -> None:
        self.spark = Spark.open(SparkSettings())

    def load(self, data: Data, place: Path) -> None:
        with Graph.init(str(place), PEOPLE_SCHEMA) as graph:
            files = [str(data.people_file), str(data.follows_file)]
            graph.load(files, mode="overwrite", spark=self.spark)

    def open(self, place: Path) -> None:
        self.graph = Graph.open(str(place))

    def one_hop(self, person: int) -> int:
        return self._number("one_hop", {"n": person})

    def two_hop(self, person: int) -> int:
        return self._number("two_hop", {"n": person})

    def all_two_hop(self) -> int:
        return self._number("all_two_hop", {})

    def _number(self, name: str, params: dict[str, int]) -> int:
        return int(self.graph.query(PEOPLE_QUERIES, name=name, params=params).to_pylist()[0]["n"])


class Analytics:
    """Ours, in process: the graph is loaded once, by tasks of this process."""

    name = "omnigraph"
    engine: LoadEngine = "local"

    def version(self) -> str:
        return omnigraph.__version__

    def load(self, data: Data, place: Path) -> None:
        with Graph.init(str(place), PEOPLE_SCHEMA, durability="relaxed") as graph:
            files = [str(data.people_file), str(data.follows_file)]
            graph.load(files, mode="overwrite", engine="local")

    def open(self, place: Path) -> None:
        self.graph = Graph.open(str(place))

    def ranks(self) -> Ranked:
        # As exact as the others are by default.
        run = self.graph.analytics.pagerank
        table = run("Follows", tolerance=1e-10, engine=self.engine).to_arrow()
        best = pc.index(table["score"], pc.max(table["score"])).as_py()
        return Ranked(table["id"][best].as_py(), table["score"][best].as_py())

    def components(self) -> int:
        run = self.graph.analytics.connected_components
        return int(pc.max(run("Follows", engine=self.engine).to_arrow()["component"]).as_py()) + 1


class AnalyticsOnSpark(Analytics):
    """Ours, on Spark: its session is started when the graph is opened."""

    name = "omnigraph on Spark"
    engine: LoadEngine = "spark"

    def open(self, place: Path) -> None:
        super().open(place)
        self.graph.engine.spark.session()


# Study --------------------------------------------------------------------------------------------

STUDY_SCHEMA = """
node Country  { number: I64 @key  name: String }
node State    { number: I64 @key  name: String }
node City     { number: I64 @key  name: String }
node Interest { number: I64 @key  name: String }
node Person   { number: I64 @key  name: String  gender: String  age: I64 }
edge StateIn: State -> Country
edge CityIn: City -> State
edge LivesIn: Person -> City
edge HasInterest: Person -> Interest
edge Follows: Person -> Person
"""

STUDY_ASKED = {
    "most followed": """
        match { $f follows $p }
        return { $p.number as number, $p.name as name, count($f) as n }
        order { n desc, number } limit 3""",
    "most followed, with place": """
        match { $f follows $p  $p livesIn $c  $c cityIn $s  $s stateIn $k }
        return {
            $p.number as number, count($f) as n, $c.name as city, $s.name as st, $k.name as country
        }
        order { n desc, number } limit 1""",
    "youngest cities": """
        match { $p livesIn $c  $c cityIn $s  $s stateIn $k  $k.name = "Norway" }
        return { $c.name as name, avg($p.age) as mean } order { mean, name } limit 5""",
    "people by country": """
        match { $p livesIn $c  $c cityIn $s  $s stateIn $k  $p.age >= 30  $p.age <= 40 }
        return { $k.name as name, count($p) as n } order { n desc }""",
    "men with an interest in a city": """
        match {
            $p: Person { gender: "male" }  $p hasInterest $i  $i.name = "interest 07"
            $p livesIn $c  $c.name = "city 0100"  $c cityIn $s  $s stateIn $k
        }
        return { $k.name as name, count($p) as n }""",
    "women with an interest by city": """
        match {
            $p: Person { gender: "female" }  $p hasInterest $i  $i.name = "interest 11"
            $p livesIn $c
        }
        return { $c.name as name, count($p) as n } order { n desc, name } limit 5""",
    "state of an interest": """
        match {
            $p: Person  $p.age >= 23  $p.age <= 30  $p hasInterest $i  $i.name = "interest 23"
            $p livesIn $c  $c cityIn $s  $s stateIn $k  $k.name = "Norway"
        }
        return { $s.name as name, count($p) as n } order { n desc, name } limit 1""",
    "paths of two": "match { $a follows $b  $b follows $c } return { count($c) as n }",
    "paths of two, filtered": """
        match { $a follows $b  $b follows $c  $b.age < 50  $c.age > 25 }
        return { count($c) as n }""",
    "point read": """
        match { $p: Person { number: $n } }
        return { $p.number as number, $p.name as name, $p.age as age }""",
    "one hop": """
        match { $a: Person { number: $n }  $a follows $b }
        return { $b.number as number } order { number }""",
    "two hops": """
        match { $a: Person { number: $n }  $a follows{2,2} $b }
        return { $b.number as number } order { number }""",
    "reach": "match { $a: Person { number: $n }  $a follows{1,3} $b } return { count($b) as n }",
}


class Study:
    """The load runs on Spark and checks every row; then indexes are built, as in daily use."""

    def version(self) -> str:
        return omnigraph.__version__

    def load(self, files: Path, place: Path) -> None:
        with Graph.init(str(place), STUDY_SCHEMA) as graph:
            graph.load(str(files / "graph.jsonl"), mode="overwrite", engine="spark")
            graph.optimize()

    def open(self, place: Path) -> None:
        self.graph = Graph.open(str(place))
        self.texts = {
            name: f"query q({'$n: I64' if '$n' in body else ''}) {{ {body} }}"
            for name, body in STUDY_ASKED.items()
        }

    def ask(self, name: str, person: int | None) -> list[tuple[Any, ...]]:
        given = {} if person is None else {"n": person}
        table = self.graph.query(self.texts[name], params=given).to_arrow()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


# Payments -----------------------------------------------------------------------------------------

PAYMENTS_SCHEMA = """
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

PAYMENTS_ASKED = {
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
    "equal in two values": f"""
        match {{
            $a: Account  $b: Account  $a.country = $b.country  $a.kind = $b.kind
            $a.number < $b.number  $a.number < {FEW}  $b.number < {FEW}
        }}
        return {{ count($a) as n }}""",
    "pairs in order": f"""
        match {{
            $a: Account  $b: Account  $a.number < $b.number  $a.number < {FEW}  $b.number < {FEW}
        }}
        return {{ count($a) as n }}""",
    "not the last of its kind": """
        match {
            $a: Account
            exists { $b: Account  $b.kind = $a.kind  $b.number > $a.number }
        }
        return { count($a) as n }""",
    "largest of each receiver": """
        match { $a $t:transfer $b  not { $c $u:transfer $b  $u.amount > $t.amount } }
        return { count($t) as n }""",
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

PAYMENT_CHANGES = """
query close_day($day: I64) { delete Transfer where day = $day }
query close($numbers: [I64]) { delete Account where number in $numbers }
query commit($s: String, $t: String) {
    insert Transfer { from: $s, to: $t, amount: 5, fee: 0.5, currency: "EUR", day: 100 }
    insert Trusts { from: $s, to: $t }
}
"""


class Payments:
    """Ours, through the Python API."""

    def version(self) -> str:
        return omnigraph.__version__

    def load(self, files: Path, place: Path) -> None:
        frames = {"Account": pq.read_table(files / "Account.parquet")}
        for name in payments.EDGES:
            rows = pq.read_table(files / f"{name}.parquet")
            frames[name] = rows.rename_columns(["from", "to", *rows.column_names[2:]])
        with Graph.init(str(place), PAYMENTS_SCHEMA) as graph:
            graph.load(frames, mode="overwrite", engine="local")
            graph.optimize()

    def open(self, place: Path) -> None:
        self.graph = Graph.open(str(place))
        self.branch = "main"
        self.texts = {
            name: f"query q({'$n: I64' if '$n' in body else ''}) {{ {body} }}"
            for name, body in PAYMENTS_ASKED.items()
        }

    def ask(self, name: str, number: int | None) -> list[tuple[Any, ...]]:
        table = self._run(name, number)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def fetch(self, name: str) -> pa.Table:
        return self._run(name, None)

    def delete(self) -> None:
        self.graph.mutate(PAYMENT_CHANGES, "close_day", {"day": CLOSED_DAY})
        self._close(CLOSED)

    def fork(self) -> None:
        self.branch = "fork"
        self.graph.branch_create(self.branch)
        self._close(CLOSED_ON_THE_FORK)

    def commit(self, source: int, target: int) -> None:
        ends = {"s": str(source), "t": str(target)}
        self.graph.mutate(PAYMENT_CHANGES, "commit", ends, branch=self.branch)

    def _close(self, numbers: list[int]) -> None:
        self.graph.mutate(PAYMENT_CHANGES, "close", {"numbers": numbers}, branch=self.branch)

    def _run(self, name: str, number: int | None) -> pa.Table:
        given = {} if number is None else {"n": number}
        return self.graph.query(self.texts[name], params=given, branch=self.branch).to_arrow()


# Changes ------------------------------------------------------------------------------------------

CHANGES_SCHEMA = """
node Person { number: I64 @key  name: String  age: I32 }
edge Follows: Person -> Person { @key(src, dst) }
"""

CHANGES_QUERIES = """
query insert($n: I64, $name: String) { insert Person { number: $n, name: $name, age: 1 } }
query delete($n: I64) { delete Person where number = $n }
query people() { match { $p: Person } return { count($p) as n, sum($p.age) as ages } }
query follows() { match { $p: Person  $p $f:follows $q } return { count($f) as n } }
"""


class Changes:
    """Ours: mutations for single rows, a merging load in this process for many."""

    durability = "fsync of every file, before it is acknowledged"

    def version(self) -> str:
        return omnigraph.__version__

    def make(self, base: Base, place: Path) -> None:
        self.graph = Graph.init(str(place), CHANGES_SCHEMA)
        follows = base.follows.rename_columns(["from", "to"])
        frames = {"Person": base.people, "Follows": follows}
        self.graph.load(frames, mode="append", engine="local")
        self.graph.optimize()

    def insert(self, number: int) -> None:
        self.graph.mutate(CHANGES_QUERIES, "insert", {"n": number, "name": f"Person {number}"})

    def upsert(self, people: pa.Table) -> None:
        self.graph.load({"Person": people}, mode="merge", engine="local")

    def delete(self, number: int) -> None:
        self.graph.mutate(CHANGES_QUERIES, "delete", {"n": number})

    def counts(self) -> tuple[int, int, int]:
        people = self.graph.query(CHANGES_QUERIES, "people").to_pylist()[0]
        follows = self.graph.query(CHANGES_QUERIES, "follows").to_pylist()[0]
        return people["n"], follows["n"], people["ages"]


# Searches -----------------------------------------------------------------------------------------

SEARCH_SCHEMA = """
node Author { number: I64 @key }
node Paper {
    number: I64 @key
    shelf: I32 @index
    body: String @index
    vector: Vector(WIDTH) @index
}
edge Wrote: Author -> Paper
"""

SEARCH_QUERIES = """
query vector($v: Vector(WIDTH)) {
    match { $p: Paper }
    return { $p.number } order { nearest($p.vector, $v) } limit 10
}
query filtered_vector($v: Vector(WIDTH), $s: I32) {
    match { $p: Paper { shelf: $s } }
    return { $p.number } order { nearest($p.vector, $v) } limit 10
}
query bm25($q: String) {
    match { $p: Paper }
    return { $p.number } order { bm25($p.body, $q) } limit 10
}
query filtered_bm25($q: String, $s: I32) {
    match { $p: Paper { shelf: $s } }
    return { $p.number } order { bm25($p.body, $q) } limit 10
}
query hybrid($v: Vector(WIDTH), $q: String) {
    match { $p: Paper }
    return { $p.number } order { rrf(nearest($p.vector, $v), bm25($p.body, $q)) } limit 10
}
query hybrid_and_hop($v: Vector(WIDTH), $q: String) {
    match {
        $p: Paper
        top 10 $p by rrf(nearest($p.vector, $v), bm25($p.body, $q))
        $a wrote $p
    }
    return distinct { $a.number } order { $a.number }
}
"""


class Searches:
    def version(self) -> str:
        return omnigraph.__version__

    def load(self, papers: Papers, place: Path) -> None:
        self.width = width = papers.papers["vector"].type.list_size
        self.queries = SEARCH_QUERIES.replace("WIDTH", str(width))
        self.graph = Graph.init(str(place), SEARCH_SCHEMA.replace("WIDTH", str(width)))
        frames = {
            "Author": pa.table({"number": range(papers.authors)}),
            "Paper": papers.papers,
            "Wrote": papers.wrote.rename_columns({"author": "from", "paper": "to"}),
        }
        self.graph.load(frames, mode="append", engine="local")

    def index(self) -> None:
        self.graph.optimize()

    def derive(self) -> None:
        """What is derived from the rows is the index that answers."""
        self.hybrid_and_hop(Question("a", [1.0] * self.width, 0))

    def vector(self, asked: Question) -> list[int]:
        return self._numbers("vector", v=asked.vector)

    def filtered_vector(self, asked: Question) -> list[int]:
        return self._numbers("filtered_vector", v=asked.vector, s=asked.shelf)

    def bm25(self, asked: Question) -> list[int]:
        return self._numbers("bm25", q=asked.text)

    def filtered_bm25(self, asked: Question) -> list[int]:
        return self._numbers("filtered_bm25", q=asked.text, s=asked.shelf)

    def hybrid(self, asked: Question) -> list[int]:
        return self._numbers("hybrid", v=asked.vector, q=asked.text)

    def hybrid_and_hop(self, asked: Question) -> list[int]:
        return self._numbers("hybrid_and_hop", v=asked.vector, q=asked.text)

    def _numbers(self, name: str, **params: Any) -> list[int]:
        found = self.graph.query(self.queries, name, params).to_arrow()
        numbers: list[int] = found.column(0).to_pylist()
        return numbers
