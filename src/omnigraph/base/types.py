"""The types a property can have, and the Python values that stand for them.

| type | Python value |
|---|---|
| String, enum | str |
| Bool | bool |
| I32 I64 U32 U64 | int |
| F32 F64 | float |
| Date | datetime.date |
| DateTime | datetime.datetime, aware, UTC, whole milliseconds |
| Blob | bytes |
| Vector(n) | tuple of n floats |
| [scalar] | tuple |
"""

import datetime
from enum import Enum

from omnigraph.base.frozen import frozen

__all__ = ["INTEGER_RANGES", "EnumOf", "ListOf", "Scalar", "Value", "ValueType", "VectorOf"]


class Scalar(Enum):
    STRING = "String"
    BLOB = "Blob"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATE = "Date"
    DATETIME = "DateTime"

    @property
    def is_integer(self) -> bool:
        return self in INTEGER_RANGES

    @property
    def is_float(self) -> bool:
        return self in (Scalar.F32, Scalar.F64)

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float

    def __str__(self) -> str:
        return self.value


INTEGER_RANGES: dict[Scalar, tuple[int, int]] = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}


@frozen
class VectorOf:
    """A fixed number of 32-bit floats."""

    width: int

    def __str__(self) -> str:
        return f"Vector({self.width})"


@frozen
class EnumOf:
    """One of a set of words, kept sorted and unique so that equal sets are equal types."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        assert self.values == tuple(sorted(set(self.values))), (
            "enum words must be sorted and unique"
        )

    def __str__(self) -> str:
        return f"enum({', '.join(self.values)})"


@frozen
class ListOf:
    item: Scalar

    def __str__(self) -> str:
        return f"[{self.item}]"


ValueType = Scalar | VectorOf | EnumOf | ListOf
"""Closed: a new kind of type fails the type checker in each `match` that forgot it."""

Value = None | bool | int | float | str | bytes | datetime.date | tuple["Value", ...]
"""`datetime.datetime` is a `datetime.date`, so it is covered."""
