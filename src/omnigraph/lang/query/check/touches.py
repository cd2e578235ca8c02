"""Which types a query may look at and which it may change.

Reads are what the query could look at, not what it must: both ends of every edge it walks, the
target of every statement. Deleting a node removes the edges on it, so it writes those types too.
"""

from collections.abc import Iterable, Iterator, Sequence

from omnigraph.lang.query.check.typed import (
    Best,
    Bind,
    Counted,
    Delete,
    Either,
    InsertEdge,
    InsertNode,
    Maybe,
    Pattern,
    Statement,
    Touch,
    Traverse,
    Update,
    Where,
    With,
    Without,
)
from omnigraph.lang.schema.catalog import Catalog, EdgeType

__all__ = ["read_by", "written_by"]


def read_by(pattern: Pattern, catalog: Catalog) -> tuple[Touch, ...]:
    return _sorted(_touches(pattern, catalog))


def written_by(
    statements: Sequence[Statement], catalog: Catalog
) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
    """Reads and writes of a mutation."""
    reads: list[Touch] = []
    writes: list[Touch] = []
    for statement in statements:
        match statement:
            case InsertNode(type=name):
                touched = [Touch("node", name)]
            case InsertEdge(type=name):
                touched = [Touch("edge", name)]
                reads += _ends(catalog.edge_by_name[name])
            case Update(type=name, is_edge=is_edge):
                touched = [Touch("edge" if is_edge else "node", name)]
            case Delete(type=name, is_edge=True):
                touched = [Touch("edge", name)]
            case Delete(type=name):
                touched = [Touch("node", name)]
                touched += [
                    Touch("edge", e.name) for e in catalog.edges if name in (e.source, e.target)
                ]
        reads += touched
        writes += touched
    return _sorted(reads), _sorted(writes)


def _touches(pattern: Pattern, catalog: Catalog) -> Iterator[Touch]:
    for variable in pattern.variables:
        kind = "edge" if variable.is_edge else "node"
        yield from (Touch(kind, name) for name in variable.types)
    for clause in pattern.clauses:
        match clause:
            case Traverse(steps=steps):
                for step in steps:
                    yield Touch("edge", step.edge)
                    yield from _ends(catalog.edge_by_name[step.edge])
            case (
                Without(pattern=inner)
                | With(pattern=inner)
                | Counted(pattern=inner)
                | Maybe(pattern=inner)
            ):
                yield from _touches(inner, catalog)
            case Either(patterns=patterns):
                for inner in patterns:
                    yield from _touches(inner, catalog)
            case Bind() | Where() | Best():
                pass


def _ends(edge: EdgeType) -> tuple[Touch, Touch]:
    return Touch("node", edge.source), Touch("node", edge.target)


def _sorted(touches: Iterable[Touch]) -> tuple[Touch, ...]:
    return tuple(sorted(set(touches), key=lambda t: (t.kind, t.type_name)))
