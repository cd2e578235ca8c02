"""A plan on Spark gives the rows that its plain meaning gives, of what the caller sees."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from omnigraph.base.ids import TypeName
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.conditions import Condition
from omnigraph.pipeline.query.answer import rows_of
from omnigraph.pipeline.query.lower import joins_of, query_frame
from omnigraph.pipeline.spark.session import Spark
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from tests.laws.test_read_laws import NOW_MS, canonical
from tests.laws.test_view_laws import without_hidden
from tests.reference.naive import Naive, PlainGraph
from tests.reference.random_conditions import conditions
from tests.reference.random_plans import RandomQuery, graphs, queries
from tests.reference.random_schemas import RandomCase, cases
from tests.reference.small_graph import stored

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

IS_DEEP = settings().max_examples > 50
# A plan of many joins takes Spark seconds, whatever the rows.
MAX_JOINS = 30 if IS_DEEP else 4


# Each try takes a second: an example is rather shown as it was found.
few = settings(
    max_examples=100 if IS_DEEP else 8,
    suppress_health_check=list(HealthCheck),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
)
sizes = st.sampled_from([0, 5, 100_000])
"""How many rows count as few."""


@given(graphs(), queries(), st.just({}) | conditions(), sizes)
@few
def test_spark_gives_the_rows_of_this_process_and_of_the_plain_meaning(
    spark: Spark,
    graph: PlainGraph,
    query: RandomQuery,
    visible: dict[TypeName, Condition],
    max_broadcast_rows: int,
) -> None:
    agree(spark, graph, query, max_broadcast_rows, visible)


@given(cases(), sizes)
@few
def test_they_agree_whatever_the_schema(
    spark: Spark, case: RandomCase, max_broadcast_rows: int
) -> None:
    agree(spark, case.graph, case.query, max_broadcast_rows)


def agree(
    spark: Spark,
    graph: PlainGraph,
    query: RandomQuery,
    max_broadcast_rows: int,
    visible: Mapping[TypeName, Condition] = MappingProxyType({}),
) -> None:
    """`visible`: the conditions that rows must meet to be seen."""
    assume(joins_of(query.plan) <= MAX_JOINS)
    with tempfile.TemporaryDirectory() as root:
        view = View.where(stored(graph, Path(root)), dict(visible))
        answer = query_frame(
            spark,
            query.plan,
            view,
            query.parameters,
            now_ms=NOW_MS,
            max_broadcast_rows=max_broadcast_rows,
        )
        ours = rows_of(spark, answer, doing="a law", check=lambda: None)
        read = ir.ReadQuery("random", (), query.plan, (), ())
        here = run(read, view, query.parameters, cache=RuntimeCache(), now_ms=NOW_MS).table
    assert ours.schema.types == here.schema.types
    seen = without_hidden(graph, dict(visible))
    plain = Naive(seen, query.parameters, NOW_MS).answer(query.plan)
    wanted, found, there = (
        list(map(canonical, rows)) for rows in (plain, ours.to_pylist(), here.to_pylist())
    )
    if not query.is_ordered:
        wanted, found, there = (sorted(rows, key=repr) for rows in (wanted, found, there))
    assert found == wanted == there
