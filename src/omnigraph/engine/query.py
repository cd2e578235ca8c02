"""Ask: text ─► plan (kept by source and schema) ─► one view of a snapshot ─► rows."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.recent import Recent
from omnigraph.base.span import SourceText
from omnigraph.engine.results import QueryResult
from omnigraph.lang.plan.chain import compared_properties
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.estimate import expected_rows
from omnigraph.lang.plan.explain import explain
from omnigraph.lang.plan.ir import CompiledQuery, MutationQuery, ReadQuery
from omnigraph.lang.plan.optimise import optimise
from omnigraph.lang.plan.parameters import bind_parameters
from omnigraph.lang.plan.stats import Estimator
from omnigraph.read.context import Budget
from omnigraph.read.profile import Measured, Profile
from omnigraph.read.run import run
from omnigraph.read.statistics import statistics_of
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.read.view import View
from omnigraph.store.snapshot import Snapshot

__all__ = ["PlanCache", "analyze", "ask", "explain_plan"]

# A program asks a few hundred questions at most; a plan takes a few kilobytes.
LIMIT_PLANS = 512
# One question about a graph that grows: a plan for each time it doubles.
LIMIT_SIZES = 16


class PlanCache:
    """Compiled queries, by the text, the name in it, and the schema they were checked against.

    With each go the plans that were made of it for graphs of different sizes. Safe to share
    between threads: two that miss at the same time both compile.
    """

    def __init__(self) -> None:
        self._compiled: Recent[tuple[str, str | None, str], _Compiled] = Recent(LIMIT_PLANS)

    def compile(self, source: SourceText, name: str | None, snapshot: Snapshot) -> CompiledQuery:
        """The plan as the text has it, whatever the graph holds."""
        return self._get(source, name, snapshot).query

    def optimised(
        self, source: SourceText, name: str | None, view: View, cache: RuntimeCache
    ) -> CompiledQuery:
        """The plan for a graph of about the size that the view shows."""
        compiled = self._get(source, name, view.snapshot)
        statistics = statistics_of(view, cache, compiled.types, compiled.compared)
        # What a plan is made from is known by size only roughly: views do not share one.
        key = (statistics.magnitudes(), view.identity)
        if (query := compiled.by_size.get(key)) is None:
            query = optimise(compiled.query, view.catalog, statistics)
            compiled.by_size.put(key, query)
        return query

    def _get(self, source: SourceText, name: str | None, snapshot: Snapshot) -> "_Compiled":
        key = (source.text, name, snapshot.schema_hash)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = _Compiled(compile_query(source, snapshot.catalog, name))
            self._compiled.put(key, compiled)
        return compiled


class _Compiled:
    def __init__(self, query: CompiledQuery) -> None:
        self.query = query
        self.types = tuple(touch.type_name for touch in query.reads)
        self.compared: tuple[str, ...] = ()
        if isinstance(query, ReadQuery):
            self.compared = tuple(sorted(compared_properties(query.plan)))
        self.by_size: Recent[Hashable, CompiledQuery] = Recent(LIMIT_SIZES)


def ask(
    source: SourceText,
    *,
    name: str | None,
    given: Mapping[str, Any],
    view: View,
    plans: PlanCache,
    cache: RuntimeCache,
    now_ms: int,
    budget: Budget | None = None,
    mode: TraversalMode = TraversalMode.AUTO,
) -> QueryResult:
    query = _read_query(plans.optimised(source, name, view, cache))
    parameters = bind_parameters(query, given)
    rows = run(query, view, parameters, cache=cache, now_ms=now_ms, budget=budget, mode=mode)
    return QueryResult(query.name, view.commit.id, rows)


def explain_plan(
    source: SourceText,
    *,
    name: str | None,
    view: View,
    plans: PlanCache,
    cache: RuntimeCache,
) -> str:
    """The plan for this graph, and how many rows to expect of each step."""
    query = plans.optimised(source, name, view, cache)
    if isinstance(query, MutationQuery):
        return explain(query)
    return explain(query, {i: f"~{_short(n)} rows" for i, n in _expected(query, view, cache)})


def analyze(
    source: SourceText,
    *,
    name: str | None,
    given: Mapping[str, Any],
    view: View,
    plans: PlanCache,
    cache: RuntimeCache,
    now_ms: int,
    budget: Budget | None = None,
    mode: TraversalMode = TraversalMode.AUTO,
) -> str:
    """The plan after running it: rows expected, milliseconds, bytes and rows found of each step."""
    query = _read_query(plans.optimised(source, name, view, cache))
    parameters, profile = bind_parameters(query, given), Profile()
    run(
        query,
        view,
        parameters,
        cache=cache,
        now_ms=now_ms,
        budget=budget,
        profile=profile,
        mode=mode,
    )
    expected = dict(_expected(query, view, cache))
    notes = {
        step: f"~{_short(expected.get(step, 0.0)):>6} rows  {_found(measured)}"
        for step, measured in profile.steps.items()
    }
    return explain(query, notes)


def _read_query(query: CompiledQuery) -> ReadQuery:
    if isinstance(query, MutationQuery):
        raise ArgumentInvalid(
            argument="query", value=query.name, rule="it changes the graph: use mutate"
        )
    return query


def _expected(query: ReadQuery, view: View, cache: RuntimeCache) -> Iterable[tuple[int, float]]:
    types = [touch.type_name for touch in query.reads]
    compared = tuple(sorted(compared_properties(query.plan)))
    statistics = statistics_of(view, cache, types, compared)
    return expected_rows(query.plan, Estimator(view.catalog, statistics)).items()


def _found(measured: Measured) -> str:
    paths = f" for {measured.stands_for:,}" if measured.stands_for != measured.rows else ""
    size = f"{_short(measured.nbytes) if measured.nbytes else '0':>6}B"
    return f"{measured.seconds * 1000:9.3f} ms  {size}  {measured.rows:,} rows{paths}"


def _short(number: float) -> str:
    """Guesses have no more than two digits that mean anything."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:{'.2g' if number < 100 * size else '.0f'}}{unit}"
    return f"{number:.0f}" if number >= 1 else "<1"
