"""A Spark session as a runner: how it is used and stopped, whichever way it was begun.

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
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Any, TypeVar, cast

import pyarrow as pa

from omnigraph.base.errors import (
    DependencyMissing,
    OmnigraphError,
    SourceInvalid,
    SparkFailed,
    StorageFailed,
    Unsupported,
    WorkerDiffers,
)
from omnigraph.pipeline.runner import Engine, TaskResult
from omnigraph.pipeline.spark.launch import (
    ALL_CORES,
    STOPPED,
    SparkSettings,
    connect,
    first_reason,
    forget_stopped,
    is_stopped,
    launch,
    name_interpreter,
    open_log,
)
from omnigraph.pipeline.spark.tasks import (
    BUG_MARK,
    ERROR_MARK,
    RAN,
    VERSION_MARK,
    our_version,
    read_tasks,
    run_one,
    run_over,
    run_partition,
    shipped,
    value_of,
)
from omnigraph.pipeline.spark.waiting import (
    POLL_S,
    Answer,
    Heard,
    in_turn,
    listening,
    stages_of,
    watched,
)

__all__ = ["ALL_CORES", "MAX_BROADCAST_ROWS", "Spark", "SparkSettings"]

T = TypeVar("T")
R = TypeVar("R")

# A cluster does not say how wide it is before it has run something: at least so many tasks at a
# time are planned for.
CLUSTER_PARALLELISM = 16

# What a join has so few rows of is sent to all workers, which costs less than sorting both sides.
MAX_BROADCAST_ROWS = 100_000

# A server takes 128 MiB in a message unless it is told otherwise, and has several copies of it.
MAX_CONNECT_BYTES = 64 << 20

# How long tasks may take to end once they are told to. A worker is killed after two seconds.
CANCEL_S = 10.0

# What Spark says of rows that a worker kept alone.
LOST_BLOCK = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"

# What a worker says that knows the package and not what was sent to it.
OTHER_VERSION = re.compile(r"Can't get attribute '\w+' on <module 'omnigraph\b")


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
                what="pyspark",
                install='pip install "omnigraph[spark]", or load without Spark: engine local',
            ) from missing
        forget_stopped()
        # The active session is one per thread, the context one per process.
        if SparkContext._active_spark_context is not None:
            return cls.adopt(SparkSession.builder.getOrCreate())
        if settings.remote is not None:
            return cls(connect(settings.remote, settings.options), is_owned=True)
        log = open_log(settings.log)
        try:
            session = launch(settings, environment, log)
        except BaseException:
            log.close()
            raise
        return cls(session, log=log, is_owned=True)

    @classmethod
    def adopt(cls, session: Any) -> "Spark":
        """Use a session that someone else made and will stop."""
        adopted = cls(session, is_owned=False)
        if (context := adopted._context()) is not None:
            name_interpreter(context)
        return adopted

    def close(self) -> None:
        if self._is_owned and self.is_over:
            forget_stopped()
        elif self._is_owned:
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
    def is_over(self) -> bool:
        """True if Spark itself has stopped the session, as when its master is gone."""
        context = self._context()
        return context is not None and is_stopped(context)

    @property
    def parallelism(self) -> int:
        context = self._context()
        if context is None:
            return CLUSTER_PARALLELISM
        with self.failures("asking how wide it is"):
            width = int(context.defaultParallelism)
        return width if context.master.startswith("local[") else max(width, CLUSTER_PARALLELISM)

    def run(
        self,
        tasks: Sequence[T],
        work: Callable[[T], R],
        *,
        doing: str,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[TaskResult[R]]:
        if not tasks:
            return []
        frame = self.frame(list(enumerate(tasks)), partial(run_one, work), RAN)
        rows = self._run(frame.collect, doing=doing, on_progress=on_progress)
        return [
            cast("TaskResult[R]", ran) for _, ran in sorted(pickle.loads(row.ran) for row in rows)
        ]

    def show_as(
        self,
        name: str,
        tasks: Sequence[T],
        read: Callable[[T], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
        *,
        most: int,
        on: str | None = None,
    ) -> None:
        # The rows are made when a query asks for them, and again for each query that does.
        frame = self.frame(tasks, read, schema)
        if most > MAX_BROADCAST_ROWS:
            # Spark takes them to be as few as the tasks, and would send all to every worker.
            frame = frame.hint("merge")
        frame.createOrReplaceTempView(name)

    def query(self, sql: str, *, doing: str) -> list[dict[str, Any]]:
        rows = self._run(lambda: self.session.sql(sql).collect(), doing=doing)
        return [row.asDict() for row in rows]

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
        def answer() -> list[Any]:
            dealt = self.session.sql(sql).repartition(tasks, by).sortWithinPartitions(by, then)
            rows: list[Any] = self.mapped(dealt, partial(run_over, work, by), RAN).collect()
            return rows

        rows = self._run(answer, doing=doing)
        return [cast("R", pickle.loads(row.ran)) for row in rows]

    def run_frame(
        self, frame: Any, work: Callable[[Iterator[pa.RecordBatch]], R], *, doing: str
    ) -> list[R]:
        """Run `work` once over each partition of a frame; the results come in their order."""
        mapped = self.mapped(frame, partial(run_partition, work), RAN)
        rows = self._run(mapped.collect, doing=doing)
        return [cast("R", result) for _, result in sorted(pickle.loads(row.ran) for row in rows)]

    def table_of(
        self, frame: Any, *, doing: str, on_progress: Callable[[int], None] | None = None
    ) -> pa.Table:
        """The rows of a frame, here."""
        table: pa.Table = self._run(frame.toArrow, doing=doing, on_progress=on_progress)
        return table

    def kept(
        self, frame: Any, *, doing: str, on_progress: Callable[[int], None] | None = None
    ) -> Any:
        """A frame whose rows are made once and kept by the workers until nobody uses it.

        Spark may make them now, or when they are asked for.
        """
        keep = partial(frame.localCheckpoint, eager=False)
        return self._run(keep, doing=doing, on_progress=on_progress)

    def schema_of(self, name: str, frame: Any) -> pa.Schema:
        """The types that the batches of a frame will have; `name` is for messages."""
        from pyspark.errors import PySparkTypeError
        from pyspark.sql.pandas.types import to_arrow_type

        with self.failures("looking at a frame"):
            columns = list(frame.schema)
            zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
        fields = []
        for column in columns:
            try:
                arrives = to_arrow_type(column.dataType, timezone=zone)
            except PySparkTypeError as error:
                raise SourceInvalid(
                    file=name,
                    column=column.name,
                    reason=f"Spark can't hand over values of type {column.dataType.simpleString()}",
                    advice="cast the column, or drop it from the frame",
                ) from error
            fields.append(pa.field(column.name, arrives, column.nullable))
        return pa.schema(fields)

    def settled(
        self, frame: Any, *, doing: str, on_progress: Callable[[int], None] | None = None
    ) -> Any:
        """The same rows, worked out now and kept by the workers: a round that goes on from them
        does not repeat all rounds before."""
        return self._run(frame.localCheckpoint, doing=doing, on_progress=on_progress)

    @contextlib.contextmanager
    def held(self) -> Iterator[Callable[[Any], Any]]:
        """What makes the workers keep the rows of a frame, once they are made, while this block
        runs. Where a worker that kept some is gone, they are made again."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        frames: list[Any] = []
        # Spark keeps the rows of equal plans once, whoever asks, and lets go of them with the first
        # who does. Others would go on with rows that are made again, in another order.
        own = f"'{uuid.uuid4().hex}' is not null"

        def hold(frame: Any) -> Any:
            with self.failures("keeping rows"):
                frames.append(frame.where(own))
            return self._run(frames[-1].persist, doing="keeping rows")

        def release() -> None:
            for frame in reversed(frames):
                frame.unpersist()

        try:
            yield hold
        finally:
            # If Spark is gone, what it kept is gone too; that is not the error to be told.
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                # A server that is gone is asked for long: its frames are not waited for.
                Answer(release, is_classic=self._context() is not None).wait(CANCEL_S)

    def forget(self, name: str) -> None:
        self.session.catalog.dropTempView(name)

    def frame(
        self, tasks: Sequence[T], read: Callable[[T], Iterator[pa.RecordBatch]], schema: pa.Schema
    ) -> Any:
        """A lazy frame of the rows that `read` gives, with a partition for each task."""
        # One partition per task by construction: a frame made of the tasks themselves would be
        # sliced by Spark, and some partitions would get two.
        numbers = self.session.range(0, len(tasks), 1, max(1, len(tasks)))
        # Each as a pickle of its own: a worker gets all of them, and makes sense of one.
        packed = tuple(pickle.dumps(task) for task in tasks)
        return self.mapped(numbers, partial(read_tasks, packed, read), schema)

    def mapped(
        self,
        frame: Any,
        body: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> Any:
        """A lazy frame of what `body` makes of each partition, the empty ones too."""
        from pyspark.sql.pandas.types import from_arrow_schema

        # Over Connect the server is asked for the columns.
        with self.failures("preparing tasks"), warnings.catch_warnings():
            # Spark warns of pandas 3 on every call; no pandas value is ever made here.
            warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
            return frame.mapInArrow(shipped(body), from_arrow_schema(schema))

    @contextlib.contextmanager
    def sent(self, value: T) -> Iterator[Callable[[], T]]:
        """What tasks call to have `value`, while this block runs. It may be large: every worker
        gets it once. Over Connect it goes along with the tasks, and is refused if it is too large.
        """
        from py4j.protocol import Py4JError

        # As bytes: where Spark encrypts what it sends, it can't pickle an array by itself.
        packed = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        context = self._context()
        if context is None:
            self.require_sendable(len(packed))
            yield partial(pickle.loads, packed)
            return
        with self.failures("sending to the workers"):
            broadcast = context.broadcast(packed)
        try:
            yield partial(value_of, broadcast)
        finally:
            # If Spark is gone, what it kept is gone too.
            with contextlib.suppress(Py4JError, OSError):
                broadcast.destroy()

    def require_sendable(self, count_bytes: int) -> None:
        """Refuse what a server of Connect would not take: its messages have a limit."""
        if self._context() is None and count_bytes > MAX_CONNECT_BYTES:
            raise Unsupported(
                what=f"sending {count_bytes >> 20:,} MiB to the workers through Spark Connect",
                instead="name the master of the cluster (spark://host:port), which has no limit",
            )

    def _context(self) -> Any | None:
        """None over Spark Connect, which has no context on this side."""
        from pyspark.sql import SparkSession

        return self.session.sparkContext if isinstance(self.session, SparkSession) else None

    def _run(
        self,
        action: Callable[[], R],
        *,
        doing: str,
        on_progress: Callable[[int], None] | None = None,
    ) -> R:
        """What `action` gives. If that fails, or we are stopped, so are its tasks."""
        context, name = self._context(), f"omnigraph-{uuid.uuid4().hex}"
        heard = Heard(on_progress)
        if context is None and on_progress is not None:
            action = partial(listening, self.session, heard, action)

        def mark() -> None:
            if context is None:
                self.session.addTag(name)
            else:
                context.setJobGroup(name, doing, interruptOnCancel=True)

        with self.failures(doing), watched(context, name, on_progress) as stopped_by:
            # In a thread of its own: whoever stops us stops a wait, and never a call that would
            # leave its answer in the connection for the next one to find.
            answer = Answer(partial(in_turn, mark, action), is_classic=context is not None)
            try:
                # A server of Connect may be gone, and then nobody tells how far it is.
                given = answer.get(heard.tell if context is None else None)
            except BaseException:
                self._cancel(name, answer)
                if stopped_by:
                    raise stopped_by[0] from None
                raise
            if stopped_by:
                raise stopped_by[0]
            return given

    def _cancel(self, name: str, answer: Answer[Any]) -> None:
        """End an action and its tasks, and wait until they have: they may be writing files."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        deadline = time.monotonic() + CANCEL_S
        # Spark may be gone altogether, and then so are its tasks.
        with contextlib.suppress(PySparkException, Py4JError, OSError):
            while time.monotonic() < deadline:
                # Again and again: an action may begin its next tasks after these were ended.
                self._end_tasks(name)
                if answer.wait(POLL_S) and not self._has_tasks(name):
                    return
                time.sleep(POLL_S)
        answer.wait(max(0.0, deadline - time.monotonic()))

    def _end_tasks(self, name: str) -> None:
        context = self._context()
        if context is not None:
            context.cancelJobGroup(name)
            return
        # What is gone is asked for as long as the client goes on trying.
        interrupt = partial(self.session.interruptTag, name)
        Answer(interrupt, is_classic=False).wait(CANCEL_S)

    def _has_tasks(self, name: str) -> bool:
        """True if tasks are known to run; a server of Connect does not tell."""
        context = self._context()
        if context is None:
            return False
        return any(stage.numActiveTasks for stage in stages_of(context.statusTracker(), name))

    def _of_task(self, pickled: str, *, host: str) -> OmnigraphError:
        """An error of ours from a task. Where one machine of many fails, it is to be looked at."""
        error = cast(OmnigraphError, pickle.loads(base64.b64decode(pickled)))
        context = self._context()
        is_here = context is not None and context.master.startswith("local")
        if isinstance(error, StorageFailed) and host and not is_here and host not in error.reason:
            error.reason = f"{error.reason} (on the worker {host})"
        return error

    @contextlib.contextmanager
    def failures(self, doing: str) -> Iterator[None]:
        """Errors of ours come back as they were; Spark's own become `SparkFailed`."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            text = str(error)
            if ours := re.search(rf"{ERROR_MARK}([A-Za-z0-9+/=]+)@(\S*)\.", text):
                raise self._of_task(ours[1], host=ours[2]) from None
            if differs := re.search(rf"{VERSION_MARK}(.*)@(\S+)\.", text):
                raise WorkerDiffers(
                    host=differs[2], found=differs[1] or None, wanted=our_version()
                ) from error
            if missing := re.search(r"No module named '(\w+)", text):
                reason = f"the Python of the workers has no {missing[1]}: install omnigraph there"
                raise SparkFailed(doing=doing, reason=reason) from error
            if OTHER_VERSION.search(text):
                reason = "the workers have another version of omnigraph: install this one there"
                raise SparkFailed(doing=doing, reason=reason) from error
            if LOST_BLOCK in text:
                reason, advice = "a worker is gone that kept rows in between", "ask again"
                raise SparkFailed(doing=doing, reason=reason, advice=advice) from error
            if STOPPED in text:
                reason = "the session was stopped: its master is gone, or has given it up"
                raise SparkFailed(doing=doing, reason=reason) from error
            assert BUG_MARK not in text, text
            raise SparkFailed(doing=doing, reason=first_reason(text)) from error
        except ConnectionError as error:
            # A caller who hears of progress may have lost a connection of its own.
            if not self.is_over:
                raise
            raise SparkFailed(doing=doing, reason="its Java process has died") from error
