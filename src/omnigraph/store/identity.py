"""Where the `id` of a row comes from: its key, or the clock.

Load, mutation and merge all ask here, so one key never has two ids. The text of a key is part of
the data on disk: changing how a value is written would give old rows new names.

| key | id |
|---|---|
| one property | its canonical text: `42`, `true`, `ada@example.org` |
| several, or an edge's | a JSON array of those texts, in key order: `["ada","42"]` |
| none | a ULID |

Integers are decimal; dates and datetimes are the stored epoch days and milliseconds; floats take
the shortest text that reads back equal, with `-0` written as `0`.
"""

import json
import os
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.clock import CROCKFORD, RANDOM_BITS, ULID_LETTERS, ulid_text
from omnigraph.base.types import EnumOf, Scalar, Value, ValueType
from omnigraph.base.words import quoted
from omnigraph.lang.schema.catalog import DST, SRC, EdgeType, EntityType, NodeType
from omnigraph.store.arrays import json_escaped, one_array

__all__ = [
    "columns_of",
    "derive_ids",
    "fresh_ids",
    "key_columns",
    "plain_id",
    "shown_id",
    "tuple_texts",
]


def key_columns(entity: EntityType) -> tuple[str, ...]:
    """The physical columns of the key, in key order; empty for a type without one."""
    return columns_of(entity, entity.key)


def columns_of(entity: EntityType, properties: Sequence[str]) -> tuple[str, ...]:
    """The physical columns of these properties; `src` and `dst` are those of an edge's ends."""
    return tuple(
        name if name in (SRC, DST) and name not in entity.by_name else entity.by_name[name].column
        for name in properties
    )


def derive_ids(entity: EntityType, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Array:
    """The ids of rows of a keyed type, from the key's columns by their physical names.

    A row whose key holds a null or a float that is not finite has a null id, which the
    check of rows reports.
    """
    assert entity.key, f"{entity.name} has no key: its rows take fresh ids"
    return tuple_texts(entity, entity.key, columns)


def tuple_texts(
    entity: EntityType,
    properties: Sequence[str],
    columns: Mapping[str, pa.Array | pa.ChunkedArray],
) -> pa.Array:
    """One text for the values of these properties of each row, equal where all of them are.

    It is null where one of the values is null or a float that is not finite.
    """
    texts = [_text(one_array(columns[name])) for name in columns_of(entity, properties)]
    match entity:
        case NodeType() if len(texts) == 1:
            return texts[0]
        case NodeType() | EdgeType():
            return _json_array(texts)


def plain_id(type_: ValueType, value: Value) -> str | None:
    """What `derive_ids` makes of one value of a key of one property; None: ask it.

    It knows texts and whole numbers, which nearly all keys are.
    """
    match type_, value:
        case ((Scalar.STRING | EnumOf()), str()):
            return value
        case Scalar(), int() if type_.is_integer:
            return str(int(value))
        case _:
            return None


def fresh_ids(count: int, now_ms: int) -> pa.StringArray:
    """ULIDs for `count` rows without a key. Within one call they grow with the row."""
    # One random start per call and then counting: as unlikely to meet another call's ids as
    # `count` draws, and ids keep the order of the rows. The top bit is left clear so that counting
    # never runs into the timestamp.
    start = int.from_bytes(os.urandom(RANDOM_BITS // 8)) >> 1
    first = (now_ms << RANDOM_BITS) | start
    low = np.uint64(first & (2**64 - 1)) + np.arange(count, dtype=np.uint64)
    carried = low < np.uint64(first & (2**64 - 1))
    high = np.uint64(first >> 64) + carried.astype(np.uint64)
    # Counting changes the last few letters: the others are those of the first and of the last.
    ends = ulid_text(first), ulid_text(first + max(count - 1, 0))
    same = next((n for n, (a, b) in enumerate(zip(*ends, strict=True)) if a != b), ULID_LETTERS)
    text = np.empty((count, ULID_LETTERS), dtype=np.uint8)
    text[:, :same] = np.frombuffer(ends[0][:same].encode(), dtype=np.uint8)
    alphabet = np.frombuffer(CROCKFORD.encode(), dtype=np.uint8)
    for position in range(same, ULID_LETTERS):
        letters = _five_bits(high, low, shift=5 * (ULID_LETTERS - 1 - position))
        text[:, position] = alphabet[letters]
    offsets = np.arange(count + 1, dtype=np.int32) * ULID_LETTERS
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))


def shown_id(entity: EntityType, id_: str) -> str:
    """An id for a person: that of a key of several parts with their names, and dates as such."""
    texts = _key_texts(entity, id_)
    if texts is None:
        return quoted(id_)
    parts = zip(entity.key, texts, strict=True)
    return f"({', '.join(f'{name}: {_shown_part(entity, name, text)}' for name, text in parts)})"


def _key_texts(entity: EntityType, id_: str) -> list[str] | None:
    """The texts of a key of several parts; None if the id is not made of such."""
    if not entity.key or (isinstance(entity, NodeType) and len(entity.key) == 1):
        return None
    # The text for an end of an edge comes from a user, and may be anything.
    try:
        texts = json.loads(id_)
    except (ValueError, RecursionError):
        return None
    is_key = isinstance(texts, list) and len(texts) == len(entity.key)
    return texts if is_key and all(isinstance(text, str) for text in texts) else None


def _shown_part(entity: EntityType, name: str, text: str) -> str:
    type_ = entity.by_name[name].type if name in entity.by_name else Scalar.STRING
    try:
        match type_:
            case Scalar.STRING | EnumOf():
                return quoted(text)
            case Scalar.DATE:
                return str(np.datetime64(int(text), "D"))
            case Scalar.DATETIME:
                return f"{np.datetime64(int(text), 'ms')}Z"
            case _:
                return text
    except (ValueError, OverflowError):
        return quoted(text)


def _five_bits(high: np.ndarray, low: np.ndarray, *, shift: int) -> np.ndarray:
    if shift >= 64:
        return (high >> np.uint64(shift - 64)) & np.uint64(31)
    bits = low >> np.uint64(shift)
    if shift > 59:
        bits |= high << np.uint64(64 - shift)
    return bits & np.uint64(31)


def _text(column: pa.Array) -> pa.Array:
    """The canonical text of each value."""
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(pa.string())
    if pa.types.is_timestamp(kind):
        assert kind.unit == "ms", "datetimes are stored in milliseconds"
        return column.cast(pa.int64()).cast(pa.string())
    if pa.types.is_floating(kind):
        finite = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
        # Adding zero turns -0 into 0 and leaves every other value alone.
        return pc.add(finite, pa.scalar(0, kind)).cast(pa.string())
    assert pa.types.is_integer(kind) or pa.types.is_boolean(kind), f"{kind} can't be a key"
    return column.cast(pa.string())


def _json_array(texts: list[pa.Array]) -> pa.Array:
    quoted = [pc.binary_join_element_wise('"', json_escaped(text), '"', "") for text in texts]
    inside = pc.binary_join_element_wise(*quoted, ",")
    return pc.binary_join_element_wise("[", inside, "]", "")
