"""Every type that Arrow, DuckDB, pandas and Spark write into Parquet or give in a frame: its values
are loaded equal, its rows are rejected, or the column is refused by name."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.base.errors import SourceInvalid

BAD_ROW = "bad row"
"""Instead of a value: its row is rejected."""


@dataclass(frozen=True)
class Column:
    """What a column holds, and what a property has of it."""

    made: Any
    """An Arrow array, or one row's value in SQL."""
    type: str
    values: tuple[Any, ...] | None
    """None: the column is refused."""


def utc(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, us: int = 0
) -> datetime:
    return datetime(year, month, day, hour, minute, second, us, tzinfo=UTC)


def extension(kind: pa.ExtensionType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


NS = pa.array([-1, 2**62, -(2**62)], pa.timestamp("ns"))
OF_NS = (
    utc(1969, 12, 31, 23, 59, 59, 999_000),
    utc(2116, 2, 20, 23, 53, 38, 427_000),
    utc(1823, 11, 12, 0, 6, 21, 572_000),
)
DECIMAL = [Decimal("1.50")]
WORDS = pa.array(["a", None, "b"])

ARROW = {
    "int8": Column(pa.array([-128, 127], pa.int8()), "I32", (-128, 127)),
    "int16": Column(pa.array([-32768], pa.int16()), "I64", (-32768,)),
    "uint8": Column(pa.array([255], pa.uint8()), "I32", (255,)),
    "uint16": Column(pa.array([65535], pa.uint16()), "U32", (65535,)),
    "uint32": Column(pa.array([2**32 - 1], pa.uint32()), "U32", (2**32 - 1,)),
    "uint32 for an int": Column(
        pa.array([2**31 - 1, 2**31], pa.uint32()), "I32", (2**31 - 1, BAD_ROW)
    ),
    "uint64": Column(pa.array([2**64 - 1], pa.uint64()), "U64", (2**64 - 1,)),
    "uint64 for an int": Column(
        pa.array([2**63 - 1, 2**63], pa.uint64()), "I64", (2**63 - 1, BAD_ROW)
    ),
    "float16": Column(pa.array([1.5, 65504.0], pa.float16()), "F32", (1.5, 65504.0)),
    "float32": Column(pa.array([0.5], pa.float32()), "F64", (0.5,)),
    "float64 for a float": Column(pa.array([0.5, 1e300]), "F32", (0.5, BAD_ROW)),
    "nan": Column(pa.array([float("nan")]), "F64", (BAD_ROW,)),
    "bool": Column(pa.array([True, None, False]), "Bool", (True, None, False)),
    "large text": Column(WORDS.cast(pa.large_string()), "String", ("a", None, "b")),
    "view of text": Column(WORDS.cast(pa.string_view()), "String", ("a", None, "b")),
    "dictionary": Column(WORDS.dictionary_encode(), "enum(a, b)", ("a", None, "b")),
    "dictionary of int": Column(pa.array([5, None]).dictionary_encode(), "I64", (5, None)),
    "binary": Column(pa.array([b"a\0", b""]), "Blob", (b"a\0", b"")),
    "large binary": Column(pa.array([b"a"], pa.large_binary()), "Blob", (b"a",)),
    "fixed binary": Column(pa.array([b"abc"], pa.binary(3)), "Blob", (b"abc",)),
    "date32": Column(pa.array([date(1, 1, 1)]), "Date", (date(1, 1, 1),)),
    "date64": Column(pa.array([date(9999, 12, 31)], pa.date64()), "Date", (date(9999, 12, 31),)),
    "seconds": Column(
        pa.array([-62135596801, 0], pa.timestamp("s")), "DateTime", (BAD_ROW, utc(1970, 1, 1))
    ),
    "milliseconds": Column(pa.array([-1], pa.timestamp("ms")), "DateTime", (OF_NS[0],)),
    "microseconds": Column(pa.array([-1], pa.timestamp("us", "UTC")), "DateTime", (OF_NS[0],)),
    "nanoseconds": Column(NS, "DateTime", OF_NS),
    "nanoseconds for a date": Column(
        pa.array([0, 1], pa.timestamp("ns")), "Date", (date(1970, 1, 1), BAD_ROW)
    ),
    "time of a zone": Column(
        pa.array([0], pa.timestamp("us", "Asia/Tokyo")), "DateTime", (utc(1970, 1, 1),)
    ),
    "null": Column(pa.nulls(2), "I64", (None, None)),
    "list": Column(pa.array([["a", ""], None, []]), "[String]", (["a", ""], None, [])),
    "list with a null": Column(pa.array([["a", None]]), "[String]", (BAD_ROW,)),
    "large list": Column(pa.array([[1]], pa.large_list(pa.int8())), "[I64]", ([1],)),
    "list of dictionary": Column(
        pa.array([["a", "b"], None, ["b"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        "[String]",
        (["a", "b"], None, ["b"]),
    ),
    "list of nanoseconds": Column(
        pa.array([[-1]], pa.list_(pa.timestamp("ns"))), "[DateTime]", ([OF_NS[0]],)
    ),
    "fixed list": Column(
        pa.array([[1.0, 2.0]], pa.list_(pa.float16(), 2)), "Vector(2)", ([1.0, 2.0],)
    ),
    "view of a list": Column(pa.array([["a"]], pa.list_view(pa.string())), "[String]", (["a"],)),
    "decimal32": Column(pa.array(DECIMAL, pa.decimal32(5, 2)), "F64", None),
    "decimal64": Column(pa.array(DECIMAL, pa.decimal64(15, 2)), "F64", None),
    "decimal128": Column(pa.array(DECIMAL, pa.decimal128(30, 2)), "F64", None),
    "decimal256": Column(pa.array(DECIMAL, pa.decimal256(50, 2)), "F64", None),
    "time32": Column(pa.array([1], pa.time32("ms")), "DateTime", None),
    "time64": Column(pa.array([1], pa.time64("ns")), "I64", None),
    "duration": Column(pa.array([1], pa.duration("us")), "I64", None),
    "struct": Column(pa.array([{"a": 1}]), "String", None),
    "map": Column(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "[String]", None),
    "list of lists": Column(pa.array([[["a"]]]), "[String]", None),
    "uuid": Column(extension(pa.uuid(), pa.array([b"\0" * 16], pa.binary(16))), "String", None),
    "json": Column(extension(pa.json_(), pa.array(["{}"])), "String", None),
    "text for a number": Column(pa.array(["1"]), "I64", None),
}

# Arrow has them and Parquet does not.
ARROW_ALONE = {
    "run ends": Column(pa.RunEndEncodedArray.from_arrays([2], ["a"]), "String", ("a", "a")),
    "interval": Column(pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "I64", None),
    "union": Column(
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "I64", None
    ),
}

DUCKDB = {
    "utinyint": Column("255::UTINYINT", "I32", (255,)),
    "ubigint": Column("18446744073709551615::UBIGINT", "U64", (2**64 - 1,)),
    "timestamp": Column("TIMESTAMP '9999-12-31 00:00:00'", "DateTime", (utc(9999, 12, 31),)),
    "timestamp_s": Column("'1600-01-01'::TIMESTAMP_S", "DateTime", (utc(1600, 1, 1),)),
    "timestamp_ms": Column("'1600-01-01'::TIMESTAMP_MS", "DateTime", (utc(1600, 1, 1),)),
    "timestamp_ns": Column("'2024-02-29'::TIMESTAMP_NS", "DateTime", (utc(2024, 2, 29),)),
    "timestamptz": Column("TIMESTAMPTZ '1600-01-01 01:00:00+01'", "DateTime", (utc(1600, 1, 1),)),
    "endless timestamp": Column("'infinity'::TIMESTAMP", "DateTime", (BAD_ROW,)),
    "endless date": Column("'-infinity'::DATE", "Date", (BAD_ROW,)),
    "date before Christ": Column("DATE '0044-03-15 (BC)'", "Date", (BAD_ROW,)),
    "enum": Column("'a'::ENUM('a','b')", "enum(a, b)", ("a",)),
    "list": Column("['a','b']", "[String]", (["a", "b"],)),
    "array": Column("[1,2]::FLOAT[2]", "Vector(2)", ([1.0, 2.0],)),
    "list of timestamp": Column("[TIMESTAMP '1600-01-01']", "[DateTime]", ([utc(1600, 1, 1)],)),
    "blob": Column("'ab'::BLOB", "Blob", (b"ab",)),
    "decimal of 4": Column("1.5::DECIMAL(4,1)", "F64", None),
    "decimal of 18": Column("1.5::DECIMAL(18,1)", "F64", None),
    "decimal of 38": Column("1.5::DECIMAL(38,1)", "F64", None),
    "interval": Column("INTERVAL 1 DAY", "String", None),
    "interval for a blob": Column("INTERVAL 1 DAY", "Blob", None),
    "time": Column("TIME '10:00:00'", "DateTime", None),
    "timetz": Column("TIMETZ '10:00:00+02'", "DateTime", None),
    "map": Column("MAP{'a':1}", "[String]", None),
    "struct": Column("{'a':1}", "String", None),
}

PANDAS = {
    "whole floats": Column([1.0, None], "I64", (1, None)),
    "Int64": Column(pd.array([1, None], dtype="Int64"), "I64", (1, None)),
    "boolean": Column(pd.array([True, None], dtype="boolean"), "Bool", (True, None)),
    "category": Column(pd.Categorical(["a", None]), "String", ("a", None)),
    "string": Column(pd.array(["a", None], dtype="string"), "String", ("a", None)),
    "datetime64[ns]": Column(
        pd.to_datetime(["1700-01-01", None]), "DateTime", (utc(1700, 1, 1), None)
    ),
    "datetime64[s]": Column(
        pd.array(["9999-12-31", None], dtype="datetime64[s]"), "DateTime", (utc(9999, 12, 31), None)
    ),
    "datetime64 of a zone": Column(
        pd.to_datetime(["2024-01-01"]).tz_localize("Asia/Tokyo"), "Date", (date(2024, 1, 1),)
    ),
    "dates": Column([date(1, 1, 1), None], "Date", (date(1, 1, 1), None)),
    "timedelta": Column(pd.to_timedelta([1], unit="s"), "I64", None),
    "lists": Column([["a"], None], "[String]", (["a"], None)),
    "bytes": Column([b"a"], "Blob", (b"a",)),
}


def as_parquet(place: Path, column: pa.Array, **options: Any) -> str:
    table = pa.table({"k": range(len(column)), "c": column})
    # A group for each row, so that every column has a border within a batch.
    pq.write_table(table, place / "T.parquet", row_group_size=1, **options)
    return str(place / "T.parquet")


def duckdb_parquet(place: Path, sql: str) -> str:
    file = place / "T.parquet"
    duckdb.sql(f"copy (select 0 as k, {sql} as c) to '{file}' (format parquet)")
    return str(file)


def pandas_parquet(place: Path, values: Any) -> str:
    of_pandas(values).to_parquet(place / "T.parquet")
    return str(place / "T.parquet")


def of_pandas(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"k": range(len(values)), "c": values})


Producer = Callable[[Path, Any], Any]
PRODUCERS: dict[str, tuple[Producer, dict[str, Column]]] = {
    "an Arrow table": (
        lambda _, made: {"T": pa.table({"k": range(len(made)), "c": made})},
        {**ARROW, **ARROW_ALONE},
    ),
    "Parquet of Arrow": (as_parquet, ARROW),
    "Parquet 1.0 of Arrow": (
        lambda place, made: as_parquet(place, made, version="1.0", store_schema=False),
        {name: ARROW[name] for name in ("uint32", "milliseconds", "date64", "list", "large list")},
    ),
    "Parquet of Arrow without lists of three levels": (
        lambda place, made: as_parquet(place, made, use_compliant_nested_type=False),
        {name: ARROW[name] for name in ("list", "list of dictionary", "fixed list")},
    ),
    "INT96 of Arrow": (
        lambda place, made: as_parquet(place, made, use_deprecated_int96_timestamps=True),
        {name: ARROW[name] for name in ("nanoseconds", "list of nanoseconds")},
    ),
    "a DuckDB relation": (
        lambda _, sql: {"T": duckdb.sql(f"select 0 as k, {sql} as c")},
        DUCKDB,
    ),
    "Parquet of DuckDB": (duckdb_parquet, DUCKDB),
    "a pandas frame": (lambda _, values: {"T": of_pandas(values)}, PANDAS),
    "Parquet of pandas": (pandas_parquet, PANDAS),
}


def check(place: Path, source: Any, column: Column, **options: Any) -> None:
    graph = Graph.init(str(place / "g"), f"node T {{ k: I64 @key  c: {column.type}? }}")
    aside = place / "aside"
    chosen = {"mode": "append", "on_error": "quarantine", "quarantine": aside, **options}
    if column.values is None:
        with pytest.raises(SourceInvalid, match="column c"):
            graph.load(source, **chosen)
        return
    done = graph.load(source, **chosen)
    expected = {n: value for n, value in enumerate(column.values) if value is not BAD_ROW}
    assert (done.read, done.rejected) == (len(column.values), len(column.values) - len(expected))
    assert values_in(graph, column.type) == expected


def values_in(graph: Graph, type_: str) -> dict[int, Any]:
    if type_ == "Blob":
        keys = [
            row["k"] for row in graph.query("query q() { match { $t: T } return { $t.k as k } }")
        ]
        return {key: graph.blob("node", "T", str(key), "c").read() for key in keys}
    rows = graph.query("query q() { match { $t: T } return { $t.k as k, $t.c as c } }")
    return {row["k"]: row["c"] for row in rows.to_pylist()}


@pytest.mark.values
@pytest.mark.parametrize(
    ("producer", "name"), [(p, name) for p, (_, columns) in PRODUCERS.items() for name in columns]
)
def test_a_column_is_loaded_equal_or_refused(tmp_path: Path, producer: str, name: str) -> None:
    make, columns = PRODUCERS[producer]
    check(tmp_path, make(tmp_path, columns[name].made), columns[name], engine="local")
