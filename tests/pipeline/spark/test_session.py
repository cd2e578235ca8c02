import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.base.errors import FileMissing, SparkFailed
from omnigraph.pipeline.sources.lines import lines_before
from omnigraph.pipeline.sources.splits import LineRange
from omnigraph.pipeline.spark.java import find_java_home
from omnigraph.pipeline.spark.launch import connect, first_reason
from omnigraph.pipeline.spark.session import Spark, SparkSettings
from omnigraph.store.location import DiskLocation
from tests.processes import PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_work_runs_in_other_processes_once_per_task_and_answers_in_order(spark: Spark) -> None:
    ran = spark.run([-3, -2, -1], abs, doing="counting")
    assert [one.result for one in ran] == [3, 2, 1]
    assert [one.partition for one in ran] == [0, 1, 2]
    assert os.getpid() not in {one.pid for one in ran}


def test_no_tasks_are_no_job(spark: Spark) -> None:
    assert spark.run([], abs, doing="nothing") == []


def test_an_error_of_ours_comes_back_from_a_task_as_it_was(spark: Spark) -> None:
    with pytest.raises(FileMissing) as caught:
        spark.run(
            [LineRange("in.jsonl", DiskLocation(Path("/nowhere/in.jsonl")), 0, 1)],
            lines_before,
            doing="reading",
        )
    assert caught.value.path == "in.jsonl"
    assert caught.value.__cause__ is None


def test_a_bug_in_a_task_is_an_assertion_that_shows_where(spark: Spark) -> None:
    with pytest.raises(AssertionError, match="TypeError"):
        spark.run(["text"], math.sqrt, doing="counting")  # type: ignore[arg-type]


class NotForWorkers:
    """Something that a worker can't make sense of, as another version's might be."""

    def __reduce__(self) -> tuple[Any, ...]:
        return math.sqrt, ("text",)


def out_of_memory(_: object) -> None:
    raise MemoryError("no room")


def count(batches: Iterator[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)


def failing_udf(session: Any) -> Any:
    from pyspark.sql import functions

    return session.range(4).select(functions.udf(lambda i: i // 0, "int")("id"))


FAILURES: dict[str, tuple[Callable[[Spark], Any], str]] = {
    "a function of the frame": (
        lambda spark: spark.run_frame(failing_udf(spark.session), count, doing="reading"),
        "ZeroDivisionError: integer division or modulo by zero",
    ),
    "an expression of the frame": (
        lambda spark: spark.run_frame(
            spark.session.range(4).selectExpr("1 / (id - id)"), count, doing="reading"
        ),
        "Division by zero",
    ),
    "another version": (
        lambda spark: spark.run([NotForWorkers()], abs, doing="reading"),  # type: ignore[arg-type]
        "TypeError: must be real number",
    ),
    "no memory": (
        lambda spark: spark.run([1], out_of_memory, doing="reading"),
        "MemoryError: no room",
    ),
}


@pytest.mark.parametrize("what", FAILURES)
def test_what_is_no_work_of_ours_is_a_failure_of_spark_told_in_one_line(
    spark: Spark, what: str
) -> None:
    work, reason = FAILURES[what]
    with pytest.raises(SparkFailed) as caught:
        work(spark)
    assert str(caught.value).startswith("Spark failed while reading: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_worker_that_dies_is_a_failure_of_spark_told_in_one_line(spark: Spark) -> None:
    with pytest.raises(SparkFailed, match="crashed") as caught:
        spark.run([9], os._exit, doing="counting")
    assert "\n" not in str(caught.value)
    assert [one.result for one in spark.run([-1], abs, doing="counting")] == [1]


AWAITED = """An error occurred while calling o1.localCheckpoint.
: org.apache.spark.SparkException: Exception thrown in awaitResult:\x20
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: a block is gone
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2935)
"""
BY_GRPC = """<_MultiThreadedRendezvous of RPC that terminated with:
\tstatus = StatusCode.RESOURCE_EXHAUSTED
\tdetails = "a message is too large"
>"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (AWAITED, "Job aborted due to stage failure: a block is gone"),
        (BY_GRPC, "a message is too large"),
        (": java.lang.OutOfMemoryError: no heap\n\tat x\nCaused by: other", "no heap"),
    ],
)
def test_the_reason_of_a_failure_is_the_one_that_java_or_grpc_had(text: str, reason: str) -> None:
    assert first_reason(text) == reason


def test_progress_counts_tasks_up(spark: Spark) -> None:
    heard: list[int] = []
    spark.run([0.3] * 6, time.sleep, doing="sleeping", on_progress=heard.append)
    assert heard == sorted(heard)
    assert set(heard) <= set(range(7))
    assert heard


def test_who_hears_of_progress_can_stop_the_tasks(spark: Spark) -> None:
    class Enough(BaseException):
        pass

    def stop(done: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        spark.run([PATIENCE_S] * 4, time.sleep, doing="sleeping", on_progress=stop)
    assert [one.result for one in spark.run([-1], abs, doing="counting")] == [1]


NUMBERS = pa.schema([("n", pa.int64())])


def first_numbers(count: int, *, after_s: float = 0) -> Iterator[pa.RecordBatch]:
    time.sleep(after_s)
    yield pa.record_batch([pa.array(range(count), pa.int64())], schema=NUMBERS)


def test_an_action_that_is_interrupted_is_over_once_the_call_ends(spark: Spark) -> None:
    """Also one that is still being planned, and would only then begin its tasks."""
    numbers = spark.frame([3, 4], partial(first_numbers, after_s=PATIENCE_S), NUMBERS)

    class Planned:
        is_over = False

        def toArrow(self) -> None:  # noqa: N802 - as a frame of Spark's has it
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
            try:
                numbers.toArrow()
            finally:
                self.is_over = True

    action = Planned()
    with pytest.raises(KeyboardInterrupt):
        spark.table_of(action, doing="planning")
    assert action.is_over
    assert not spark.session.sparkContext.statusTracker().getActiveJobsIds()


def test_rows_are_held_for_each_who_asks_until_they_let_go(spark: Spark) -> None:
    def rows() -> Any:
        return spark.frame([3], first_numbers, NUMBERS)

    with spark.held() as hold:
        mine = hold(rows())
        with spark.held() as hold_too:
            theirs = hold_too(rows())
            assert is_kept(theirs)
        assert is_kept(mine) and not is_kept(theirs)
    assert not is_kept(mine)


def is_kept(frame: Any) -> bool:
    return bool(frame.storageLevel.useMemory)


def test_rows_are_not_held_though_the_call_that_holds_them_is_interrupted(spark: Spark) -> None:
    kept: list[Any] = []

    class Interrupting:
        """A frame that is kept while a Ctrl-C comes."""

        def where(self, test: str) -> "Interrupting":
            return self

        def persist(self) -> Any:
            # Java goes on with what it was told, whoever stops waiting.
            kept.append(self)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
            return self

        def unpersist(self) -> None:
            kept.remove(self)

    with pytest.raises(KeyboardInterrupt), spark.held() as hold:
        hold(Interrupting())
    assert not kept


def test_a_process_has_one_session_and_whoever_made_it_stops_it(spark: Spark) -> None:
    with Spark.open(SparkSettings()) as joined:
        assert joined.session.sparkContext is spark.session.sparkContext
    assert [one.result for one in spark.run([-1], abs, doing="counting")] == [1]


@pytest.mark.parametrize("remote", ["sc://127.0.0.1:1", "sc://127.0.0.1:port", "nonsense"])
def test_a_server_that_does_not_answer_is_a_failure_of_spark(remote: str) -> None:
    """In a process of its own: this one has a session, which any other `open` joins."""
    ran = subprocess.run(
        [sys.executable, "-c", UNREACHABLE, remote],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.stdout.startswith(f"Spark failed while connecting to {remote}: ")


@pytest.mark.parametrize(
    "remote",
    [
        "sc://127.0.0.1:1/;token=SECRET;user_id=SECRET",
        "sc://SECRET:SECRET@127.0.0.1:1",
        "sc://127.0.0.1:1/;SECRET",
        "nonsense;token=SECRET",
    ],
)
def test_a_token_is_not_shown(remote: str) -> None:
    with pytest.raises(SparkFailed) as caught:
        connect(remote, {})
    assert "SECRET" not in caught.value.render() + str(caught.value.to_json())


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"master": "nonsense"}, "Spark failed while starting: Master must"),
        ({"master": "local[x]"}, "Spark failed while starting: Could not parse Master URL"),
        (
            {"master": "spark://127.0.0.1:1,127.0.0.2:1"},
            "Spark failed while connecting to spark://127.0.0.1:1,127.0.0.2:1: Connection refused",
        ),
        pytest.param(
            {"master": "spark://127.0.0.1"},
            "Spark failed while starting: Invalid master URL",
            marks=pytest.mark.deep,
        ),
        ({"log": "/proc/none/spark.log"}, "write /proc/none/spark.log failed"),
    ],
    ids=[
        "a master of no kind",
        "a master that can't be",
        "masters that are not there",
        "a master without a port",
        "a log that can't be written",
    ],
)
def test_a_session_that_can_not_begin_says_why_in_one_line(
    settings: dict[str, str], error: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", LOG_LEFT_OPEN, "-c", REFUSED, json.dumps(settings)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ran.stderr, ran.stdout.count("\n")) == ("", 1)
    assert ran.stdout.startswith(error)


@pytest.mark.deep
def test_a_master_that_never_answers_is_named_after_a_minute() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        master = f"spark://127.0.0.1:{deaf.getsockname()[1]}"
        ran = subprocess.run(
            [sys.executable, "-c", REFUSED, json.dumps({"master": master})],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    told = f"Spark failed while connecting to {master}: no Spark master there took us on"
    assert (ran.stdout.strip(), ran.stderr) == (told, "")


# Spark's own pipe to its Java is another kind of file, and not ours to close.
LOG_LEFT_OPEN = "always:unclosed file <_io.BufferedRandom:ResourceWarning"

REFUSED = """
import json, sys
from omnigraph.base.errors import OmnigraphError
from omnigraph.pipeline.spark.session import Spark, SparkSettings
try:
    Spark.open(SparkSettings(**json.loads(sys.argv[1])))
except OmnigraphError as error:
    print(error)
"""

UNREACHABLE = """
import sys
from omnigraph.base.errors import SparkFailed
from omnigraph.pipeline.spark.session import Spark, SparkSettings
try:
    Spark.open(SparkSettings(remote=sys.argv[1]))
except SparkFailed as error:
    print(error)
"""

QUIET = """
import sys
from omnigraph.pipeline.spark.session import Spark, SparkSettings
with Spark.open(SparkSettings(log=sys.argv[1])) as spark:
    assert [one.result for one in spark.run([-1, -2], abs, doing="counting")] == [1, 2]
"""


def path_without_java(place: Path) -> str:
    """What Spark's launcher needs of the system, and no Java."""
    place.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for program in Path(directory).iterdir():
            if program.name != "java" and not (place / program.name).exists():
                (place / program.name).symlink_to(program)
    return str(place)


def test_without_java_spark_runs_on_the_wheels_and_talks_only_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    ran = subprocess.run(
        [sys.executable, "-c", QUIET, str(log)],
        env={"PATH": path_without_java(tmp_path / "bin"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert len([*(tmp_path / ".cache/omnigraph/java").glob("*/bin/java")]) == 1
    assert "log level" in log.read_text()


OWN_SESSION = """
import sys
from pyspark.sql import SparkSession
from omnigraph import Graph
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
graph = Graph.init(sys.argv[1], "node Person { email: String @key }", durability="relaxed")
frame = spark.range(1).selectExpr("'ada' AS email")
print(graph.load({"Person": frame}, mode="append").inserted)
spark.stop()
"""


def test_workers_of_a_callers_own_session_run_the_interpreter_of_the_caller(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    other = programs / "python3"
    other.write_text("#!/bin/sh\necho another python3 >&2\nexit 3\n")
    other.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK"))}
    ran = subprocess.run(
        [sys.executable, "-c", OWN_SESSION, str(tmp_path / "g")],
        env=kept
        | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "JAVA_HOME": str(find_java_home(os.environ)),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.stdout.strip() == "1", ran.stderr[-2000:]
