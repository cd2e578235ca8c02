"""Columns of values in other shapes: in one piece, as JSON text, as floats of few digits.

A 32-bit float is shown in as few digits as tell it apart. The float nearest to 1.65 in 32 bits is
1.649999976158142 in 64, and Python, JSON and everyone else who prints numbers has 64. So it is
shown as the 64-bit float that is written `1.65`. Code that computes with values takes them as they
are.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["json_escaped", "one_array", "short_floats", "with_items", "with_short_floats"]

MUST_BE_ESCAPED = r'[\x00-\x1f"\\]'
CONTROL_CHARACTERS = r"[\x00-\x1f]"


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column in one piece; Arrow would copy it where it is that already."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def json_escaped(text: pa.Array) -> pa.Array:
    """The text as it stands between the quotes of a JSON string."""
    if not _any(pc.match_substring_regex(text, MUST_BE_ESCAPED)):
        return text
    text = pc.replace_substring(text, "\\", "\\\\")
    text = pc.replace_substring(text, '"', '\\"')
    if _any(pc.match_substring_regex(text, CONTROL_CHARACTERS)):
        for code in range(0x20):
            text = pc.replace_substring(text, chr(code), json.dumps(chr(code))[1:-1])
    return text


def with_short_floats(table: pa.Table) -> pa.Table:
    """The same rows, with every 32-bit float as the 64-bit float that is written in its digits."""
    if not any(map(_has_floats, table.schema.types)):
        return table
    columns = [
        short_floats(one_array(column)) if _has_floats(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def short_floats(values: pa.Array) -> pa.Array:
    """The same for one column, also of lists and structs."""
    kind = values.type
    if kind == pa.float32():
        return _short_floats(values)
    if not _has_floats(kind):
        return values
    if pa.types.is_struct(kind):
        parts = [short_floats(part) for part in values.flatten()]
        mask = values.is_null() if values.null_count else None
        return pa.StructArray.from_arrays(parts, [part.name for part in kind], mask=mask)
    return with_items(values, short_floats(pc.list_flatten(values)))


def with_items(lists: pa.Array, items: pa.Array) -> pa.Array:
    """Lists of the same lengths, nulls where they were, of other items."""
    lengths = pc.fill_null(pc.list_value_length(lists), fill_value=0)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))])
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=mask)


def _short_floats(values: pa.Array) -> pa.Array:
    """32-bit floats as 64-bit ones of the fewest digits that lead back to them.

    The fewest that lead back directly may lie so close to the middle between two 32-bit floats that
    the nearest 64-bit one is that middle, and rounds to the other: such a float stays as it is.
    """
    short = values.cast(pa.string()).cast(pa.float64())
    is_exact = pc.equal(short.cast(pa.float32(), safe=False), values)
    if pc.all(is_exact).as_py() in (True, None):
        return short
    return pc.if_else(is_exact, short, values.cast(pa.float64()))


def _has_floats(kind: pa.DataType) -> bool:
    """True if there is a float of 32 bits in it."""
    if pa.types.is_struct(kind):
        return any(_has_floats(part.type) for part in kind)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _has_floats(kind.value_type)
    return bool(kind == pa.float32())


def _any(claims: pa.Array) -> bool:
    return bool(pc.any(claims).as_py())
