"""The types and properties that a run names, as the catalog of a view has them."""

import sys
from collections.abc import Sequence

from omnigraph.base.errors import ArgumentInvalid, NameMissing
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar
from omnigraph.base.words import amount
from omnigraph.lang.schema.catalog import Catalog, EdgeType, Property

__all__ = ["check_total", "check_weights", "edge_types_of", "node_types_of", "weight_of"]


def edge_types_of(catalog: Catalog, names: Sequence[str] | None) -> tuple[EdgeType, ...]:
    """The edge types of these names, by name and each once; None: all that there are."""
    if names is None:
        if not catalog.edges:
            rule = "the schema has no edge type, so there is nothing to follow"
            raise ArgumentInvalid("edge", None, rule, "omnigraph schema show prints the schema")
        return catalog.edges
    found = {}
    for name in sorted(set(names)):
        edge = catalog.edge_by_name.get(name)
        if edge is None:
            raise NameMissing(what="edge type", name=name, known=tuple(catalog.edge_by_name))
        found[name] = edge
    return tuple(found.values())


def node_types_of(edges: Sequence[EdgeType]) -> list[TypeName]:
    """The node types that edges join, by name."""
    return sorted({end for edge in edges for end in (edge.source, edge.target)})


def weight_of(edge: EdgeType, name: str) -> Property:
    """The property of an edge type that is its weight."""
    found = edge.by_name.get(name)
    if found is None:
        raise NameMissing(
            what=f"property of {edge.name}", name=name, known=tuple(p.name for p in _numbers(edge))
        )
    if found not in _numbers(edge):
        raise ArgumentInvalid(
            "weight", name, f"{edge.name}.{name} is a {found.type}, and a weight is a number"
        )
    return found


def _numbers(edge: EdgeType) -> list[Property]:
    return [p for p in edge.properties if isinstance(p.type, Scalar) and p.type.is_numeric]


def check_weights(edge: str, weight: str, *, nulls: int, lowest: float) -> None:
    """Refuse weights that no algorithm can use; `nulls` edges have none."""
    if nulls:
        has = "has" if nulls == 1 else "have"
        rule = f"{amount(nulls, 'edge')} of {edge} {has} no value of it"
        raise ArgumentInvalid("weight", weight, rule, "give each edge one, or leave out weight")
    if lowest < 0:
        rule = f"edges of {edge} have values below 0: the lowest is {lowest:g}"
        raise ArgumentInvalid("weight", weight, rule, "a weight is 0 or more")


def check_total(weight: str, total: float) -> None:
    """Refuse weights that are too large to be added up: a sum that is infinite tells nothing.

    Twice the total, since a loop counts at both of its ends.
    """
    if not total <= sys.float_info.max / 2:
        rule = "the weights of all edges, added up, are more than a number can hold"
        raise ArgumentInvalid("weight", weight, rule, "write them in a larger unit")
