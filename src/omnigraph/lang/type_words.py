"""The names of built-in types, and what other languages call them."""

from collections.abc import Iterable

from omnigraph.base.nearest import did_you_mean
from omnigraph.base.types import Scalar

__all__ = ["BUILT_IN_TYPES", "SCALARS", "VECTOR", "type_hint"]

SCALARS = {scalar.value: scalar for scalar in Scalar}
VECTOR = "Vector"
BUILT_IN_TYPES = (*SCALARS, VECTOR)

# What people coming from elsewhere call our types.
OTHER_WORDS = {
    "int": "I64",
    "integer": "I64",
    "long": "I64",
    "bigint": "I64",
    "int32": "I32",
    "int64": "I64",
    "uint32": "U32",
    "uint64": "U64",
    "float": "F64",
    "double": "F64",
    "number": "F64",
    "float32": "F32",
    "float64": "F64",
    "boolean": "Bool",
    "text": "String",
    "str": "String",
    "varchar": "String",
    "uuid": "String",
    "json": "String",
    "timestamp": "DateTime",
    "bytes": "Blob",
    "binary": "Blob",
}


def type_hint(word: str, known: Iterable[str]) -> str | None:
    """Which of the known types somebody means who writes the word of another language."""
    other = OTHER_WORDS.get(word.casefold())
    return f"did you mean {other}?" if other else did_you_mean(word, known)
