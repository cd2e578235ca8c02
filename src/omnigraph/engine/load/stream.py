"""Streams into a graph: what is known before a stream begins is checked then, and each of its
micro-batches is a load.

The name of a micro-batch is the load id: one that is run again finds itself in the graph.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.engine.engine import Engine
from omnigraph.engine.load.load import load
from omnigraph.engine.requests import Load, StreamLoad

if TYPE_CHECKING:
    from omnigraph.pipeline.streaming import Stream

__all__ = ["stream"]


def stream(engine: Engine, request: StreamLoad) -> "Stream":
    """Begin to load every micro-batch of a stream, under its name."""
    engine.gate.allow(request)
    from omnigraph.pipeline.sources import check_frames
    from omnigraph.pipeline.spark.session import Spark
    from omnigraph.pipeline.streaming import start_stream, streaming_frame

    name, frame = streaming_frame(request.source)
    spark = Spark.adopt(frame.sparkSession)
    catalog = engine.gate.view(engine.store.snapshot(request.branch), request).catalog
    check_frames({name: spark.schema_of(name, frame)}, catalog=catalog, mapping=request.mapping)

    def load_batch(rows: object, batch: str) -> None:
        result = load(engine, _batch(request, rows, batch))
        if request.on_batch is not None:
            request.on_batch(result)

    return start_stream(
        spark,
        request.source,
        load_batch,
        checkpoint=_as_spark_sees_it(os.fspath(request.checkpoint)),
        trigger=request.trigger,
        output_mode=request.output_mode,
    )


def _batch(request: StreamLoad, rows: object, batch: str) -> Load:
    aside = request.quarantine
    return Load(
        source=rows,
        mode=request.mode,
        branch=request.branch,
        mapping=request.mapping,
        on_error=request.on_error,
        quarantine=None if aside is None else Path(aside) / batch,
        max_errors=request.max_errors,
        load_id=batch,
        actor=request.actor,
        message=request.message,
    )


def _as_spark_sees_it(path: str) -> str:
    """Spark's working directory is the one that it was started in, not this process's."""
    return path if "://" in path else str(Path(path).absolute())
