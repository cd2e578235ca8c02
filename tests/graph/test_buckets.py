"""A graph in a bucket, reached as the environment says: from Python, the command line and Spark."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, ConstraintViolated, StorageFailed, StoreUnfit
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.spark.session import Spark
from omnigraph.store.location import BucketAccess
from tests.buckets import BUCKET, CARELESS, bucket_variables, location_of
from tests.graph.people import QUERIES, SCHEMA, write_ndjson
from tests.surfaces.cli import CommandLine

FOUNDING = """
query found() {
    insert Company { name: "Engines" }
    insert Person { email: "ada@x", name: "Ada", age: 36 }
    insert WorksAt { from: "ada@x", to: "Engines" }
}
"""
HIRE = {"email": "eve@x", "name": "Eve", "company": "Engines"}
ONE, TWO = [{"company": "Engines", "n": 1}], [{"company": "Engines", "n": 2}]


@pytest.fixture(autouse=True)
def environment(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket_variables(s3).items():
        monkeypatch.setenv(name, value)


def staff(graph: Graph, **at: Any) -> list[dict[str, Any]]:
    return graph.query(QUERIES, "staff", **at).to_pylist()


def test_a_graph_is_made_changed_branched_merged_and_opened_again(bucket: str) -> None:
    graph = Graph.init(bucket, SCHEMA)
    first = graph.mutate(FOUNDING).commit
    assert graph.uri == bucket
    graph.branch_create("hiring")
    graph.mutate(QUERIES, "hire", HIRE, branch="hiring")
    assert (staff(graph), staff(graph, branch="hiring")) == (ONE, TWO)
    graph.branch_merge("hiring")
    graph.branch_delete("hiring")
    graph.optimize()
    again = Graph.open(bucket)
    assert staff(again) == TWO
    assert first is not None
    assert staff(again, snapshot=first.graph_commit_id) == ONE
    again.mutate(QUERIES, "leave", {"email": "eve@x"})
    assert staff(Graph.open(bucket, read_only=True)) == ONE


def test_the_command_line_takes_the_address_of_a_bucket(
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    (tmp_path / "people.pg").write_text(SCHEMA)
    (tmp_path / "people.gq").write_text(QUERIES)
    queries = ["--query", str(tmp_path / "people.gq"), "--store", bucket, "--json"]
    made = omnigraph("init", "--schema", str(tmp_path / "people.pg"), bucket)
    assert made.exit_code == 0, made.err
    assert omnigraph("mutate", "-e", FOUNDING, "--store", bucket).exit_code == 0
    assert omnigraph("query", "staff", *queries).json["rows"] == ONE
    again = omnigraph("init", "--schema", str(tmp_path / "people.pg"), bucket)
    assert (again.exit_code, "already holds a graph" in again.err) == (4, True)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_load_on_spark_writes_into_the_bucket(bucket: str, tmp_path: Path, spark: Spark) -> None:
    graph = Graph.init(bucket, SCHEMA)
    graph.load(write_ndjson(tmp_path / "all.jsonl"), mode="append", spark=spark)
    assert staff(graph) == ONE
    more = write_ndjson(
        tmp_path / "more.jsonl",
        [
            {"type": "Person", "data": {"email": "eve@x", "name": "Eve", "age": 3}},
            {"edge": "WorksAt", "from": "eve@x", "to": "Engines"},
        ],
    )
    graph.load(more, mode="append", branch="more", from_="main", spark=spark)
    assert (staff(graph), staff(graph, branch="more")) == (ONE, TWO)
    nobody: dict[str, object] = {"edge": "WorksAt", "from": "nobody", "to": "Engines"}
    before = set(names_in(bucket))
    with pytest.raises(ConstraintViolated):
        graph.load(write_ndjson(tmp_path / "bad.jsonl", [nobody]), mode="append", spark=spark)
    assert set(names_in(bucket)) == before
    assert staff(graph) == ONE


def names_in(place: str) -> list[str]:
    objects = location_of(place).objects()
    return list(objects.walk(""))


def test_where_conditions_are_ignored_a_graph_is_read_and_never_written(bucket: str) -> None:
    Graph.init(bucket, SCHEMA).mutate(FOUNDING)
    careless = bucket.replace(BUCKET, CARELESS)
    good, bad = (location_of(place).objects() for place in (bucket, careless))
    for name in good.walk(""):
        bad.put(name, good.get(name) or b"")
    assert staff(Graph.open(careless, read_only=True)) == ONE
    with pytest.raises(StoreUnfit, match="it ignores If-"):
        Graph.open(careless)


def test_an_endpoint_without_encryption_must_be_allowed(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(ArgumentInvalid, match="AWS_ALLOW_HTTP"):
        Graph.init(bucket, SCHEMA)


def test_a_bucket_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageFailed, match="The specified bucket does not exist"):
        Graph.init("s3://not-there/g", SCHEMA)


@pytest.mark.parametrize(
    ("environment", "access"),
    [
        ({}, BucketAccess()),
        ({"AWS_REGION": "", "AWS_ALLOW_HTTP": "false"}, BucketAccess()),
        (
            {
                "AWS_REGION": "r",
                "AWS_ACCESS_KEY_ID": "k",
                "AWS_SECRET_ACCESS_KEY": "s",
                "AWS_SESSION_TOKEN": "t",
                "AWS_ENDPOINT_URL": "https://all",
                "AWS_S3_FORCE_PATH_STYLE": "False",
                "AWS_ALLOW_HTTP": "1",
            },
            BucketAccess("r", "k", "s", "t", "https://all", False, True),
        ),
        (
            {"AWS_ENDPOINT_URL": "https://all", "AWS_ENDPOINT_URL_S3": "https://s3"},
            BucketAccess(endpoint="https://s3"),
        ),
    ],
)
def test_the_variables_of_s3_are_read_once_and_become_a_value(
    environment: dict[str, str], access: BucketAccess
) -> None:
    assert Settings.from_environment(environment).bucket_access == access
