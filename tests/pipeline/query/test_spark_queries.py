"""Queries on Spark, as a caller asks them: the same answers, and in words what is refused."""

import functools
import itertools
import threading
from typing import Any

import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.choices import QueryEngine
from omnigraph.base.ids import TypeName, VariableName
from omnigraph.base.span import SourceText
from omnigraph.base.types import Scalar
from omnigraph.errors import (
    ArgumentInvalid,
    LimitExceeded,
    LocalOnly,
    NotOnSpark,
    OmnigraphError,
    QueryCancelled,
)
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.ir import CompareOp, Literal
from omnigraph.pipeline.query.answer import rows_of
from omnigraph.pipeline.query.lower import query_frame
from omnigraph.pipeline.query.notes import notes_of
from omnigraph.pipeline.query.values import Typed, comparison, literal, matching_keys
from omnigraph.pipeline.spark.session import Spark
from omnigraph.read.values.compare import compare
from omnigraph.read.values.predicates import constant_of
from omnigraph.read.view import View
from tests.pipeline.frames.test_frames import REDS
from tests.reference.naive import compared
from tests.reference.table_policy import Role, Sees, TablePolicy

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SCHEMA = """
node Person { name: String @key  age: I64?  team: String?  bio: String?  height: F64? }
node Firm { name: String @key  size: U64? }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Firm
"""
ROWS: list[dict[str, Any]] = [
    *({"type": "Person", "data": {"name": n, "age": a, "team": t, "bio": b}} for n, a, t, b in [
        ("ada", 36, "red", "counts engines"), ("alan", 41, "red", "breaks codes"),
        ("bo", None, "blue", "an engine"), ("cy", 7, "blue", None),
    ]),
    {"type": "Firm", "data": {"name": "Engines", "size": 2**64 - 1}},
    *({"edge": "Knows", "from": a, "to": b, "data": {"since": s}} for a, b, s in [
        ("ada", "alan", "1840-01-01"), ("ada", "alan", None), ("ada", "bo", None),
        ("alan", "cy", None), ("bo", "cy", None), ("cy", "cy", None), ("cy", "ada", None),
    ]),
    {"edge": "WorksAt", "from": "ada", "to": "Engines"},
]  # fmt: skip
QUERIES = """
query paths() {
    match { $p: Person  $p knows $f  $f knows $g }
    return { $p.name as name, count($g) as n, max($g.age) as oldest }
    order { n desc, name }  limit 3
}
query far($name: String) {
    match { $p: Person { name: $name }  $p knows{1,3} $f  not { $f worksAt $_ } }
    return { $f.name as name, $f.bio as bio }  order { name }
}
query words() {
    match { $p: Person  $p knows $f  search($f.bio, "engine") }
    return { $p.name as who, $f as friend }  order { who }
}
query staff() {
    match { $p: Person  optional { $p worksAt $c } }
    return { $p.name as name, $c.name as firm, $c.size as size }  order { name desc }  offset 1
}
query edges() {
    match { $p: Person  $p $k: knows $f  $k.since is not null }
    return { $p.name as name, $k.since as since }
}
query total() { match { $p: Person } return { sum($p.age) as total, collect($p.age) as all } }
query nobody() {
    match { $p: Person { name: "nobody" }  $p worksAt $c }
    return { $p.name as name, sum($p.height) as h, avg($p.age) as a, sum($c.size) as s }
}
query walks() { match { $p: Person  $p knows $f  $f knows $g } return { count($g) as n } }
query reach() { match { $p: Person  $p knows{1,3} $f } return { count($f) as n } }
query twins() {
    match { $p: Person  $p knows $P  $p knows $f  $P knows $F }
    return { $p.name as p, $P.name as P, $f.name as f, $F.name as F }  order { p, P, f, F }
}
query cut() { match { $p: Person } return { $p.name }  order { $p.name }  limit 3000000000 }
query behind() { match { $p: Person } return { $p.name }  order { $p.name }  offset 3000000000 }
query both() {
    match { $p: Person } return { $p.name } order { $p.name } limit 2147483647 offset 1
}
query some() { match { $p: Person } return { $p.name }  limit 2 }
query best() {
    match { $p: Person }  return { $p.name }  order { bm25($p.bio, "engine") }  limit 1
}
query top() { match { $p: Person  top 2 $p by bm25($p.bio, "engine") } return { $p.name } }
query long() { match { $p: Person  $p knows{1,40} $f } return { count($f) as n } }
query grow() { update Person set { age: 1 } where name = "ada" }
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = Graph.init(tmp_path_factory.mktemp("spark") / "g.omni", SCHEMA, durability="relaxed")
    graph.load(ROWS, mode="append")
    return graph


SAME = [
    "paths",
    "far",
    "words",
    "staff",
    "edges",
    "total",
    "nobody",
    "walks",
    "reach",
    "twins",
    "cut",
    "behind",
    "both",
]


@pytest.mark.parametrize("name", SAME)
def test_a_query_gives_the_same_table_on_spark(graph: Graph, spark: Spark, name: str) -> None:
    params = {"name": "ada"} if name == "far" else {}
    here = graph.query(QUERIES, name, params)
    there = graph.query(QUERIES, name, params, engine="spark", spark=spark.session)
    assert there.query_name == here.query_name and there.graph_commit_id == here.graph_commit_id
    assert there.table.equals(here.table), (there.to_pylist(), here.to_pylist())


def test_a_sum_of_floats_that_is_too_large_is_refused_and_their_mean_is_right(
    graph: Graph, spark: Spark
) -> None:
    graph.branch_create("tall")
    tall = "query grow() { update Person set { height: 1.5e308 } where name is not null }"
    assert graph.mutate(tall, branch="tall").affected_nodes > 1
    mean = "query mean() { match { $p: Person } return { avg($p.height) as mean } }"
    total = "query total() { match { $p: Person } return { sum($p.height) as total } }"
    for how in ({}, {"engine": "spark", "spark": spark.session}):
        asked: dict[str, Any] = {"branch": "tall", **how}
        assert graph.query(mean, **asked).to_pylist() == [{"mean": 1.5e308}]
        with pytest.raises(LimitExceeded, match="the sum"):
            graph.query(total, **asked)


def test_the_answer_may_be_a_frame_of_any_place(graph: Graph, spark: Spark) -> None:
    first = graph.at(graph.commits()[0])
    graph.branch_create("side")
    graph.mutate(QUERIES, "grow", branch="side")
    frame = graph.branch("side").spark(QUERIES, "total", spark=spark.session)
    assert [row.total for row in frame.collect()] == [49]
    assert [row.total for row in first.spark(QUERIES, "total", spark=spark.session).collect()] == [
        84
    ]
    some = graph.spark(QUERIES, "some", spark=spark.session).collect()
    assert [row[0] for row in some] == ["ada", "alan"]


def test_a_query_on_spark_sees_what_its_actor_may_see(graph: Graph, spark: Spark) -> None:
    policy = TablePolicy({"someone": Role(Sees({TypeName("Person"): REDS}))})
    seen = graph.under_policy(policy).as_actor("someone")
    for name in ("far", "staff"):
        params = {"name": "ada"} if name == "far" else {}
        there = seen.query(QUERIES, name, params, engine="spark", spark=spark.session)
        assert there.table.equals(seen.query(QUERIES, name, params).table)


def test_what_spark_cant_do_is_refused_by_name_before_it_is_begun(graph: Graph) -> None:
    # No session is passed: none is begun.
    for name, told in (("best", "bm25"), ("top", "TopK"), ("long", "more than 12 hops")):
        with pytest.raises(NotOnSpark, match=told):
            graph.query(QUERIES, name, engine="spark")
        with pytest.raises(NotOnSpark, match=told):
            graph.explain(QUERIES, name, engine="spark")
    with pytest.raises(ArgumentInvalid, match="changes the graph"):
        graph.spark(QUERIES, "grow")
    wrong: list[dict[str, Any]] = [
        {"engine": "sparc"},
        {"engine": "spark", "memory_bytes": 1},
        {"spark": "a session"},
    ]
    for arguments in wrong:
        with pytest.raises(ArgumentInvalid):
            graph.query(QUERIES, "some", **arguments)
    with pytest.raises(ArgumentInvalid, match="analyze"):
        graph.explain(QUERIES, "some", analyze=True, engine="spark")
    remote = Graph.connect("http://127.0.0.1:1/graphs/people", token="t")
    with pytest.raises(LocalOnly, match="query_on_spark"):
        remote.query(QUERIES, "some", engine="spark")


def test_explain_says_what_spark_makes_of_each_step(graph: Graph) -> None:
    shown = str(graph.explain(QUERIES, "far", {"name": "ada"}, engine="spark"))
    assert "(1 fragment read by tasks)" in shown
    assert "joined by ids, sent to all workers, 3 rounds)" in shown
    assert "(left anti join)" in shown
    told = "(not read, its edges name all that matter)"
    is_told = {
        q: told in str(graph.explain(QUERIES, q, engine="spark")) for q in ("walks", "reach")
    }
    # A walk of several hops begins in the rows of the table.
    assert is_told == {"walks": True, "reach": False}
    # How large a table is would tell of rows that are hidden.
    policy = TablePolicy({"someone": Role(Sees({TypeName("Person"): REDS}))})
    seen = graph.under_policy(policy).as_actor("someone")
    told = str(seen.explain(QUERIES, "far", {"name": "ada"}, engine="spark"))
    assert "(visible rows read by tasks)" in told and "fragment" not in told


def test_explain_counts_an_edge_that_is_walked_either_way_as_two(graph: Graph) -> None:
    view = View(graph.snapshot().stored)
    edges = view.snapshot.dataset(view.catalog.edge_by_name[TypeName("Knows")]).row_count
    for pattern, rows in (("knows", edges), ("<knows>", 2 * edges)):
        asked = f"query q() {{ match {{ $p: Person  $p {pattern} $f }} return {{ $f.name }} }}"
        plan = compile_query(SourceText(asked, "<query>"), view.catalog, "q")
        assert isinstance(plan, ir.ReadQuery)
        for most, told in ((rows, "sent to all workers"), (rows - 1, "sorted and merged")):
            notes = notes_of(plan.plan, view, max_broadcast_rows=most)
            assert any(told in note for note in notes.values())


def test_a_query_on_spark_ends_when_it_is_told_to(graph: Graph, spark: Spark) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(QueryCancelled):
        graph.query(QUERIES, "paths", cancel=stop, engine="spark", spark=spark.session)
    with pytest.raises(LimitExceeded, match="milliseconds"):
        graph.query(QUERIES, "paths", timeout_s=0.001, engine="spark", spark=spark.session)


def test_a_sum_is_right_or_refused_whichever_way_it_is_added_up(
    tmp_path_factory: pytest.TempPathFactory, spark: Spark
) -> None:
    graph = Graph.init(tmp_path_factory.mktemp("sums") / "g.omni", SCHEMA, durability="relaxed")
    ages = [2**63 - 1, 5, -5]
    rows = [{"type": "Person", "data": {"name": str(a), "age": a}} for a in ages]
    graph.load(rows, mode="append")
    asked = "query s() { match { $p: Person } return { sum($p.age) as n, avg($p.age) as m } }"
    engines: list[tuple[QueryEngine, Any]] = [("local", None), ("spark", spark.session)]
    here, there = (
        graph.query(asked, engine=engine, spark=session).table for engine, session in engines
    )
    assert here.equals(there) and here["n"].to_pylist() == [2**63 - 1]
    graph.load([{"type": "Person", "data": {"name": "one", "age": 1}}], mode="append")
    told = []
    for engine, session in engines:
        with pytest.raises(OmnigraphError) as caught:
            graph.query(asked, engine=engine, spark=session)
        told.append((caught.value.code, getattr(caught.value, "what", None)))
    assert told[0] == told[1] == ("resource_limit", "the sum `n`")


def test_a_number_of_paths_is_right_or_refused_whatever_the_session_does(
    tmp_path_factory: pytest.TempPathFactory, spark: Spark
) -> None:
    graph = Graph.init(tmp_path_factory.mktemp("paths") / "g.omni", SCHEMA, durability="relaxed")
    loops = [{"edge": "Knows", "from": "ada", "to": "ada"}] * 2_000
    graph.load([{"type": "Person", "data": {"name": "ada"}}, *loops], mode="append")
    view = View(graph.snapshot().stored)

    def paths(hops: int) -> int:
        names = [VariableName(f"p{at}") for at in range(hops + 1)]
        person, knows = TypeName("Person"), TypeName("Knows")
        op: ir.Op = ir.NodeScan(ir.Unit(), names[0], (person,))
        steps = (ir.EdgeStep(knows, ir.Direction.OUT),)
        for at, (here, there) in enumerate(itertools.pairwise(names)):
            edge = VariableName(f"e{at}")
            op = ir.Expand(op, here, there, (person,), steps, 1, 1, edge_variable=edge)
        count = ir.AggregateOf(ir.AggregateFunction.COUNT, ir.EntityOf(names[0]))
        op = ir.Aggregate(op, (), (ir.Column("n", count),))
        plan = ir.Project(op, (ir.Column("n", ir.ColumnOf("n")),))
        # No number of rows is small: so they are folded.
        answer = query_frame(spark, plan, view, {}, now_ms=0, max_broadcast_rows=0)
        rows = rows_of(spark, answer, doing="a test", check=lambda: None)
        return int(rows["n"][0].as_py())

    spark.session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert paths(3) == 2_000**3
        with pytest.raises(LimitExceeded, match="the number of rows"):
            paths(6)
    finally:
        spark.session.conf.unset("spark.sql.ansi.enabled")


NUMBERS: list[tuple[Scalar, list[Any]]] = [
    (Scalar.I64, [None, 0, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    (Scalar.U64, [None, 0, 1, 2**53 + 1, 2**63, 2**64 - 1]),
    (Scalar.F64, [None, 0.0, -0.0, 0.5, -1.0, 2.0**53, 2.0**63, 2.0**64, -(2.0**63), 1e300]),
]


def test_values_compare_on_spark_as_in_process(spark: Spark) -> None:
    """All pairs of all types of numbers, by all comparisons, as one question to Spark."""
    from pyspark.sql import functions as sql

    ordered = [op for op in CompareOp if op not in (CompareOp.CONTAINS, CompareOp.STARTS_WITH)]

    def column(name: str, kind: Scalar, values: list[Any]) -> Any:
        items = [
            sql.struct(
                sql.lit(at).alias("at"), literal(constant_of(Literal(v, kind), {}, 0)).alias("v")
            )
            for at, v in enumerate(values)
        ]
        return spark.session.range(1).select(sql.explode(sql.array(*items)).alias(name))

    frames: list[Any] = []
    wanted: list[tuple[bool, ...]] = []
    for (left_type, lefts), (right_type, rights) in itertools.product(NUMBERS, NUMBERS):
        pairs = column("l", left_type, lefts).crossJoin(column("r", right_type, rights))
        sides = Typed(sql.col("l.v"), left_type), Typed(sql.col("r.v"), right_type)
        one, other = matching_keys(*sides)
        tests = [comparison(op, *sides) for op in ordered]
        tests.append(sql.coalesce(one == other, sql.expr("false")))
        number = sql.lit(len(frames)).alias("n")
        named = (test.alias(f"c{at}") for at, test in enumerate(tests))
        frames.append(pairs.select(number, "l.at", sql.col("r.at").alias("rat"), *named))
        for left, right in itertools.product(lefts, rights):
            truth = [compared(op, left, right) for op in ordered]
            wanted.append((*truth, compared(CompareOp.EQ, left, right)))
    found = sorted(map(tuple, functools.reduce(lambda a, b: a.union(b), frames).collect()))
    assert [row[3:] for row in found] == wanted
    assert compare(CompareOp.EQ, pa.array([2**53 + 1]), pa.scalar(2.0**53), 1).tolist() == [False]
