"""Streams into a graph: what is known before a stream begins is checked then, and each of its
micro-batches is a load.

The name of a micro-batch is the load id: one that is run again finds itself in the graph.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.base.ids import BranchName
from omnigraph.engine.load.bad_rows import BadRows
from omnigraph.engine.results import LoadResult
from omnigraph.store.graph_store import GraphStore

if TYPE_CHECKING:
    from omnigraph.pipeline.sources.mapping import MappingArgument
    from omnigraph.pipeline.streaming import Stream

__all__ = ["stream"]


def stream(
    store: GraphStore,
    source: object,
    load: Callable[..., LoadResult],
    *,
    mode: str,
    checkpoint: str | os.PathLike[str],
    branch: BranchName,
    mapping: "MappingArgument",
    bad_rows: BadRows,
    trigger: Mapping[str, Any],
    output_mode: str,
    actor: str | None,
    message: str | None,
    on_batch: Callable[[LoadResult], None] | None,
) -> "Stream":
    """Begin to `load` every micro-batch of a stream, under its name."""
    from omnigraph.pipeline.load.load import LoadMode
    from omnigraph.pipeline.sources import check_frame
    from omnigraph.pipeline.spark.session import Spark
    from omnigraph.pipeline.streaming import start_stream, streaming_frame

    name, frame = streaming_frame(source)
    LoadMode.named(mode)
    spark = Spark.adopt(frame.sparkSession)
    catalog = store.snapshot(branch).catalog
    check_frame(name, spark.schema_of(frame), catalog=catalog, mapping=mapping)

    def load_batch(rows: object, batch: str) -> None:
        aside = bad_rows.quarantine
        result = load(
            rows,
            mode=mode,
            branch=branch,
            mapping=mapping,
            on_error=bad_rows.on_error,
            quarantine=None if aside is None else Path(aside) / batch,
            max_errors=bad_rows.max_errors,
            load_id=batch,
            actor=actor,
            message=message,
        )
        if on_batch is not None:
            on_batch(result)

    return start_stream(
        spark,
        source,
        load_batch,
        checkpoint=_as_spark_sees_it(os.fspath(checkpoint)),
        trigger=trigger,
        output_mode=output_mode,
    )


def _as_spark_sees_it(path: str) -> str:
    """Spark's working directory is the one that it was started in, not this process's."""
    return path if "://" in path else str(Path(path).absolute())
