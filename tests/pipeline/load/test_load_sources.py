"""Every kind of source through `Graph.load`."""

import gzip
import io
import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import lance
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.base.choices import LoadEngine
from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    InputUnreadable,
    KeyTaken,
    MappingInvalid,
    SourceInvalid,
    Unsupported,
)
from omnigraph.base.ids import MAIN
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.pipeline.limits import InputLimits, LoadLimits
from omnigraph.pipeline.rows.conform import Conformed, conform_split
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.sources import Split, plan_splits
from omnigraph.pipeline.spark.session import Spark
from omnigraph.pipeline.staging.receipts import name_tasks
from omnigraph.pipeline.staging.stage import StageJob
from tests.pipeline.limits import with_limits
from tests.pipeline.loads import World
from tests.pipeline.world import new_graph

SCHEMA = """
node Person { email: String @key  age: I32? }
edge Knows: Person -> Person
"""
PEOPLE = pa.table({"email": ["a", "b"], "age": [1, None]})
KNOWS = pa.table({"from": ["a"], "to": ["b"]})
LINES = (
    b'{"type":"Person","data":{"email":"a","age":1}}\n{"type":"Person","data":{"email":"b"}}\n'
    b'{"edge":"Knows","from":"a","to":"b"}\n'
)
ROWS = [
    {"type": "Person", "data": {"email": "a", "age": 1}},
    {"type": "Person", "data": {"email": "b"}},
    {"edge": "Knows", "from": "a", "to": "b"},
]


def directory(place: Path) -> Path:
    (place / "in").mkdir()
    (place / "in" / "person.csv.gz").write_bytes(gzip.compress(b"email,age\na,1\nb,\n"))
    pq.write_table(KNOWS, place / "in" / "Knows.parquet")
    return place / "in"


SOURCES: dict[str, Any] = {
    "dicts": lambda _: iter(ROWS),
    "bytes": lambda _: LINES,
    "an open file": lambda _: io.BytesIO(LINES),
    "tables": lambda _: {"Person": PEOPLE, "Knows": KNOWS},
    "pandas": lambda _: {"Person": PEOPLE.to_pandas(), "knows": pd.DataFrame(KNOWS.to_pydict())},
    "Polars": lambda _: {"Person": pl.DataFrame(PEOPLE), "Knows": pl.DataFrame(KNOWS)},
    "batches": lambda _: {"Person": PEOPLE.to_reader(), "Knows": KNOWS.to_batches()[0]},
    "a directory": directory,
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    (tmp_path / "g.pg").write_text(SCHEMA)
    return Graph.init(str(tmp_path / "g.omni"), tmp_path / "g.pg")


@pytest.mark.parametrize("kind", SOURCES)
def test_any_source_loads_as_one_commit(graph: Graph, tmp_path: Path, kind: str) -> None:
    # What came with the call is loaded here without being told to.
    engine: LoadEngine = "local" if kind == "a directory" else "auto"
    result = graph.load(SOURCES[kind](tmp_path), mode="append", engine=engine)
    assert (result.nodes, result.edges, result.engine) == ({"Person": 2}, {"Knows": 1}, "local")
    found = graph.query(
        "query q() { match { $p: Person  $p knows $q } return { $p.email, $q.email } }"
    )
    assert [tuple(row.values()) for row in found.to_pylist()] == [("a", "b")]


EVERY_TYPE = """
node Thing {
    name: String @key  color: enum(red, blue)?  size: enum(s, m)?  count: U32?  weight: F64?
    made: Date?  seen: DateTime?  is_new: Bool?  tags: [String]?  place: Vector(2)?  data: Blob?
}
"""


def test_a_polars_frame_gives_every_type(tmp_path: Path) -> None:
    kinds: dict[str, Any] = {
        "color": pl.Categorical,
        "size": pl.Enum(["s", "m"]),
        "count": pl.UInt32,
        "place": pl.Array(pl.Float32, 2),
    }
    rows: dict[str, list[Any]] = {
        "name": ["a", "b"],
        "color": ["red", None],
        "size": ["m", None],
        "count": [3, None],
        "weight": [1.5, None],
        "made": [date(2020, 2, 29), None],
        "seen": [datetime(2020, 2, 29, 12, tzinfo=UTC), None],
        "is_new": [True, None],
        "tags": [["x", ""], None],
        "place": [[0.5, 2.0], None],
        "data": [b"hi", None],
    }
    graph = Graph.init(str(tmp_path / "g"), EVERY_TYPE)
    frame = pl.DataFrame({name: pl.Series(v, dtype=kinds.get(name)) for name, v in rows.items()})
    assert graph.load({"Thing": frame}, mode="append").nodes == {"Thing": 2}
    wanted = [name for name in rows if name != "data"]
    returned = ", ".join(f"$t.{name} as {name}" for name in wanted)
    found = graph.query(f"query q() {{ match {{ $t: Thing }} return {{ {returned} }} }}")
    assert found.to_pylist() == [{name: rows[name][row] for name in wanted} for row in (0, 1)]
    assert graph.blob("node", "Thing", "a", "data").read() == b"hi"


def test_one_large_csv_is_read_by_many_tasks_and_its_lines_are_named(
    tmp_path: Path, runner: Runner, limits: LoadLimits
) -> None:
    limits = replace(limits, min_task_bytes=2_000, min_csv_bytes=2_000)
    world = World(tmp_path, runner, limits=limits)
    records = "".join(f'n{n},"{n}\n"\n' for n in range(1000))
    (tmp_path / "Note.csv").write_text(f"id,text\n{records}")
    resolved = world.resolve(str(tmp_path / "Note.csv"))
    assert resolved.nodes == {"Note": 1000}
    assert len(resolved.load.tasks) > 4
    (tmp_path / "Note.csv").write_text(f"id,text\n{records}n500,again\n")
    with pytest.raises(ConstraintViolated, match=r"Note\.csv:2002: "):
        world.resolve(str(tmp_path / "Note.csv"))


def test_rows_that_break_rules_among_each_other_are_named_by_their_row(graph: Graph) -> None:
    people = pa.table({"email": ["a", "b", "a"]})
    with pytest.raises(ConstraintViolated, match=r"Person:3:"):
        graph.load({"Person": people}, mode="append")


def test_a_record_that_can_not_be_read_makes_the_input_unreadable(
    graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "Person.csv").write_text("email,age\na,1\nb\n")
    with pytest.raises(InputUnreadable, match=r"Person\.csv:3: the record has 1 fields"):
        graph.load(tmp_path / "Person.csv", mode="append", engine="local")


def test_an_archive_that_is_cut_short_loads_nothing(graph: Graph, tmp_path: Path) -> None:
    packed = gzip.compress(LINES * 1)
    (tmp_path / "in.jsonl.gz").write_bytes(packed[:-9])
    before = graph.commits(limit=1)[0]
    with pytest.raises(SourceInvalid, match=r"in\.jsonl\.gz"):
        graph.load(tmp_path / "in.jsonl.gz", mode="append", engine="local")
    assert graph.commits(limit=1)[0] == before


def test_a_mapping_and_a_format_reach_the_files(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mail\na\n")
    rule = {"node": "Person", "properties": {"email": "mail"}}
    result = graph.load(
        tmp_path / "data", mode="append", mapping=rule, format="csv", engine="local"
    )
    assert result.nodes == {"Person": 1}


MANY = pa.table({"email": [f"p{n}@example.org" for n in range(20_000)]})


@pytest.mark.parametrize("kind", ["a table", "lines"])
def test_many_rows_that_came_with_the_call_wait_in_storage_and_do_not_travel_with_tasks(
    tmp_path: Path, kind: str
) -> None:
    store = new_graph(tmp_path / "graph", SCHEMA)
    rows = ({"type": "Person", "data": row} for row in MANY.to_pylist())
    catalog = store.snapshot(MAIN).catalog
    planned = plan_splits(
        {"Person": MANY} if kind == "a table" else rows, catalog=catalog, parallelism=2
    )
    stored = planned.spilled(store, folder="__staging/rows")
    assert len(pickle.dumps(stored.tasks)) < 2_000 < planned.size == stored.size
    conformed = [
        [c.rows[0].batch.column("email") for split in task for c in conform(split, catalog)]
        for one in (planned, stored)
        for task in one.tasks
    ]
    assert conformed[0] == conformed[1] and sum(map(len, conformed[0])) == 20_000
    job = StageJob(catalog, {}, store.root, b"", 0)
    names = [name_tasks(job, one.tasks, schema_hash="")[0].name for one in (planned, stored)]
    assert names[0] == names[1], "a load that is resumed knows its rows again"


def conform(split: Split, catalog: Catalog) -> Iterator[Conformed]:
    return conform_split(split, catalog=catalog, now_ms=0, limits=InputLimits())


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("kind", ["tables", "bytes"])
def test_spark_reads_many_rows_that_came_with_the_call_from_storage(
    graph: Graph, tmp_path: Path, spark: Spark, kind: str
) -> None:
    graph = Graph.open(graph.uri, settings=with_limits(LoadLimits(max_carried_bytes=10)))
    source = SOURCES[kind](tmp_path)
    result = graph.load(source, mode="append", spark=spark)
    assert (result.nodes, result.edges, result.engine) == ({"Person": 2}, {"Knows": 1}, "spark")
    with pytest.raises(KeyTaken, match=r"(bytes|Person):1"):
        graph.load(source, mode="append", spark=spark)
    left = [path for path in (tmp_path / "g.omni" / "__staging").rglob("*") if path.is_file()]
    assert left == []


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_columns_of_a_spark_frame_are_looked_at_before_its_rows(graph: Graph, spark: Spark) -> None:
    # Whoever asks for a row of this frame fails.
    frame = spark.session.range(1).selectExpr("raise_error('asked') AS email", "id AS other")
    with pytest.raises(SourceInvalid, match="column other"):
        graph.load({"Person": frame}, mode="append", spark=spark)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_frames_of_spark_load_with_their_own_session(
    graph: Graph, spark: Spark, tmp_path: Path
) -> None:
    people = spark.session.createDataFrame(
        [(f"p{n}", n) for n in range(100)], "email string, age int"
    )
    knows = spark.session.createDataFrame([("p1", "p2")], "from string, to string")
    frames = {"Person": people.repartition(3, "age"), "Knows": knows}
    result = graph.load(frames, mode="append", spark=spark)
    assert (result.nodes, result.edges, result.engine) == ({"Person": 100}, {"Knows": 1}, "spark")
    nameless = knows.selectExpr("`from` AS mail", "11 AS age")
    rule = {"node": "Person", "properties": {"email": "mail"}}
    assert graph.load(nameless, mode="merge", mapping=rule, spark=spark).updated == 1
    with pytest.raises(MappingInvalid, match="did you mean Knows"):
        graph.load(frames, mode="append", mapping={"Knws": {"edge": "Knows"}}, spark=spark)
    found = graph.query("query q() { match { $p: Person { age: 11 } } return { $p.email } }")
    assert sorted(row["p.email"] for row in found) == ["p1", "p11"]
    with pytest.raises(ConstraintViolated, match=r"Knows:1: .*no such Person"):
        graph.load(
            {"Knows": knows.selectExpr("'nobody' AS `from`", "`to`")}, mode="append", spark=spark
        )
    with pytest.raises(ArgumentInvalid, match="only Spark frames"):
        graph.load({"Person": people, "Knows": KNOWS}, mode="append", spark=spark)
    assert list((tmp_path / "g.omni" / "__staging").rglob("*.lance")) == []


ODD_NAME = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize("name", [f"{ODD_NAME}.jsonl", f"{ODD_NAME}/Person.csv"])
def test_a_name_that_is_not_utf8_is_told_as_text(graph: Graph, tmp_path: Path, name: str) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"email,age\na,x\nb,1\n" if "csv" in name else b"{\n" + LINES)
    aside: dict[str, Any] = {"on_error": "quarantine", "quarantine": str(tmp_path / "aside")}
    done = graph.load(path, mode="append", engine="local", **aside)
    assert done.quarantine is not None and done.rejected == 1
    (line,) = (Path(done.quarantine) / "rejected-00000.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["file"] == str(path).encode(errors="backslashreplace").decode()


def test_a_parquet_file_whose_name_is_not_utf8_is_refused(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / f"{ODD_NAME}.parquet").touch()
    with pytest.raises(Unsupported, match=r"caf.*\.parquet"):
        graph.load(tmp_path / f"{ODD_NAME}.parquet", mode="append", engine="local")


def test_the_files_of_a_graph_are_not_loaded(graph: Graph, tmp_path: Path) -> None:
    new_graph(tmp_path / "deep" / "other", SCHEMA)
    for source in (tmp_path / "deep", tmp_path / "deep" / "other"):
        with pytest.raises(Unsupported, match=r"of a graph \(.*other\)"):
            graph.load(source, mode="append", engine="local")


def test_the_first_and_the_last_moment_are_loaded_read_and_exported(tmp_path: Path) -> None:
    (tmp_path / "g.pg").write_text("node At { on: Date @key  at: DateTime }")
    days = [date(1, 1, 1), date(9999, 12, 31)]
    moments = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999000, UTC)]
    source: Any = {"At": pa.table({"on": days, "at": pa.array(moments, pa.timestamp("us", "UTC"))})}
    for name in ("one.omni", "two.omni"):
        graph = Graph.init(str(tmp_path / name), tmp_path / "g.pg")
        graph.load(source, mode="append", engine="local")
        found = graph.query(
            "query q() { match { $a: At } return { $a.on, $a.at } order { $a.on } }"
        )
        assert [[*row.values()] for row in found.to_pylist()] == [
            [day, moment] for day, moment in zip(days, moments, strict=True)
        ]
        graph.export(tmp_path / f"{name}.jsonl")
        source = tmp_path / f"{name}.jsonl"


TICKS = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
CONSTANT = {"node": "Tick", "constants": {"what": "x"}, "ignore": ["*"]}


@pytest.fixture
def ticks(tmp_path: Path) -> Graph:
    (tmp_path / "t.pg").write_text("node Tick { what: String }")
    return Graph.init(str(tmp_path / "t.omni"), tmp_path / "t.pg")


@pytest.mark.parametrize("form", ["table", "parquet", "csv", "lance"])
def test_a_table_may_feed_constants_alone(ticks: Graph, tmp_path: Path, form: str) -> None:
    source: Any = tmp_path / f"ticks.{form}"
    match form:
        case "table":
            source = TICKS
        case "parquet":
            pq.write_table(TICKS, source)
        case "lance":
            lance.write_dataset(TICKS, source)
        case _:
            source.write_text("a,b\n1,x\n2,y\n3,z\n")
    done = ticks.load(source, mode="append", mapping=CONSTANT, engine="local")
    assert done.nodes == {"Tick": 3}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_frame_of_spark_may_feed_constants_alone(ticks: Graph, spark: Spark) -> None:
    frame = spark.session.createDataFrame(TICKS.to_pylist(), "a int, b string")
    done = ticks.load(frame, mode="append", mapping=CONSTANT, spark=spark)
    assert done.nodes == {"Tick": 3}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_of_spark_only_frames_with_columns_are_loaded(graph: Graph, spark: Spark) -> None:
    for source in (spark.session, {"Person": spark.session}):
        with pytest.raises(ArgumentInvalid, match=r"SparkSession|Person"):
            graph.load(source, mode="append")
    for empty in (spark.session.range(4).select(), pa.table({})):
        with pytest.raises(SourceInvalid, match="the table has no columns"):
            graph.load({"Person": empty}, mode="append", spark=spark)
