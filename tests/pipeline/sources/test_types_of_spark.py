"""Every type of Spark's SQL, in frames and streams: its values are loaded equal, or the column is
refused by name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import SourceInvalid
from omnigraph.pipeline.spark.session import Spark
from tests.pipeline.spark.clusters import Driver, spark_there


@dataclass(frozen=True)
class Held:
    """A value of a Spark type, and the property that it is loaded into."""

    sql: str
    type: str
    value: Any


ZONE = "Europe/Zurich"

HELD = {
    "boolean": Held("true", "Bool", True),
    "tinyint": Held("cast(-128 as tinyint)", "I32", -128),
    "smallint": Held("cast(-32768 as smallint)", "I32", -32768),
    "int": Held("2147483647", "U32", 2147483647),
    "bigint": Held("9223372036854775807L", "I64", 9223372036854775807),
    "float": Held("cast(0.1 as float)", "F32", pytest.approx(0.1, rel=1e-7)),
    "double": Held("0.1d", "F64", 0.1),
    "string": Held("'é'", "String", "é"),
    "char": Held("cast('é' as char(3))", "String", "é"),
    "varchar": Held("cast('é' as varchar(3))", "String", "é"),
    "collated": Held("'é' collate UNICODE_CI", "String", "é"),
    "enum": Held("'b'", "enum(a, b)", "b"),
    "first date": Held("date'0001-01-01'", "Date", date(1, 1, 1)),
    "last date": Held("date'9999-12-31'", "Date", date(9999, 12, 31)),
    "date for a time": Held("date'2024-02-29'", "DateTime", datetime(2024, 2, 29, tzinfo=UTC)),
    "timestamp": Held(
        "timestamp'9999-12-31 23:00:00'", "DateTime", datetime(9999, 12, 31, 22, tzinfo=UTC)
    ),
    "early timestamp": Held(
        "timestamp'1600-01-01 00:00:00Z'", "DateTime", datetime(1600, 1, 1, tzinfo=UTC)
    ),
    "midnight of the session": Held("timestamp'2024-03-31'", "Date", date(2024, 3, 31)),
    "timestamp_ntz": Held(
        "timestamp_ntz'1600-01-01 00:00:00.123456'",
        "DateTime",
        datetime(1600, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC),
    ),
    "void": Held("null", "I64", None),
    "array": Held("array('a', '')", "[String]", ["a", ""]),
    "array of int": Held("array(1, -1)", "[I64]", [1, -1]),
    "array of timestamp": Held(
        "array(timestamp'1600-01-01 00:00:00Z')", "[DateTime]", [datetime(1600, 1, 1, tzinfo=UTC)]
    ),
    "array of double": Held("array(1.5d, 2d)", "Vector(2)", [1.5, 2.0]),
}

REFUSED = {
    "decimal": ("cast(1.5 as decimal(10, 2))", "F64"),
    "wide decimal": ("cast(1 as decimal(38, 0))", "I64"),
    "interval of days": ("interval 1 day", "I64"),
    "interval of months": ("interval 1 year", "I64"),
    "calendar interval": ("make_interval(1, 1, 1)", "I64"),
    "time": ("time'10:00:00'", "DateTime"),
    "map": ("map('a', 1)", "[String]"),
    "struct": ("named_struct('a', 1)", "String"),
    "variant": ("parse_json('{}')", "String"),
    "array of struct": ("array(named_struct('a', 1))", "[String]"),
    "geometry": ("st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')", "Blob"),
}

# Values that the type of the column holds, and the property does not.
MISFITS = {
    "late timestamp": ("timestamp'+12345-01-01 00:00:00'", "DateTime"),
    "late timestamp_ntz": ("timestamp_ntz'+12345-01-01 00:00:00'", "DateTime"),
    "early date": ("date'-0005-01-01'", "Date"),
    "nan": ("double('nan')", "F64"),
    "null in an array": ("array('a', null)", "[String]"),
}

NAMES = [f"p{number}" for number in range(len(HELD))]
PROPERTIES = "  ".join(f"{n}: {held.type}?" for n, held in zip(NAMES, HELD.values(), strict=True))
SCHEMA = f"node T {{ k: I64 @key  x: Blob?  {PROPERTIES} }}"
COLUMNS = [
    "k",
    "cast('hi' as binary) as x",
    *(f"{held.sql} as {name}" for name, held in zip(NAMES, HELD.values(), strict=True)),
]


def loaded(graph: Graph) -> dict[str, Any]:
    returned = ", ".join(f"$t.{name} as {name}" for name in NAMES)
    [row] = graph.query(f"query q() {{ match {{ $t: T }} return {{ {returned} }} }}").to_pylist()
    assert graph.blob("node", "T", "1", "x").read() == b"hi"
    return dict(zip(HELD, row.values(), strict=True))


EXPECTED = {name: held.value for name, held in HELD.items()}


@contextmanager
def zone_of(session: Any, zone: str) -> Iterator[None]:
    before = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        session.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_frame_of_every_type_is_loaded_equal(spark: Spark, tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA)
    with zone_of(spark.session, ZONE):
        frame = spark.session.range(1, 2).withColumnRenamed("id", "k").selectExpr(*COLUMNS)
        graph.load({"T": frame}, mode="append")
    assert loaded(graph) == EXPECTED


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_stream_of_every_type_is_loaded_equal(spark: Spark, tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text(json.dumps({"k": 1}))
    with zone_of(spark.session, ZONE):
        frame = spark.session.readStream.schema("k bigint").json(str(tmp_path / "in"))
        stream = graph.stream(
            {"T": frame.selectExpr(*COLUMNS)},
            mode="append",
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
        )
        assert stream.wait()
    assert loaded(graph) == EXPECTED


@pytest.mark.spark
@pytest.mark.xdist_group("cluster")
def test_a_frame_of_every_type_is_loaded_equal_through_connect(
    connect_driver: Driver, tmp_path: Path
) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA)
    connect_driver.run(load_every_type, graph.uri)
    assert loaded(graph) == EXPECTED
    for name, (sql, type_) in REFUSED.items():
        with pytest.raises(SourceInvalid, match="T, column c"):
            connect_driver.run(load_column, str(tmp_path / name.replace(" ", "_")), sql, type_)


def load_every_type(uri: str) -> None:
    """Inside a driver."""
    session = spark_there().session
    with zone_of(session, ZONE):
        frame = session.range(1, 2).withColumnRenamed("id", "k").selectExpr(*COLUMNS)
        Graph.open(uri).load({"T": frame}, mode="append")


def load_column(place: str, sql: str, type_: str) -> None:
    """Inside a driver: a graph with one property is offered a column for it."""
    with Graph.init(place, f"node T {{ c: {type_} }}") as graph:
        graph.load({"T": spark_there().session.sql(f"select {sql} as c")}, mode="append")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("name", REFUSED)
def test_a_type_that_no_property_holds_is_refused_with_its_column(
    spark: Spark, tmp_path: Path, name: str
) -> None:
    sql, type_ = REFUSED[name]
    graph = Graph.init(str(tmp_path / "g"), f"node T {{ c: {type_} }}")
    (tmp_path / "in").mkdir()
    still = spark.session.sql(f"select {sql} as c")
    stream = spark.session.readStream.schema("k bigint").json(str(tmp_path / "in"))
    with pytest.raises(SourceInvalid, match="T, column c"):
        graph.load({"T": still}, mode="append")
    with pytest.raises(SourceInvalid, match="T, column c"):
        graph.stream(
            {"T": stream.selectExpr(f"{sql} as c")},
            mode="append",
            checkpoint=tmp_path / "checkpoint",
        )


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_values_that_a_property_does_not_hold_are_rejected_rows(
    spark: Spark, tmp_path: Path
) -> None:
    properties = "  ".join(f"p{n}: {type_}?" for n, (_, type_) in enumerate(MISFITS.values()))
    graph = Graph.init(str(tmp_path / "g"), f"node T {{ {properties} }}")
    rows = [
        "select " + ", ".join(f"{sql if n == row else 'null'} as p{n}" for n, (sql, _) in columns)
        for columns in [[*enumerate(MISFITS.values())]]
        for row in range(len(MISFITS))
    ]
    frame = spark.session.sql(" union all ".join(rows))
    aside = tmp_path / "aside"
    done = graph.load({"T": frame}, mode="append", on_error="quarantine", quarantine=aside)
    assert (done.read, done.rejected) == (len(MISFITS), len(MISFITS))


# Parquet of Spark ---------------------------------------------------------------------------------

WRITE = "spark.sql.parquet"
TIMES = {
    1: "timestamp'9999-12-31 00:00:00Z'",
    2: "timestamp'1600-01-01 00:00:00Z'",
    3: "timestamp'0001-01-01 00:00:00Z'",
    4: "timestamp'2024-02-29 12:00:00.123456Z'",
    5: "timestamp'+12345-01-01 00:00:00Z'",
    6: "cast(null as timestamp)",
}
OF_TIMES = {
    1: datetime(9999, 12, 31, tzinfo=UTC),
    2: datetime(1600, 1, 1, tzinfo=UTC),
    3: datetime(1, 1, 1, tzinfo=UTC),
    4: datetime(2024, 2, 29, 12, 0, 0, 123_000, tzinfo=UTC),
    6: None,
}
WRITERS = {
    "INT96": {f"{WRITE}.outputTimestampType": "INT96"},
    "microseconds": {f"{WRITE}.outputTimestampType": "TIMESTAMP_MICROS"},
    "milliseconds": {f"{WRITE}.outputTimestampType": "TIMESTAMP_MILLIS"},
    "lists of two levels": {f"{WRITE}.writeLegacyFormat": "true"},
}


def written(spark: Spark, sql: str, place: Path, options: dict[str, str]) -> Path:
    before = {name: spark.session.conf.get(name) for name in options}
    for name, value in options.items():
        spark.session.conf.set(name, value)
    try:
        spark.session.sql(sql).coalesce(1).write.parquet(str(place / "T.parquet"))
    finally:
        for name, value in before.items():
            spark.session.conf.set(name, value)
    return place / "T.parquet"


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("writer", WRITERS)
def test_times_in_parquet_of_spark_are_loaded_equal_or_rejected(
    spark: Spark, tmp_path: Path, writer: str
) -> None:
    sql = " union all ".join(
        f"select {k}L k, {t} t, array({t}) ts, 'a' s, array('a') l" for k, t in TIMES.items()
    )
    schema = "node T { k: I64 @key  t: DateTime?  ts: [DateTime]?  s: String  l: [String] }"
    files = written(spark, sql, tmp_path, WRITERS[writer])
    for engine in ("local", "spark"):
        graph = Graph.init(str(tmp_path / engine), schema)
        done = graph.load(
            files,
            mode="append",
            engine=engine,
            spark=spark if engine == "spark" else None,
            mapping={"node": "T", "ignore": ["ts"]},
            on_error="quarantine",
            quarantine=tmp_path / f"aside-{engine}",
        )
        assert (done.read, done.rejected) == (6, 1)
        query = "query q() { match { $t: T } return { $t.k as k, $t.t as t, $t.l as l } }"
        rows = graph.query(query).to_pylist()
        assert {row["k"]: row["t"] for row in rows} == OF_TIMES
        assert all(row["l"] == ["a"] for row in rows)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    ("column", "type_", "row"),
    [
        ("timestamp'1600-01-01 00:00:00Z'", "DateTime", "timestamp'2024-01-01 00:00:00Z'"),
        ("date'1500-01-01'", "Date", "date'2024-01-01'"),
        ("array(date'1500-01-01')", "[Date]", "array(date'2024-01-01')"),
    ],
)
def test_early_days_by_the_calendar_of_old_versions_are_refused(
    spark: Spark, tmp_path: Path, column: str, type_: str, row: str
) -> None:
    legacy = {f"{WRITE}.{kind}RebaseModeInWrite": "LEGACY" for kind in ("datetime", "int96")}
    graph = Graph.init(str(tmp_path / "g"), f"node T {{ c: {type_} }}")
    files = written(spark, f"select {row} c union all select {column}", tmp_path, legacy)
    with pytest.raises(SourceInvalid, match=r"column c: row 2 has an early date") as refused:
        graph.load(files, mode="append", engine="local", mapping={"node": "T"})
    assert "CORRECTED" in (refused.value.hint or "")
    later = written(spark, f"select {row} c", tmp_path / "later", legacy)
    assert graph.load(later, mode="append", engine="local", mapping={"node": "T"}).read == 1
