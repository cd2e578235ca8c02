"""Descriptions of queries for tools: parameters, columns, reads and writes, in the wire's JSON.

Clients know eleven kinds and never parse a type's text: `I32` is `int`, `I64` is `bigint`, an enum
is a `string`, a node is an `object`.
"""

from typing import TypedDict

from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.query.check.typed import Parameter, ResultField, Touch, TypedQuery, TypedRead

__all__ = ["Field", "Operation", "describe", "describe_parameter"]

KINDS = {
    "String": "string",
    "enum": "string",
    "Bool": "bool",
    "I32": "int",
    "U32": "int",
    "I64": "bigint",
    "U64": "bigint",
    "F32": "float",
    "F64": "float",
    "Date": "date",
    "DateTime": "datetime",
    "Blob": "blob",
    "vector": "vector",
    "list": "list",
    "node": "object",
}


class Field(TypedDict):
    name: str
    kind: str
    nullable: bool
    item_kind: str | None
    vector_dim: int | None


class Operation(TypedDict):
    params: list[Field]
    result: list[Field]
    reads: list[dict[str, str]]
    writes: list[dict[str, str]]


def describe(query: TypedQuery) -> Operation:
    return Operation(
        params=[describe_parameter(p) for p in query.parameters],
        result=[_field(f) for f in query.result] if isinstance(query, TypedRead) else [],
        reads=[_touch(t) for t in query.reads],
        writes=[] if isinstance(query, TypedRead) else [_touch(t) for t in query.writes],
    )


def describe_parameter(parameter: Parameter) -> Field:
    kind, item_kind, width = _kinds(parameter.type)
    return Field(
        name=parameter.name,
        kind=kind,
        nullable=parameter.is_nullable,
        item_kind=item_kind,
        vector_dim=width,
    )


def _field(field: ResultField) -> Field:
    return Field(
        name=field.name,
        kind=KINDS[field.kind],
        nullable=field.is_nullable,
        item_kind=KINDS[field.item_kind] if field.item_kind else None,
        vector_dim=field.vector_dim,
    )


def _kinds(type_: ValueType) -> tuple[str, str | None, int | None]:
    match type_:
        case Scalar() as scalar:
            return KINDS[scalar.value], None, None
        case EnumOf():
            return "string", None, None
        case ListOf(item=item):
            return "list", KINDS[item.value], None
        case VectorOf(width=width):
            return "vector", None, width


def _touch(touch: Touch) -> dict[str, str]:
    return {"kind": touch.kind, "type_name": touch.type_name}
