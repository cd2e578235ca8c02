"""What goes wrong while a load runs, and that it leaves exact rows or none."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from omnigraph import Graph
from omnigraph.base.errors import StorageFailed
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.runner import TaskResult
from omnigraph.pipeline.sources.splits import LineRange
from omnigraph.pipeline.spark.session import Spark
from omnigraph.pipeline.staging.area import Receipt, TaskArea
from omnigraph.pipeline.staging.receipts import NamedTask
from omnigraph.pipeline.staging.stage import StagedAs, StageJob, stage_splits
from omnigraph.store.layout import GRAPH, STAGING
from omnigraph.store.location import DiskLocation
from tests.pipeline.spark.clusters import (
    Driver,
    Server,
    cluster_environment,
    load_there,
    spark_there,
)
from tests.pipeline.staging.test_resume import opened
from tests.pipeline.world import edge, node, text
from tests.processes import PATIENCE_S, WARDEN, wait_until

T = TypeVar("T")
R = TypeVar("R")

SCHEMA = """
node Person { name: String @key  about: String? }
edge Knows: Person -> Person
"""


class Place:
    def __init__(self, place: Path, *, people: int) -> None:
        self.people = people
        self.source = place / "in.jsonl"
        names = [f"p{n}" for n in range(people)]
        # Nothing that Lance could make small.
        rows = [node("Person", name=name, about=os.urandom(100).hex()) for name in names]
        self.source.write_text(text([*rows, *(edge("Knows", name, "p0") for name in names)]))
        self.uri = str(place / "graph")
        self.graph = Graph.init(self.uri, SCHEMA)

    def assert_whole(self) -> None:
        snapshot = self.graph.snapshot().stored
        for entity in snapshot.catalog.entities:
            ids = snapshot.dataset(entity).scan(["id"])["id"].to_pylist()
            assert len(ids) == len(set(ids)) == self.people

    def assert_untouched(self) -> None:
        assert [commit.kind for commit in self.graph.commits()] == ["init"]
        assert self.records() == []

    def files(self) -> set[str]:
        return {file.name for file in Path(self.uri).glob("*/*/data/*.lance")}

    def records(self) -> list[Path]:
        return [*Path(self.uri, STAGING).rglob("*.json")]

    def files_named(self) -> int:
        """How many files there are that a commit names, of loads that only add."""
        snapshot = self.graph.snapshot().stored
        entities = snapshot.catalog.entities
        return sum(len(snapshot.dataset(entity).fragment_ids) for entity in entities)

    def wait_for_a_task(self) -> None:
        wait_until(lambda: len(self.records()) > 1, "no task was ever done")


# Tasks and their processes ------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_worker_that_dies_with_its_files_written_costs_no_row(
    spark: Spark, tmp_path: Path
) -> None:
    place, marker = Place(tmp_path, people=300), str(tmp_path / "stumbled")

    def stumble(work: Callable[[T], R], task: T) -> R:
        done = work(task)
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return done
        os._exit(9)

    class Stumbling(Spark):
        def run(
            self, tasks: Sequence[T], work: Callable[[T], R], **options: Any
        ) -> list[TaskResult[R]]:
            return super().run(tasks, partial(stumble, work), **options)

    result = opened(place.uri).load(
        place.source, mode="append", spark=Stumbling(spark.session, is_owned=False)
    )
    assert Path(marker).exists()
    assert result.resumed_tasks == 1
    place.assert_whole()
    assert len(place.files()) == place.files_named(), "the second try wrote nothing"


@pytest.mark.spark
@pytest.mark.xdist_group("cluster")
def test_an_executor_killed_in_a_load_costs_no_row(
    cluster: Server, cluster_driver: Driver, tmp_path: Path
) -> None:
    place = Place(tmp_path, people=20_000)
    cluster_driver.start(load_there, place.uri, str(place.source), mode="append")
    place.wait_for_a_task()
    os.kill(cluster.executors()[0], signal.SIGKILL)
    assert cluster_driver.answer().total_entities == 2 * place.people
    place.assert_whole()
    assert place.records() == []


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.xdist_group("cluster")
def test_a_task_that_is_run_twice_at_once_counts_once_and_leaves_no_file(
    cluster_driver: Driver, tmp_path: Path
) -> None:
    place, marker = Place(tmp_path, people=300), tmp_path / "overtaken"
    result = cluster_driver.run(load_with_a_slow_task, place.uri, str(place.source), str(marker))
    assert result.total_entities == 2 * place.people
    place.assert_whole()
    # Spark takes the answer of the quicker one and goes on: the other may end after the load.
    wait_until(marker.with_suffix(".late").exists, "there was no second copy of the slow task")
    assert len(place.files()) == place.files_named()
    assert place.records() == []


def load_with_a_slow_task(uri: str, source: str, marker: str) -> LoadResult:
    """Inside a driver: one task does not end before a copy of it has."""

    class Impatient(Spark):
        def run(
            self, tasks: Sequence[T], work: Callable[[T], R], **options: Any
        ) -> list[TaskResult[R]]:
            assert isinstance(work, partial)
            return super().run(tasks, partial(overtaken_once, work, marker), **options)

    with opened(uri) as graph:
        spark = Impatient(spark_there().session, is_owned=False)
        return graph.load(source, mode="append", spark=spark)


def overtaken_once(work: "partial[R]", marker: str, task: NamedTask) -> R:
    """Inside a task: the first of all waits, with its files written, until its copy is done."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return work(task)
    job, area = work.args
    seen = set[str]()

    def is_overtaken() -> bool:
        """The copy's record is there, or was: once the load is over none is there any more."""
        receipts = Path(str(area.root), area.folder).glob("*.json")
        there = {receipt.stem.rpartition("-")[2] for receipt in receipts}
        seen.update(there)
        return task.name in there or bool(seen and not there)

    class Patient(TaskArea):
        def leave_receipt(self, name: str, receipt: Receipt, *, is_final: bool) -> Receipt:
            wait_until(is_overtaken, "no copy was ever done")
            return super().leave_receipt(name, receipt, is_final=is_final)

    done = work.func(job, Patient(**vars(area)), task)
    Path(marker).with_suffix(".late").touch()
    return done


@pytest.mark.spark
@pytest.mark.xdist_group("cluster")
def test_a_worker_whose_storage_fails_is_named(cluster_driver: Driver) -> None:
    with pytest.raises(StorageFailed) as caught:
        cluster_driver.run(fail_in_a_task)
    assert caught.value.reason == f"as asked (on the worker {os.uname().nodename})"


def fail_in_a_task() -> None:
    """Inside a driver."""
    spark_there().run([None], fail, doing="testing")


def fail(_: None) -> None:
    raise StorageFailed(doing="write", path="x", reason="as asked")


@pytest.mark.spark
@pytest.mark.xdist_group("cluster")
def test_workers_that_see_another_disk_are_named_and_write_nothing(
    cluster_driver: Driver, tmp_path: Path
) -> None:
    place = Place(tmp_path, people=3)
    with pytest.raises(StorageFailed, match="shared storage") as caught:
        cluster_driver.run(stage_elsewhere, place.uri, str(place.source))
    assert os.uname().nodename in caught.value.reason
    assert "elsewhere" in caught.value.path
    assert place.files() == set()


def stage_elsewhere(uri: str, source: str) -> None:
    """Inside a driver: tasks that see nothing where the driver sees the graph."""
    snapshot = Graph.open(uri).snapshot().stored
    job = StageJob(
        catalog=snapshot.catalog,
        homes={e.table_key: snapshot.home(e) for e in snapshot.catalog.entities},
        root=snapshot.root / "elsewhere",
        graph=Path(uri, GRAPH).read_bytes(),
        now_ms=0,
        staged_as=StagedAs.FILES,
    )
    size = Path(source).stat().st_size
    splits = [(LineRange(source, DiskLocation(Path(source)), 0, size),)]
    spark_there().run(splits, partial(stage_splits, job), doing="staging")


@pytest.mark.parametrize(
    ("file_bytes", "reason"),
    [
        (2_000, "File too large"),
        # Only the last bytes don't fit, which Lance does not notice.
        (3_500, "is the disk full"),
    ],
)
def test_a_disk_that_is_full_fails_the_load_and_nothing_stays(
    tmp_path: Path, file_bytes: int, reason: str
) -> None:
    place = Place(tmp_path, people=600)
    driver = Driver({})
    try:
        with pytest.raises(StorageFailed, match=reason):
            driver.run(load_on_a_small_disk, place.uri, str(place.source), file_bytes)
    finally:
        driver.stop()
    assert place.files() == set()
    place.assert_untouched()
    place.graph.load(place.source, mode="append", engine="local")
    place.assert_whole()


def load_on_a_small_disk(uri: str, source: str, file_bytes: int) -> None:
    """Inside a driver: no file may grow beyond a few kilobytes."""
    graph = opened(uri)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))
    graph.load(source, mode="append", engine="local")


# Ctrl-C -------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_an_interrupted_job_ends_its_tasks_and_leaves_the_session(
    spark: Spark, tmp_path: Path
) -> None:
    def sleep_and_tell(number: int) -> None:
        (tmp_path / f"began-{number}").touch()
        time.sleep(PATIENCE_S)
        (tmp_path / f"ended-{number}").touch()

    def interrupt() -> None:
        while not list(tmp_path.glob("began-*")):
            time.sleep(0.05)
        # To this thread: so the one that waits sleeps on, as after a signal that comes just before
        # it falls asleep.
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        spark.run([1, 2, 3, 4], sleep_and_tell, doing="sleeping")
    assert [one.result for one in spark.run([-1, -2], abs, doing="counting")] == [1, 2]
    assert not list(tmp_path.glob("ended-*"))
    assert len(list(tmp_path.glob("began-*"))) <= 2, "those that waited were not begun"


@pytest.mark.spark
@pytest.mark.xdist_group("cluster")
@pytest.mark.parametrize("where", ["here", pytest.param("connect", marks=pytest.mark.deep)])
def test_ctrl_c_ends_a_load_in_one_line_and_leaves_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, where: str
) -> None:
    place = Place(tmp_path, people=60_000)
    server = request.getfixturevalue("connect") if where == "connect" else None
    environment = cluster_environment(server) if server is not None else {}
    command = f"-m omnigraph load --mode append --data {place.source} {place.uri}"
    load = subprocess.Popen(
        [sys.executable, WARDEN, sys.executable, *command.split()],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with load:
        place.wait_for_a_task()
        written = {file for record in place.records() for file in files_told_by(record)}
        load.send_signal(signal.SIGINT)
        assert load.stdout is not None and load.stderr is not None
        # Its input stays open: without it the load would be ended, not interrupted.
        assert load.wait(PATIENCE_S) == 130
        out, told = load.stdout.read(), load.stderr.read()
    assert out == ""
    assert told.splitlines()[-1] == "interrupted: nothing was loaded"
    assert "Traceback" not in told
    assert written and not written & place.files()
    place.assert_untouched()


def files_told_by(record: Path) -> Iterator[str]:
    for _, fragment in json.loads(record.read_text()).get("files", ()):
        yield from (file["path"] for file in json.loads(fragment)["files"])
