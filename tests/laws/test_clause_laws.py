"""A query gives the rows that its clauses mean, however its plan comes about.

The clauses are text, as a person writes them, so that the checker and the planner are part of what
is compared: the plain meaning knows neither.
"""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.base.span import SourceText
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.optimise import optimise
from omnigraph.lang.plan.stats import PlannerStatistics
from omnigraph.read.limits import ReadLimits
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from omnigraph.store.snapshot import Snapshot
from tests.reference.clauses import Meaning, Row
from tests.reference.naive import PlainGraph
from tests.reference.random_clauses import CATALOG, RandomText, graphs, texts
from tests.reference.small_graph import stored

TYPES = [entity.name for entity in CATALOG.entities]
guesses = st.builds(
    PlannerStatistics,
    rows=st.fixed_dictionaries({name: st.sampled_from([0, 1, 40, 10_000]) for name in TYPES}),
    distinct=st.just({}),
)
without_time = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None
)


# Every block is worked out for a row or two at a time.
FEW_ROWS = ReadLimits(max_block_bytes=100)
# To store a graph takes as long as many answers.
several = st.lists(texts(), min_size=8, max_size=8)


@given(graphs(), several, guesses, st.permutations([ReadLimits(), FEW_ROWS]))
@without_time
def test_a_text_gives_the_rows_that_its_clauses_mean(
    graph: PlainGraph,
    queries: list[RandomText],
    guess: PlannerStatistics,
    all_limits: list[ReadLimits],
) -> None:
    with tempfile.TemporaryDirectory() as root:
        snapshot = stored(graph, Path(root))
        for query in queries:
            expected = Meaning(graph, query.types).rows(query.clauses, {})
            # With and without declarations that say nothing new.
            for text in (query, query.spelled_out):
                for plan, limits in zip(plans(text, guess), all_limits, strict=True):
                    check(answer(plan, snapshot, limits), expected, query)


def plans(query: RandomText, guess: PlannerStatistics) -> list[ir.ReadQuery]:
    """As the clauses are lowered, and as the rules make it cheaper."""
    plain = compile_query(SourceText(query.text), CATALOG)
    better = optimise(plain, CATALOG, guess)
    assert isinstance(plain, ir.ReadQuery)
    assert isinstance(better, ir.ReadQuery)
    return [plain, better]


def answer(plan: ir.ReadQuery, snapshot: Snapshot, limits: ReadLimits) -> list[dict[str, Any]]:
    found = run(plan, View(snapshot), {}, cache=RuntimeCache(limits), now_ms=0)
    return list(found.table.to_pylist())


def check(found: list[dict[str, Any]], expected: list[Row], query: RandomText) -> None:
    """The same rows. An ordered answer that is cut has the rows with the first values."""
    ours = [tuple(row[f"c{i}"] for i in range(len(query.shown))) for row in found]
    theirs = [tuple(e.id if (e := row[v]) else None for v in query.shown) for row in expected]
    if query.order is None:
        assert Counter(ours) == Counter(theirs)
        return
    variable, name, descends = query.order
    keys = [e.values[name] if (e := row[variable]) else None for row in expected]
    keys.sort(key=lambda key: (key is not None, key or 0), reverse=descends)
    assert [row["sorted"] for row in found] == keys[: query.limit]
    assert Counter(ours) <= Counter(theirs)
    assert len(ours) == len(theirs[: query.limit])
