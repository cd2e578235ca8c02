"""Index segments by tasks: each task writes a part over some fragments, and the driver merges them.

A part is no file of a load: it lies where Lance keeps indexes, and no receipt names it. The driver
removes parts once they are merged. Those that it never heard of go with the next cleanup, like the
segment of a build that fails.
"""

from collections.abc import Sequence

from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import SegmentJob, SegmentTask, write_segment

__all__ = ["segment_job"]


def segment_job(runner: Runner, *, max_task_bytes: int) -> SegmentJob:
    """Segments in parts over about so many bytes of a table's files."""

    def run(tasks: Sequence[SegmentTask]) -> Sequence[str]:
        return [done.result for done in runner.run(tasks, write_segment, doing="build an index")]

    return SegmentJob(run, max_task_bytes)
