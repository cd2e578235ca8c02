"""The one place that talks to Spark: how a session is made, quieted, used and stopped.

A process holds one Spark context at most, so `Spark.open` joins the session that is already there
(as `getOrCreate` does) and then leaves it running when closed: whoever made a session stops it.

Everything the JVM and its workers print goes to a file, never to the terminal; when Spark fails
the last lines of that file become part of the error.
"""

import base64
import contextlib
import os
import pickle
import re
import socket
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast
from urllib.parse import urlsplit

import pyarrow as pa

from omnigraph.base.errors import DependencyMissing, OmnigraphError, SparkFailed
from omnigraph.pipeline.java import find_java_home
from omnigraph.pipeline.runner import Engine, Ran, runs

__all__ = ["Spark", "SparkSettings"]

T = TypeVar("T")
R = TypeVar("R")

# Of a remote cluster we do not ask how wide it is; this many tasks at a time are planned for.
REMOTE_PARALLELISM = 16

# The JVM shuffles keys; rows live in the Python workers, which need the rest of the memory.
DRIVER_MEMORY_SHARE = 0.25
DRIVER_MEMORY_MIB = range(1024, 8192 + 1)

LOOPBACK = "127.0.0.1"
CONNECT_PORT, CONNECT_TIMEOUT_S = 15002, 10

LOG_TAIL_BYTES = 2_000
POLL_SECONDS = 0.2
RAN = pa.schema([("ran", pa.binary())])

# How an error of ours travels from a task through Java and back: as a word in its message.
ERROR_MARK = "omnigraph-error:"


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where bulk work runs. `remote` (`sc://host:port`) wins over `master`.

    `log` is a file that gets what Spark prints; without it the output is dropped when all went
    well. `options` are Spark's own settings and win over ours.
    """

    master: str = "local[*]"
    remote: str | None = None
    log: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


class Spark:
    """A session, and whether closing it is ours: a runner. Close it, or use it in a `with`."""

    def __init__(self, session: Any, *, log: IO[bytes] | None = None, is_owned: bool) -> None:
        self.session = session
        self._log = log
        self._is_owned = is_owned

    @classmethod
    def open(
        cls, settings: SparkSettings, *, environment: Mapping[str, str] = os.environ
    ) -> "Spark":
        """Join this process's session, or start one."""
        try:
            from pyspark import SparkContext
            from pyspark.sql import SparkSession
        except ImportError as missing:
            raise DependencyMissing(
                what="pyspark", install='pip install "omnigraph[spark]"'
            ) from missing
        # The active session is one per thread, the context one per process.
        if SparkContext._active_spark_context is not None:
            return cls.adopt(SparkSession.builder.getOrCreate())
        if settings.remote is not None:
            return cls(_connect(settings.remote, settings.options), is_owned=True)
        log = _open_log(settings.log)
        return cls(_launch(settings, environment, log), log=log, is_owned=True)

    @classmethod
    def adopt(cls, session: Any) -> "Spark":
        """Use a session that someone else made and will stop."""
        return cls(session, is_owned=False)

    def close(self) -> None:
        if self._is_owned:
            self.session.stop()
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> "Spark":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def engine(self) -> Engine:
        return "spark"

    @property
    def parallelism(self) -> int:
        context = self._context()
        return REMOTE_PARALLELISM if context is None else int(context.defaultParallelism)

    def run(
        self,
        tasks: Sequence[T],
        work: Callable[[T], R],
        *,
        doing: str,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Ran[R]]:
        if not tasks:
            return []
        frame = self._frame(list(enumerate(tasks)), partial(_run_one, work), RAN)
        with self._failures(doing), self._watch(on_progress):
            rows = frame.collect()
        return [cast("Ran[R]", ran) for _, ran in sorted(pickle.loads(row.ran) for row in rows)]

    def show_as(
        self,
        name: str,
        tasks: Sequence[T],
        read: Callable[[T], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> None:
        # The rows are made when a query asks for them, and again for each query that does.
        self._frame(tasks, read, schema).createOrReplaceTempView(name)

    def query(self, sql: str, *, doing: str) -> list[dict[str, Any]]:
        with self._failures(doing):
            return [row.asDict() for row in self.session.sql(sql).collect()]

    def run_over(
        self,
        sql: str,
        work: Callable[[int, pa.Table], R],
        *,
        by: str,
        then: str,
        tasks: int,
        doing: str,
    ) -> list[R]:
        with self._failures(doing):
            dealt = self.session.sql(sql).repartition(tasks, by).sortWithinPartitions(by, then)
            rows = self._mapped(dealt, partial(_run_over, work, by), RAN).collect()
        return [cast("R", pickle.loads(row.ran)) for row in rows]

    def run_frame(
        self, frame: Any, work: Callable[[Iterator[pa.RecordBatch]], R], *, doing: str
    ) -> list[R]:
        """Run `work` once over each partition of a frame; the results come in their order."""
        with self._failures(doing):
            rows = self._mapped(frame, partial(_run_partition, work), RAN).collect()
        return [cast("R", result) for _, result in sorted(pickle.loads(row.ran) for row in rows)]

    def schema_of(self, frame: Any) -> pa.Schema:
        """The types that a frame's batches will have."""
        from pyspark.sql.pandas.types import to_arrow_schema

        with self._failures("looking at a frame"):
            return to_arrow_schema(frame.schema)

    def forget(self, name: str) -> None:
        self.session.catalog.dropTempView(name)

    def _frame(
        self, tasks: Sequence[T], read: Callable[[T], Iterator[pa.RecordBatch]], schema: pa.Schema
    ) -> Any:
        # One partition per task by construction: a frame made of the tasks themselves would be
        # sliced by Spark, and some partitions would get two.
        numbers = self.session.range(0, len(tasks), 1, max(1, len(tasks)))
        return self._mapped(numbers, partial(_read_tasks, tuple(tasks), read), schema)

    def _mapped(
        self,
        frame: Any,
        body: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        with warnings.catch_warnings():
            # Spark warns of pandas 3 on every call; no pandas value is ever made here.
            warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
            return frame.mapInArrow(partial(_task_body, body), from_arrow_schema(schema))

    def _context(self) -> Any | None:
        """None over Spark Connect, which has no context on this side."""
        from pyspark.sql import SparkSession

        return self.session.sparkContext if isinstance(self.session, SparkSession) else None

    @contextlib.contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        """Errors of ours come back as they were; Spark's own become `SparkFailed`."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException, PythonException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            text = str(error)
            if ours := re.search(f"{ERROR_MARK}([A-Za-z0-9+/=]+)", text):
                raise cast(OmnigraphError, pickle.loads(base64.b64decode(ours[1]))) from None
            # Anything else that Python raised in a task is a bug of ours.
            assert not isinstance(error, PythonException), text
            raise SparkFailed(doing=doing, reason=_reason(text)) from error

    @contextlib.contextmanager
    def _watch(self, on_progress: Callable[[int], None] | None) -> Iterator[None]:
        """Report how many tasks are done while the block runs."""
        context = self._context()
        if on_progress is None or context is None:
            yield
            return
        group, done = str(uuid.uuid4()), threading.Event()
        context.setJobGroup(group, "omnigraph")
        watcher = threading.Thread(
            target=_poll, args=(context.statusTracker(), group, done, on_progress), daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            context.setLocalProperty("spark.jobGroup.id", None)


# Starting -----------------------------------------------------------------------------------------


def _launch(settings: SparkSettings, environment: Mapping[str, str], log: IO[bytes]) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for name, value in {**_options(settings.master), **settings.options}.items():
        conf.set(name, value)
    surroundings = {
        "JAVA_HOME": str(find_java_home(environment)),
        "PYSPARK_PYTHON": sys.executable,
        **({"SPARK_LOCAL_IP": LOOPBACK} if _is_local(settings.master) else {}),
    }
    try:
        with _environment(surroundings), warnings.catch_warnings():
            # Lance warns of any fork; this one becomes the JVM at once.
            warnings.filterwarnings("ignore", message="lance is not fork-safe")
            # A stopped session leaves its JVM behind, and the next one runs in it.
            gateway = SparkContext._gateway or launch_gateway(conf, {"stdout": log, "stderr": log})
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except PySparkException as error:
        raise SparkFailed(doing="starting", reason=_tail(log) or str(error)) from error


def _connect(remote: str, options: Mapping[str, str]) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        # The client itself goes on trying for ten minutes before it says so.
        address = urlsplit(remote)
        server = (address.hostname or "", address.port or CONNECT_PORT)
        socket.create_connection(server, timeout=CONNECT_TIMEOUT_S).close()
        builder = SparkSession.builder.remote(remote)
        for name, value in options.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    except ImportError as missing:
        raise DependencyMissing(
            what="a client for Spark Connect", install='pip install "pyspark[connect]"'
        ) from missing
    except (OSError, ValueError, PySparkException) as error:
        raise SparkFailed(doing=f"connecting to {remote}", reason=_reason(str(error))) from error


def _options(master: str) -> dict[str, str]:
    options = {
        "spark.app.name": "omnigraph",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    if _is_local(master):
        options |= {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.memory": f"{_driver_memory_mib()}m",
            # The JVM's second compiler costs a third more processor time in the first load of a
            # session, and pays off only where millions of keys are shuffled.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            # One machine: more shuffle files than cores only cost.
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
            # Workers import the package that the driver runs, installed or not.
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
        }
    return options


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _driver_memory_mib() -> int:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    share = int(machine * DRIVER_MEMORY_SHARE)
    return min(max(share, DRIVER_MEMORY_MIB.start), DRIVER_MEMORY_MIB.stop - 1)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Spark takes these from the process's environment alone, at launch."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _open_log(path: str | None) -> IO[bytes]:
    return tempfile.TemporaryFile() if path is None else Path(path).open("a+b")


def _tail(log: IO[bytes]) -> str:
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - LOG_TAIL_BYTES))
    return log.read().decode(errors="replace").strip()


def _reason(text: str) -> str:
    """What went wrong, out of a message that goes on with Java's stack."""
    lines = text.strip().split("\n")
    told = next((line for line in lines if line.startswith(": ")), lines[0])
    return re.split(r"(?:^|: )(?:[a-z]+\.)+\w+(?:Exception|Error): ", told)[-1]


def _poll(
    tracker: Any, group: str, done: threading.Event, on_progress: Callable[[int], None]
) -> None:
    while not done.wait(POLL_SECONDS):
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        on_progress(sum(stage.numCompletedTasks for stage in stages if stage))


# Inside a task ------------------------------------------------------------------------------------


def _task_body(
    body: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    try:
        yield from body(batches)
    except OmnigraphError as error:
        text = base64.b64encode(pickle.dumps(error)).decode()
        raise RuntimeError(f"{ERROR_MARK}{text}") from error


def _read_tasks(
    tasks: tuple[T, ...],
    read: Callable[[T], Iterator[pa.RecordBatch]],
    numbers: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from read(tasks[number])


def _run_one(work: Callable[[T], R], numbered: tuple[int, T]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    number, task = numbered
    context = TaskContext.get()
    assert context is not None, "runs inside a task"
    ran = Ran(result=work(task), partition=context.partitionId(), pid=os.getpid())
    yield _pickled((number, ran))


def _run_partition(
    work: Callable[[Iterator[pa.RecordBatch]], R], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "runs inside a task"
    yield _pickled((context.partitionId(), work(batches)))


def _run_over(
    work: Callable[[int, pa.Table], R], by: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for value, rows in runs(batches, by):
        yield _pickled(work(value, rows))


def _pickled(value: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(value)], pa.binary())], schema=RAN)
