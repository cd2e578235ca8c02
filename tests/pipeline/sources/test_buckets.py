"""Input in a bucket: found, cut and read as on a disk."""

import gzip
import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    FileMissing,
    MappingInvalid,
    SourceInvalid,
    StorageFailed,
    Unsupported,
)
from omnigraph.base.span import SourceText
from omnigraph.engine.settings import Settings
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.limits import InputLimits, LoadLimits
from omnigraph.pipeline.sources import plan_splits
from omnigraph.pipeline.sources.buckets import find_objects
from omnigraph.pipeline.sources.files import find_files
from omnigraph.pipeline.sources.lines import lines_before, read_range
from omnigraph.pipeline.sources.splits import LineRange
from omnigraph.pipeline.spark.session import Spark
from tests.buckets import BUCKET, bucket_access, location_of
from tests.pipeline.world import CATALOG

SCHEMA = """
node Person { email: String @key  age: I32? }
edge Knows: Person -> Person
"""
PEOPLE = [{"email": f"p{n}", "age": n} for n in range(300)]
LINES = "".join(json.dumps({"type": "Person", "data": row}) + "\n" for row in PEOPLE).encode()
CSV = b"email,age\n" + b"".join(b"p%d,%d\n" % (n, n) for n in range(300))


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(PEOPLE), sink, row_group_size=50)
    return bytes(sink.getvalue())


FORMS = {
    "in.jsonl": LINES,
    "in.ndjson.gz": gzip.compress(LINES),
    "Person.csv": CSV,
    "Person.csv.zst": bytes(pa.compress(CSV, "zstd", asbytes=True)),
    "a b/dt=2024-01-01/Person.parquet": parquet(),
}


class Inputs:
    """Files in a bucket."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._objects = location_of(uri).objects()

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self._objects.put(name, data)

    def found(self, source: str) -> list[str]:
        found = find_objects(f"{self.uri}/{source}", form=None, access=bucket_access())
        return [file.file.removeprefix(f"{self.uri}/") for file in found]


@pytest.fixture
def inputs(bucket: str) -> Inputs:
    return Inputs(bucket)


@pytest.fixture
def graph(s3: str, tmp_path: Path) -> Iterator[Graph]:
    Graph.init(str(tmp_path / "g"), SCHEMA).close()
    with opened(str(tmp_path / "g"), LoadLimits()) as graph:
        yield graph


def opened(uri: str, limits: LoadLimits) -> Graph:
    settings = Settings(bucket_access=bucket_access(), load_limits=limits)
    return Graph.open(uri, settings=settings)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_file_is_read_from_a_bucket_by_several_tasks(
    graph: Graph, inputs: Inputs, name: str
) -> None:
    graph = opened(graph.uri, LoadLimits(min_task_bytes=500, min_csv_bytes=500))
    inputs.put({name: FORMS[name]})
    result = graph.load(f"{inputs.uri}/{name}", mode="append", engine="local")
    assert result.nodes == {"Person": 300}
    assert result.tasks > 1 or name.endswith((".gz", ".zst"))
    found = graph.query("query q() { match { $p: Person } return { count($p), sum($p.age) } }")
    assert [[*row.values()] for row in found] == [[300, sum(range(300))]]


@pytest.mark.parametrize("name", FORMS)
def test_an_object_that_is_replaced_while_it_is_loaded_is_refused(
    graph: Graph, inputs: Inputs, name: str
) -> None:
    graph = opened(graph.uri, LoadLimits(min_task_bytes=500, min_csv_bytes=500))
    inputs.put({name: FORMS[name]})
    waiting = [lambda: inputs.put({name: FORMS[name] + b" "})]

    def progress(phase: str, done: int, total: int) -> None:
        if phase == "parse" and waiting:
            waiting.pop()()

    with pytest.raises(SourceInvalid, match="the file was changed while it was loaded"):
        graph.load(f"{inputs.uri}/{name}", mode="append", engine="local", progress=progress)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(
    data=st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"bcd"])).map(b"".join),
    size=st.integers(1, 9),
)
def test_any_way_of_cutting_an_object_gives_the_same_lines_each_once(
    inputs: Inputs, data: bytes, size: int
) -> None:
    inputs.put({"in.jsonl": data})
    location = location_of(inputs.uri) / "in.jsonl"
    splits = [
        LineRange("", location, start, min(start + size, len(data)))
        for start in range(0, len(data), size)
    ]
    read = b""
    for split in splits:
        if lines := read_range(split, InputLimits()):
            assert lines_before(split) == read.count(b"\n")
        read += lines
    assert read == data


def test_prefixes_and_patterns_name_the_files_that_they_name_on_a_disk(
    inputs: Inputs, tmp_path: Path
) -> None:
    names = ["a/1.jsonl", "a/2.csv.gz", "a/b/3.JSONL", "a/b/[4].jsonl", "ab.csv", "ab/5.jsonl"]
    beside = ["a/_SUCCESS", "a/.part.crc", "a/_tmp/6.jsonl", "a/note.txt"]
    inputs.put(dict.fromkeys([*names, *beside], b""))
    for name in [*names, *beside]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert inputs.found("a") == inputs.found("a/") == names[:4]
    for source in ("", "a", "a/*.jsonl", "*/*.jsonl", "a/**/*.jsonl", "*", "a/b*", "a/b/[4].jsonl"):
        on_disk = [
            str(Path(file.file).relative_to(tmp_path))
            for file in find_files([str(tmp_path / source)])
        ]
        assert inputs.found(source) == on_disk, source


def test_an_object_that_is_named_twice_is_read_once(inputs: Inputs, tmp_path: Path) -> None:
    inputs.put({"a.jsonl": LINES})
    (tmp_path / "b.jsonl").write_bytes(b"{}\n")
    twice = [f"{inputs.uri}/a.jsonl", str(tmp_path / "b.jsonl"), f"{inputs.uri}/*"]
    planned = plan_splits(twice, catalog=CATALOG, parallelism=1, access=bucket_access())
    assert planned.size == len(LINES) + 3


@pytest.mark.parametrize("source", ["no.jsonl", "a", "no", "no/*.jsonl", ""])
def test_what_is_not_in_a_bucket_is_missing(inputs: Inputs, source: str) -> None:
    inputs.put({"a/note.txt": b""})
    with pytest.raises(FileMissing):
        inputs.found(source)


def test_a_rule_of_a_mapping_names_an_object_by_the_end_of_its_address(
    graph: Graph, inputs: Inputs
) -> None:
    inputs.put({"in/Person.csv": CSV})
    for number, name in enumerate(("Person.csv", f"{inputs.uri}/in/Person.csv", "in/P*.csv"), 1):
        rule = {name: {"node": "Person", "constants": {"age": number}, "ignore": ["age"]}}
        graph.load(f"{inputs.uri}/in", mode="merge", mapping=rule, engine="local")
        found = graph.query("query q() { match { $p: Person } return { max($p.age) as a } }")
        assert [row["a"] for row in found] == [number]
    with pytest.raises(MappingInvalid, match=r"did you mean Person\.csv\?"):
        rule = {"Persn.csv": {"node": "Person"}}
        graph.load(f"{inputs.uri}/in", mode="merge", mapping=rule, engine="local")


def test_what_can_not_be_read_is_refused(inputs: Inputs) -> None:
    inputs.put({"a/x.xlsx": b"", "a/y.jsonl": b""})
    for source in ("a", "a/x.xlsx", "a/*"):
        with pytest.raises(Unsupported, match=r"x\.xlsx"):
            inputs.found(source)
    inputs.put({"g/_graph.json": b"{}", "g/_address.json": b"{}"})
    for source in ("g", "g*"):
        with pytest.raises(Unsupported, match=rf"of a graph \({inputs.uri}/g\)"):
            inputs.found(source)
    for address in ("s3:///a.jsonl", f"{inputs.uri}//a.jsonl"):
        with pytest.raises(ArgumentInvalid):
            plan_splits(address, catalog=CATALOG, parallelism=1, access=bucket_access())


@pytest.mark.parametrize("path", ["in.jsonl", "in/*.csv"])
@pytest.mark.usefixtures("s3")
def test_a_bucket_that_refuses_is_named_by_the_whole_address(path: str) -> None:
    address = f"s3://no-such-bucket/{path}"
    with pytest.raises(StorageFailed, match="s3://no-such-bucket/in"):
        plan_splits(address, catalog=CATALOG, parallelism=1, access=bucket_access())


def test_a_dataset_of_lance_is_read_from_a_bucket(graph: Graph, inputs: Inputs) -> None:
    options = bucket_access().options(BUCKET)
    uri = f"{inputs.uri}/in/Person.lance"
    lance.write_dataset(pa.Table.from_pylist(PEOPLE), uri, storage_options=options)
    assert inputs.found("in") == inputs.found("in/Person.lance") == ["in/Person.lance"]
    assert graph.load(uri, mode="append", engine="local").nodes == {"Person": 300}


def test_a_damaged_object_and_a_bad_line_are_named_by_their_address(
    graph: Graph, inputs: Inputs
) -> None:
    inputs.put({"in.jsonl.gz": FORMS["in.ndjson.gz"][:-9], "Person.parquet": b"PAR1"})
    for name in ("in.jsonl.gz", "Person.parquet"):
        with pytest.raises(SourceInvalid, match=f"{inputs.uri}/{name}"):
            graph.load(f"{inputs.uri}/{name}", mode="append", engine="local")


def test_plans_tell_no_secret(inputs: Inputs) -> None:
    inputs.put(FORMS)
    catalog = compile_schema(SourceText(SCHEMA, "g.pg"))
    planned = plan_splits(inputs.uri, catalog=catalog, parallelism=1, access=bucket_access())
    assert b"secret" in pickle.dumps(planned) and "secret" not in repr(planned)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_tasks_of_spark_read_a_bucket(graph: Graph, inputs: Inputs, spark: Spark) -> None:
    graph = opened(graph.uri, LoadLimits(min_task_bytes=2_000))
    more: dict[str, Any] = {"type": "Person", "data": {"email": "q"}}
    inputs.put({"in/a.jsonl": LINES, "in/b.jsonl.gz": gzip.compress(json.dumps(more).encode())})
    result = graph.load(f"{inputs.uri}/in/*", mode="append", spark=spark)
    assert (result.nodes, result.engine) == ({"Person": 301}, "spark") and result.tasks > 2
