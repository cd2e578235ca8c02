import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, FileMissing
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.sources.lines import lines_before
from omnigraph.pipeline.sources.splits import LineRange
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
