"""Reads on Spark: the rows of a type as a frame, and queries whose plan Spark runs.

All of one view of a snapshot, as any read. A frame is lazy: it reads files of the commit when
somebody looks at it, and shows what its caller may see.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid, NameMissing
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.explanation import Explanation, explanation_of
from omnigraph.engine.query import expected_of, plan_of, read_query
from omnigraph.engine.requests import Explain, SparkAsk, SparkTable
from omnigraph.engine.results import QueryResult
from omnigraph.engine.travel import view_for
from omnigraph.lang.plan.compile import compile_conditions
from omnigraph.lang.plan.ir import Predicate, ReadQuery
from omnigraph.lang.plan.parameters import bind_parameters
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.query.notes import notes_of
from omnigraph.pipeline.query.refusals import refuse
from omnigraph.read.context import Budget
from omnigraph.read.view import View

if TYPE_CHECKING:
    from omnigraph.pipeline.query.lower import QueryFrame

__all__ = ["explain_on_spark", "frame_of_query", "frame_of_type", "query_on_spark"]


def frame_of_type(engine: Engine, request: SparkTable) -> Any:
    """The rows of a type that the caller sees, as a frame."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        entity = _entity(view, request.type_name)
        where = _where(view, entity, request.tests)
        spark = engine.spark_for(request.actor, request.spark)
        # Nothing of Spark is imported before it is known to be there.
        from omnigraph.pipeline.frames.frames import type_frame

        now_ms = engine.store.clock.now_ms()
        return type_frame(spark, view, entity, columns=request.columns, where=where, now_ms=now_ms)


def frame_of_query(engine: Engine, request: SparkAsk) -> Any:
    """The answer of a query as a frame."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        query = read_query(plan_of(engine, request, view))
        return _query_frame(engine, request, query, view).frame


def query_on_spark(engine: Engine, request: SparkAsk) -> QueryResult:
    """The answer of a query, worked out by Spark."""
    budget = Budget(timeout_s=request.timeout_s, cancel=request.cancel)
    engine.gate.allow(request)

    def check() -> None:
        budget.check("Spark")

    with view_for(engine, request) as view:
        query = read_query(plan_of(engine, request, view))
        answer = _query_frame(engine, request, query, view, check)
        from omnigraph.pipeline.query.answer import rows_of

        rows = rows_of(
            engine.spark_for(request.actor, request.spark),
            answer,
            doing=f"the query {query.name}",
            check=check,
        )
    return QueryResult(query.name, view.commit.id, rows)


def explain_on_spark(engine: Engine, request: Explain) -> Explanation:
    """The plan of a query, and what Spark makes of each step. Spark need not be there."""
    engine.gate.allow(request)
    if request.analyze:
        raise ArgumentInvalid(
            argument="analyze",
            value=None,
            rule="steps are measured in this process only",
            advice="leave out analyze or engine",
        )
    with view_for(engine, request) as view:
        query = read_query(plan_of(engine, request, view))
        notes, expected = notes_of(query.plan, view), expected_of(engine, query, view)
        return explanation_of(query, view.commit.id, expected=expected, notes=notes)


def _query_frame(
    engine: Engine,
    request: SparkAsk,
    query: ReadQuery,
    view: View,
    check: Callable[[], None] = lambda: None,
) -> "QueryFrame":
    parameters = bind_parameters(query, request.params)
    # Before a session is begun, which takes seconds.
    refuse(query.plan)
    spark = engine.spark_for(request.actor, request.spark)
    from omnigraph.pipeline.query.lower import query_frame

    now_ms = engine.store.clock.now_ms()
    return query_frame(spark, query.plan, view, parameters, now_ms=now_ms, check=check)


def _entity(view: View, name: str) -> EntityType:
    known = {str(entity.name): entity for entity in view.catalog.entities}
    if name not in known:
        raise NameMissing(what="type", name=name, known=tuple(known))
    return known[name]


def _where(view: View, entity: EntityType, text: str | None) -> tuple[Predicate, ...]:
    """The tests of a `where`, which are those of a mutation."""
    if text is None:
        return ()
    return compile_conditions(SourceText(text, "<where>"), entity, view.catalog)
