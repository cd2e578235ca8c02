"""What rules can look at of a row: its id, the ends of an edge, and properties of some types.

Cedar has texts, 64-bit integers, booleans and sets, and no order of texts. A property whose values
it could not hold exactly (floats, U64), or whose comparison would mean something else (dates,
times), is no field: a rule that looks at it is refused.
"""

from collections.abc import Mapping
from enum import Enum

from omnigraph.base.frozen import frozen
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.plan.ir import ROW, IdentityOf, PropertyOf
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType

__all__ = ["FieldKind", "RowField", "row_fields"]


class FieldKind(Enum):
    """The types that Cedar has for our values, by their names in its schemas."""

    TEXT = "String"
    NUMBER = "Long"
    BOOLEAN = "Boolean"
    TEXTS = "Set"


@frozen
class RowField:
    field: PropertyOf | IdentityOf
    kind: FieldKind
    is_optional: bool
    words: tuple[str, ...] | None = None
    """All that an enum can be."""


def row_fields(entity: EntityType) -> Mapping[str, RowField]:
    """By the names that rules use: properties, `id`, and `from` and `to` of an edge."""
    fields: dict[str, RowField] = {}
    if ID not in entity.by_name:
        fields[ID] = RowField(IdentityOf(ROW), FieldKind.TEXT, is_optional=False)
    if isinstance(entity, EdgeType):
        for name, column in (("from", SRC), ("to", DST)):
            end = PropertyOf(ROW, column, Scalar.STRING, is_nullable=False)
            fields[name] = RowField(end, FieldKind.TEXT, is_optional=False)
    for known in entity.properties:
        kind = _kind(known.type)
        if kind is not None:
            field = PropertyOf(ROW, known.name, known.type, known.is_nullable)
            words = known.type.values if isinstance(known.type, EnumOf) else None
            fields[known.name] = RowField(field, kind, known.is_nullable, words)
    return fields


def _kind(type_: ValueType) -> FieldKind | None:
    match type_:
        case Scalar.STRING | EnumOf():
            return FieldKind.TEXT
        case Scalar.I32 | Scalar.I64 | Scalar.U32:
            return FieldKind.NUMBER
        case Scalar.BOOL:
            return FieldKind.BOOLEAN
        case ListOf(item=Scalar.STRING):
            return FieldKind.TEXTS
        case ListOf() | VectorOf() | Scalar():
            return None
