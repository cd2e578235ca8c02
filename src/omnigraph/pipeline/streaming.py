"""Streams of Spark: their micro-batches one after the other, each under a name that lasts.

Spark may run a micro-batch again, with the same rows, when it or the process died before its
checkpoint knew better. The name is made of what the checkpoint keeps, the query's id and the number
of the batch, so whoever remembers names does nothing twice.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from omnigraph.base.errors import ArgumentInvalid, Unsupported
from omnigraph.pipeline.sources import spark_frames
from omnigraph.pipeline.spark.session import Spark

__all__ = ["Stream", "start_stream", "streaming_frame"]

QUERY_ID = "sql.streaming.queryId"

Batch = Callable[[object, str], None]
"""Takes the rows of a micro-batch, shaped as the stream's source is, and its name."""


class Stream:
    """A stream that is being loaded. Wait for its end or stop it; a `with` block stops it."""

    def __init__(self, spark: Spark, query: Any, failure: "_Failure") -> None:
        self._spark = spark
        self._query = query
        self._failure = failure

    @property
    def id(self) -> str:
        """The same whenever the stream is begun with the same checkpoint."""
        return str(self._query.id)

    @property
    def is_active(self) -> bool:
        """Whether the stream still runs."""
        return bool(self._query.isActive)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended, at most so long; whether it has. What ended it is raised."""
        with self._spark.failures("streaming"), self._failure.first():
            if timeout_s is not None:
                return bool(self._query.awaitTermination(timeout_s))
            self._query.awaitTermination()
            return True

    def stop(self) -> None:
        """End it, once the micro-batch that is under way is loaded."""
        with self._spark.failures("stopping a stream"), self._failure.first():
            self._query.stop()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def streaming_frame(source: object) -> tuple[str, Any]:
    """The one stream that a source is made of, and its name."""
    frames = spark_frames(source)
    if len(frames) != 1 or not all(frame.isStreaming for frame in frames.values()):
        rule = "it must be one streaming frame of Spark, by itself or by the name of its type"
        raise ArgumentInvalid(argument="source", value=type(source).__name__, rule=rule)
    [(name, frame)] = frames.items()
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise Unsupported(
            what="a stream through Spark Connect, whose server runs what is done with each batch,",
            instead="use a session of this process",
        )
    return name, frame


def start_stream(
    spark: Spark,
    source: object,
    each: Batch,
    *,
    checkpoint: str,
    trigger: Mapping[str, Any],
    output_mode: str,
) -> Stream:
    """Begin to hand every micro-batch to `each`, and end when that fails."""
    name, frame = streaming_frame(source)
    failure = _Failure()
    # Its log would show a traceback of a failure that is raised as an error of ours.
    logging.getLogger("py4j.clientserver").addFilter(_is_news)

    def handle(batch: Any, number: int) -> None:
        query_id = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        rows = {name: batch} if isinstance(source, Mapping) else batch
        failure.keep(lambda: each(rows, f"{query_id}-{number}"))

    with spark.failures("starting a stream"):
        writer = frame.writeStream.foreachBatch(handle).outputMode(output_mode)
        writer = writer.option("checkpointLocation", checkpoint)
        return Stream(spark, _triggered(writer, trigger).start(), failure)


def _triggered(writer: Any, trigger: Mapping[str, Any]) -> Any:
    try:
        return writer.trigger(**trigger) if trigger else writer
    except TypeError:
        rule = 'it must be a trigger of Spark\'s, as {"availableNow": True}'
        raise ArgumentInvalid(argument="trigger", value=str(dict(trigger)), rule=rule) from None


class BatchFailed(Exception):
    """Tells Spark, and nobody else, that a micro-batch is to be run again."""


def _is_news(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    return kind is not BatchFailed


class _Failure:
    """What went wrong while a micro-batch was handled. Spark would tell it as text."""

    def __init__(self) -> None:
        self._error: BaseException | None = None

    def keep(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the end is waited for
            # Spark keeps what it calls for good, and a traceback whatever its frames hold.
            self._error = error.with_traceback(None)
        if self._error is not None:
            raise BatchFailed

    @contextmanager
    def first(self) -> Iterator[None]:
        """Raise it rather than what Spark makes of it."""
        try:
            yield
        finally:
            if self._error is not None:
                raise self._error from None
