"""Links: what a pattern says of the nodes that an answer shows whole, for a picture of the answer.

Every row of an answer is a match. Where the pattern walks from `$p` to `$f`, and both stand in
`return`, the two nodes of each row are joined by what was walked. Nothing has to be read for that.
"""

from collections.abc import Iterator, Mapping

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName, VariableName
from omnigraph.lang.plan.chain import chain, outer_of
from omnigraph.lang.plan.ir import (
    Aggregate,
    Column,
    ColumnOf,
    Direction,
    Distinct,
    EntityOf,
    Expand,
    Expression,
    IdentityOf,
    LeftJoin,
    Op,
    Project,
    PropertyOf,
    SemiJoin,
    ValueJoin,
)
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["Link", "Way", "links"]


@frozen
class Way:
    """One kind of edge that a link may stand for."""

    label: str
    """`Knows`, or `Knows{1,3}` for a way of many."""
    direction: Direction
    """As seen from the origin of the link."""
    origin_type: TypeName | None = None
    """The types that it leads from and to, in the order of the link; None: any."""
    target_type: TypeName | None = None


@frozen
class Link:
    """The nodes of two columns are joined in every row that has both."""

    origin: str
    """The column of whole nodes that the pattern walks from; `target` is the other."""
    target: str
    ways: tuple[Way, ...]
    """More than one for `$a knows|likes $b`: the types of the nodes may tell which it was."""
    is_path: bool
    """True if nodes that the answer does not tell may lie between."""
    properties: tuple[tuple[str, str], ...] = ()
    """What the answer tells of the edge: names of properties, each with its column."""


def links(plan: Project, catalog: Catalog) -> tuple[Link, ...]:
    """Those between columns of whole nodes. A walk inside of an `or` may not have been taken, and
    is left out."""
    expressions = {column.name: _made_of(column, plan) for column in plan.columns}
    shown: dict[VariableName, str] = {}
    for name, expression in expressions.items():
        if isinstance(expression, EntityOf):
            shown.setdefault(expression.variable, name)
    # A dict and not a set: a picture is the same in every process.
    found = {
        _link(walk, catalog, shown, expressions): None
        for walk in _certain(plan)
        if walk.origin in shown and walk.target in shown
    }
    return tuple(found)


def _made_of(column: Column, plan: Project) -> Expression:
    """The expression of a column, also where Aggregate or Distinct has made it."""
    made: dict[str, Expression] = {}
    for op in chain(plan):
        match op:
            case Aggregate(keys=columns) | Distinct(columns=columns):
                made |= {c.name: c.expression for c in columns}
            case _:
                pass
    expression = column.expression
    return made.get(expression.name, expression) if isinstance(expression, ColumnOf) else expression


def _certain(pattern: Op) -> Iterator[Expand]:
    """The walks that hold in each row that binds their ends."""
    for op in chain(pattern):
        match op:
            case Expand():
                yield op
            case ValueJoin(pattern=inner):
                yield from _certain(inner)
            case SemiJoin(pattern=inner):
                outer = outer_of(inner)
                yield from (w for w in _certain(inner) if w.origin in outer and w.target in outer)
            case LeftJoin(pattern=inner, variables=new):
                # A row without a match has nulls there, and is told apart by them alone.
                yield from (w for w in _certain(inner) if w.origin in new or w.target in new)
            case _:
                pass


def _link(
    walk: Expand,
    catalog: Catalog,
    shown: Mapping[VariableName, str],
    expressions: Mapping[str, Expression],
) -> Link:
    return Link(
        origin=shown[walk.origin],
        target=shown[walk.target],
        ways=_ways_of_many(walk) if walk.most_hops > 1 else _ways(walk, catalog),
        is_path=walk.most_hops > 1,
        properties=tuple(_told(walk.edge_variable, expressions)),
    )


def _ways(walk: Expand, catalog: Catalog) -> tuple[Way, ...]:
    found = []
    for step in walk.steps:
        edge = catalog.edge_by_name[step.edge]
        ends = edge.source, edge.target
        origin, target = ends[::-1] if step.direction is Direction.IN else ends
        found.append(Way(str(step.edge), step.direction, origin, target))
    return tuple(found)


def _ways_of_many(walk: Expand) -> tuple[Way, ...]:
    """Of several hops: which edges they were, nothing tells."""
    names = "|".join(dict.fromkeys(str(step.edge) for step in walk.steps))
    directions = {step.direction for step in walk.steps}
    direction = directions.pop() if len(directions) == 1 else Direction.BOTH
    return (Way(f"{names}{{{walk.least_hops},{walk.most_hops}}}", direction),)


def _told(
    edge: VariableName | None, expressions: Mapping[str, Expression]
) -> Iterator[tuple[str, str]]:
    for column, expression in expressions.items():
        match expression:
            case PropertyOf(variable=variable, name=name) if variable == edge:
                yield name, column
            case IdentityOf(variable=variable) if variable == edge:
                yield "id", column
            case _:
                pass
