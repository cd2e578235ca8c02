"""The use case of a load: the source made readable for tasks, then rehearsed or published."""

from typing import Any

from omnigraph.base.choices import LoadEngine
from omnigraph.base.progress import Progress
from omnigraph.engine.engine import Engine
from omnigraph.engine.load.bad_rows import BadRows
from omnigraph.engine.load.frames import readable, scratch_folders
from omnigraph.engine.load.load import load as publish
from omnigraph.engine.load.load import rehearse
from omnigraph.engine.load.request import Request
from omnigraph.engine.requests import Load
from omnigraph.engine.results import LoadResult

__all__ = ["load"]


def load(engine: Engine, request: Load, progress: Progress | None = None) -> LoadResult:
    """Load the source as one commit; a dry run does everything but publish."""
    engine.gate.allow(request)
    with scratch_folders(engine.store) as new_folder:
        source, session = readable(
            engine.store,
            request.source,
            branch=request.branch,
            from_=request.from_,
            mapping=request.mapping,
            spark=request.spark,
            start=engine.spark.session,
            new_folder=new_folder,
        )
        prepared = Request(
            source,
            mapping=request.mapping,
            format=request.format,
            mode=request.mode,
            branch=request.branch,
            from_=request.from_,
            load_id=request.load_id,
            resume=request.resume,
            engine=_chosen(engine, request, session),
            bad_rows=BadRows(request.on_error, request.quarantine, request.max_errors),
            is_dry_run=request.dry_run,
            access=engine.settings.bucket_access,
            limits=engine.settings.load_limits,
        )

        def start_spark() -> Any:
            return engine.spark.session(session)

        if request.dry_run:
            return rehearse(engine.store, prepared, start_spark=start_spark, progress=progress)
        return publish(
            engine.store,
            prepared,
            actor=request.actor,
            message=request.message,
            start_spark=start_spark,
            progress=progress,
            faults=engine.faults,
        )


def _chosen(engine: Engine, request: Load, session: Any) -> LoadEngine:
    # A session that is passed is meant to be used.
    if session is not None and request.engine in (None, "auto"):
        return "spark"
    return engine.settings.load_engine if request.engine is None else request.engine
