"""Who builds the indexes of a table: this process, or tasks of the pipeline for a large one."""

from importlib.util import find_spec

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

        runner = engine.spark.session() if takes_spark(engine, dataset) else InProcess()
        return segment_job(runner, max_task_bytes=limits.max_index_task_bytes)

    return job


def takes_spark(engine: Engine, dataset: Dataset) -> bool:
    """Whether Spark would build the indexes of a table."""
    settings, size = engine.settings, dataset.files.bytes
    if size <= settings.load_limits.max_index_task_bytes or settings.load_engine == "local":
        return False
    if settings.load_engine == "spark":
        return True
    is_large = size > settings.load_limits.max_local_index_bytes
    return is_large and find_spec("pyspark") is not None
