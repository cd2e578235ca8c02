"""Variables that are not used become tests: it is enough that they could be bound.

Where equal rows count as one (below `distinct`, below aggregates that ignore repeats, inside
`exists` and `not`), clauses that hang together by variables that are not used only say that some
binding exists. As a SemiJoin they leave the rows as many as they were, where two such branches
would otherwise multiply each other. It is not always less work: a branch may be the best place to
begin. So each is tried, and kept if the plan as a whole is expected to be cheaper.

Where rows keep their multiplicity nothing is changed: there a variable counts even if it is not
looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.chain import (
    binds,
    chain,
    loosened,
    mentions,
    outer_of,
    relinked,
    types_bound,
)
from omnigraph.lang.plan.ir import (
    Aggregate,
    AggregateFunction,
    AggregateOf,
    AntiJoin,
    Column,
    Distinct,
    Expand,
    LeftJoin,
    Limit,
    NodeScan,
    Nothing,
    Op,
    Outer,
    Project,
    SemiJoin,
    Sort,
    TopK,
)
from omnigraph.lang.plan.rules.order import Names, Types, order_pattern
from omnigraph.lang.plan.stats import Estimator
from omnigraph.lang.query.check.uses import used_in

__all__ = ["reduce_to_existence"]

MAX_CLAUSES_ORDERED = 200
"""For one pattern, over all branches that are tried as a test: some tens of milliseconds."""


def reduce_to_existence(plan: Project, estimator: Estimator) -> Project:
    return replace(plan, source=_below(plan.source, estimator))


def _below(op: Op, estimator: Estimator) -> Op:
    match op:
        case Limit() | Sort():
            return replace(op, source=_below(op.source, estimator))
        case Aggregate(source=source, keys=keys, aggregates=aggregates):
            if all(_ignores_repeats(column) for column in aggregates):
                live = _used((*keys, *aggregates))
                return replace(op, source=_reduced(source, live, {}, estimator))
            return replace(op, source=_with_blocks(source, {}, estimator))
        case Distinct(source=source, columns=columns):
            return replace(op, source=_reduced(source, _used(columns), {}, estimator))
        case _:
            return _with_blocks(op, {}, estimator)


def _used(columns: Sequence[Column]) -> Names:
    return frozenset(v for column in columns for v in used_in(column.expression))


def _ignores_repeats(column: Column) -> bool:
    made = column.expression
    assert isinstance(made, AggregateOf), "only aggregates are aggregated"
    extremes = (AggregateFunction.MIN, AggregateFunction.MAX)
    return made.is_distinct or made.function in extremes


def _with_blocks(op: Op, types: Types, estimator: Estimator) -> Op:
    """The pattern as it is, and the blocks in it that are only asked whether they have a row."""
    leaf, *clauses = chain(op)
    types = {**types, **types_bound(clauses)}
    kept: list[Op] = []
    for clause in clauses:
        match clause:
            case AntiJoin(pattern=pattern) | SemiJoin(pattern=pattern):
                live = frozenset(outer_of(pattern))
                inner = _reduced(pattern, live, types, estimator)
                kept.append(replace(clause, pattern=inner))
            case _:
                kept.append(clause)
    return relinked(leaf, kept)


def _reduced(op: Op, live: Names, types: Types, estimator: Estimator) -> Op:
    op = _with_blocks(op, types, estimator)
    leaf, *clauses = chain(op)
    if any(isinstance(clause, TopK | Nothing) for clause in clauses):
        return op
    op = relinked(leaf, _without_idle_options(clauses, live))
    best = order_pattern(op, live, estimator, types)
    branches = _branches(leaf, loosened(clauses), live)
    for branch in branches[: max(1, MAX_CLAUSES_ORDERED // len(chain(op)))]:
        tried = order_pattern(_tested(best.op, branch, live), live, estimator, types)
        if tried.work < best.work:
            best = tried
    return best.op


def _without_idle_options(clauses: Sequence[Op], live: Names) -> Iterator[Op]:
    """An `optional` whose variables are not used gives each row at least once: as it was."""
    for clause in clauses:
        if isinstance(clause, LeftJoin):
            others = (v for c in clauses if c is not clause for v in mentions(c))
            if live.union(others).isdisjoint(clause.variables):
                continue
        yield clause


def _branches(leaf: Op, clauses: Sequence[Op], live: Names) -> list[Names]:
    """Variables that hang together by clauses and are not used; those of the leaf stay."""
    stay = live.union(binds(leaf))
    branches: list[Names] = []
    for clause in clauses:
        own = frozenset(mentions(clause)) - stay
        if own:
            joined = [b for b in branches if b & own]
            branches = [b for b in branches if not b & own]
            branches.append(own.union(*joined))
    return branches


def _tested(op: Op, branch: Names, live: Names) -> Op:
    """The pattern with the clauses of a branch as one test, or as it was where that can't be."""
    leaf, *joined = chain(op)
    clauses = loosened(joined)
    inside = [c for c in clauses if branch.intersection(mentions(c))]
    shared = tuple(dict.fromkeys(v for c in inside for v in mentions(c) if v not in branch))
    lost = [v for c in inside for v in binds(c) if v in shared]
    if any(not _is_end(c, v) for c in inside for v in binds(c) if v in shared):
        return op
    types = types_bound(clauses)
    rest = [NodeScan(leaf, v, types[v]) for v in lost]
    others = [c for c in clauses if not branch.intersection(mentions(c))]
    pattern = relinked(Outer(shared), inside)
    return relinked(leaf, [*rest, *others, SemiJoin(leaf, pattern)])


def _is_end(clause: Op, variable: VariableName) -> bool:
    """Whether a scan can bind what the clause binds."""
    return isinstance(clause, Expand) and clause.target == variable
