"""The rules of a schema that need more than one row, and the rows that each rule must see.

A rule looks at keys and nothing else. `plan_readings` names the parts of tables whose keys decide
about a write; `relations` turns their rows into keys, `questions` asks SQL which rules are broken.
"""

import itertools
from collections.abc import Iterator, Mapping
from enum import Enum

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import (
    DST,
    ID,
    SRC,
    Catalog,
    EdgeType,
    EntityType,
    NodeType,
    Unique,
)
from omnigraph.store.identity import columns_of

__all__ = [
    "CLAIMS",
    "DEGREES",
    "ENDS",
    "IDS",
    "NO_TYPES",
    "Claim",
    "Degree",
    "End",
    "Part",
    "Reading",
    "SetRule",
    "TableEffect",
    "TypeNames",
    "plan_readings",
    "tables_read",
]

CLAIMS, ENDS, IDS, DEGREES = "claims", "ends", "ids", "degrees"
"""The relations that questions are asked of; see `relations`."""

TypeNames = frozenset[str | None]
"""Names of types; None stands for a row whose type could not be told."""

NO_TYPES: TypeNames = frozenset()


@frozen(slots=False)
class Claim:
    """No two rows of a type share the id (no properties) or the tuple of properties."""

    number: int
    entity: EntityType
    properties: tuple[str, ...]


@frozen(slots=False)
class End:
    """The node at one end of an edge exists."""

    number: int
    edge: EdgeType
    column: str
    node: NodeType


@frozen(slots=False)
class Degree:
    """A source has at least `least` and at most `most` edges of a type."""

    number: int
    edge: EdgeType
    source: NodeType
    least: int
    most: int | None


SetRule = Claim | End | Degree


class Part(Enum):
    INCOMING = "incoming"
    """Rows that the write brings."""
    KEPT = "kept"
    """Rows that the graph has and that stay as they are."""


@frozen(slots=False)
class Reading:
    """A part of a table that a relation takes in, on behalf of a rule."""

    relation: str
    rule: SetRule
    entity: EntityType
    part: Part

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read of the table."""
        match self.rule:
            case Claim(entity=entity, properties=properties) if properties:
                return columns_of(entity, properties)
            case End(column=column) if self.relation == ENDS:
                return (column,)
            case Degree() if isinstance(self.entity, EdgeType):
                return (SRC,)
            case Claim() | End() | Degree():
                return (ID,)

    @property
    def tells_terms(self) -> bool:
        """True if its rows are those that a broken rule is about: claims, ends and edges."""
        return self.relation != IDS and not (
            isinstance(self.rule, Degree) and isinstance(self.entity, NodeType)
        )


@frozen
class TableEffect:
    """How a write changes one table, as far as set checks care."""

    adds: bool
    """Rows come, new or in place of old ones."""
    removes: bool
    """Rows go and nothing takes their place."""
    ids_may_clash: bool
    """Rows come whose id must not be in the graph yet."""


def plan_readings(
    catalog: Catalog, effects: Mapping[TableKey, TableEffect], *, rejected: TypeNames = NO_TYPES
) -> list[Reading]:
    """The readings that decide about a write: none of types that the write can't have harmed.

    `rejected` are the types of rows that came and were left out. Rules that such a row might have
    satisfied (an endpoint, a minimum of edges) are skipped; a clash or an edge too many stays one.
    """
    none = TableEffect(adds=False, removes=False, ids_may_clash=False)
    by_table = {e.table_key: effects.get(e.table_key, none) for e in catalog.entities}
    readings: list[Reading] = []
    for rule in _rules(catalog, rejected):
        match rule:
            case Claim():
                readings += _claim_readings(rule, by_table[rule.entity.table_key])
            case End():
                edges, nodes = by_table[rule.edge.table_key], by_table[rule.node.table_key]
                readings += _end_readings(rule, edges, nodes)
            case Degree():
                edges, nodes = by_table[rule.edge.table_key], by_table[rule.source.table_key]
                readings += _degree_readings(rule, edges, nodes)
    return readings


def tables_read(catalog: Catalog, effects: Mapping[TableKey, TableEffect]) -> frozenset[TableKey]:
    """The tables whose kept rows decide whether the write is allowed."""
    readings = plan_readings(catalog, effects)
    return frozenset(r.entity.table_key for r in readings if r.part is Part.KEPT)


def _rules(catalog: Catalog, rejected: TypeNames) -> Iterator[SetRule]:
    number = itertools.count()
    for entity in catalog.entities:
        yield Claim(next(number), entity, ())
        for constraint in entity.constraints:
            if isinstance(constraint, Unique):
                yield Claim(next(number), entity, constraint.properties)
    for edge in catalog.edges:
        for column, name in ((SRC, edge.source), (DST, edge.target)):
            if _are_all_there(name, rejected):
                yield End(next(number), edge, column, catalog.node_by_name[name])
        least = edge.cardinality.least if _are_all_there(edge.name, rejected) else 0
        most = edge.cardinality.most
        if least or most is not None:
            yield Degree(next(number), edge, catalog.node_by_name[edge.source], least, most)


def _are_all_there(type_name: str, rejected: TypeNames) -> bool:
    """True if no row of the type can have been left out."""
    return type_name not in rejected and None not in rejected


def _claim_readings(rule: Claim, effect: TableEffect) -> list[Reading]:
    if not effect.adds or not (rule.properties or effect.ids_may_clash):
        return []
    return [Reading(CLAIMS, rule, rule.entity, part) for part in Part]


def _end_readings(rule: End, edges: TableEffect, nodes: TableEffect) -> list[Reading]:
    ends = [
        *([Reading(ENDS, rule, rule.edge, Part.INCOMING)] if edges.adds else []),
        *([Reading(ENDS, rule, rule.edge, Part.KEPT)] if nodes.removes else []),
    ]
    return [*ends, *(Reading(IDS, rule, rule.node, part) for part in Part if ends)]


def _degree_readings(rule: Degree, edges: TableEffect, nodes: TableEffect) -> list[Reading]:
    if not (edges.adds or edges.removes or (rule.least and nodes.adds)):
        return []
    return [
        *(Reading(DEGREES, rule, rule.edge, part) for part in Part),
        *(Reading(DEGREES, rule, rule.source, part) for part in Part if rule.least),
    ]
