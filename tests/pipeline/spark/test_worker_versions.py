"""Workers without the package, or with another version of it, do nothing and are named."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkRuntimeError

import omnigraph
from omnigraph import Graph
from omnigraph.base.errors import WorkerDiffers
from omnigraph.pipeline.spark.session import Spark
from omnigraph.pipeline.spark.tasks import shipped
from tests.pipeline.limits import LARGE
from tests.pipeline.spark.clusters import (
    REPOSITORY,
    SMALL,
    Driver,
    Server,
    load_there,
    spark_variables,
)
from tests.pipeline.world import node, write

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

OURS = f"{REPOSITORY / 'src'}:{REPOSITORY}"

# What the Python of a worker finds under our name.
PACKAGES = {
    "none": "raise ModuleNotFoundError(\"No module named 'omnigraph'\", name='omnigraph')",
    "0.0.9": "__version__ = '0.0.9'",
}

PYTHON = """#!/bin/sh
PYTHONPATH=$(cat {path}) exec {python} "$@"
"""


FOUND = {"none": "no omnigraph", "0.0.9": "omnigraph 0.0.9"}

TASK = """
import pickle, sys
[*pickle.loads(sys.stdin.buffer.read())(iter(()))]
"""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_task_looks_for_the_version_of_its_driver_before_it_does_anything(
    package: str, tmp_path: Path
) -> None:
    """Without Spark: a Python that has the task and the package of a worker."""
    did = tmp_path / "did"
    task = cloudpickle.dumps(shipped(partial(touch, did)))  # type: ignore[no-untyped-call]

    def run(path: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, "-c", TASK]
        return subprocess.run(command, input=task, env=environment, capture_output=True)

    ran = run(installed(package, tmp_path))
    assert ran.returncode != 0 and not did.exists()
    with pytest.raises(WorkerDiffers) as caught, Spark.adopt(None).failures("loading"):
        raise PySparkRuntimeError(ran.stderr.decode())
    assert str(caught.value) == told(FOUND[package])
    assert run(OURS).returncode == 0 and did.exists()


def touch(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    path.touch()
    yield from batches


def installed(package: str, place: Path) -> str:
    """Where a Python finds that package under our name."""
    folder = place / package / "omnigraph"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGES[package])
    return str(folder.parent)


def told(found: str) -> str:
    return (
        f"the Spark worker on {socket.gethostname()} has {found}, "
        f"and its driver has {omnigraph.__version__}"
    )


class Workers:
    """A driver of the cluster, and what its workers have installed."""

    def __init__(self, cluster: Server, place: Path) -> None:
        self._place = place
        python = place / "python"
        python.write_text(PYTHON.format(path=place / "path", python=sys.executable))
        python.chmod(0o755)
        # Each task has a Python of its own, which finds what is installed by then.
        options = SMALL | {"spark.python.use.daemon": "false"}
        self.driver = Driver(
            {
                **spark_variables(cluster, options),
                "PYSPARK_PYTHON": str(python),
                "SPARK_LOCAL_IP": "127.0.0.1",
            }
        )

    def have(self, package: str | None) -> None:
        """What they have from now on: ours, if nothing else."""
        path = OURS if package is None else installed(package, self._place)
        (self._place / "path").write_text(path)


@pytest.fixture
def workers(cluster: Server, tmp_path: Path) -> Iterator[Workers]:
    made = Workers(cluster, tmp_path)
    yield made
    made.driver.stop()


@pytest.mark.deep
def test_workers_that_have_another_version_are_named_and_write_nothing(
    workers: Workers, tmp_path: Path
) -> None:
    uri, source = str(tmp_path / "g"), write(tmp_path / "in.jsonl", node("Person", name="p"))
    graph = Graph.init(uri, "node Person { name: String @key }")
    files = all_files(uri)
    for package, found in FOUND.items():
        workers.have(package)
        with pytest.raises(WorkerDiffers) as caught:
            workers.driver.run(load_there, uri, source, limits=LARGE, mode="append")
        assert str(caught.value) == told(found)
        assert f"=={omnigraph.__version__}" in (caught.value.hint or "")
        assert all_files(uri) == files
    workers.have(None)
    result = workers.driver.run(load_there, uri, source, limits=LARGE, mode="append")
    assert (result.engine, result.inserted) == ("spark", 1)
    assert len(graph.commits()) == 2


def all_files(place: str) -> set[Path]:
    return {path for path in Path(place).rglob("*") if path.is_file()}
