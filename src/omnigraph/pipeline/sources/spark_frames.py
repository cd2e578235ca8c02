"""Frames of Spark, made into files that a load can read.

The rows of a Spark frame are wherever Spark has them, and asking for them twice may give others. So
the frame's own tasks write them down, once; from there on they are splits of a table like any
other, which can be read again to name a row. The files belong to no table: the caller removes
them.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets import write_scratch
from omnigraph.store.location import Location

if TYPE_CHECKING:
    from omnigraph.pipeline.spark.session import Spark

__all__ = ["FRAME", "WrittenFrame", "WrittenFrames", "spark_frames", "write_frames"]

FRAME = "frame"
"""What a frame is called that came without a name."""

# Arrow bytes of a file. A task writes as many as it takes, and each is a split of its own.
FILE_BYTES = 64 << 20


@frozen
class FrameFile:
    fragment: str
    size: int
    rows: int


@frozen(slots=False)
class WrittenFrame:
    name: str
    schema: pa.Schema
    files: tuple[FrameFile, ...]
    """In the order of the frame's partitions."""


@frozen(slots=False)
class WrittenFrames:
    location: Location
    frames: tuple[WrittenFrame, ...]


def spark_frames(source: object) -> dict[str, Any]:
    """The Spark frames that a source is made of, by name; none if it is anything else."""
    if _is_spark_frame(source):
        return {FRAME: source}
    if _is_sparks(source):
        rule = "pass a Spark DataFrame (for pandas-on-Spark call .to_spark())"
        raise ArgumentInvalid(argument="source", value=type(source).__name__, rule=rule)
    if not isinstance(source, Mapping) or not any(map(_is_spark_frame, source.values())):
        return {}
    for name, frame in source.items():
        if not isinstance(name, str) or not _is_spark_frame(frame):
            rule = "a dict with a Spark frame may hold only Spark frames, by names of types"
            raise ArgumentInvalid(argument="source", value=str(name), rule=rule)
    return dict(source)


def write_frames(spark: "Spark", frames: Mapping[str, Any], *, location: Location) -> WrittenFrames:
    """Have each frame's own tasks write its rows to files there."""
    written = [
        WrittenFrame(name, spark.schema_of(name, frame), _files_of(spark, frame, location))
        for name, frame in frames.items()
    ]
    return WrittenFrames(location, tuple(written))


def _is_spark_frame(source: object) -> bool:
    # By its name, so that a load without Spark does not import it.
    return any(
        (kind.__module__, kind.__name__) == ("pyspark.sql.dataframe", "DataFrame")
        for kind in type(source).__mro__
    )


def _is_sparks(source: object) -> bool:
    return type(source).__module__.startswith("pyspark.")


def _files_of(spark: "Spark", frame: Any, location: Location) -> tuple[FrameFile, ...]:
    write = partial(_write, location)
    return tuple(
        file for files in spark.run_frame(frame, write, doing="reading a frame") for file in files
    )


def _write(location: Location, batches: Iterator[pa.RecordBatch]) -> list[FrameFile]:
    """Inside a task of the frame: its partition as files."""
    return [
        FrameFile(
            write_scratch(location, iter(group), group[0].schema),
            size=sum(batch.nbytes for batch in group),
            rows=sum(batch.num_rows for batch in group),
        )
        for group in _groups(batches)
    ]


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            group.append(batch)
            size += batch.nbytes
        if size >= FILE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
