"""A type whose text is checked and whose identity is not yet known.

Between the text and the catalog stands one question the text can't answer: which of these types
and properties are old ones. A draft holds everything else.
"""

from collections.abc import Mapping

from omnigraph.base.frozen import frozen
from omnigraph.base.types import Value, ValueType
from omnigraph.lang.schema.catalog import Cardinality, Constraint, Embed
from omnigraph.lang.schema.text.ast import Extent, Name

__all__ = ["DraftEdge", "DraftInterface", "DraftNode", "DraftProperty"]


@frozen
class DraftProperty:
    name: str
    type: ValueType
    is_nullable: bool
    default: Value
    embed: Embed | None
    annotations: Mapping[str, tuple[Value, ...]]
    renamed_from: Name | None
    at: Extent


@frozen
class DraftInterface:
    name: str
    properties: Mapping[str, DraftProperty]
    key: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    annotations: Mapping[str, tuple[Value, ...]]
    broken: frozenset[str]
    """Names of properties whose type is wrong: known, so that they are not reported as missing."""


@frozen
class DraftNode:
    name: str
    properties: Mapping[str, DraftProperty]
    key: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    interfaces: tuple[str, ...]
    annotations: Mapping[str, tuple[Value, ...]]
    renamed_from: Name | None


@frozen
class DraftEdge:
    name: str
    source: str
    target: str
    properties: Mapping[str, DraftProperty]
    cardinality: Cardinality
    key: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    annotations: Mapping[str, tuple[Value, ...]]
    renamed_from: Name | None
