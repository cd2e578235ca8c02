"""What is written down beside the graph for the tasks of a load to read: Spark frames, and rows
that came with the call where they are many. It is removed when the load has ended.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid, BranchMissing
from omnigraph.base.ids import BranchName
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.store.graph_store import GraphStore

if TYPE_CHECKING:
    from omnigraph.pipeline.sources.mapping import MappingArgument
    from omnigraph.pipeline.spark.session import Spark

__all__ = ["readable", "scratch_folders"]


@contextmanager
def scratch_folders(store: GraphStore) -> Iterator[Callable[[], str]]:
    """Gives names of folders in the graph's storage that are removed at the end."""
    from omnigraph.pipeline.staging.area import Ending, StagingArea

    area = StagingArea(store)
    try:
        yield area.new_folder
    finally:
        area.close(Ending.NOTHING)


def readable(
    store: GraphStore,
    source: object,
    *,
    branch: BranchName,
    from_: BranchName | None,
    mapping: "MappingArgument",
    spark: Any,
    start: Callable[[Any], "Spark"],
    new_folder: Callable[[], str],
) -> tuple[object, Any]:
    """The source as tasks can read it, and the session to read it with: a frame's own, if any."""
    from omnigraph.pipeline.sources import check_frame, spark_frames, write_frames

    frames = spark_frames(source)
    if not frames:
        return source, spark
    if any(frame.isStreaming for frame in frames.values()):
        raise ArgumentInvalid(
            argument="source",
            value=", ".join(frames),
            rule="a stream has no end, so it can't be loaded as one commit",
            advice="Graph.stream takes it, a commit for each micro-batch",
        )
    session = spark if spark is not None else next(iter(frames.values())).sparkSession
    started = start(session)
    catalog = _catalog(store, branch, from_)
    for name, frame in frames.items():
        check_frame(name, started.schema_of(frame), catalog=catalog, mapping=mapping)
    return write_frames(started, frames, location=store.root / new_folder()), session


def _catalog(store: GraphStore, branch: BranchName, from_: BranchName | None) -> Catalog:
    """The schema that the rows will have to fit."""
    try:
        return store.snapshot(branch).catalog
    except BranchMissing:
        if from_ is None:
            raise
        return store.snapshot(from_).catalog
