"""A plan on Spark gives the rows that its plain meaning gives."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from omnigraph.lang.plan import ir
from omnigraph.pipeline.query.answer import rows_of
from omnigraph.pipeline.query.lower import joins_of, query_frame
from omnigraph.pipeline.spark.session import Spark
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from tests.laws.test_read_laws import NOW_MS, canonical
from tests.reference.naive import Naive, PlainGraph
from tests.reference.random_plans import RandomQuery, graphs, queries
from tests.reference.small_graph import stored

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

IS_DEEP = settings().max_examples > 50
# A plan of many joins takes Spark seconds, whatever the rows.
MAX_JOINS = 30 if IS_DEEP else 4


@given(graphs(), queries(), st.sampled_from([0, 5, 100_000]))
@settings(
    max_examples=100 if IS_DEEP else 12,
    suppress_health_check=list(HealthCheck),
    deadline=None,
    # Each try takes a second: an example is rather shown as it was found.
    phases=[Phase.explicit, Phase.generate],
)
def test_spark_gives_the_rows_of_this_process_and_of_the_plain_meaning(
    spark: Spark, graph: PlainGraph, query: RandomQuery, max_broadcast_rows: int
) -> None:
    assume(joins_of(query.plan) <= MAX_JOINS)
    with tempfile.TemporaryDirectory() as root:
        view = View(stored(graph, Path(root)))
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
    plain = Naive(graph, query.parameters, NOW_MS).answer(query.plan)
    wanted, found, there = (
        list(map(canonical, rows)) for rows in (plain, ours.to_pylist(), here.to_pylist())
    )
    if not query.is_ordered:
        wanted, found, there = (sorted(rows, key=repr) for rows in (wanted, found, there))
    assert found == wanted == there
