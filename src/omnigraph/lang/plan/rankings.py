"""The rankings of a plan, and the places they stand in."""

from collections.abc import Iterator

from omnigraph.lang.plan.chain import chain, operators
from omnigraph.lang.plan.ir import (
    Bm25,
    Distinct,
    Expression,
    Nearest,
    Op,
    Project,
    Rrf,
    Sort,
    TopK,
)

__all__ = ["fusions_shown", "rankings_of"]


def rankings_of(plan: Project) -> Iterator[Nearest | Bm25]:
    """Every ranking by one property, the sides of a fusion too; one may come twice."""
    for op in operators(plan):
        for expression in _expressions(op):
            match expression:
                case Rrf(left=left, right=right):
                    yield left
                    yield right
                case Nearest() | Bm25():
                    yield expression
                case _:
                    pass


def fusions_shown(plan: Project) -> frozenset[Rrf]:
    """The fusions that the answer shows and is not ordered by."""
    found, ordering = set[Rrf](), set[Expression]()
    for op in chain(plan):
        match op:
            case Sort(keys=keys):
                ordering |= {key.expression for key in keys}
            case Project() | Distinct():
                found |= {e for e in _expressions(op) if isinstance(e, Rrf)}
            case _:
                pass
    return frozenset(found - ordering)


def _expressions(op: Op) -> Iterator[Expression]:
    match op:
        case TopK(ranking=ranking):
            yield ranking
        case Sort(keys=keys):
            yield from (key.expression for key in keys)
        case Project(columns=columns) | Distinct(columns=columns):
            yield from (column.expression for column in columns)
        case _:
            pass
