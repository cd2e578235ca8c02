"""A plan made cheaper for a graph of known size. The answer stays what it was.

Rules are applied in the order of the tuple; each gives a plan that means the same as the one it got
(`tests/laws/test_plan_laws.py` holds every one of them to that).
"""

from collections.abc import Callable
from dataclasses import replace

from omnigraph.base.looks import Look, never
from omnigraph.lang.plan.ir import CompiledQuery, MutationQuery, Project, ReadQuery
from omnigraph.lang.plan.rules.exist import reduce_to_existence
from omnigraph.lang.plan.rules.fold import fold_constants
from omnigraph.lang.plan.rules.order import order_joins
from omnigraph.lang.plan.stats import Estimator, PlannerStatistics
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["RULES", "RewriteRule", "optimise"]

RewriteRule = Callable[[Project, Estimator], Project]

RULES: tuple[RewriteRule, ...] = (fold_constants, order_joins, reduce_to_existence)


def optimise(
    query: CompiledQuery, catalog: Catalog, statistics: PlannerStatistics, look: Look = never
) -> CompiledQuery:
    """The same query, planned for this graph. A pattern is short: a rule takes milliseconds."""
    match query:
        case ReadQuery(plan=plan):
            estimator = Estimator(catalog, statistics)
            for rule in RULES:
                look()
                plan = rule(plan, estimator)
            return replace(query, plan=plan)
        case MutationQuery():
            return query
