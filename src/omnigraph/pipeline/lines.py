"""Rows as JSON lines, a column at a time: what a load reads back as the same rows.

Every value must come back exactly. A number is written in the fewest digits that do, by either way
in which a load reads it; a null is left out, but written where leaving it out would mean a default.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType, Property

__all__ = ["lines_of"]

# Offsets of 64 bits: a line with a blob may be longer than 2 GiB.
TEXT = pa.large_string()

MUST_BE_ESCAPED = r'[\x00-\x1f"\\]'
CONTROL_CHARACTERS = r"[\x00-\x1f]"


def lines_of(entity: EntityType, rows: pa.RecordBatch) -> pa.Array:
    """One line for each row of a type's table, with its end; as 64-bit Arrow text."""
    name, identity = json.dumps(entity.name), _quoted(rows[ID])
    match entity:
        case NodeType():
            head = [f'{{"type":{name},"id":', identity]
        case EdgeType():
            ends = [',"from":', _quoted(rows[SRC]), ',"to":', _quoted(rows[DST])]
            head = [f'{{"edge":{name},"id":', identity, *ends]
    if not entity.properties and isinstance(entity, EdgeType):
        return _joined(*head, "}\n")
    return _joined(*head, ',"data":{', _members(entity, rows), "}}\n")


def _members(entity: EntityType, rows: pa.RecordBatch) -> pa.Array | str:
    members = [_member(p, rows[p.column]) for p in entity.properties]
    if not members:
        return ""
    # Each brings its own comma. To join with one, passing over nulls, Arrow is not fit: it drops
    # a row in which all are null.
    return pc.ascii_rtrim(_joined(*members), ",")


def _member(property_: Property, values: pa.Array) -> pa.Array:
    """`"name":value,`; nothing where the value is null and may be left out."""
    name = json.dumps(property_.name)
    member = _joined(f"{name}:", _text(values, property_.type), ",")
    left_out = f"{name}:null," if property_.default is not None else ""
    return pc.fill_null(member, _constant(left_out))


# Values ------------------------------------------------------------------------------------------


def _text(values: pa.Array, type_: ValueType) -> pa.Array:
    """Each value as JSON; null stays null."""
    match type_:
        case Scalar.STRING | EnumOf():
            return _quoted(values)
        case Scalar.BOOL | Scalar.I32 | Scalar.I64 | Scalar.U32 | Scalar.U64:
            return values.cast(TEXT)
        case Scalar.F64:
            return _fraction(values)
        case Scalar.F32:
            return _short_fraction(values)
        case Scalar.DATE:
            return _joined('"', values.cast(TEXT), '"')
        case Scalar.DATETIME:
            return _times(values)
        case Scalar.BLOB:
            return _blobs(values)
        case VectorOf():
            return _lists(values, Scalar.F32)
        case ListOf(item=item):
            return _lists(values, item)


def _quoted(text: pa.Array) -> pa.Array:
    text = text.cast(TEXT)
    if _any(pc.match_substring_regex(text, MUST_BE_ESCAPED)):
        text = pc.replace_substring(text, "\\", "\\\\")
        text = pc.replace_substring(text, '"', '\\"')
        if _any(pc.match_substring_regex(text, CONTROL_CHARACTERS)):
            for code in range(0x20):
                text = pc.replace_substring(text, chr(code), json.dumps(chr(code))[1:-1])
    return _joined('"', text, '"')


def _fraction(values: pa.Array) -> pa.Array:
    text = values.cast(TEXT)
    # As a whole number, minus nought has no sign.
    return pc.if_else(pc.equal(text, "-0"), _constant("-0.0"), text)


def _short_fraction(values: pa.Array) -> pa.Array:
    """The fewest digits of a 32-bit number that lead back to it through a 64-bit one as well.

    The fewest that lead back directly may lie so close to the middle between two such numbers that
    the nearest 64-bit number is that middle, and rounds to the other one.
    """
    text = _fraction(values)
    through = text.cast(pa.float64()).cast(pa.float32(), safe=False)
    is_exact = pc.equal(through, values)
    if pc.all(is_exact).as_py() in (True, None):
        return text
    return pc.if_else(is_exact, text, _fraction(values.cast(pa.float64())))


def _times(values: pa.Array) -> pa.Array:
    text = values.cast(pa.timestamp("ms")).cast(TEXT)
    return _joined('"', pc.replace_substring(text, " ", "T"), 'Z"')


def _blobs(values: pa.Array) -> pa.Array:
    # Row by row: nothing columnar encodes base64, and a blob's bytes outweigh the loop.
    return pa.array(
        [None if value is None else f'"{text_from_blob(value)}"' for value in values.to_pylist()],
        TEXT,
    )


def _lists(values: pa.Array, item: Scalar) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(values), fill_value=0)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))])
    items = _text(pc.list_flatten(values), item).cast(pa.string())
    texts = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), items, mask=values.is_null() if values.null_count else None
    )
    return _joined("[", pc.binary_join(texts, ",").cast(TEXT), "]")


# Joining -----------------------------------------------------------------------------------------


def _joined(*parts: pa.Array | str) -> pa.Array:
    """The parts of each row one after the other; null where one is null."""
    texts = [_constant(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, _constant(""))


def _constant(text: str) -> pa.Scalar:
    return pa.scalar(text, TEXT)


def _any(claims: pa.Array) -> bool:
    return bool(pc.any(claims).as_py())
