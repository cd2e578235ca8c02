"""Loads from a cluster into a bucket: the driver knows the way, and tells no one but its tasks."""

import base64
import gzip
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import SourceInvalid
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.spark.tasks import ERROR_MARK
from omnigraph.store.layout import STAGING
from tests.buckets import bucket_variables
from tests.pipeline.limits import MANY_TASKS
from tests.pipeline.spark.clusters import Driver, Server, load_there
from tests.pipeline.world import edge, node, text, write

# Deep: the cluster whose machines stand apart loads into a bucket in every run.
pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.xdist_group("cluster")]

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { @key(src, dst) }
"""
HELD = range(100)
MERGED = range(80, 150)
SECRET = "not-to-be-told-5bd1e4"


def people(numbers: range, *, age: int) -> list[dict[str, Any]]:
    return [
        *(node("Person", name=f"p{n}", age=age) for n in numbers),
        *(edge("Knows", f"p{n}", f"p{n + 1}") for n in numbers[:-1]),
    ]


def test_a_cluster_appends_and_merges_in_a_bucket_and_tells_no_secret(
    cluster: Server,
    cluster_driver: Driver,
    s3: str,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables = bucket_variables(s3, secret=SECRET)

    def load(source: str, mode: str) -> LoadResult:
        return cluster_driver.run(load_in_bucket, variables, bucket, source, mode=mode)

    # The servers run already: their executors find none of this in their environment.
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    graph = Graph.init(bucket, SCHEMA)
    appended = load(write(tmp_path / "held.jsonl", *people(HELD, age=1)), "append")
    assert (appended.engine, appended.tasks > 1) == ("spark", True)
    assert (appended.inserted, appended.updated) == (100 + 99, 0)
    merged = load(write(tmp_path / "more.jsonl", *people(MERGED, age=2)), "merge")
    assert (merged.inserted, merged.updated) == (50 + 50, 20)

    with pytest.raises(SourceInvalid, match="truncated") as caught:
        load(cut_short(tmp_path / "bad.jsonl.gz"), "append")
    assert ages(graph) == {f"p{n}": 2 if n in MERGED else 1 for n in range(150)}
    knows = graph.schema().catalog.edge_by_name["Knows"]
    assert graph.snapshot().stored.dataset(knows).scan(["id"]).num_rows == 149
    assert list(graph.engine.store.objects.walk(STAGING)) == []
    assert SECRET not in f"{caught.value!r} {caught.value.to_json()}"
    assert SECRET not in told_by(cluster)


def load_in_bucket(variables: Mapping[str, str], uri: str, source: str, *, mode: str) -> LoadResult:
    """Inside a driver: as a large load, in many tasks."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return load_there(uri, source, limits=MANY_TASKS, mode=mode)


def cut_short(path: Path) -> str:
    """Only the task that reads it can know."""
    path.write_bytes(gzip.compress(text(people(HELD, age=3)).encode())[:-20])
    return str(path)


def ages(graph: Graph) -> dict[str, int]:
    snapshot = graph.snapshot().stored
    rows = snapshot.dataset(snapshot.catalog.node_by_name["Person"]).scan(["name", "age"])
    names, numbers = (rows[column].to_pylist() for column in ("name", "age"))
    assert len(names) == len(set(names))
    return dict(zip(names, numbers, strict=True))


def told_by(cluster: Server) -> str:
    """What is in the logs, that of errors on their way to the driver included."""
    logs = cluster.logs()
    errors = re.findall(f"{ERROR_MARK}([A-Za-z0-9+/=]+)", logs)
    assert errors, "the failure of a task is in the logs"
    return logs + "".join(base64.b64decode(error).decode(errors="replace") for error in errors)
