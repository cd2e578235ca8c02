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

__all__ = ["KeyValues", "ids_named", "ids_to_look_up", "key_values"]


class KeyValues(NamedTuple):
    """The values of a field that a predicate allows."""

    field: PropertyOf | IdentityOf
    values: tuple[Value, ...]
    type: ValueType


def ids_to_look_up(
    entity: EntityType, predicates: Sequence[Predicate], parameters: Mapping[str, Value]
) -> pa.Array | None:
    """The ids of all rows that the predicates can hold for; None: the predicates name no ids."""
    return ids_named(
        entity, [p for q in predicates if (p := key_values(q, parameters)) is not None]
    )


def key_values(predicate: Predicate, parameters: Mapping[str, Value]) -> KeyValues | None:
    match predicate:
        case (
            Compare(op=CompareOp.EQ, left=PropertyOf() | IdentityOf() as field, right=given)
            | Compare(op=CompareOp.EQ, left=given, right=PropertyOf() | IdentityOf() as field)
        ) if isinstance(given, Literal | Parameter) and given.type is not None:
            return KeyValues(field, (_value(given, parameters),), given.type)
        case Membership(left=PropertyOf() | IdentityOf() as field, options=options):
            values = _value(options, parameters)
            if isinstance(options.type, ListOf) and isinstance(values, tuple):
                return KeyValues(field, values, options.type.item)
        case _:
            pass
    return None


def ids_named(entity: EntityType, fields: Sequence[KeyValues]) -> pa.Array | None:
    """The ids of the rows that have these values, where the id or the whole key is among them."""
    for each in fields:
        if isinstance(each.field, IdentityOf) and each.type is Scalar.STRING:
            return pa.array([value for value in each.values if value is not None], pa.string())
    by_name = {each.field.name: each for each in fields if isinstance(each.field, PropertyOf)}
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


def _plain_id(entity: EntityType, fields: Mapping[str, KeyValues]) -> str | None:
    """The id that one value of a key of one property makes, without the detour over a column."""
    if len(entity.key) > 1 or not isinstance(entity, NodeType):
        return None
    (name,) = entity.key
    given, own = fields[name], entity.by_name[name].type
    if len(given.values) == 1 and given.values[0] is not None and _is_same_kind(own, given.type):
        return plain_id(own, given.values[0])
    return None


def _value(given: Literal | Parameter, parameters: Mapping[str, Value]) -> Value:
    return given.value if isinstance(given, Literal) else parameters[given.name]


def _key_column(entity: EntityType, name: str, given: KeyValues) -> pa.Array | None:
    """The values as the key's own; None where equal values may be written otherwise in an id."""
    is_end = name in (SRC, DST) and name not in entity.by_name
    own = Scalar.STRING if is_end else entity.by_name[name].type
    if not _is_same_kind(own, given.type):
        return None
    try:
        return pa.array([value for value in given.values if value is not None], arrow_type(own))
    except (pa.ArrowInvalid, OverflowError):
        return None  # a number that no key of the type can be: the plain way finds nothing


def _is_same_kind(left: ValueType, right: ValueType) -> bool:
    """Whether equal values of the two types are written alike in an id."""
    if _is_text(left) or not isinstance(left, Scalar) or not isinstance(right, Scalar):
        return _is_text(left) and _is_text(right)
    return right.is_integer if left.is_integer else left is right


def _is_text(type_: ValueType) -> bool:
    return type_ is Scalar.STRING or isinstance(type_, EnumOf)
