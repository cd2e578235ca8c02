"""Lines of NDJSON of one type, read as columns: the fast way.

Arrow reads them with the type's own schema. It refuses a block as a whole and can't say which line
was wrong, so a decoder made from the same schema then says of each line whether it fits; that takes
less time than to read it. What Arrow still refuses of those that do, it is given again by halves.
Lines are left over here, never judged: what is wrong with them, if anything, `decode` says.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.base.types import INTEGER_RANGES, Scalar
from omnigraph.check.rows.input_types import arriving_type, counting_type
from omnigraph.check.rows.validate import Rows
from omnigraph.lang.schema.catalog import ID, Catalog, EdgeType, EntityType, NodeType
from omnigraph.store.arrays import one_array

__all__ = ["optional_defaults", "read_columns"]


def read_columns(
    entity: EntityType, lines: pa.Array, catalog: Catalog, min_fast_lines: int
) -> Iterator[tuple[np.ndarray, Rows]]:
    """Rows of the lines that can be read this way, and the place of each among the lines."""
    left = np.flatnonzero(~_may_give_nulls(entity, lines))
    for schema in _schemas(entity, lines, catalog):
        taken = lines if len(left) == len(lines) else lines.take(left)
        places, table = _read(taken, schema, min_fast_lines)
        if len(is_row := _is_row(entity, table)) and not is_row.all():
            places, table = places[is_row], table.filter(pa.array(is_row)).combine_chunks()
        if len(places):
            yield left[places], _rows_of(entity, table)
            left = np.delete(left, places)
        if not len(left):
            return


def optional_defaults(entity: EntityType) -> list[str]:
    return [p.name for p in entity.properties if p.is_nullable and p.default is not None]


def _may_give_nulls(entity: EntityType, lines: pa.Array) -> np.ndarray:
    """Which lines might give a null where leaving the property out would mean its default.

    Arrow does not tell the two apart. A name written with escapes might be any name.
    """
    names = [re.escape(name) for name in optional_defaults(entity)]
    if not names:
        return np.zeros(len(lines), dtype=bool)
    suspect = pc.match_substring_regex(lines, rf'("({"|".join(names)})"|\\u[^"]*")\s*:\s*null')
    may_give: np.ndarray = suspect.to_numpy(zero_copy_only=False)
    return may_give


# What lines hold ----------------------------------------------------------------------------------


def _schemas(entity: EntityType, lines: pa.Array, catalog: Catalog) -> list[pa.Schema]:
    """What each member may hold; the schema that the first line fits comes first.

    Ends of edges may be text or key values, and dates may be text or numbers. A column holds either
    one or the other.
    """
    match entity:
        case NodeType():
            envelopes = [[pa.field("type", pa.string())]]
        case EdgeType():
            ends = (_end_types(catalog.node_by_name[n]) for n in (entity.source, entity.target))
            edge = pa.field("edge", pa.string())
            envelopes = [
                [edge, pa.field("from", source), pa.field("to", target)]
                for source, target in itertools.product(*ends)
            ]
    schemas = [
        pa.schema([*envelope, pa.field(ID, pa.string()), pa.field("data", pa.struct(data))])
        for envelope, data in itertools.product(envelopes, _data_fields(entity))
    ]
    if len(schemas) > 1:
        schemas.sort(key=lambda schema: not _fit(lines[:1], schema).all())
    return schemas


def _data_fields(entity: EntityType) -> Iterator[list[pa.Field]]:
    """The members of `data`: with dates as text, and with dates as numbers."""
    identity = [] if ID in entity.by_name else [pa.field(ID, pa.string())]
    text = [pa.field(p.name, arriving_type(p.type)) for p in entity.properties]
    yield text + identity
    if any(counting_type(p.type) for p in entity.properties):
        numbers = [
            pa.field(p.name, counting_type(p.type) or arriving_type(p.type))
            for p in entity.properties
        ]
        yield numbers + identity


def _end_types(node: NodeType) -> list[pa.DataType]:
    key = node.by_name[node.key[0]].type if len(node.key) == 1 else None
    is_value = isinstance(key, Scalar) and (key is Scalar.BOOL or key.is_numeric)
    return [pa.string(), arriving_type(key)] if key is not None and is_value else [pa.string()]


# Reading ------------------------------------------------------------------------------------------


def _read(lines: pa.Array, schema: pa.Schema, min_fast_lines: int) -> tuple[np.ndarray, pa.Table]:
    """The lines that the schema holds, and their places."""
    every = np.arange(len(lines))
    whole = _table(lines, schema)
    if whole is not None:
        return every, whole
    fitting = every[_fit(lines, schema)]
    read = [*_by_halves(lines.take(pa.array(fitting)), fitting, schema, min_fast_lines)]
    places = np.concatenate([every[:0], *(places for places, _ in read)])
    tables = [schema.empty_table(), *(table for _, table in read)]
    return places, pa.concat_tables(tables).combine_chunks()


def _by_halves(
    lines: pa.Array, places: np.ndarray, schema: pa.Schema, min_fast_lines: int
) -> Iterator[tuple[np.ndarray, pa.Table]]:
    table = _table(lines, schema) if len(lines) else None
    if table is not None:
        yield places, table
    elif len(lines) > min_fast_lines:
        half = len(lines) // 2
        yield from _by_halves(lines[:half], places[:half], schema, min_fast_lines)
        yield from _by_halves(lines[half:], places[half:], schema, min_fast_lines)


def _table(lines: pa.Array, schema: pa.Schema) -> pa.Table | None:
    """The lines as columns, or None where one of them needs a closer look."""
    offsets = _offsets(lines)
    start, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    try:
        table = pj.read_json(
            pa.BufferReader(lines.buffers()[2].slice(start, size)),
            # Tasks are what runs in parallel, and one block keeps each column in one piece.
            read_options=pj.ReadOptions(use_threads=False, block_size=size + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="error"
            ),
        ).combine_chunks()
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == len(lines) else None


def _fit(lines: pa.Array, schema: pa.Schema) -> np.ndarray:
    """Which lines a strict decoder takes. Arrow takes these, save for a very few."""
    import msgspec

    decode = msgspec.json.Decoder(_hint(pa.struct(list(schema)))).decode
    fit = np.ones(len(lines), dtype=bool)
    text = memoryview(lines.buffers()[2])
    borders = itertools.pairwise(_offsets(lines).tolist())
    for place, (start, end) in enumerate(borders):
        try:
            decode(text[start:end])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            fit[place] = False
    return fit


def _hint(type_: pa.DataType) -> Any:
    """The Python type that says the same as an Arrow type; every value may be null."""
    import msgspec

    hint: Any
    if pa.types.is_struct(type_):
        # Members may be called what no attribute can be.
        names = {f"_{number}": field.name for number, field in enumerate(type_)}
        members = [(f"_{number}", _hint(field.type), None) for number, field in enumerate(type_)]
        hint = msgspec.defstruct(
            "Members", members, rename=names, forbid_unknown_fields=True, gc=False
        )
    elif pa.types.is_list(type_):
        hint = list[_hint(type_.value_type)]  # type: ignore[misc]
    elif pa.types.is_uint64(type_):
        hint = Annotated[int, msgspec.Meta(ge=0)]
    elif pa.types.is_int64(type_):
        low, high = INTEGER_RANGES[Scalar.I64]
        hint = Annotated[int, msgspec.Meta(ge=low, le=high)]
    elif pa.types.is_floating(type_):
        hint = float
    elif pa.types.is_boolean(type_):
        hint = bool
    else:
        assert pa.types.is_string(type_), f"{type_} arrives in no line"
        hint = str
    return hint | None


def _offsets(lines: pa.Array) -> np.ndarray:
    offsets = np.frombuffer(lines.buffers()[1], dtype=np.int32)
    return offsets[lines.offset : lines.offset + len(lines) + 1]


# Rows ---------------------------------------------------------------------------------------------


def _is_row(entity: EntityType, table: pa.Table) -> np.ndarray:
    """Which rows of the table are what the type takes: of no two ids."""
    is_row = pa.repeat(pa.scalar(value=True), table.num_rows)
    if ID not in entity.by_name:
        differs = pc.not_equal(table[ID], pc.struct_field(table["data"], ID))
        is_row = pc.and_not(is_row, pc.fill_null(differs, fill_value=False))
    mask: np.ndarray = is_row.to_numpy(zero_copy_only=False)
    return mask


def _rows_of(entity: EntityType, table: pa.Table) -> Rows:
    columns = {name: one_array(table[name]) for name in table.column_names}
    data, ids = columns["data"], columns[ID]
    properties = dict(zip((f.name for f in data.type), data.flatten(), strict=True))
    if ID not in entity.by_name:
        ids = pc.coalesce(ids, properties.pop(ID))
    return Rows(
        count=len(data),
        properties=properties,
        left_out={
            name: properties[name].is_null().to_numpy(zero_copy_only=False)
            for name in optional_defaults(entity)
        },
        ids=ids if ids.null_count < len(ids) else None,
        sources=columns.get("from"),
        targets=columns.get("to"),
    )
