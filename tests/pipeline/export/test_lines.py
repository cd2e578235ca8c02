"""Lines are read back as the rows they were made from, by both ways in which a load reads them."""

import json
from datetime import UTC
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.base.span import SourceText
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.export.lines import lines_of
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.rows.conform import conform_split
from omnigraph.pipeline.sources.splits import InlineLines
from omnigraph.store.arrow import table_schema

SCHEMA = """
node Wide {
    text: String?  flag: Bool?  i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
    day: Date?  time: DateTime?  bytes: Blob?  vector: Vector(3)?  word: enum(a, b)?
    texts: [String]?  numbers: [U64]?  halves: [F32]?  days: [Date]?  times: [DateTime]?
    flags: [Bool]?
    word_or: enum(a, b)? @default(b)
    text_or: String? @default("x")
    id: String?
    must: I64
    must_or: F64 @default(1.5)
}
node Bare { }
edge Tie: Wide -> Bare { note: String? }
edge Line: Bare -> Bare
"""
CATALOG = compile_schema(SourceText(SCHEMA))

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TIMES = st.datetimes(timezones=st.just(UTC)).map(
    lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
)
SCALARS: dict[Scalar, st.SearchStrategy[Any]] = {
    Scalar.STRING: TEXTS,
    Scalar.BOOL: st.booleans(),
    Scalar.I32: st.integers(-(2**31), 2**31 - 1),
    Scalar.I64: st.integers(-(2**63), 2**63 - 1),
    Scalar.U32: st.integers(0, 2**32 - 1),
    Scalar.U64: st.integers(0, 2**64 - 1),
    # The second is written with fewer digits than lead back to it through a 64-bit number.
    Scalar.F32: st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.just(7.038530691851209e-26),
    Scalar.F64: st.floats(allow_nan=False, allow_infinity=False),
    Scalar.DATE: st.dates(),
    Scalar.DATETIME: TIMES,
    Scalar.BLOB: st.binary(max_size=8),
}


def values(type_: ValueType) -> st.SearchStrategy[Any]:
    match type_:
        case Scalar():
            return SCALARS[type_]
        case EnumOf(values=words):
            return st.sampled_from(words)
        case VectorOf(width=width):
            numbers = st.lists(SCALARS[Scalar.F32], min_size=width, max_size=width)
            return numbers.filter(any)  # nothing is near to zeros: they are no vector
        case ListOf(item=item):
            return st.lists(SCALARS[item], max_size=3)


@st.composite
def tables(draw: st.DrawFn, entity: EntityType) -> pa.Table:
    schema = table_schema(entity)
    row = {name: IDS for name in ("id", "src", "dst") if name in schema.names}
    columns = {
        p.column: values(p.type) | st.none() if p.is_nullable else values(p.type)
        for p in entity.properties
    }
    rows = draw(st.lists(st.fixed_dictionaries(row | columns), max_size=4))
    return pa.Table.from_pylist(rows, schema)


def batch_of(table: pa.Table) -> pa.RecordBatch:
    (batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    return batch


def read_back(lines: list[str], entity: EntityType) -> str:
    """The rows as text, in which every two values differ that are not the same."""
    split = InlineLines("in.jsonl", 0, "".join(lines).encode())
    (result,) = conform_split(split, catalog=CATALOG, now_ms=0, limits=InputLimits())
    assert not result.violations, result.violations
    rows = {
        int(line): row
        for typed in result.rows
        for line, row in zip(typed.lines, typed.batch.to_pylist(), strict=True)
    }
    return repr([rows[line] for line in range(len(lines))])


@pytest.mark.parametrize("entity", CATALOG.entities, ids=lambda entity: str(entity.name))
@given(st.data())
def test_a_row_comes_back_as_it_was(entity: EntityType, data: st.DataObject) -> None:
    table = data.draw(tables(entity))
    lines = lines_of(entity, batch_of(table)).to_pylist()
    if not lines:
        return
    expected = repr(table.to_pylist())
    assert read_back(lines, entity) == expected
    # With the type at the end a line is read with care, one by one.
    first, rest = lines[0].split(",", maxsplit=1)[0] + ",", -2
    moved = [f"{{{line[len(first) : rest]},{first[1:-1]}}}\n" for line in lines]
    assert read_back(moved, entity) == expected


@given(TEXTS)
@example("".join(map(chr, range(0x100))))
@example('\\"\u2028\x7f\U0001f600')
def test_text_is_escaped_as_json_has_it(text: str) -> None:
    wide = CATALOG.node_by_name["Bare"]
    (line,) = lines_of(wide, batch_of(pa.table({"id": [text]}))).to_pylist()
    assert json.loads(line) == {"type": "Bare", "id": text, "data": {}}
    assert line.count("\n") == 1


def test_a_32_bit_number_is_short_and_leads_back_through_a_64_bit_one() -> None:
    numbers = [0.1, -0.0, 3.4028234663852886e38, 1e-45, 7.038530691851209e-26]
    rows = pa.table({"id": ["x"], "halves": pa.array([numbers], pa.list_(pa.float32()))})
    wide = CATALOG.node_by_name["Wide"]
    batch = batch_of(rows)
    for field in table_schema(wide):
        if field.name not in rows.column_names:
            batch = batch.append_column(field.name, pa.nulls(1, field.type))
    (line,) = lines_of(wide, batch).to_pylist()
    read = json.loads(line)["data"]["halves"]
    assert repr(pa.array(read, pa.float32()).to_pylist()) == repr(
        pa.array(numbers, pa.float32()).to_pylist()
    )
    assert "[0.1,-0.0,3.4028235e+38,1e-45,7.03853" in line


def test_nulls_are_left_out_but_where_a_default_would_take_their_place() -> None:
    wide = CATALOG.node_by_name["Wide"]
    row = dict.fromkeys(table_schema(wide).names) | {"id": "x", "must": 1, "must_or": 2.0}
    table = pa.Table.from_pylist([row], table_schema(wide))
    (line,) = lines_of(wide, batch_of(table)).to_pylist()
    assert json.loads(line)["data"] == {
        "must": 1,
        "must_or": 2.0,
        "text_or": None,
        "word_or": None,
    }
