"""Where a pattern begins and in which order it goes on, by the rows to expect.

Clauses of a pattern commute: any order that binds a variable before it is used means the same. From
every variable that a pattern could begin with, a walk takes the cheapest next step until all is
placed, tests as soon as they can be asked; the cheapest walk wins. A traversal may run from either
end. `top` is a wall: what lies below it decides what it keeps. An `optional` waits for everything
that does not look at it, since it can only add rows.

A walk over n clauses compares about n² steps, so a long pattern is walked from the few variables
with the cheapest scans only (`MAX_STEPS_COMPARED`).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName, VariableName
from omnigraph.lang.plan.chain import (
    binds,
    chain,
    loosened,
    mentions,
    needs,
    outer_of,
    relinked,
    turned,
    types_bound,
)
from omnigraph.lang.plan.ir import (
    MIRRORED,
    Aggregate,
    AggregateFunction,
    AggregateOf,
    AntiJoin,
    Column,
    Compare,
    CompareOp,
    CountJoin,
    Distinct,
    EntityOf,
    Expand,
    Filter,
    LeftJoin,
    Limit,
    NodeScan,
    Nothing,
    Op,
    Project,
    SemiJoin,
    Sort,
    TopK,
    Union,
    Unit,
    ValueJoin,
)
from omnigraph.lang.plan.stats import SHARE_OF_BLOCK, Estimator
from omnigraph.lang.query.check.uses import used_in

__all__ = ["Names", "Ordered", "Types", "order_joins", "order_pattern"]

# A product of rows that no edge ties together is a last resort.
PRODUCT_PENALTY = 4

MAX_STEPS_COMPARED = 60_000
"""For one pattern: some tens of milliseconds. Up to about 25 variables every beginning is tried."""

Names = frozenset[VariableName]
Types = dict[VariableName, tuple[TypeName, ...]]


def order_joins(plan: Project, estimator: Estimator) -> Project:
    live = _used(plan.columns)
    return replace(plan, source=_below(plan.source, _Wanted(live), estimator))


def order_pattern(op: Op, live: Names, estimator: Estimator, types: Types) -> "Ordered":
    """A pattern of which only these variables are looked at, and equal rows may come as one.

    The clauses may come in any order, also before what they need is bound. `types` are those of the
    variables of the enclosing pattern.
    """
    return _pattern(op, _Wanted(live, folds=True), estimator, types)


@frozen
class _Wanted:
    """The demand on a pattern: these variables, and whether equal rows may come as one."""

    live: Names
    folds: bool = False


def _below(op: Op, wanted: _Wanted, estimator: Estimator) -> Op:
    """Past the operators that shape the answer, down to the pattern."""
    match op:
        case Limit(source=source):
            return replace(op, source=_below(source, wanted, estimator))
        case Sort(source=source, keys=keys, ties=ties):
            live = wanted.live.union(ties, *(used_in(key.expression) for key in keys))
            return replace(op, source=_below(source, _Wanted(live), estimator))
        case Aggregate(source=source, keys=keys, aggregates=aggregates):
            live = _used(keys) | _used([c for c in aggregates if not _counts_rows(c)])
            return replace(op, source=_pattern(source, _Wanted(live, folds=True), estimator).op)
        case Distinct(source=source, columns=columns):
            live = _used(columns)
            return replace(op, source=_pattern(source, _Wanted(live, folds=True), estimator).op)
        case _:
            return _pattern(op, wanted, estimator).op


def _used(columns: Sequence[Column]) -> Names:
    return frozenset(v for column in columns for v in used_in(column.expression))


def _counts_rows(column: Column) -> bool:
    match column.expression:
        case AggregateOf(function=AggregateFunction.COUNT, argument=EntityOf(), is_distinct=False):
            return True
        case _:
            return False


# A pattern and its walks -------------------------------------------------------------------------


@frozen
class Ordered:
    """A pattern in its new order; rows and work for one row of the enclosing pattern."""

    op: Op
    rows: float
    work: float


def _pattern(
    op: Op,
    wanted: _Wanted,
    estimator: Estimator,
    types: Types | None = None,
) -> Ordered:
    leaf, *clauses = chain(op)
    if clauses and isinstance(clauses[0], Nothing):
        return Ordered(op, 0.0, 0.0)
    clauses = loosened(clauses)
    types = {**(types or {}), **types_bound(clauses)}
    facts = _Facts((), (), types, estimator)
    is_on_unit = isinstance(leaf, Unit)
    walk = _Walk(leaf, frozenset(binds(leaf)), types, wanted, estimator, facts, is_on_unit)
    while clauses:
        wall = next((i for i, c in enumerate(clauses) if isinstance(c, TopK)), len(clauses))
        above = frozenset(v for c in clauses[wall:] for v in needs(c))
        stage = replace(wanted, live=wanted.live | above)
        walk = _cheapest(replace(walk, wanted=stage), clauses[:wall])
        if wall < len(clauses):
            top = clauses[wall]
            assert isinstance(top, TopK)
            kept = estimator.kept(walk.rows, top.k)
            walk = replace(walk, op=relinked(walk.op, [top]), rows=kept)
        clauses = clauses[wall + 1 :]
    return Ordered(walk.op, walk.rows, walk.work)


def _cheapest(walk: "_Walk", clauses: Sequence[Op]) -> "_Walk":
    free = {v: c for c in clauses for v in binds(c) if _is_free(c, v) and v not in walk.bound}
    waiting = tuple(c for c in clauses if not isinstance(c, NodeScan))
    facts = _Facts(waiting, free, walk.types, walk.estimator)
    ready = replace(walk, free=frozenset(free), waiting=waiting, facts=facts)
    begun = [ready] if walk.bound or not free else [ready.scan(v) for v in ready.beginnings(free)]
    tried = [start.to_the_end() for start in begun]
    # A walk sees one step ahead, and two small tables look cheap to multiply until it turns out
    # that many rows must pass between them: such a beginning is tried without products as well.
    tried += [
        replace(start, multiplies=False).to_the_end()
        for start, found in zip(begun, tried, strict=True)
        if found is None or found.has_multiplied
    ]
    done = [found for found in tried if found is not None]
    assert done, "every clause of a plan finds its place"
    return min(done, key=lambda found: found.work)


def _is_free(clause: Op, variable: VariableName) -> bool:
    """Whether a scan may bind the variable in place of the clause that does."""
    return isinstance(clause, NodeScan) or (
        isinstance(clause, Expand) and clause.target == variable
    )


class _Step(NamedTuple):
    """A clause that could come next: the rows after it and the work it takes."""

    clause: "Op | VariableName | _Tie"
    """A variable stands for a scan of it, a tie for a join by value."""
    rows: float
    work: float


class _Comparison(NamedTuple):
    """A test that compares other variables, on its left side, with one variable on its right."""

    test: Filter
    compare: Compare
    near: Names
    """The variables of the left side."""


class _Tie(NamedTuple):
    """Comparisons of what is bound with a variable that is not bound yet: equalities come first.

    Without any, each row is joined with each node.
    """

    variable: VariableName
    comparisons: tuple[_Comparison, ...]

    @property
    def is_range_alone(self) -> bool:
        return self.comparisons[0].compare.op is not CompareOp.EQ


class _Scan(NamedTuple):
    """All nodes of a variable that pass the tests of it alone."""

    tests: list[Filter]
    """The most selective first."""
    rows: float
    work: float


class _Facts:
    """What all walks over the same clauses need to know of them, found out once."""

    def __init__(
        self,
        clauses: Sequence[Op],
        free: Iterable[VariableName],
        types: Types,
        estimator: Estimator,
    ) -> None:
        self._clauses = clauses  # kept, because they are known by their identity
        self._types = types
        self._estimator = estimator
        self.free = sorted(free)
        self.needs = {id(c): frozenset(needs(c)) for c in clauses}
        self.mentions = {id(c): frozenset(mentions(c)) for c in clauses}
        self.shares = {
            id(c): estimator.share(c.predicate, types) for c in clauses if isinstance(c, Filter)
        }
        self.comparisons = _comparisons(clauses)
        self._own: dict[Names, list[Filter]] = {}
        for clause in clauses:
            if isinstance(clause, Filter):
                self._own.setdefault(self.needs[id(clause)], []).append(clause)
        self._scans: dict[VariableName, _Scan] = {}
        self._reached: dict[tuple[int, VariableName], float] = {}

    def scan(self, variable: VariableName) -> _Scan:
        if (scan := self._scans.get(variable)) is None:
            own = self._own.get(frozenset({variable}), [])
            tests = sorted(own, key=lambda c: self.shares[id(c)])
            size = found = self._estimator.size(self._types[variable])
            for test in tests:
                found *= self.shares[id(test)]
            # A variable with at most one node is found by its key.
            work = 1.0 if found <= 1 < size else size
            scan = self._scans[variable] = _Scan(tests, found, work)
        return scan

    def reached(self, walk: Expand, near: VariableName, far: VariableName) -> float:
        """How many nodes a traversal finds from one node at its end `near`."""
        key = (id(walk), near)
        if (count := self._reached.get(key)) is None:
            is_forward = near == walk.origin
            steps = walk.steps if is_forward else tuple(turned(s) for s in walk.steps)
            count = self._reached[key] = self._estimator.reached(
                steps,
                self._types.get(near, ()),
                self._types.get(far, ()),
                least_hops=walk.least_hops,
                most_hops=walk.most_hops,
            )
        return count


def _comparisons(clauses: Iterable[Op]) -> dict[VariableName, list[_Comparison]]:
    """By the variable of the right side; each test can be read from either side."""
    found: dict[VariableName, list[_Comparison]] = {}
    for test in clauses:
        match test:
            case Filter(predicate=Compare(op=op, left=left, right=right) as compare) if (
                op in MIRRORED and op is not CompareOp.NE
            ):
                for way in (compare, Compare(MIRRORED[op], right, left)):
                    near, far = frozenset(used_in(way.left)), frozenset(used_in(way.right))
                    if near and len(far) == 1 and not near & far:
                        (variable,) = far
                        found.setdefault(variable, []).append(_Comparison(test, way, near))
            case _:
                pass
    return found


@frozen
class _Walk:
    """An order in the making. Every step gives a new one."""

    op: Op
    bound: Names
    types: Types
    wanted: _Wanted
    estimator: Estimator
    facts: _Facts
    is_on_unit: bool
    """Whether the pattern begins with nothing, and not with rows of an enclosing pattern."""
    free: Names = frozenset()
    """Variables that a scan may bind."""
    waiting: tuple[Op, ...] = ()
    multiplies: bool = True
    """Whether a product may come before a traversal."""
    has_multiplied: bool = False
    """Whether a product came where a traversal could have come."""
    rows: float = 1.0
    work: float = 0.0
    blocks: dict[int, Ordered] = field(default_factory=dict)
    """Sub-patterns in their new order, by the identity of the old; shared by all walks."""

    def beginnings(self, free: Iterable[VariableName]) -> list[VariableName]:
        """The variables to begin with: all, or those with the cheapest scans."""
        count = max(1, MAX_STEPS_COMPARED // (len(self.waiting) + len(self.free)) ** 2)
        scans = {variable: self.facts.scan(variable) for variable in free}
        cheapest = sorted(scans, key=lambda v: scans[v].rows + scans[v].work)[:count]
        return [variable for variable in scans if variable in cheapest]

    def to_the_end(self) -> "_Walk | None":
        walk = self
        while (following := walk.next()) is not None:
            walk = following
        return None if walk.waiting or walk.free - walk.bound else walk

    def next(self) -> "_Walk | None":
        """Tests first, then whatever is least work, then products, and optional blocks last."""
        for steps_of in (self._filters, self._closing, self._tests):
            if steps := steps_of():
                return self.take(_least(steps))
        if tied := self._tied():
            step = _least(tied)
            best = _least([step, *self._products()]) if self.multiplies else step
            return replace(self.take(best), has_multiplied=self.has_multiplied or best is not step)
        if products := list(self._products()):
            return self.take(_least(products))
        optional = [self._block(c) for c in self._ready(LeftJoin)]
        return self.take(optional[0]) if optional else None

    def take(self, step: _Step) -> "_Walk":
        clause = step.clause
        if isinstance(clause, str):
            return self.scan(clause)
        if isinstance(clause, _Tie):
            return self.join(clause, step)
        placed = self._placed(clause)
        return replace(
            self,
            op=placed,
            bound=self.bound | frozenset(binds(placed)),
            waiting=tuple(c for c in self.waiting if c is not clause),
            rows=step.rows,
            work=self.work + step.work + step.rows,
        )

    def scan(self, variable: VariableName) -> "_Walk":
        """All nodes of the variable that pass the tests of it alone.

        Beside rows that are there they are tested before the product: that is fewer pairs to make.
        """
        scanned = self.facts.scan(variable)
        rows = self.rows * scanned.rows
        step = _Step(variable, rows, scanned.work)
        if scanned.tests and not isinstance(self.op, Unit):
            return self.join(_Tie(variable, ()), step)
        placed = {id(test) for test in scanned.tests}
        return replace(
            self,
            op=relinked(NodeScan(self.op, variable, self.types[variable]), scanned.tests),
            bound=self.bound | {variable},
            waiting=tuple(c for c in self.waiting if id(c) not in placed),
            rows=rows,
            work=self.work + step.work + rows,
        )

    def join(self, tie: _Tie, step: _Step) -> "_Walk":
        """The nodes of the variable whose values compare with the rows', after its own tests."""
        tests = self.facts.scan(tie.variable).tests
        placed = {id(test) for test in (*tests, *(c.test for c in tie.comparisons))}
        scanned = NodeScan(Unit(), tie.variable, self.types[tie.variable])
        return replace(
            self,
            op=ValueJoin(
                self.op, relinked(scanned, tests), tuple(c.compare for c in tie.comparisons)
            ),
            bound=self.bound | {tie.variable},
            waiting=tuple(c for c in self.waiting if id(c) not in placed),
            rows=step.rows,
            work=self.work + step.work + step.rows,
        )

    # What could come next ------------------------------------------------------------------------

    def _ready(self, *kinds: type[Op]) -> list[Op]:
        needed, bound = self.facts.needs, self.bound
        return [c for c in self.waiting if isinstance(c, kinds) and needed[id(c)] <= bound]

    def _filters(self) -> list[_Step]:
        shares = self.facts.shares
        return [_Step(c, self.rows * shares[id(c)], self.rows) for c in self._ready(Filter)]

    def _closing(self) -> list[_Step]:
        """Traversals between two nodes that are both there."""
        steps = []
        for walk in self._expands():
            if walk.origin in self.bound and walk.target in self.bound:
                one = self.facts.reached(walk, walk.origin, walk.target)
                size = self.estimator.size(self.types.get(walk.target, ()))
                work = self.rows if walk.most_hops == 1 else self.rows * one
                steps.append(_Step(walk, self.rows * min(1.0, one / size), work))
        return steps

    def _tests(self) -> list[_Step]:
        return [self._block(c) for c in self._ready(AntiJoin, SemiJoin, CountJoin)]

    def _tied(self) -> list[_Step]:
        """Steps along a clause that ties what comes to what is there."""
        blocks = (self._block(c) for c in self._ready(Union))
        return [*self._leaving(), *self._ties(), *blocks]

    def _leaving(self) -> Iterator[_Step]:
        used = _Used(self) if self.wanted.folds else None
        for walk in self._expands():
            for near, far in ((walk.origin, walk.target), (walk.target, walk.origin)):
                if near in self.bound and far not in self.bound and far in self.free:
                    yield self._left(walk, near, far, used)

    def _left(
        self, walk: Expand, near: VariableName, far: VariableName, used: "_Used | None"
    ) -> _Step:
        reached = self.facts.reached(walk, near, far)
        touched = self.rows * reached
        if used is None:
            return _Step(walk, touched, touched)
        edge = walk.edge_variable
        if not used.besides(walk, far) and (edge is None or not used.besides(walk, edge)):
            return _Step(walk, self.rows * min(1.0, reached), self.rows)
        if used.is_on_unit and not any(used.besides(walk, v) for v in used.bound):
            edges = self.estimator.edges(walk.steps, (), ()) if walk.most_hops == 1 else touched
            size = self.estimator.size(self.types[far])
            return _Step(walk, min(touched, size), min(touched, edges))
        return _Step(walk, touched, touched)

    def _tie(self, variable: VariableName) -> _Tie | None:
        """All equalities of the variable with what is bound, and one range of its values."""
        known = [c for c in self.facts.comparisons.get(variable, ()) if c.near <= self.bound]
        equal = [c for c in known if c.compare.op is CompareOp.EQ]
        ranges = [c for c in known if c.compare.op is not CompareOp.EQ]
        comparisons = (*equal, *ranges[:1])
        return _Tie(variable, comparisons) if comparisons else None

    def _joined(self, tie: _Tie) -> _Step:
        scanned = self.facts.scan(tie.variable)
        shares = (self.facts.shares[id(c.test)] for c in tie.comparisons)
        rows = self.rows * scanned.rows * math.prod(shares)
        return _Step(tie, rows, scanned.work + self.rows + rows)

    def _ties(self) -> Iterator[_Step]:
        for variable in self.facts.free:
            if variable not in self.bound:
                tie = self._tie(variable)
                if tie is not None and not tie.is_range_alone:
                    yield self._joined(tie)

    def _products(self) -> Iterator[_Step]:
        for variable in self.facts.free:
            if variable not in self.bound:
                tie = self._tie(variable)
                if tie is None:
                    scanned = self.facts.scan(variable)
                    rows = self.rows * scanned.rows
                    rows = rows * PRODUCT_PENALTY if self.bound else rows
                    yield _Step(variable, rows, scanned.work)
                elif tie.is_range_alone:
                    step = self._joined(tie)
                    yield step._replace(rows=step.rows * PRODUCT_PENALTY)

    def _block(self, clause: Op) -> _Step:
        match clause:
            case AntiJoin() | SemiJoin() | CountJoin():
                inner = self._inner(clause.pattern, _Wanted(frozenset(), folds=True))
                # A block that borrows nothing is worked out once for all rows.
                times = self.rows if outer_of(clause.pattern) else 1.0
                work = self.rows + times * inner.work
                return _Step(clause, self.rows * SHARE_OF_BLOCK, work)
            case LeftJoin(pattern=pattern, variables=variables):
                inner = self._inner(pattern, _Wanted(frozenset(variables)))
                return _Step(clause, self.rows * max(1.0, inner.rows), self.rows * inner.work)
            case Union(blocks=blocks, variables=variables):
                wanted = _Wanted(frozenset(variables), folds=True)
                each = [self._inner(block, wanted) for block in blocks]
                rows, work = sum(b.rows for b in each), sum(b.work for b in each)
                return _Step(clause, self.rows * rows, self.rows * (1 + work))
            case _:
                raise AssertionError(f"{type(clause).__name__} holds no block")

    def _inner(self, pattern: Op, wanted: _Wanted) -> Ordered:
        key = id(pattern)
        if key not in self.blocks:
            self.blocks[key] = _pattern(pattern, wanted, self.estimator, self.types)
        return self.blocks[key]

    # Placing -------------------------------------------------------------------------------------

    def _expands(self) -> list[Expand]:
        return [c for c in self.waiting if isinstance(c, Expand)]

    def _placed(self, clause: Op) -> Op:
        match clause:
            case Expand():
                return self._directed(clause)
            case AntiJoin() | SemiJoin() | CountJoin() | LeftJoin():
                return replace(clause, source=self.op, pattern=self.blocks[id(clause.pattern)].op)
            case Union(blocks=blocks):
                ordered = tuple(self.blocks[id(block)].op for block in blocks)
                return replace(clause, source=self.op, blocks=ordered)
            case Filter():
                return replace(clause, source=self.op)
            case _:
                raise AssertionError(f"{type(clause).__name__} is not placed by itself")

    def _directed(self, walk: Expand) -> Expand:
        """Begun at the end that is bound; where both are, as it was."""
        if walk.origin in self.bound:
            is_bound = walk.target in self.bound
            types = walk.target_types if is_bound else self.types[walk.target]
            return replace(walk, source=self.op, target_types=types, is_target_bound=is_bound)
        return replace(
            walk,
            source=self.op,
            origin=walk.target,
            target=walk.origin,
            target_types=self.types[walk.origin],
            steps=tuple(turned(s) for s in walk.steps),
            is_target_bound=False,
        )


class _Used:
    """The variables that are still looked at, by the answer or by clauses that wait."""

    def __init__(self, walk: _Walk) -> None:
        self._live = walk.wanted.live
        self._mentions = walk.facts.mentions
        self._counts = Counter(v for c in walk.waiting for v in self._mentions[id(c)])
        self.is_on_unit = walk.is_on_unit
        self.bound = [v for v in walk.bound if v in self._live or self._counts[v]]

    def besides(self, clause: Op, variable: VariableName) -> bool:
        """Whether something other than this clause looks at the variable."""
        own = variable in self._mentions[id(clause)]
        return variable in self._live or self._counts[variable] > own


def _least(steps: Iterable[_Step]) -> _Step:
    return min(steps, key=lambda s: s.rows + s.work)
