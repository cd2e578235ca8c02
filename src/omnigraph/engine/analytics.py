"""Analyze: an algorithm over the edges of one view, in this process or on Spark.

What an actor does not see is not there for an algorithm either: it runs over the rows of a view,
and its numbers are those of a graph without the others.
"""

from typing import Literal

from omnigraph.base.progress import Progress, silent
from omnigraph.engine.analytics_requests import Analyze
from omnigraph.engine.analytics_results import AnalyticsResult
from omnigraph.engine.choose_runner import WorkSize, choose_runner
from omnigraph.engine.engine import Engine
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import EdgeType
from omnigraph.read.analytics.links import Beat
from omnigraph.read.analytics.named_types import edge_types_of, node_types_of, weight_of
from omnigraph.read.analytics.network import Network
from omnigraph.read.analytics.run import Answer, run
from omnigraph.read.context import Budget
from omnigraph.read.statistics import statistics_of
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.view import View

__all__ = ["analyze"]

BYTES_PER_EDGE, BYTES_PER_NODE = 96, 128
"""What a run takes in this process, at most: both directions of an edge, its weight and what is
worked out of them; the id of a node, and some numbers of it."""

Where = Literal["local", "spark"]


def analyze(engine: Engine, request: Analyze, progress: Progress | None = None) -> AnalyticsResult:
    """Run an algorithm at one commit."""
    engine.gate.allow(request)
    tell = progress or silent
    with view_for(engine, request) as view:
        edges = edge_types_of(view.catalog, request.edges)
        if request.weight is not None:
            for edge in edges:
                weight_of(edge, request.weight)
        where = _where(engine, request, view, edges)
        budget = _budget(engine, request)
        step = f"analytics {request.algorithm.name}"

        def beat(done: int, total: int) -> None:
            budget.check(step)
            if done >= 0:
                tell("run", done, total)

        tell("read", 0, 0)
        if where == "spark":
            counts, answer = _on_spark(engine, request, view, edges, beat)
        else:
            tables = tables_of(view, engine.cache, engine.settings.traversal_mode)
            network = Network(tables, edges, request.weight, budget, step)
            counts = network.nodes.size, network.edge_space.size
            answer = run(network, request.algorithm, is_directed=request.is_directed, beat=beat)
        budget.check(step)
    return AnalyticsResult(
        query_name=request.algorithm.name,
        graph_commit_id=view.commit.id,
        table=answer.table,
        edges=tuple(edge.name for edge in edges),
        engine=where,
        node_count=counts[0],
        edge_count=counts[1],
        iterations=answer.iterations,
        converged=answer.converged,
    )


def _budget(engine: Engine, request: Analyze) -> Budget:
    memory_bytes = request.memory_bytes
    if memory_bytes is None:
        memory_bytes = engine.settings.query_memory_bytes
    return Budget(memory_bytes, request.timeout_s, request.cancel)


# Where it runs ------------------------------------------------------------------------------------


def _where(engine: Engine, request: Analyze, view: View, edges: tuple[EdgeType, ...]) -> Where:
    asked = request.engine
    if asked is None and engine.settings.load_engine == "spark":
        # The setting is about loads: a small graph is not worth a start of Spark.
        asked = "auto"

    def measured() -> WorkSize:
        return WorkSize(_bytes_needed(engine, view, edges), _budget(engine, request).memory_bytes)

    return choose_runner(
        engine.settings,
        measured,
        asked=asked,
        session=request.spark,
        may_start_spark=engine.gate.allows_spark(request.actor),
    ).engine


def _bytes_needed(engine: Engine, view: View, edges: tuple[EdgeType, ...]) -> int:
    """Counted over the rows that the caller sees: the result says where it was worked out."""
    named_edges, named_nodes = [edge.name for edge in edges], [*node_types_of(edges)]
    rows = statistics_of(view, engine.cache, [*named_edges, *named_nodes], ()).rows
    edge_rows = sum(rows[name] for name in named_edges)
    node_rows = sum(rows[name] for name in named_nodes)
    return edge_rows * BYTES_PER_EDGE + node_rows * BYTES_PER_NODE


def _on_spark(
    engine: Engine, request: Analyze, view: View, edges: tuple[EdgeType, ...], beat: Beat
) -> tuple[tuple[int, int], Answer]:
    from omnigraph.pipeline.analytics.run import run as run_on_spark

    found = run_on_spark(
        engine.spark_for(request.actor, request.spark),
        view,
        edges,
        request.algorithm,
        is_directed=request.is_directed,
        weight=request.weight,
        beat=beat,
    )
    return (found.node_count, found.edge_count), found.answer
