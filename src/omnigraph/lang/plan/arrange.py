"""The clauses of a pattern in an order that never leaves what is bound if it can help it.

Each clause is placed once, as soon as it is ready: a test when its variables are bound, a traversal
when an end is, an `or` when the variables it borrows are. An `or` can also take the place of a
scan: where each of its blocks walks to a variable from what is bound, the `or` binds that variable.
A scan begins where the most is known of a node. `top` cuts the pattern in stages: what is written
before it, and what speaks of its variable alone, comes first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from omnigraph.base.ids import TypeName, VariableName
from omnigraph.lang.plan.chain import turned
from omnigraph.lang.plan.ir import (
    AntiJoin,
    Compare,
    CompareOp,
    CountJoin,
    Expand,
    Expression,
    Filter,
    IdentityOf,
    LeftJoin,
    NodeScan,
    Op,
    Outer,
    PropertyOf,
    SemiJoin,
    TopK,
    Union,
    Unit,
)
from omnigraph.lang.query.check.typed import (
    Best,
    Bind,
    Clause,
    Counted,
    Either,
    Maybe,
    Pattern,
    Traverse,
    Where,
    With,
    Without,
)
from omnigraph.lang.query.check.uses import scores_used_by, used_by, used_in
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["arrange"]

Types = dict[VariableName, tuple[TypeName, ...]]


def arrange(pattern: Pattern, catalog: Catalog) -> Op:
    """The operators that find the rows of a query's match."""
    types = {v.name: v.types for v in pattern.variables}
    arrangement = _Arrangement(catalog, types, Unit())
    rest = list(pattern.clauses)
    for best in [c for c in rest if isinstance(c, Best)]:
        stage = _stage(rest, best)
        later = [c for c in rest if c is not best and not any(c is s for s in stage)]
        rest = arrangement.take(stage) + later
        arrangement.place(best)
    left = arrangement.take(rest)
    assert not left, "every clause of a checked pattern finds its place"
    return arrangement.op


def _stage(clauses: Sequence[Clause], best: Best) -> list[Clause]:
    """The clauses before a `top`: those written before it and those about its variable.

    A score is there once its `top` was: what speaks of one waits for it, wherever it is written.
    """
    position = next(i for i, c in enumerate(clauses) if c is best)
    unranked = {c.variable for c in clauses if isinstance(c, Best)}
    return [
        c
        for i, c in enumerate(clauses)
        if not isinstance(c, Best) and (i < position or _is_about(c, best.variable))
        if unranked.isdisjoint(scores_used_by(c))
    ]


def _is_about(clause: Clause, variable: VariableName) -> bool:
    is_test = isinstance(clause, Bind | Where | Without | With | Counted)
    return is_test and set(used_by(clause)) == {variable}


@dataclass
class _Arrangement:
    """`op` so far, and the variables it binds."""

    catalog: Catalog
    types: Types
    op: Op
    bound: set[VariableName] = field(default_factory=set)

    def take(self, clauses: Iterable[Clause]) -> list[Clause]:
        """Place the clauses; those whose variables nothing here binds come back."""
        waiting = list(clauses)
        while (ready := self.next(waiting)) is not None:
            self.place(ready)
            waiting = [
                c
                for c in waiting
                if c is not ready and not (isinstance(c, Bind) and c.variable in self.bound)
            ]
        return waiting

    def next(self, waiting: Sequence[Clause]) -> Clause | None:
        """Narrowing clauses before widening ones; those that go on before those that begin anew."""
        ready = [c for c in waiting if self.bound.issuperset(_needs(c))]
        walks = [c for c in waiting if isinstance(c, Traverse)]
        closing = [w for w in walks if self.bound.issuperset((w.left, w.right))]
        leaving = [w for w in walks if self.leaves(w)]
        leaving.sort(key=lambda w: w.most_hops > 1)
        return next(
            _firsts(
                [c for c in ready if isinstance(c, Where)],
                closing,
                [c for c in ready if self.is_test(c)],
                leaving,
                [] if leaving else self.reaching(waiting),
                self.starts(waiting),
                [c for c in ready if isinstance(c, Maybe)],
            ),
            None,
        )

    def is_test(self, clause: Clause) -> bool:
        """A block that binds nothing new."""
        match clause:
            case Without() | With() | Counted():
                return True
            case Either(variables=variables):
                return self.bound.issuperset(variables)
            case _:
                return False

    def leaves(self, walk: Traverse) -> bool:
        """Exactly one end is bound."""
        return (walk.left in self.bound) != (walk.right in self.bound)

    def reaching(self, waiting: Sequence[Clause]) -> list[Clause]:
        """Each `or` that takes the place of a scan."""
        return [c for c in waiting if isinstance(c, Either) and self.reached_by(c)]

    def reached_by(self, either: Either) -> tuple[VariableName, ...]:
        """The variables of the surroundings that every block can walk to from what is bound.

        Empty if the `or` needs another variable that is not bound yet.
        """
        missing = [v for v in dict.fromkeys(_needs(either)) if v not in self.bound]
        reached = [self.walked_to(pattern) for pattern in either.patterns]
        is_reached = all(v in block for v in missing for block in reached)
        return tuple(missing) if is_reached else ()

    def walked_to(self, block: Pattern) -> set[VariableName]:
        """The variables that the traversals of a block lead to from the bound ones it uses."""
        reached = self.bound.intersection(block.outer)
        walks = [c for c in block.clauses if isinstance(c, Traverse)]
        while leaving := [w for w in walks if (w.left in reached) != (w.right in reached)]:
            reached.update(v for w in leaving for v in (w.left, w.right))
        return reached

    # Where to begin -----------------------------------------------------------------------------

    def starts(self, waiting: Sequence[Clause]) -> list[Clause]:
        """Scans and `or`s that could come next, the most selective first."""
        tests = _tests_by_variable(waiting)
        declared = {c.variable: None for c in waiting if isinstance(c, Bind)}
        ends = [e for c in waiting if isinstance(c, Traverse) for e in (c.left, c.right)]
        ranked: list[tuple[int, Clause]] = [
            (self.rank(tests.get(name, ()), is_declared=name in declared), Bind(name))
            for name in dict.fromkeys((*declared, *ends))
            if name not in self.bound
        ]
        ranked += [
            (3, c) for c in waiting if isinstance(c, Either) and self.bound.issuperset(_needs(c))
        ]
        return [clause for _, clause in sorted(ranked, key=lambda r: r[0])]

    def rank(self, tests: Sequence[Where], *, is_declared: bool) -> int:
        """How little is known of a variable that these tests alone are about."""
        equal = [e for c in tests for e in _equal_to_constant(c)]
        if any(self.is_key(e) for e in equal):
            return 0
        if equal:
            return 1
        if tests:
            return 2
        return 4 if is_declared else 5

    def is_key(self, expression: Expression) -> bool:
        match expression:
            case IdentityOf():
                return True
            case PropertyOf(variable=variable, name=name):
                nodes = [self.catalog.node_by_name.get(t) for t in self.types[variable]]
                return all(n and n.key == (name,) for n in nodes)
            case _:
                return False

    # Operators ----------------------------------------------------------------------------------

    def place(self, clause: Clause) -> None:
        match clause:
            case Bind(variable=variable):
                self.scan(variable)
            case Traverse():
                self.expand(clause)
            case Where(predicate=predicate):
                self.op = Filter(self.op, predicate)
            case Without(pattern=pattern):
                self.op = AntiJoin(self.op, self.inner(pattern))
            case With(pattern=pattern):
                self.op = SemiJoin(self.op, self.inner(pattern))
            case Counted(pattern=pattern, op=op, bound=bound):
                self.op = CountJoin(self.op, self.inner(pattern), op, bound)
            case Maybe(pattern=pattern):
                variables = tuple(v.name for v in pattern.variables)
                if variables:
                    self.op = LeftJoin(self.op, self.inner(pattern), variables)
                    self.bound.update(variables)
            case Either(patterns=patterns, variables=variables):
                fresh = (*variables, *self.reached_by(clause))
                self.op = Union(self.op, tuple(self.inner(p) for p in patterns), fresh)
                self.bound.update(fresh)
            case Best(variable=variable, ranking=ranking, k=k):
                if variable not in self.bound:
                    self.scan(variable)
                self.op = TopK(self.op, variable, ranking, k)

    def scan(self, variable: VariableName) -> None:
        self.op = NodeScan(self.op, variable, self.types[variable])
        self.bound.add(variable)

    def expand(self, walk: Traverse) -> None:
        is_forward = walk.left in self.bound
        origin, target = (walk.left, walk.right) if is_forward else (walk.right, walk.left)
        self.op = Expand(
            self.op,
            origin=origin,
            target=target,
            target_types=self.types[target],
            steps=walk.steps if is_forward else tuple(turned(s) for s in walk.steps),
            least_hops=walk.least_hops,
            most_hops=walk.most_hops,
            edge_variable=walk.edge_variable,
            is_target_bound=target in self.bound,
        )
        self.bound.add(target)
        if walk.edge_variable:
            self.bound.add(walk.edge_variable)

    def inner(self, pattern: Pattern) -> Op:
        """A block, begun from the bound variables of its surroundings that it uses."""
        own = {v.name: v.types for v in pattern.variables}
        outer = tuple(v for v in pattern.outer if v in self.bound)
        arrangement = _Arrangement(self.catalog, self.types | own, Outer(outer), set(outer))
        left = arrangement.take(pattern.clauses)
        assert not left, "every clause of a checked block finds its place"
        return arrangement.op


def _needs(clause: Clause) -> set[VariableName]:
    """The variables that must be bound before the clause; those it binds itself need not be."""
    match clause:
        case Maybe(pattern=pattern):
            return set(pattern.outer)
        case Either(patterns=patterns):
            return {v for p in patterns for v in p.outer}
        case _:
            return set(used_by(clause))


def _tests_by_variable(clauses: Iterable[Clause]) -> dict[VariableName, list[Where]]:
    """The tests of one variable alone."""
    tests: dict[VariableName, list[Where]] = {}
    for clause in clauses:
        if isinstance(clause, Where) and len(used := set(used_by(clause))) == 1:
            tests.setdefault(used.pop(), []).append(clause)
    return tests


def _firsts(*kinds: Sequence[Clause]) -> Iterator[Clause]:
    return (kind[0] for kind in kinds if kind)


def _equal_to_constant(clause: Where) -> Iterator[Expression]:
    """The sides of an equality whose other side speaks of no variable."""
    match clause.predicate:
        case Compare(op=CompareOp.EQ, left=left, right=right):
            if not any(used_in(right)):
                yield left
            if not any(used_in(left)):
                yield right
        case _:
            pass
