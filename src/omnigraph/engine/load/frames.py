"""What is written down beside the graph for the tasks of a load to read: the rows of Spark frames.
It is removed when the load has ended.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from omnigraph.base.errors import ArgumentInvalid, BranchMissing
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import Load
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot

__all__ = ["for_tasks", "head_of"]


@contextmanager
def for_tasks(engine: Engine, request: Load) -> Iterator[Load]:
    """The same load of a source that tasks can read, with the session of a frame to read it."""
    from omnigraph.pipeline.sources import check_frames, spark_frames, write_frames
    from omnigraph.pipeline.staging.area import Ending, StagingArea

    frames = spark_frames(request.source)
    if not frames:
        yield request
        return
    if any(frame.isStreaming for frame in frames.values()):
        raise ArgumentInvalid(
            argument="source",
            value=", ".join(frames),
            rule="a stream has no end, so it can't be loaded as one commit",
            advice="Graph.stream takes it, a commit for each micro-batch",
        )
    given = request.spark
    session = given if given is not None else next(iter(frames.values())).sparkSession
    started = engine.spark.session(session)
    catalog = engine.gate.view(head_of(engine.store, request), request).catalog
    schemas = {name: started.schema_of(name, frame) for name, frame in frames.items()}
    check_frames(schemas, catalog=catalog, mapping=request.mapping)
    area = StagingArea(engine.store)
    try:
        folder = engine.store.root / area.new_folder()
        written = write_frames(started, frames, location=folder)
        yield replace(request, source=written, spark=session)
    finally:
        area.close(Ending.NOTHING)


def head_of(store: GraphStore, request: Load) -> Snapshot:
    """The commit whose schema the rows will have to fit."""
    try:
        return store.snapshot(request.branch)
    except BranchMissing:
        if request.from_ is None:
            raise
        return replace(store.snapshot(request.from_), branch=request.branch)
