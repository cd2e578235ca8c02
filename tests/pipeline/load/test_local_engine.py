import os
import re
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, FileMissing
from omnigraph.engine.choose_runner import WorkSize, choose_runner
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.sources.lines import lines_before
from omnigraph.pipeline.sources.splits import LineRange
from omnigraph.pipeline.spark.session import Spark
from omnigraph.store.location import DiskLocation
from tests.graph.people import SCHEMA, write_ndjson
from tests.processes import PATIENCE_S

LOAD = """
import sys
from omnigraph import Graph
with Graph.init(sys.argv[1], sys.argv[2]) as graph:
    done = graph.load(sys.argv[3], mode="append", engine="local")
    assert (done.engine, done.total_entities, done.commit is None) == ("local", 8, False)
assert not {"pyspark", "py4j"} & sys.modules.keys()
"""


def test_a_local_load_starts_no_java_and_imports_no_spark(tmp_path: Path) -> None:
    data = write_ndjson(tmp_path / "people.jsonl")
    ran = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "g"), SCHEMA, data],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_an_engine_that_is_not_there_is_refused(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    data = write_ndjson(tmp_path / "a.jsonl")
    with pytest.raises(ArgumentInvalid, match="auto, spark or local"):
        graph.load(data, mode="append", engine="dask")  # type: ignore[arg-type]
    with pytest.raises(ArgumentInvalid, match="the Spark session that was passed"):
        graph.load(data, mode="append", engine="local", spark=object())


CLUSTER = {"spark_master": "spark://host:7077"}
CONNECT = {"spark_remote": "sc://host:15002"}
SESSION = object()
ASKED, SET = "the caller asked for it", "OMNIGRAPH_LOAD_ENGINE names it"
CAME = "a Spark session, or a frame of one, came with the call"
SMALL, LARGE = "the input has 5 bytes, up to 64 bytes", "the input has 2 KiB, more than 64 bytes"
MASTER, SERVER = "a Spark master is configured", "a Spark Connect server is configured"


@pytest.mark.parametrize(
    ("settings", "how", "few", "many"),
    [
        ({}, {}, ("local", SMALL), ("spark", LARGE)),
        ({}, {"load": "files"}, ("local", SMALL), ("spark", LARGE)),
        ({}, {"load": "rows"}, ("local", SMALL), ("spark", LARGE)),
        (CLUSTER, {"load": "files"}, ("spark", MASTER), ("spark", MASTER)),
        (CONNECT, {"load": "files"}, ("spark", SERVER), ("spark", SERVER)),
        (CLUSTER | CONNECT, {"load": "files"}, ("spark", SERVER), ("spark", SERVER)),
        (CLUSTER, {"load": "rows"}, ("local", SMALL), ("spark", LARGE)),
        (CLUSTER, {}, ("local", SMALL), ("spark", LARGE)),
        ({}, {"load": "files", "session": SESSION}, ("spark", CAME), ("spark", CAME)),
        ({}, {"asked": "auto", "session": SESSION}, ("spark", CAME), ("spark", CAME)),
        ({"load_engine": "local"}, {"session": SESSION}, ("spark", CAME), ("spark", CAME)),
        ({}, {"asked": "spark"}, ("spark", ASKED), ("spark", ASKED)),
        (CLUSTER, {"load": "files", "asked": "local"}, ("local", ASKED), ("local", ASKED)),
        ({"load_engine": "spark"}, {"load": "files"}, ("spark", SET), ("spark", SET)),
        (CLUSTER | {"load_engine": "local"}, {"load": "files"}, ("local", SET), ("local", SET)),
        ({"load_engine": "local"}, {"asked": "spark"}, ("spark", ASKED), ("spark", ASKED)),
        ({"load_engine": "spark"}, {"asked": "auto"}, ("local", SMALL), ("spark", LARGE)),
    ],
)
def test_where_work_runs_follows_from_the_call_the_settings_and_the_size(
    settings: dict[str, Any], how: dict[str, Any], few: tuple[str, str], many: tuple[str, str]
) -> None:
    for size, expected in ((5, few), (64, few), (65, many), (2048, many)):
        choice = choose_runner(Settings(**settings), partial(WorkSize, size, 64), **how)
        assert choice.engine == expected[0]
        if size in (5, 2048):
            assert choice.reason == expected[1]


WITHOUT_SPARK = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *of: None if name == "pyspark" else find(name, *of)
from omnigraph import Graph, OmnigraphError
graph = Graph.init(sys.argv[1], sys.argv[2])
try:
    graph.load(sys.argv[3], mode="append")
except OmnigraphError as error:
    print(error.code, error, error.hint)
print(graph.load(sys.argv[3], mode="append", engine="local").engine_reason)
"""


def test_a_large_load_without_spark_says_what_to_install_and_what_to_do_without(
    tmp_path: Path,
) -> None:
    data = write_ndjson(tmp_path / "people.jsonl")
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, str(tmp_path / "g"), SCHEMA, data],
        env={
            "HOME": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OMNIGRAPH_LOCAL_LOAD_MIB": "0",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    refused, reason = ran.stdout.splitlines()
    assert refused.startswith("dependency_missing the load is one for Spark, since the input has")
    assert 'pip install "omnigraph[spark]"' in refused and "--engine local" in refused
    assert (reason, ran.stderr) == ("the caller asked for it", "")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_auto_loads_the_same_rows_here_and_on_spark(tmp_path: Path, spark: Spark) -> None:
    data = write_ndjson(tmp_path / "people.jsonl")
    small = Graph.init(str(tmp_path / "a"), SCHEMA, durability="relaxed")
    # The session of the tests is the one that a load joins.
    large = Graph.init(
        str(tmp_path / "b"),
        SCHEMA,
        durability="relaxed",
        settings=Settings(load_limits=LoadLimits(max_local_load_bytes=10)),
    )
    here, there = (graph.load(data, mode="append") for graph in (small, large))
    assert (here.engine, there.engine) == ("local", "spark")
    assert here.engine_reason and "up to 64 MiB" in here.engine_reason
    assert there.engine_reason and "more than 10 bytes" in there.engine_reason
    assert (here.rows, here.nodes, here.edges) == (there.rows, there.nodes, there.edges)
    for graph in (small, large):
        graph.export(str(tmp_path / f"{graph.uri.rsplit('/')[-1]}.jsonl"))
    left, right = (
        sorted(re.sub(r'"id":"[^"]*",?', "", line) for line in path.read_text().splitlines())
        for path in (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    )
    assert left == right and len(left) == 8


def test_tasks_run_side_by_side_and_answer_in_order() -> None:
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def work(number: int) -> int:
        both.wait()
        return -number

    heard: list[int] = []
    ran = InProcess().run([1, 2], work, doing="counting", on_progress=heard.append)
    assert [(one.result, one.partition) for one in ran] == [(-1, 0), (-2, 1)]
    assert heard == [1, 2]


def test_an_error_of_a_task_comes_as_it_was() -> None:
    splits = [LineRange("in.jsonl", DiskLocation(Path("/nowhere/in.jsonl")), 0, 1)] * 3
    with pytest.raises(FileMissing):
        InProcess().run(splits, lines_before, doing="reading")
