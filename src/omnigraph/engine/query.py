"""Ask: text ─► plan (kept by source and schema) ─► one view of a snapshot ─► rows. And explain: the
plan by itself.
"""

from functools import partial

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.looks import Look, never
from omnigraph.engine.drawable import drawable_of
from omnigraph.engine.engine import Engine
from omnigraph.engine.explanation import Explanation, explanation_of
from omnigraph.engine.requests import Ask, Explain, OneQuery
from omnigraph.engine.results import QueryResult
from omnigraph.engine.travel import view_for
from omnigraph.lang.plan.chain import compared_properties
from omnigraph.lang.plan.estimate import expected_rows
from omnigraph.lang.plan.ir import CompiledQuery, MutationQuery, ReadQuery
from omnigraph.lang.plan.parameters import bind_parameters
from omnigraph.lang.plan.stats import Estimator
from omnigraph.read.context import Budget
from omnigraph.read.profile import Profile
from omnigraph.read.run import run
from omnigraph.read.statistics import statistics_of
from omnigraph.read.view import View

__all__ = ["ask", "expected_of", "explain", "plan_of", "read_query"]


PLAN = "reading the query and planning it"


def ask(engine: Engine, request: Ask) -> QueryResult:
    """Run one read query at one commit."""
    engine.gate.allow(request)
    budget = _budget(engine, request)
    with view_for(engine, request) as view:
        query = read_query(plan_of(engine, request, view, partial(budget.check, PLAN)))
        answer = run(
            query,
            view,
            bind_parameters(query, request.params),
            cache=engine.cache,
            now_ms=engine.store.clock.now_ms(),
            budget=budget,
            profile=Profile(engine.trace) if engine.trace.is_on else None,
            mode=engine.settings.traversal_mode,
            embedder=engine.query_texts,
        )
    drawable = drawable_of(query, answer, view.catalog)
    return QueryResult(query.name, view.commit.id, answer.table, drawable)


def explain(engine: Engine, request: Explain) -> Explanation:
    """The plan for this graph; with `analyze` the query is run, and each step is measured."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        look = partial(_budget(engine, request).check, PLAN)
        plan = plan_of(engine, request, view, look)
        if request.analyze:
            return _analyzed(engine, request, read_query(plan), view)
        if isinstance(plan, MutationQuery):
            return explanation_of(plan, view.commit.id)
        return explanation_of(plan, view.commit.id, expected=expected_of(engine, plan, view))


def _analyzed(engine: Engine, request: Explain, query: ReadQuery, view: View) -> Explanation:
    profile = Profile(engine.trace)
    run(
        query,
        view,
        bind_parameters(query, request.params),
        cache=engine.cache,
        now_ms=engine.store.clock.now_ms(),
        budget=_budget(engine, request),
        profile=profile,
        mode=engine.settings.traversal_mode,
        embedder=engine.query_texts,
    )
    expected = expected_of(engine, query, view)
    return explanation_of(
        query,
        view.commit.id,
        expected=expected,
        measured=profile.steps,
        tells_bytes=view.scope is None,
    )


def plan_of(engine: Engine, request: OneQuery, view: View, look: Look = never) -> CompiledQuery:
    """The plan of the query that a request names."""
    with engine.trace.step("plan"):
        return engine.plans.optimised(request.source, request.name, view, engine.cache, look)


def read_query(query: CompiledQuery) -> ReadQuery:
    """The query, if it only reads."""
    if isinstance(query, MutationQuery):
        raise ArgumentInvalid(
            argument="query",
            value=query.name,
            rule="this query changes the graph",
            advice="run it with mutate",
        )
    return query


def expected_of(engine: Engine, query: ReadQuery, view: View) -> dict[int, float]:
    """The rows to expect of each operator, by its identity."""
    types = [touch.type_name for touch in query.reads]
    compared = tuple(sorted(compared_properties(query.plan)))
    statistics = statistics_of(view, engine.cache, types, compared)
    return dict(expected_rows(query.plan, Estimator(view.catalog, statistics)))


def _budget(engine: Engine, request: Ask | Explain) -> Budget:
    memory_bytes = request.memory_bytes
    if memory_bytes is None:
        memory_bytes = engine.settings.query_memory_bytes
    return Budget(memory_bytes, request.timeout_s, request.cancel)
