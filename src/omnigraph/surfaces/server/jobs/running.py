"""One load job is carried out: by the same use case as any other load, under a name of its own.

The name makes it safe to begin again. A load of the name that is there already is not made again;
one whose server died goes on with the tasks that were done (`pipeline/staging`). So however often
a job is begun, it is one commit at most.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from omnigraph.base.errors import (
    GraphReplaced,
    LoadUnderWay,
    PolicyDenied,
    StagedLoadMissing,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.progress import Progress
from omnigraph.engine.backend import engine_of
from omnigraph.engine.engine import Engine
from omnigraph.engine.gate import Action
from omnigraph.engine.load.load import load
from omnigraph.engine.requests import Load
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.sources.files import Form, InputFile, NamedFiles, form_of, unreadable
from omnigraph.pipeline.sources.opening import PACKED_SUFFIXES, suffix_of
from omnigraph.surfaces.server.access import Open, Where
from omnigraph.surfaces.server.jobs.job import Job, JobOrder
from omnigraph.surfaces.server.jobs.places import Places
from omnigraph.surfaces.server.jobs.spool import Spool
from omnigraph.surfaces.server.registry import Serving

__all__ = ["Cancelled", "Hears", "Stopping", "carry_out", "upload_suffix"]

LEASE_PATIENCE_S = 60.0
"""In a bucket, a server that died holds its load until its lease ends: a quarter of this."""
LEASE_PAUSE_S = 1.0

NO_ACTOR = "the job was begun when the server had no tokens"


class Cancelled(Exception):
    """The job ends here: what it has staged goes."""


class Stopping(BaseException):
    """The server stops: what the job has staged stays, for the next one to go on with.

    No `Exception`, as little as a death is: the engine must not tidy up after it.
    """


@frozen
class Hears:
    """What is told of a load while it runs; either may raise to end it."""

    progress: Progress
    prepared: Callable[[LoadResult], None]


def carry_out(
    job: Job, *, serving: Serving, spool: Spool, places: Places, hears: Hears
) -> LoadResult:
    """Load what the job is about, or go on with it; what the caller is told is the result."""
    engine = _engine(job, serving)
    source = _source(job, spool, places)
    request = job.order.load(
        source,
        actor=job.actor,
        load_id=None if job.order.dry_run else job.load_id,
        engine=job.order.engine,
        **_quarantine(job, spool),
    )
    result = _again(engine, request, hears) if job.runs > 1 else _run(engine, request, hears)
    if result.is_repeat and job.prepared is not None:
        # It was ours: its server died after the commit, and before it could say so.
        result = replace(job.prepared, commit=result.commit, quarantine=result.quarantine)
    return replace(result, load_id=job.order.load_id)


def _run(engine: Engine, request: Load, hears: Hears) -> LoadResult:
    return engine.run(load, request, hears.progress, hears.prepared)


def _again(engine: Engine, request: Load, hears: Hears) -> LoadResult:
    """Go on with what a server left that died, or begin anew where there is nothing."""
    deadline = time.monotonic() + LEASE_PATIENCE_S
    resume = request.load_id is not None
    while True:
        try:
            return _run(engine, replace(request, resume=resume), hears)
        except StagedLoadMissing:
            resume = False
        except LoadUnderWay:
            if time.monotonic() > deadline:
                raise
            hears.progress("start", 0, 0)
            time.sleep(LEASE_PAUSE_S)


def _engine(job: Job, serving: Serving) -> Engine:
    """The engine as the actor may use it now, which may be less than when the job was begun."""
    served, branch = serving.registry.get(job.graph), job.order.branch
    access = serving.access_to(served)
    if job.actor is None and not isinstance(access, Open):
        raise PolicyDenied(Action.CHANGE, None, branch, reason=NO_ACTOR)
    access.allow(job.actor, Action.CHANGE, Where(branch=branch))
    engine = engine_of(access.handle(served.guarded, job.actor).backend)
    if engine.store.graph_id != job.graph_uid:
        raise GraphReplaced(job.graph)
    return engine


def _source(job: Job, spool: Spool, places: Places) -> NamedFiles:
    order = job.order
    if order.upload is None:
        return places.find(order.files, Form.named(order.format))
    path = spool.joined(job, job.parts, upload_suffix(order))
    return NamedFiles(
        (InputFile(str(path), _form(order), called=order.upload.name),), came_with_call=True
    )


def _form(order: JobOrder) -> Form:
    assert order.upload is not None
    name = order.upload.name
    if (form := Form.named(order.format) or form_of(Path(name))) is None:
        raise unreadable(name)
    return form


def upload_suffix(order: JobOrder) -> str:
    """The end of the name that an upload is kept under; raises if its form is not known."""
    assert order.upload is not None
    form, last = _form(order), suffix_of(order.upload.name)
    is_packed = last in PACKED_SUFFIXES and form in (Form.JSONL, Form.CSV)
    inner = Path(order.upload.name).stem if is_packed else order.upload.name
    # Tabs and commas are told apart by the name.
    suffix = ".tsv" if form is Form.CSV and suffix_of(inner) == ".tsv" else f".{form.value}"
    return suffix + last * is_packed


def _quarantine(job: Job, spool: Spool) -> dict[str, Any]:
    return {} if job.order.on_error == "fail" else {"quarantine": spool.rejected(job)}
