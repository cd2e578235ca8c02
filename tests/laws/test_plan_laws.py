"""A plan made cheaper gives the rows that it meant before, whichever way edges are found."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.lang.plan import ir
from omnigraph.lang.plan.optimise import RULES, RewriteRule, optimise
from omnigraph.lang.plan.stats import Estimator, PlannerStatistics
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.read.view import View
from omnigraph.store.snapshot import Snapshot
from tests.laws.test_read_laws import NOW_MS, canonical
from tests.reference.naive import Naive, PlainGraph
from tests.reference.random_plans import CATALOG, RandomQuery, graphs, queries
from tests.reference.small_graph import stored

TYPES = [entity.name for entity in CATALOG.entities]

# Of any graph and not of the one that is asked: a wrong guess must not change an answer.
statistics = st.builds(
    PlannerStatistics,
    rows=st.fixed_dictionaries({name: st.sampled_from([0, 1, 40, 10_000]) for name in TYPES}),
    distinct=st.just({}),
)


@given(graphs(), queries(), statistics)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_an_optimised_plan_gives_the_rows_of_the_plain_one(
    graph: PlainGraph, query: RandomQuery, guess: PlannerStatistics
) -> None:
    read = optimise(ir.ReadQuery("random", (), query.plan, (), ()), CATALOG, guess)
    assert isinstance(read, ir.ReadQuery)
    with tempfile.TemporaryDirectory() as root:
        snapshot = stored(graph, Path(root))
        for mode in (TraversalMode.INDEXED, TraversalMode.CSR):
            agree(read.plan, query, graph, snapshot, mode)


@pytest.mark.parametrize("rule", RULES)
@given(graphs(), queries(), statistics)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_every_rule_by_itself_keeps_the_rows(
    rule: RewriteRule, graph: PlainGraph, query: RandomQuery, guess: PlannerStatistics
) -> None:
    plan = rule(query.plan, Estimator(CATALOG, guess))
    with tempfile.TemporaryDirectory() as root:
        agree(plan, query, graph, stored(graph, Path(root)), TraversalMode.CSR)


def agree(
    plan: ir.Project,
    query: RandomQuery,
    graph: PlainGraph,
    snapshot: Snapshot,
    mode: TraversalMode,
) -> None:
    """The plan gives what a plain evaluator makes of the query."""
    read = ir.ReadQuery("random", (), plan, (), ())
    theirs = [canonical(row) for row in Naive(graph, query.parameters, NOW_MS).answer(query.plan)]
    table = run(
        read, View(snapshot), query.parameters, cache=RuntimeCache(), now_ms=NOW_MS, mode=mode
    ).table
    ours = [canonical(row) for row in table.to_pylist()]
    if query.is_ordered:
        assert ours == theirs, mode
    else:
        assert sorted(ours, key=repr) == sorted(theirs, key=repr), mode
