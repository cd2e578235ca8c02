"""Where a pattern begins and in which order it goes on, by the rows to expect.

Clauses of a pattern commute: any order that binds a variable before it is used means the same. From
every variable that a pattern could begin with, a walk takes the cheapest next step until all is
placed, tests as soon as they can be asked; the cheapest walk wins. A traversal may run from either
end. `top` is a wall: what lies below it decides what it keeps. An `optional` waits for everything
that does not look at it, since it can only add rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

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
    Expression,
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
    walk = _Walk(leaf, frozenset(binds(leaf)), types, wanted, estimator)
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
    ready = replace(walk, free=frozenset(free), waiting=waiting)
    begun = [ready] if walk.bound or not free else [ready.scan(v) for v in free]
    # A walk sees one step ahead, and two small tables look cheap to multiply until it turns out
    # that many rows must pass between them: each beginning is tried without products as well.
    begun += [replace(start, multiplies=False) for start in begun]
    done = [found for start in begun if (found := start.to_the_end()) is not None]
    assert done, "every clause of a plan finds its place"
    return min(done, key=lambda found: found.work)


def _is_free(clause: Op, variable: VariableName) -> bool:
    """Whether a scan may bind the variable in place of the clause that does."""
    return isinstance(clause, NodeScan) or (
        isinstance(clause, Expand) and clause.target == variable
    )


@frozen
class _Step:
    """A clause that could come next: the rows after it and the work it takes."""

    clause: "Op | VariableName | _Tie"
    """A variable stands for a scan of it, a tie for a join."""
    rows: float
    work: float


@frozen
class _Tie:
    """An equality between what is there and a variable that is not there yet."""

    test: Filter
    here: Expression
    there: Expression
    variable: VariableName


@frozen
class _Walk:
    """An order in the making. Every step gives a new one."""

    op: Op
    bound: Names
    types: Types
    wanted: _Wanted
    estimator: Estimator
    free: Names = frozenset()
    """Variables that a scan may bind."""
    waiting: tuple[Op, ...] = ()
    multiplies: bool = True
    """Whether a product may come before a traversal."""
    rows: float = 1.0
    work: float = 0.0
    blocks: dict[int, Ordered] = field(default_factory=dict)
    """Sub-patterns in their new order, by the identity of the old; shared by all walks."""

    def to_the_end(self) -> "_Walk | None":
        walk = self
        while (following := walk.next()) is not None:
            walk = following
        return None if walk.waiting or walk.free - walk.bound else walk

    def next(self) -> "_Walk | None":
        """Tests first, then whatever is least work, then products, and optional blocks last."""
        for steps in (self._filters(), self._closing(), self._tests(), self._going_on()):
            if steps:
                return self.take(min(steps, key=lambda s: s.rows + s.work))
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
        """All nodes of the variable, and at once what is asked of it alone."""
        scanned = self._scanned(variable)
        walk = replace(
            self,
            op=NodeScan(self.op, variable, self.types[variable]),
            bound=self.bound | {variable},
            rows=self.rows * self.estimator.size(self.types[variable]),
        )
        for test in self._own_tests(variable):
            walk = replace(
                walk,
                op=replace(test, source=walk.op),
                waiting=tuple(c for c in walk.waiting if c is not test),
            )
        return replace(walk, rows=scanned.rows, work=self.work + scanned.work + scanned.rows)

    def join(self, tie: _Tie, step: _Step) -> "_Walk":
        """The nodes of the variable whose value is that of the rows, after its own tests."""
        tests = self._own_tests(tie.variable)
        scanned = NodeScan(Unit(), tie.variable, self.types[tie.variable])
        return replace(
            self,
            op=ValueJoin(self.op, relinked(scanned, tests), tie.here, tie.there),
            bound=self.bound | {tie.variable},
            waiting=tuple(c for c in self.waiting if c is not tie.test and c not in tests),
            rows=step.rows,
            work=self.work + step.work + step.rows,
        )

    # What could come next ------------------------------------------------------------------------

    def _ready(self, *kinds: type[Op]) -> list[Op]:
        return [c for c in self.waiting if isinstance(c, kinds) and self.bound.issuperset(needs(c))]

    def _filters(self) -> list[_Step]:
        return [
            _Step(c, self.rows * self.estimator.share(c.predicate, self.types), self.rows)
            for c in self._ready(Filter)
            if isinstance(c, Filter)
        ]

    def _closing(self) -> list[_Step]:
        """Traversals between two nodes that are both there."""
        steps = []
        for walk in self._expands():
            if walk.origin in self.bound and walk.target in self.bound:
                one = self._reached(walk, walk.origin, walk.target)
                size = self.estimator.size(self.types.get(walk.target, ()))
                work = self.rows if walk.most_hops == 1 else self.rows * one
                steps.append(_Step(walk, self.rows * min(1.0, one / size), work))
        return steps

    def _tests(self) -> list[_Step]:
        return [self._block(c) for c in self._ready(AntiJoin, SemiJoin, CountJoin)]

    def _going_on(self) -> list[_Step]:
        blocks = (self._block(c) for c in self._ready(Union))
        tied = [*self._leaving(), *self._ties(), *blocks]
        return tied if tied and not self.multiplies else [*tied, *self._products()]

    def _leaving(self) -> list[_Step]:
        steps = []
        for walk in self._expands():
            for near, far in ((walk.origin, walk.target), (walk.target, walk.origin)):
                if near in self.bound and far not in self.bound and far in self.free:
                    steps.append(self._left(walk, near, far))
        return steps

    def _left(self, walk: Expand, near: VariableName, far: VariableName) -> _Step:
        reached = self._reached(walk, near, far)
        touched = self.rows * reached
        live = self.wanted.live.union(*(mentions(c) for c in self.waiting if c is not walk))
        if self.wanted.folds and far not in live and walk.edge_variable not in live:
            return _Step(walk, self.rows * min(1.0, reached), self.rows)
        if self.wanted.folds and isinstance(chain(self.op)[0], Unit) and not self.bound & live:
            edges = self.estimator.edges(walk.steps, (), ()) if walk.most_hops == 1 else touched
            size = self.estimator.size(self.types[far])
            return _Step(walk, min(touched, size), min(touched, edges))
        return _Step(walk, touched, touched)

    def _ties(self) -> Iterator[_Step]:
        for test in self.waiting:
            match test:
                case Filter(predicate=Compare(op=CompareOp.EQ, left=left, right=right)):
                    for here, there in ((left, right), (right, left)):
                        yield from self._tied(test, here, there)
                case _:
                    pass

    def _tied(self, test: Filter, here: Expression, there: Expression) -> Iterator[_Step]:
        near, far = set(used_in(here)), set(used_in(there))
        if near and self.bound >= near and len(far) == 1 and far <= self.free - self.bound:
            (variable,) = far
            scanned = self._scanned(variable)
            rows = scanned.rows * self.estimator.share(test.predicate, self.types)
            tie = _Tie(test, here, there, variable)
            yield _Step(tie, rows, scanned.work + self.rows + rows)

    def _products(self) -> Iterator[_Step]:
        for variable in sorted(self.free - self.bound):
            scanned = self._scanned(variable)
            rows = scanned.rows * PRODUCT_PENALTY if self.bound else scanned.rows
            yield _Step(variable, rows, scanned.work)

    def _scanned(self, variable: VariableName) -> _Step:
        size = self.estimator.size(self.types[variable])
        found = size
        for test in self._own_tests(variable):
            found *= self.estimator.share(test.predicate, self.types)
        # One row in all is a key, and keys are looked up.
        work = 1.0 if found <= 1 < size else size
        return _Step(variable, self.rows * found, work)

    def _own_tests(self, variable: VariableName) -> list[Filter]:
        """The tests of the variable alone, the most selective first."""
        own = [c for c in self.waiting if isinstance(c, Filter) and set(needs(c)) == {variable}]
        return sorted(own, key=lambda c: self.estimator.share(c.predicate, self.types))

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

    def _reached(self, walk: Expand, near: VariableName, far: VariableName) -> float:
        steps = walk.steps if near == walk.origin else tuple(turned(s) for s in walk.steps)
        return self.estimator.reached(
            steps,
            self.types.get(near, ()),
            self.types.get(far, ()),
            least_hops=walk.least_hops,
            most_hops=walk.most_hops,
        )

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
