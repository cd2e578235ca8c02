"""The size of a graph as far as it is known, as a plain value, and the guesses made from it.

Nothing here is ever part of an answer: a wrong figure makes a query slower and nothing else.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import field

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName, VariableName
from omnigraph.base.types import EnumOf, Scalar
from omnigraph.lang.plan.ir import (
    Compare,
    CompareOp,
    Direction,
    EdgeStep,
    Expression,
    IdentityOf,
    Literal,
    Membership,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    TextMatch,
)
from omnigraph.lang.query.check.uses import used_in
from omnigraph.lang.schema.catalog import Catalog, EntityType

__all__ = ["SHARE_OF_BLOCK", "Estimator", "PlannerStatistics", "Types"]

Types = Mapping[VariableName, tuple[TypeName, ...]]
"""The types that each variable ranges over."""

# Guesses, where nothing better is known: the share of rows that a test leaves.
SHARE_OF_RANGE = 1 / 3
SHARE_OF_TEXT = 1 / 10
SHARE_OF_NULLS = 1 / 10
SHARE_OF_BLOCK = 1 / 2
# How many options a list has that only the caller knows, and how many of the best are kept.
OPTIONS = 10
BEST = 10


@frozen
class PlannerStatistics:
    rows: Mapping[TypeName, int] = field(default_factory=dict)
    """Of node and edge types; a type that is missing counts as empty."""
    distinct: Mapping[tuple[TypeName, str], int] = field(default_factory=dict)
    """How many values a property has, where they were counted."""

    def magnitudes(self) -> tuple[tuple[str, int], ...]:
        """Equal for statistics that are nearly alike: a plan for one will do for the other."""
        sizes = [(name, count.bit_length()) for name, count in self.rows.items()]
        values = [(f"{t}.{p}", count.bit_length()) for (t, p), count in self.distinct.items()]
        return tuple(sorted(sizes + values))


@frozen
class Estimator:
    """How many rows to expect. Every answer is a guess and at least a little above zero."""

    catalog: Catalog
    statistics: PlannerStatistics

    def size(self, types: Iterable[TypeName]) -> float:
        return float(sum(self.statistics.rows.get(name, 0) for name in types)) or 1.0

    def kept(self, rows: float, k: Literal | Parameter) -> float:
        """How many rows `top` leaves of so many, if each has an entity of its own."""
        best = k.value if isinstance(k, Literal) else BEST
        return min(rows, float(best)) if isinstance(best, int) else rows

    def reached(
        self,
        steps: Iterable[EdgeStep],
        origin: tuple[TypeName, ...],
        target: tuple[TypeName, ...],
        *,
        least_hops: int = 1,
        most_hops: int = 1,
    ) -> float:
        """How many targets an origin has on average."""
        once = self.edges(steps, origin, target) / self.size(origin)
        if most_hops == 1:
            return once
        over_all = self.edges(steps, (), ()) / self.size(origin)
        most, far, reached = self.size(target), 0.0, once
        for depth in range(1, most_hops + 1):
            far += reached if depth >= least_hops else 0.0
            # Held down: powers of what a step reaches pass all bounds within some hundred hops.
            reached = min(reached * over_all, max(once, most))
        return min(far, most)

    def edges(
        self,
        steps: Iterable[EdgeStep],
        origin: tuple[TypeName, ...],
        target: tuple[TypeName, ...],
    ) -> float:
        """How many edges lead from one to the other; no types mean any."""
        total = 0
        for step in steps:
            edge = self.catalog.edge_by_name[step.edge]
            ends = (edge.source, edge.target)
            ways = {Direction.OUT: [ends], Direction.IN: [ends[::-1]]}.get(
                step.direction, [ends, ends[::-1]]
            )
            fits = [
                (not origin or here in origin) and (not target or there in target)
                for here, there in ways
            ]
            total += sum(fits) * self.statistics.rows.get(step.edge, 0)
        return float(total)

    def share(self, predicate: Predicate, types: Types) -> float:
        """The share of rows that satisfy the predicate."""
        match predicate:
            case Compare(op=op, left=left, right=right):
                return self._compared(op, left, right, types)
            case Membership(left=left, options=options):
                listed = options.value if isinstance(options, Literal) else None
                count = len(listed) if isinstance(listed, tuple) else OPTIONS
                return min(1.0, count / self._values(left, types))
            case NullTest(is_negated=is_negated):
                return 1 - SHARE_OF_NULLS if is_negated else SHARE_OF_NULLS
            case TextMatch():
                return SHARE_OF_TEXT

    def share_of_all(self, tests: Iterable[Predicate], types: Types) -> float:
        """The share of rows that satisfy each of the predicates, if they are independent."""
        return math.prod(self.share(test, types) for test in tests)

    def _compared(self, op: CompareOp, left: Expression, right: Expression, types: Types) -> float:
        match op:
            case CompareOp.EQ:
                sides = [side for side in (left, right) if any(used_in(side))]
                return 1 / max((self._values(side, types) for side in sides), default=1.0)
            case CompareOp.NE:
                return 1 - self._compared(CompareOp.EQ, left, right, types) / 2
            case CompareOp.LT | CompareOp.LE | CompareOp.GT | CompareOp.GE:
                return SHARE_OF_RANGE
            case CompareOp.CONTAINS | CompareOp.STARTS_WITH:
                return SHARE_OF_TEXT

    def _values(self, expression: Expression, types: Types) -> float:
        """How many values the expression takes."""
        match expression:
            case IdentityOf(variable=variable):
                return self.size(types.get(variable, ()))
            case PropertyOf(variable=variable, name=name):
                entities = [self._entity(t) for t in types.get(variable, ())]
                return float(max((self._distinct(e, name) for e in entities), default=1))
            case _:
                return 2.0

    def _distinct(self, entity: EntityType, name: str) -> int:
        rows = self.statistics.rows.get(entity.name, 0) or 1
        counted = self.statistics.distinct.get((entity.name, name))
        if counted is not None:
            return max(counted, 1)
        if entity.key == (name,):
            return rows
        property_ = entity.by_name.get(name)
        match property_.type if property_ else None:
            case EnumOf(values=values):
                return len(values)
            case Scalar.BOOL:
                return 2
            case _:
                # Between a flag and a name: a value is shared by some and not by all.
                return math.isqrt(rows) or 1

    def _entity(self, name: TypeName) -> EntityType:
        return self.catalog.node_by_name.get(name) or self.catalog.edge_by_name[name]
