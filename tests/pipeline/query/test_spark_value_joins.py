"""Comparisons of two variables, and sums of floats, are on Spark what they are in process."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.ids import TypeName
from omnigraph.base.span import SourceText
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.chain import operators
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.optimise import optimise
from omnigraph.lang.plan.stats import PlannerStatistics
from omnigraph.pipeline.query.answer import rows_of
from omnigraph.pipeline.query.lower import query_frame
from omnigraph.pipeline.spark.session import Spark
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from tests.reference.clauses import Clauses, Compared, Declared, Meaning, written
from tests.reference.naive import Entity, PlainGraph
from tests.reference.random_clauses import CATALOG
from tests.reference.small_graph import plain_graph, stored

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

GUESS = PlannerStatistics(rows={TypeName("A"): 40, TypeName("B"): 40}, distinct={})
BOTH: Clauses = (Declared("a", "A"), Declared("b", "B"))
TESTS: list[Clauses] = [
    (Compared(("a", "n"), "=", ("b", "n")), Compared(("b", "m"), "=", ("a", "m"))),
    (Compared(("a", "n"), "=", ("b", "n")), Compared(("b", "f"), ">=", ("a", "m"))),
    (Compared(("a", "f"), "<", ("b", "m")),),
]


def some_graph() -> PlainGraph:
    numbers = [None, 0, 1, 1, 2]
    rows = {
        type_: [
            Entity(type_, str(i), {"k": str(i), "n": n, "m": m, "f": None if n is None else n / 2})
            for i, (n, m) in enumerate((n, m) for n in numbers for m in numbers)
        ]
        for type_ in ("A", "B")
    }
    return plain_graph(CATALOG, rows)


@pytest.mark.parametrize("tests", TESTS)
def test_all_comparisons_of_two_variables_hold_on_spark(
    spark: Spark, tmp_path: Path, tests: Clauses
) -> None:
    graph, clauses = some_graph(), (*BOTH, *tests)
    plan = better(f"match {{ {written(clauses)} }} return {{ $a.k as a, $b.k as b }}")
    assert any(
        isinstance(op, ir.ValueJoin) and len(op.tests) == len(tests) for op in operators(plan.plan)
    )
    rows = Meaning(graph, {"a": "A", "b": "B"}).rows(clauses, {})
    expected = Counter((str(r["a"] and r["a"].id), str(r["b"] and r["b"].id)) for r in rows)
    for answer in answers(spark, plan, View(stored(graph, tmp_path))):
        assert Counter((row["a"], row["b"]) for row in answer) == expected


def test_tested_nodes_are_multiplied_on_spark(spark: Spark, tmp_path: Path) -> None:
    """Either side may be tested away, and of the other one nothing may be looked at."""
    view = View(stored(some_graph(), tmp_path))
    for tests, pairs in (("$a.n = 0  $b.n = 1", 50), ("$a.n = 0  $b.n = 7", 0)):
        plan = better(f"match {{ $a: A  $b: B  {tests} }} return {{ count($a) as n }}")
        assert any(isinstance(op, ir.ValueJoin) for op in operators(plan.plan))
        for answer in answers(spark, plan, view):
            assert answer == [{"n": pairs}]


def test_a_sum_of_floats_that_fits_is_given_on_spark(spark: Spark, tmp_path: Path) -> None:
    values = [1e308, 1e308, -1e308]
    rows = [Entity("A", str(i), {"k": str(i), "f": f}) for i, f in enumerate(values)]
    plan = better("match { $a: A } return { sum($a.f) as total }")
    view = View(stored(plain_graph(CATALOG, {"A": rows}), tmp_path))
    for (row,) in answers(spark, plan, view):
        assert row["total"] == pytest.approx(1e308)


def better(text: str) -> ir.ReadQuery:
    plan = optimise(compile_query(SourceText(f"query q() {{ {text} }}"), CATALOG), CATALOG, GUESS)
    assert isinstance(plan, ir.ReadQuery)
    return plan


def answers(spark: Spark, plan: ir.ReadQuery, view: View) -> list[list[dict[str, Any]]]:
    """The rows of Spark, and those of this process."""
    frame = query_frame(spark, plan.plan, view, {}, now_ms=0, max_broadcast_rows=5)
    there = rows_of(spark, frame, doing="a test", check=lambda: None)
    here = run(plan, view, {}, cache=RuntimeCache(), now_ms=0).table
    return [there.to_pylist(), here.to_pylist()]
