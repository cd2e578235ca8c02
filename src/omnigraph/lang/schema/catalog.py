"""The catalog: what a schema means, with nothing of how it was written.

Everything downstairs and upstairs asks the catalog and never the text. Types and properties have a
stable id that survives renames; names map to physical columns here, so that a rename or a property
called `id` never touches data. A catalog never changes: a migration makes a new one.

The order of declarations means nothing, so the catalog keeps types and properties sorted by name;
the order of a key's properties means a lot (ids are derived from it) and is kept as first written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import PropertyId, TableKey, TypeId, TypeName
from omnigraph.base.types import Value, ValueType

__all__ = [
    "DST",
    "ID",
    "SRC",
    "Cardinality",
    "Catalog",
    "Check",
    "Constraint",
    "EdgeType",
    "Embed",
    "EntityType",
    "Index",
    "InterfaceType",
    "NodeType",
    "Property",
    "Range",
    "Unique",
    "shown_property",
    "sorted_constraints",
]

ID = "id"
SRC = "src"
DST = "dst"


@frozen
class Embed:
    """The vector is made from the text of `source` by `model`."""

    source: str
    model: str | None


@frozen
class Property:
    id: PropertyId
    name: str
    column: str
    """The physical column; differs from the name after a rename or where the name is taken."""
    type: ValueType
    is_nullable: bool
    default: Value = None
    fill: Value = None
    """What rows got that were there before the property: its default at that time."""
    embed: Embed | None = None
    annotations: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """`description`, `instruction` and whatever else the author wrote, kept as metadata."""

    @property
    def is_required(self) -> bool:
        return not self.is_nullable and self.default is None


@frozen
class Unique:
    properties: tuple[str, ...]


@frozen
class Index:
    properties: tuple[str, ...]
    kind: Literal["ngram"] | None = None
    """None: the property's type picks the kind."""


@frozen
class Range:
    """Inclusive; None is an open end."""

    property: str
    low: int | float | None
    high: int | float | None


@frozen
class Check:
    """An RE2 pattern that must match somewhere in the value."""

    property: str
    pattern: str


Constraint = Unique | Index | Range | Check


def sorted_constraints(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """In an order of their own, since the order of writing means nothing."""
    return tuple(sorted(constraints, key=lambda c: (type(c).__name__, repr(c))))


@frozen
class Cardinality:
    """How many edges of a type one source node may have; `most` None is unbounded."""

    least: int = 0
    most: int | None = None

    @property
    def is_free(self) -> bool:
        return self.least == 0 and self.most is None


@frozen(slots=False)
class NodeType:
    id: TypeId
    name: TypeName
    properties: tuple[Property, ...]
    key: tuple[str, ...] = ()
    """Property names in key order; empty: rows get a ULID."""
    constraints: tuple[Constraint, ...] = ()
    interfaces: tuple[TypeName, ...] = ()
    annotations: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    """Columns of dropped properties: never used again, so a column means one property for ever."""

    @property
    def table_key(self) -> TableKey:
        return TableKey(f"node:{self.name}")

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        return {p.name: p for p in self.properties}


@frozen(slots=False)
class EdgeType:
    id: TypeId
    name: TypeName
    source: TypeName
    target: TypeName
    properties: tuple[Property, ...]
    cardinality: Cardinality = Cardinality()
    key: tuple[str, ...] = ()
    """`src`, `dst`, then properties, in key order; empty: a multiset by ULID."""
    constraints: tuple[Constraint, ...] = ()
    annotations: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    """As of a node type."""

    @property
    def table_key(self) -> TableKey:
        return TableKey(f"edge:{self.name}")

    @property
    def query_name(self) -> str:
        """How a query writes it: `WorksAt` is `worksAt`."""
        return self.name[0].lower() + self.name[1:]

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        return {p.name: p for p in self.properties}


EntityType = NodeType | EdgeType


@frozen(slots=False)
class InterfaceType:
    """Properties that several node types share. It has no table, so its properties have id 0."""

    name: TypeName
    properties: tuple[Property, ...]
    annotations: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        return {p.name: p for p in self.properties}


@frozen(slots=False)
class Catalog:
    """Types sorted by name. `next_id` is one above every type and property id ever given."""

    nodes: tuple[NodeType, ...]
    edges: tuple[EdgeType, ...]
    interfaces: tuple[InterfaceType, ...] = ()
    next_id: int = 1

    @cached_property
    def node_by_name(self) -> Mapping[str, NodeType]:
        return {n.name: n for n in self.nodes}

    @cached_property
    def edge_by_name(self) -> Mapping[str, EdgeType]:
        return {e.name: e for e in self.edges}

    @cached_property
    def edge_by_folded_name(self) -> Mapping[str, EdgeType]:
        """Edge names are matched without regard to case: look up with `name.casefold()`."""
        return {e.name.casefold(): e for e in self.edges}

    @cached_property
    def interface_by_name(self) -> Mapping[str, InterfaceType]:
        return {i.name: i for i in self.interfaces}

    @cached_property
    def by_id(self) -> Mapping[TypeId, EntityType]:
        return {t.id: t for t in self.entities}

    @property
    def entities(self) -> tuple[EntityType, ...]:
        """Nodes before edges: the order in which rows can be checked."""
        return (*self.nodes, *self.edges)

    def implementers(self, interface: str) -> tuple[NodeType, ...]:
        """The node types that implement an interface."""
        return tuple(n for n in self.nodes if interface in n.interfaces)


def shown_property(entity: EntityType, name: str) -> str:
    """The name of a property for people: the ends of an edge are `from` and `to` in rows."""
    if isinstance(entity, EdgeType):
        return {SRC: "from", DST: "to"}.get(name, name)
    return name
