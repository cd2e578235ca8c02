"""What a plan asks for that Spark is not asked to do: told by name, before anything runs."""

from collections.abc import Iterator

from omnigraph.base.errors import NotOnSpark
from omnigraph.lang.plan.chain import operators
from omnigraph.lang.plan.explain import describe, show_expression
from omnigraph.lang.plan.ir import (
    Aggregate,
    Bm25,
    Distinct,
    Expand,
    Expression,
    Nearest,
    Op,
    Project,
    Rrf,
    ScoreOf,
    Sort,
    TopK,
)

__all__ = ["MAX_HOPS", "refuse"]

MAX_HOPS = 12
"""Each hop is a join of the plan, and Spark takes longer to plan each than the one before."""


def refuse(plan: Project) -> None:
    """Raise for the first operator or expression that has no meaning on Spark."""
    for op in operators(plan):
        if isinstance(op, TopK):
            raise NotOnSpark(f"`{describe(op)}`")
        if isinstance(op, Expand) and op.most_hops > MAX_HOPS:
            raise NotOnSpark(f"`{describe(op)}`: more than {MAX_HOPS} hops")
        for expression in _expressions(op):
            if isinstance(expression, Nearest | Bm25 | Rrf | ScoreOf):
                raise NotOnSpark(f"`{show_expression(expression)}`")


def _expressions(op: Op) -> Iterator[Expression]:
    match op:
        case Project(columns=columns) | Distinct(columns=columns):
            yield from (column.expression for column in columns)
        case Aggregate(keys=keys, aggregates=aggregates):
            for column in (*keys, *aggregates):
                yield getattr(column.expression, "argument", column.expression)
        case Sort(keys=keys):
            yield from (key.expression for key in keys)
        case _:
            pass
