"""A scope: the part of all graphs of one schema that a caller may see, made once and shared.

Some types and properties are not there for the caller, and of some types only the rows that meet a
condition. So the scope has a catalog of its own. An edge type goes with the types of its ends. A
type whose key has a hidden property goes too, since ids are made of keys, and so does a vector
that is made of a hidden text.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.conditions import (
    ALWAYS,
    Condition,
    check_condition,
    renamed_fields,
    simplify,
)
from omnigraph.lang.plan.ir import PropertyOf
from omnigraph.lang.schema.catalog import (
    Catalog,
    Check,
    Constraint,
    EdgeType,
    EntityType,
    Index,
    InterfaceType,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph.read.values.rows import column_of

__all__ = ["HiddenProperties", "Restriction", "Scope", "in_columns"]

E = TypeVar("E", NodeType, EdgeType)

HiddenProperties = Mapping[TypeName, frozenset[str]]

NO_PROPERTIES: HiddenProperties = MappingProxyType({})


@frozen(slots=False, eq=False)
class Restriction:
    """The conditions that decide which rows of one type are shown: part of a cache's key."""

    own: Condition
    source: Condition = ALWAYS
    """Of an edge type: the condition of the type its edges begin at."""
    target: Condition = ALWAYS

    @property
    def parts(self) -> tuple[Condition, Condition, Condition]:
        return self.own, self.source, self.target

    @cached_property
    def _hash(self) -> int:
        return hash(self.parts)

    # A query looks up a dozen things by it, and to hash a tree takes longer than most look-ups.
    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        is_alike = isinstance(other, Restriction) and hash(self) == hash(other)
        return is_alike and self.parts == other.parts  # type: ignore[attr-defined]


@frozen(slots=False, eq=False)
class Scope:
    catalog: Catalog
    """The types and properties that are there for the caller."""
    conditions: Mapping[TypeName, Condition]
    """What rows of a type must meet, in names of columns; of other types all rows are shown."""
    hidden: Hashable = None
    """Equal for scopes whose catalogs of one schema are equal; None: nothing is taken away."""
    lacking: frozenset[TypeName] = frozenset()
    """The types that have hidden properties."""

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        rows: Mapping[TypeName, Condition],
        *,
        hidden_types: frozenset[TypeName] = frozenset(),
        hidden_properties: HiddenProperties = NO_PROPERTIES,
    ) -> "Scope":
        """What is left of a catalog. Conditions may look at properties that are hidden."""
        whole = {entity.name: entity for entity in catalog.entities}
        lacking = _with_vectors(whole, hidden_properties)
        seen = _reduced(catalog, hidden_types, lacking)
        conditions = {
            entity.name: condition
            for entity in seen.entities
            if (condition := in_columns(rows.get(entity.name, ALWAYS), whole[entity.name]))
            != ALWAYS
        }
        hidden = None if seen is catalog else _names_in(seen)
        return cls(seen, conditions, hidden, frozenset(lacking))

    @cached_property
    def identity(self) -> Hashable:
        """Equal for scopes of one schema that show the same; None: this one shows everything."""
        if not self.conditions and self.hidden is None:
            return None
        return frozenset(self.conditions.items()), self.hidden

    @cached_property
    def restrictions(self) -> Mapping[TypeName, Restriction]:
        """What decides about rows of a type, where some may be hidden: edges by their ends too."""
        conditions = self.conditions
        nodes = {name: Restriction(c) for name, c in conditions.items()}
        edges = {
            edge.name: Restriction(
                *(conditions.get(name, ALWAYS) for name in (edge.name, edge.source, edge.target))
            )
            for edge in self.catalog.edges
            if not {edge.name, edge.source, edge.target}.isdisjoint(conditions)
        }
        return {**nodes, **edges}


def in_columns(condition: Condition, entity: EntityType) -> Condition:
    """The condition in names of columns, which no rename changes, and in few words."""
    check_condition(condition)

    def column(field: PropertyOf) -> str:
        return column_of(field, entity)

    return simplify(renamed_fields(condition, column))


# Catalogs -----------------------------------------------------------------------------------------


def _names_in(catalog: Catalog) -> Hashable:
    """The names that a catalog has, which of one schema tell it from others."""
    return frozenset(
        (each.name, frozenset(p.name for p in each.properties))
        for each in (*catalog.entities, *catalog.interfaces)
    )


def _with_vectors(
    whole: Mapping[TypeName, EntityType], hidden: HiddenProperties
) -> HiddenProperties:
    """The hidden properties, and the vectors made of them; a type without any is left out."""
    found = {}
    for name, properties in hidden.items():
        if name in whole and (there := properties & whole[name].by_name.keys()):
            made = {
                p.name
                for p in whole[name].properties
                if p.embed is not None and p.embed.source in there
            }
            found[name] = frozenset(there | made)
    return found


def _reduced(
    catalog: Catalog, hidden_types: frozenset[TypeName], hidden: HiddenProperties
) -> Catalog:
    """The catalog without what is hidden; the same one, if nothing is."""
    gone = {e.name for e in catalog.entities if e.name in hidden_types}
    gone |= {
        e.name for e in catalog.entities if not hidden.get(e.name, frozenset()).isdisjoint(e.key)
    }
    gone |= {e.name for e in catalog.edges if not gone.isdisjoint((e.source, e.target))}
    if not gone and not hidden:
        return catalog
    nodes = [_without(node, hidden) for node in catalog.nodes if node.name not in gone]
    edges = [_without(edge, hidden) for edge in catalog.edges if edge.name not in gone]
    interfaces = tuple(
        _interface(each, [node for node in nodes if each.name in node.interfaces])
        for each in catalog.interfaces
        if not _is_gone(each, catalog, gone)
    )
    return Catalog(tuple(nodes), tuple(edges), interfaces, catalog.next_id)


def _without(entity: E, hidden: HiddenProperties) -> E:
    names = hidden.get(entity.name, frozenset())
    if not names:
        return entity
    kept = tuple(p for p in entity.properties if p.name not in names)
    rules = tuple(c for c in entity.constraints if names.isdisjoint(_named_by(c)))
    return replace(entity, properties=kept, constraints=rules)


def _named_by(constraint: Constraint) -> Iterable[str]:
    match constraint:
        case Unique(properties=properties) | Index(properties=properties):
            return properties
        case Range(property=name) | Check(property=name):
            return (name,)


def _is_gone(interface: InterfaceType, catalog: Catalog, gone: set[TypeName]) -> bool:
    """True if all types that have the interface are hidden."""
    having = catalog.implementers(interface.name)
    return bool(having) and all(node.name in gone for node in having)


def _interface(interface: InterfaceType, having: list[NodeType]) -> InterfaceType:
    """With the properties that all types still have."""

    def is_shared(property_: Property) -> bool:
        return all(property_.name in node.by_name for node in having)

    return replace(interface, properties=tuple(filter(is_shared, interface.properties)))
