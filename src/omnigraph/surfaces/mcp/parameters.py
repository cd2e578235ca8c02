"""Parameters of a stored query, as JSON schemas that a model fills in."""

from typing import Any

from omnigraph.base.types import INTEGER_RANGES, EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.engine.signatures import QuerySignature

__all__ = ["required_parameters", "schemas_of_parameters"]

# JavaScript has no integers of 64 bits, so they may come as text.
BIGINT: dict[str, Any] = {"type": ["integer", "string"], "pattern": r"^-?\d{1,20}$"}


def schemas_of_parameters(signature: QuerySignature) -> dict[str, dict[str, Any]]:
    return {
        parameter.name: {
            **_schema(parameter.type),
            "description": f"{parameter.type}{'?' if parameter.is_nullable else ''}",
        }
        for parameter in signature.parameters
    }


def required_parameters(signature: QuerySignature) -> tuple[str, ...]:
    return tuple(p.name for p in signature.parameters if not p.is_nullable)


def _schema(type_: ValueType) -> dict[str, Any]:
    match type_:
        case Scalar():
            return _scalar(type_)
        case EnumOf(values=values):
            return {"type": "string", "enum": list(values)}
        case ListOf(item=item):
            return {"type": "array", "items": _scalar(item)}
        case VectorOf(width=width):
            numbers = {"type": "array", "items": {"type": "number"}}
            return {**numbers, "minItems": width, "maxItems": width}


def _scalar(type_: Scalar) -> dict[str, Any]:
    match type_:
        case Scalar.STRING:
            return {"type": "string"}
        case Scalar.BLOB:
            return {"type": "string", "contentEncoding": "base64"}
        case Scalar.BOOL:
            return {"type": "boolean"}
        case Scalar.I32 | Scalar.U32:
            least, most = INTEGER_RANGES[type_]
            return {"type": "integer", "minimum": least, "maximum": most}
        case Scalar.I64 | Scalar.U64:
            return dict(BIGINT)
        case Scalar.F32 | Scalar.F64:
            return {"type": "number"}
        case Scalar.DATE:
            return {"type": "string", "format": "date"}
        case Scalar.DATETIME:
            return {"type": "string", "format": "date-time"}
