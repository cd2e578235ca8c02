"""Rows as JSON lines, a column at a time: what a load reads back as the same rows.

Every value must come back exactly. A number is written in the fewest digits that do, by either way
in which a load reads it; a null is left out, but written where leaving it out would mean a default.

A line is a list of parts, constant text and columns of text, until all are joined at once: each
join on the way would copy everything again.
"""

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.errors import LimitExceeded
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.base.words import clipped
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType, Property
from omnigraph.pipeline.limits import InputLimits
from omnigraph.store.arrays import json_escaped, short_floats, with_items

__all__ = ["lines_of"]

# Offsets of 64 bits: a line with a blob may be longer than 2 GiB.
TEXT = pa.large_string()

# An export must be a file that a load takes.
MAX_LINE_BYTES = InputLimits().max_line_bytes

Parts = list[pa.Array | str]


def lines_of(entity: EntityType, rows: pa.RecordBatch) -> pa.Array:
    """One line for each row of a type's table, with its end; as 64-bit Arrow text."""
    name, identity = json.dumps(entity.name), _quoted(rows[ID])
    match entity:
        case NodeType():
            head = [f'{{"type":{name},"id":', *identity]
        case EdgeType():
            ends = [',"from":', *_quoted(rows[SRC]), ',"to":', *_quoted(rows[DST])]
            head = [f'{{"edge":{name},"id":', *identity, *ends]
    rest = [',"data":{', *_members(entity.properties, rows), "}}\n"]
    if not entity.properties and isinstance(entity, EdgeType):
        rest = ["}\n"]
    lines = _joined([*head, *rest])
    _check_lengths(entity, rows[ID], lines)
    return lines


def _check_lengths(entity: EntityType, ids: pa.Array, lines: pa.Array) -> None:
    """Raise if a line is longer than a load reads: a large blob, or a very long text."""
    lengths = pc.binary_length(lines)
    longest = pc.max(lengths).as_py() or 0
    if longest > MAX_LINE_BYTES:
        id_ = ids[pc.index(lengths, longest).as_py()].as_py()
        raise LimitExceeded(
            what=f"the line of {entity.name} {clipped(id_)}, in bytes,",
            limit=MAX_LINE_BYTES,
            found=longest,
            advice="a load could not read it: export with --format parquet",
        )


def _members(properties: Sequence[Property], rows: pa.RecordBatch) -> Parts:
    """The members of `data`, with commas between those that are there.

    A member that every row has is the pivot: members before it bring a comma at their end,
    members after it one at their beginning.
    """
    whole = (n for n, p in enumerate(properties) if not rows[p.column].null_count)
    pivot = next(whole, len(properties))
    members: Parts = []
    for n, property_ in enumerate(properties):
        before, after = "," if n > pivot else "", "," if n < pivot else ""
        members += _member(property_, rows[property_.column], before, after)
    if pivot == len(properties) and members:
        # Arrow's own way to join with commas, passing over nulls, drops a row that has only nulls.
        return [pc.ascii_rtrim(_joined(members), ",")]
    return members


def _member(property_: Property, values: pa.Array, before: str, after: str) -> Parts:
    """`"name":value`; nothing where the value is null and may be left out."""
    name = json.dumps(property_.name)
    member = [f"{before}{name}:", *_text(values, property_.type), after]
    if not values.null_count:
        return member
    left_out = f"{before}{name}:null{after}" if property_.default is not None else ""
    return [pc.fill_null(_joined(member), _constant(left_out))]


# Values ------------------------------------------------------------------------------------------


def _text(values: pa.Array, type_: ValueType) -> Parts:
    """Each value as JSON; null stays null."""
    match type_:
        case Scalar.STRING | EnumOf():
            return _quoted(values)
        case Scalar.BOOL | Scalar.I32 | Scalar.I64 | Scalar.U32 | Scalar.U64:
            return [values.cast(TEXT)]
        case Scalar.F64:
            return [_fraction(values)]
        case Scalar.F32:
            return [_fraction(short_floats(values))]
        case Scalar.DATE:
            return ['"', values.cast(TEXT), '"']
        case Scalar.DATETIME:
            text = values.cast(pa.timestamp("ms")).cast(TEXT)
            return ['"', pc.replace_substring(text, " ", "T"), 'Z"']
        case Scalar.BLOB:
            return _blobs(values)
        case VectorOf():
            return _lists(values, Scalar.F32)
        case ListOf(item=item):
            return _lists(values, item)


def _quoted(text: pa.Array) -> Parts:
    return ['"', json_escaped(text.cast(TEXT)), '"']


def _fraction(values: pa.Array) -> pa.Array:
    text = values.cast(TEXT)
    # As a whole number, minus nought has no sign.
    is_nought = pc.equal(values, 0)
    if not pc.any(is_nought).as_py():
        return text
    return pc.if_else(pc.and_(is_nought, pc.equal(text, "-0")), _constant("-0.0"), text)


def _blobs(values: pa.Array) -> Parts:
    # Row by row: nothing columnar encodes base64, and a blob's bytes outweigh the loop.
    texts = [None if value is None else text_from_blob(value) for value in values.to_pylist()]
    return ['"', pa.array(texts, TEXT), '"']


def _lists(values: pa.Array, item: Scalar) -> Parts:
    items = _joined(_text(pc.list_flatten(values), item)).cast(pa.string())
    return ["[", pc.binary_join(with_items(values, items), ",").cast(TEXT), "]"]


# Joining -----------------------------------------------------------------------------------------


def _joined(parts: Parts) -> pa.Array:
    """The parts of each row one after the other; null where one is null."""
    if len(parts) == 1 and isinstance(parts[0], pa.Array):
        return parts[0]
    texts: list[pa.Array | pa.Scalar] = []
    constant = ""
    for part in parts:
        if isinstance(part, str):
            constant += part
            continue
        texts += [_constant(constant), part] if constant else [part]
        constant = ""
    texts += [_constant(constant)] if constant else []
    return pc.binary_join_element_wise(*texts, _constant(""))


def _constant(text: str) -> pa.Scalar:
    return pa.scalar(text, TEXT)
