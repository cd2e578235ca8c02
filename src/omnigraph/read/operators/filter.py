"""Rows that satisfy a predicate.

A condition on the id, or on the key it is made from, finds its rows without looking at the others:
`_by_id` gives the same rows as the predicate would, or None where it has no short way.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.base.types import EnumOf, ListOf, Scalar, Value, ValueType
from omnigraph.lang.plan.ir import (
    Compare,
    CompareOp,
    Filter,
    IdentityOf,
    Literal,
    Membership,
    Parameter,
    Predicate,
    PropertyOf,
)
from omnigraph.lang.schema.catalog import EntityType, NodeType
from omnigraph.read.context import Context
from omnigraph.read.demand import Demand
from omnigraph.read.expressions import satisfied
from omnigraph.read.frame import Frame
from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.arrow import arrow_type
from omnigraph.store.identity import derive_ids

__all__ = ["keep"]


def keep(frame: Frame, op: Filter, demand: Demand, context: Context) -> Frame:
    """The rows that hold, with the columns still wanted."""
    rows = _by_id(frame, op.predicate, context)
    if rows is not None:
        return frame.only(demand.live).take(rows)
    mask = satisfied(op.predicate, frame, context)
    return frame.only(demand.live).filter(mask)


class _Wanted(NamedTuple):
    """The predicate says that the field equals one of these values."""

    field: PropertyOf | IdentityOf
    values: tuple[Value, ...]
    type: ValueType


def _by_id(frame: Frame, predicate: Predicate, context: Context) -> Ordinals | None:
    wanted = _wanted(predicate, context)
    if wanted is None or wanted.field.variable not in frame.bindings:
        return None
    binding = frame.bindings[wanted.field.variable]
    if not binding.is_whole:
        return None
    found = []
    for part in binding.space.parts:
        ids = _ids(part.entity, wanted)
        if ids is None:
            return None
        rows = context.tables.find(part.entity, ids)
        rows = rows[rows >= 0]
        found.append((rows if len(rows) < 2 else np.unique(rows)) + part.start)
    return found[0] if len(found) == 1 else np.concatenate(found)


def _wanted(predicate: Predicate, context: Context) -> _Wanted | None:
    match predicate:
        case (
            Compare(op=CompareOp.EQ, left=PropertyOf() | IdentityOf() as field, right=given)
            | Compare(op=CompareOp.EQ, left=given, right=PropertyOf() | IdentityOf() as field)
        ) if isinstance(given, Literal | Parameter) and given.type is not None:
            return _Wanted(field, (_value(given, context),), given.type)
        case Membership(left=PropertyOf() | IdentityOf() as field, options=options):
            values = _value(options, context)
            if isinstance(options.type, ListOf) and isinstance(values, tuple):
                return _Wanted(field, values, options.type.item)
        case _:
            pass
    return None


def _value(given: Literal | Parameter, context: Context) -> Value:
    return given.value if isinstance(given, Literal) else context.parameters[given.name]


def _ids(entity: EntityType, wanted: _Wanted) -> pa.Array | None:
    """The ids that rows with the wanted values have, if ids are made from the field alone."""
    values = [value for value in wanted.values if value is not None]
    if isinstance(wanted.field, IdentityOf):
        return pa.array(values, pa.string()) if wanted.type is Scalar.STRING else None
    if not isinstance(entity, NodeType) or entity.key != (wanted.field.name,):
        return None
    key = entity.by_name[wanted.field.name]
    if not _is_same_kind(key.type, wanted.type):
        return None
    try:
        column = pa.array(values, arrow_type(key.type))
    except (pa.ArrowInvalid, OverflowError):
        return None  # a number that no key of the type can be: the plain way finds nothing
    return derive_ids(entity, {key.column: column})


def _is_same_kind(left: ValueType, right: ValueType) -> bool:
    """Whether equal values of the two types are written alike in an id."""
    if _is_text(left) or not isinstance(left, Scalar) or not isinstance(right, Scalar):
        return _is_text(left) and _is_text(right)
    return right.is_integer if left.is_integer else left is right


def _is_text(type_: ValueType) -> bool:
    return type_ is Scalar.STRING or isinstance(type_, EnumOf)
