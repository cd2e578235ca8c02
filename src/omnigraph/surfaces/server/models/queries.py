"""The catalog of stored queries. A 64-bit integer is a `bigint`, which travels as text."""

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.surfaces.server.models.numbers import Count32

if TYPE_CHECKING:
    from omnigraph.engine.signatures import QueryParameter, QuerySignature

__all__ = ["ParamDescriptor", "ParamKind", "QueriesCatalogOutput", "QueryCatalogEntry", "kind_of"]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    pass


class ParamKind(StrEnum):
    STRING = "string"
    BOOL = "bool"
    INT = "int"
    BIGINT = "bigint"
    FLOAT = "float"
    DATE = "date"
    DATETIME = "datetime"
    BLOB = "blob"
    VECTOR = "vector"
    LIST = "list"


class ParamDescriptor(Answer, frozen=True, kw_only=True):
    name: str
    kind: ParamKind
    nullable: bool
    item_kind: ParamKind | None = None
    vector_dim: Count32 | None = None

    @classmethod
    def of(cls, parameter: "QueryParameter") -> "ParamDescriptor":
        type_ = parameter.type
        return cls(
            name=parameter.name,
            kind=kind_of(type_),
            nullable=parameter.is_nullable,
            item_kind=kind_of(type_.item) if isinstance(type_, ListOf) else None,
            vector_dim=type_.width if isinstance(type_, VectorOf) else None,
        )


class QueryCatalogEntry(Answer, frozen=True, kw_only=True):
    name: str
    tool_name: str
    mutation: bool
    params: list[ParamDescriptor]
    description: str | None = None
    instruction: str | None = None

    @classmethod
    def of(cls, signature: "QuerySignature") -> "QueryCatalogEntry":
        return cls(
            name=signature.name,
            tool_name=signature.name,
            mutation=signature.is_mutation,
            params=[ParamDescriptor.of(p) for p in signature.parameters],
            description=signature.description,
            instruction=signature.instruction,
        )


class QueriesCatalogOutput(Answer, frozen=True, kw_only=True):
    queries: list[QueryCatalogEntry]


KINDS = {
    Scalar.STRING: ParamKind.STRING,
    Scalar.BLOB: ParamKind.BLOB,
    Scalar.BOOL: ParamKind.BOOL,
    Scalar.I32: ParamKind.INT,
    Scalar.U32: ParamKind.INT,
    Scalar.I64: ParamKind.BIGINT,
    Scalar.U64: ParamKind.BIGINT,
    Scalar.F32: ParamKind.FLOAT,
    Scalar.F64: ParamKind.FLOAT,
    Scalar.DATE: ParamKind.DATE,
    Scalar.DATETIME: ParamKind.DATETIME,
}


def kind_of(type_: ValueType) -> ParamKind:
    match type_:
        case Scalar():
            return KINDS[type_]
        case EnumOf():
            return ParamKind.STRING
        case ListOf():
            return ParamKind.LIST
        case VectorOf():
            return ParamKind.VECTOR
