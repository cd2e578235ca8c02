"""Values of an entity as a history or a review tells them: blobs and vectors by what tells them
apart, all others as they are."""

import hashlib
from array import array
from collections.abc import Sequence
from typing import Any

from omnigraph.base.types import Scalar, ValueType, VectorOf
from omnigraph.base.words import amount

__all__ = ["told_blob", "told_value"]

NUMBERS_TOLD = 4


def told_value(type_: ValueType | None, value: Any) -> Any:
    """The value of a property of this type; None: of no property, such as an end of an edge."""
    if value is None:
        return None
    if isinstance(type_, VectorOf):
        return _told_vector(value)
    return told_blob(len(value), value) if type_ is Scalar.BLOB else value


def _told_vector(value: Sequence[float]) -> str:
    """How many numbers, the first of them and, where that is not all, a digest."""
    first = [f"{number:.4g}" for number in value[:NUMBERS_TOLD]]
    told = f"{amount(len(value), 'number')}: {', '.join(first)}"
    if [float(number) for number in first] == list(value):
        return told
    more = ", …" * (len(value) > NUMBERS_TOLD)
    return f"{told}{more}{_digest(array('d', value).tobytes())}"


def told_blob(size: int, data: bytes | None) -> str:
    """Its size and, where the bytes are at hand, a digest that tells bytes of one size apart."""
    return f"{amount(size, 'byte')}{'' if data is None else _digest(data)}"


def _digest(data: bytes) -> str:
    return f", SHA-256 {hashlib.sha256(data).hexdigest()[:12]}…"
