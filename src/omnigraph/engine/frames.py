"""Spark frames as a source: written down before the load begins, and removed when it has ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import STAGING

if TYPE_CHECKING:
    from omnigraph.pipeline.session import Spark

__all__ = ["readable"]


@contextmanager
def readable(
    store: GraphStore, source: object, *, spark: Any, start: Callable[[Any], "Spark"]
) -> Iterator[tuple[object, Any]]:
    """The source as tasks can read it, and the session to read it with: a frame's own, if any."""
    from omnigraph.pipeline.sources import land_frames, spark_frames

    frames = spark_frames(source)
    if not frames:
        yield source, spark
        return
    if any(frame.isStreaming for frame in frames.values()):
        rule = "it is a stream, which has no end to load: Graph.stream takes it"
        raise ArgumentInvalid(argument="source", value=", ".join(frames), rule=rule)
    session = spark if spark is not None else next(iter(frames.values())).sparkSession
    folder = f"{STAGING}/{store.clock.ulid()}"
    try:
        yield (
            land_frames(
                start(session),
                frames,
                uri=f"{store.root}/{folder}",
                options=store.datasets.options,
            ),
            session,
        )
    finally:
        # All of it: a task that was run twice has left files that nobody knows of.
        for name in list(store.objects.walk(folder)):
            store.objects.delete(name)
        store.objects.forget_folder(folder)
