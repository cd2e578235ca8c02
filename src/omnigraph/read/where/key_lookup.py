"""Predicates that name rows by identity: an id, or the whole key that the id is made from.

Such a condition is a look-up of a few ids. It may find more rows than the predicates hold for,
since there may be others beside the one that names the ids, never fewer.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from omnigraph.base.types import EnumOf, ListOf, Scalar, Value, ValueType
from omnigraph.lang.plan.ir import (
    Compare,
    CompareOp,
    IdentityOf,
    Literal,
    Membership,
    Parameter,
    Predicate,
    PropertyOf,
)
from omnigraph.lang.schema.catalog import DST, SRC, EntityType, NodeType
from omnigraph.store.arrow import arrow_type
from omnigraph.store.identity import derive_ids, key_columns, plain_id

__all__ = ["Pin", "ids_at", "pin_of", "pinned_ids"]


class Pin(NamedTuple):
    """A predicate says that the field equals one of these values."""

    field: PropertyOf | IdentityOf
    values: tuple[Value, ...]
    type: ValueType


def pinned_ids(
    entity: EntityType, predicates: Sequence[Predicate], parameters: Mapping[str, Value]
) -> pa.Array | None:
    """The ids among which are all rows that the predicates hold for; None: they name none."""
    return ids_at(entity, [p for q in predicates if (p := pin_of(q, parameters)) is not None])


def pin_of(predicate: Predicate, parameters: Mapping[str, Value]) -> Pin | None:
    match predicate:
        case (
            Compare(op=CompareOp.EQ, left=PropertyOf() | IdentityOf() as field, right=given)
            | Compare(op=CompareOp.EQ, left=given, right=PropertyOf() | IdentityOf() as field)
        ) if isinstance(given, Literal | Parameter) and given.type is not None:
            return Pin(field, (_value(given, parameters),), given.type)
        case Membership(left=PropertyOf() | IdentityOf() as field, options=options):
            values = _value(options, parameters)
            if isinstance(options.type, ListOf) and isinstance(values, tuple):
                return Pin(field, values, options.type.item)
        case _:
            pass
    return None


def ids_at(entity: EntityType, pins: Sequence[Pin]) -> pa.Array | None:
    """The ids of the rows that all the pins allow, where one of them or the whole key tells."""
    for pin in pins:
        if isinstance(pin.field, IdentityOf) and pin.type is Scalar.STRING:
            return pa.array([value for value in pin.values if value is not None], pa.string())
    by_name = {pin.field.name: pin for pin in pins if isinstance(pin.field, PropertyOf)}
    if not entity.key or not by_name.keys() >= set(entity.key):
        return None
    if (plain := _plain_id(entity, by_name)) is not None:
        return pa.array([plain], pa.string())
    columns = [_key_column(entity, name, by_name[name]) for name in entity.key]
    lengths = [len(column) for column in columns if column is not None]
    # Of several properties with several values each, every combination would be an id.
    if len(lengths) < len(columns) or (len(columns) > 1 and max(lengths) > 1):
        return None
    if min(lengths) == 0:
        return pa.array([], pa.string())
    return derive_ids(entity, dict(zip(key_columns(entity), columns, strict=True))).drop_null()


def _plain_id(entity: EntityType, pins: Mapping[str, Pin]) -> str | None:
    """The id that one value of a key of one property makes, without the detour over a column."""
    if len(entity.key) > 1 or not isinstance(entity, NodeType):
        return None
    (name,) = entity.key
    pin, own = pins[name], entity.by_name[name].type
    if len(pin.values) == 1 and pin.values[0] is not None and _is_same_kind(own, pin.type):
        return plain_id(own, pin.values[0])
    return None


def _value(given: Literal | Parameter, parameters: Mapping[str, Value]) -> Value:
    return given.value if isinstance(given, Literal) else parameters[given.name]


def _key_column(entity: EntityType, name: str, pin: Pin) -> pa.Array | None:
    """The values as the key's own; None where equal values may be written otherwise in an id."""
    is_end = name in (SRC, DST) and name not in entity.by_name
    own = Scalar.STRING if is_end else entity.by_name[name].type
    if not _is_same_kind(own, pin.type):
        return None
    try:
        return pa.array([value for value in pin.values if value is not None], arrow_type(own))
    except (pa.ArrowInvalid, OverflowError):
        return None  # a number that no key of the type can be: the plain way finds nothing


def _is_same_kind(left: ValueType, right: ValueType) -> bool:
    """Whether equal values of the two types are written alike in an id."""
    if _is_text(left) or not isinstance(left, Scalar) or not isinstance(right, Scalar):
        return _is_text(left) and _is_text(right)
    return right.is_integer if left.is_integer else left is right


def _is_text(type_: ValueType) -> bool:
    return type_ is Scalar.STRING or isinstance(type_, EnumOf)
