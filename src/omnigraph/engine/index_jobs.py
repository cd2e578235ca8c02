"""Who builds the indexes of a table: this process, or tasks of the pipeline for a large one."""

from omnigraph.engine.choose_runner import WorkSize, choose_runner
from omnigraph.engine.engine import Engine
from omnigraph.store.datasets import Dataset, SegmentJob
from omnigraph.write.upkeep import IndexJobs

__all__ = ["index_jobs", "takes_spark"]


def index_jobs(engine: Engine) -> IndexJobs:
    limits = engine.settings.load_limits

    def job(dataset: Dataset) -> SegmentJob | None:
        if dataset.files.bytes <= limits.max_index_task_bytes:
            return None
        # Small tables do without the pipeline.
        from omnigraph.pipeline.local import InProcess
        from omnigraph.pipeline.segments import segment_job

        runner = engine.spark_for(engine.actor) if takes_spark(engine, dataset) else InProcess()
        return segment_job(runner, max_task_bytes=limits.max_index_task_bytes)

    return job


def takes_spark(engine: Engine, dataset: Dataset) -> bool:
    """Whether Spark would build the indexes of a table."""
    limits, size = engine.settings.load_limits, dataset.files.bytes
    if size <= limits.max_index_task_bytes:
        return False
    work = WorkSize(size, limits.max_local_index_bytes)
    may_start = engine.gate.allows_spark(engine.actor)
    choice = choose_runner(engine.settings, lambda: work, may_start_spark=may_start)
    return choice.engine == "spark"
