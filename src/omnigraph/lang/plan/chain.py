"""A plan as the chain it is: operators from the leaf up, what each needs bound, what it binds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from omnigraph.base.ids import TypeName, VariableName
from omnigraph.lang.plan.ir import (
    AntiJoin,
    Compare,
    CompareOp,
    CountJoin,
    Direction,
    EdgeStep,
    Expand,
    Filter,
    LeftJoin,
    Membership,
    NodeScan,
    Op,
    Outer,
    PropertyOf,
    SemiJoin,
    TopK,
    Union,
    Unit,
    ValueJoin,
)
from omnigraph.lang.query.check.uses import used_in, used_in_predicate

__all__ = [
    "binds",
    "chain",
    "compared_properties",
    "loosened",
    "mentions",
    "needs",
    "operators",
    "outer_of",
    "relinked",
    "turned",
    "types_bound",
]


def chain(op: Op) -> list[Op]:
    """The operator and its sources, the leaf first."""
    found = [op]
    while not isinstance(op, Unit | Outer):
        op = op.source
        found.append(op)
    return found[::-1]


def relinked(op: Op, clauses: Iterable[Op]) -> Op:
    """The clauses, in this order, over the operator."""
    for clause in clauses:
        assert not isinstance(clause, Unit | Outer), "a leaf stands on nothing"
        op = replace(clause, source=op)
    return op


def loosened(clauses: Iterable[Op]) -> list[Op]:
    """The clauses without joins by value: a join is its pattern's clauses and its tests."""
    loose: list[Op] = []
    for clause in clauses:
        if isinstance(clause, ValueJoin):
            leaf, *inner = chain(clause.pattern)
            loose += [*loosened(inner), *(Filter(leaf, test) for test in clause.tests)]
        else:
            loose.append(clause)
    return loose


def operators(op: Op) -> Iterator[Op]:
    """All operators of a plan, those of blocks too, each after what it stands on."""
    for link in chain(op):
        match link:
            case AntiJoin() | SemiJoin() | CountJoin() | LeftJoin() | ValueJoin():
                yield from operators(link.pattern)
            case Union(blocks=blocks):
                for block in blocks:
                    yield from operators(block)
            case _:
                pass
        yield link


def compared_properties(plan: Op) -> frozenset[str]:
    """The properties that a value is looked for in; it helps to know how many they have."""
    found = set()
    for op in operators(plan):
        match op:
            case Filter(predicate=Compare() as test):
                found |= _compared_in(test)
            case ValueJoin(tests=tests):
                found |= {name for test in tests for name in _compared_in(test)}
            case Filter(predicate=Membership(left=PropertyOf(name=name))):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def _compared_in(test: Compare) -> set[str]:
    if test.op is not CompareOp.EQ:
        return set()
    return {side.name for side in (test.left, test.right) if isinstance(side, PropertyOf)}


def outer_of(pattern: Op) -> tuple[VariableName, ...]:
    """The variables of the enclosing pattern that a sub-pattern begins with."""
    leaf = chain(pattern)[0]
    return leaf.variables if isinstance(leaf, Outer) else ()


def binds(op: Op) -> Iterator[VariableName]:
    """The variables that the operator binds for those above it."""
    match op:
        case NodeScan(variable=variable):
            yield variable
        case Expand(target=target, edge_variable=edge, is_target_bound=is_target_bound):
            if not is_target_bound:
                yield target
            if edge is not None:
                yield edge
        case LeftJoin(variables=variables) | Union(variables=variables):
            yield from variables
        case ValueJoin(pattern=pattern):
            for link in chain(pattern):
                yield from binds(link)
        case Outer(variables=variables):
            yield from variables
        case _:
            pass


def needs(op: Op) -> Iterator[VariableName]:
    """The variables of its source that the operator looks at."""
    match op:
        case Expand(origin=origin, target=target, is_target_bound=is_target_bound):
            yield origin
            if is_target_bound:
                yield target
        case Filter(predicate=predicate):
            yield from used_in_predicate(predicate)
        case ValueJoin(tests=tests):
            for test in tests:
                yield from used_in(test.left)
        case (
            AntiJoin(pattern=pattern)
            | SemiJoin(pattern=pattern)
            | CountJoin(pattern=pattern)
            | LeftJoin(pattern=pattern)
        ):
            yield from outer_of(pattern)
        case Union(blocks=blocks):
            for block in blocks:
                yield from outer_of(block)
        case TopK(variable=variable):
            yield variable
        case _:
            pass


def mentions(op: Op) -> Iterator[VariableName]:
    """The variables that the operator binds or looks at, whichever end a traversal begins at."""
    yield from needs(op)
    yield from binds(op)


def turned(step: EdgeStep) -> EdgeStep:
    """The same edges, walked the other way."""
    match step.direction:
        case Direction.OUT:
            return EdgeStep(step.edge, Direction.IN)
        case Direction.IN:
            return EdgeStep(step.edge, Direction.OUT)
        case Direction.BOTH:
            return step


def types_bound(clauses: Sequence[Op]) -> dict[VariableName, tuple[TypeName, ...]]:
    """The types of the variables that scans and traversals bind, of blocks' inner ones too."""
    found: dict[VariableName, tuple[TypeName, ...]] = {}
    for clause in clauses:
        match clause:
            case NodeScan(variable=variable, types=types):
                found[variable] = types
            case Expand(target=target, target_types=types, steps=steps, edge_variable=edge):
                if not clause.is_target_bound:
                    found[target] = types
                if edge is not None:
                    found[edge] = tuple(step.edge for step in steps)
            case LeftJoin(pattern=pattern) | ValueJoin(pattern=pattern):
                found |= types_bound(chain(pattern))
            case Union(blocks=blocks):
                for block in blocks:
                    inner = types_bound(chain(block))
                    found |= {v: (*found.get(v, ()), *t) for v, t in inner.items()}
            case _:
                pass
    return found
