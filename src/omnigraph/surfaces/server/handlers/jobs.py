"""Load jobs over HTTP: begin one, send its parts, start it, look at it, end it."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from omnigraph.base.errors import PolicyDenied, RequestMalformed, Unsupported
from omnigraph.base.ids import BranchName
from omnigraph.engine.backend import engine_of
from omnigraph.engine.engine import Engine
from omnigraph.engine.gate import Action
from omnigraph.pipeline.sources.files import Form
from omnigraph.pipeline.staging.record import check_load_id
from omnigraph.surfaces.crossing.calls import OUR_CLIENT
from omnigraph.surfaces.crossing.values import written_value
from omnigraph.surfaces.server.access import Where
from omnigraph.surfaces.server.calls import NDJSON, Call, Pulled, Reply, Whole, json_reply
from omnigraph.surfaces.server.errors import defect_output, error_output, for_clients
from omnigraph.surfaces.server.handlers.moments import or_main
from omnigraph.surfaces.server.handlers.writes import USUAL_MODE
from omnigraph.surfaces.server.jobs.incoming import Incoming
from omnigraph.surfaces.server.jobs.job import Job, JobOrder, JobState, Part, Upload
from omnigraph.surfaces.server.jobs.running import upload_suffix
from omnigraph.surfaces.server.models.answers import GraphBatchLoadOutput
from omnigraph.surfaces.server.models.errors import ErrorOutput
from omnigraph.surfaces.server.models.jobs import (
    LoadJobLinks,
    LoadJobListOutput,
    LoadJobOutput,
    LoadJobPartOutput,
    LoadJobProgressOutput,
    LoadJobRequest,
    LoadJobStartRequest,
    LoadJobUploadOutput,
)
from omnigraph.surfaces.server.models.numbers import LoadMode
from omnigraph.surfaces.wire import load_json

__all__ = [
    "DIGEST",
    "begin_part",
    "cancel",
    "create",
    "list_jobs",
    "look",
    "of_job",
    "put_part",
    "rejected",
    "start",
]

DIGEST = "Content-Digest"
SHA_256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):\s*(?:$|,)")
"""The member of the header that is told here; others may stand beside it (RFC 9530)."""
PIECE_BYTES = 1 << 18
NOT_OWN = "only the actor that began a load job may upload its parts and start it"


def create(call: Call) -> Reply:
    asked = call.request(LoadJobRequest)
    if (asked.files is None) == (asked.upload is None):
        raise RequestMalformed("body", "give either files or upload")
    order = JobOrder(
        files=tuple(asked.files or ()),
        upload=None
        if asked.upload is None
        else Upload(name=asked.upload.name, bytes=asked.upload.bytes),
        mode=(asked.mode or USUAL_MODE).value,
        branch=BranchName(or_main(asked.branch)),
        from_=None if asked.from_ is None else BranchName(asked.from_),
        format=asked.format,
        mapping=asked.mapping,
        on_error=asked.on_error,
        max_errors=asked.max_errors,
        dry_run=asked.dry_run,
        embed=asked.embed,
        message=asked.message,
        engine=asked.engine,
        load_id=asked.load_id,
    )
    engine = engine_of(call.graph.backend)
    engine.run(_check, order)
    _check_source(call, order)
    job = call.jobs.create(
        order, graph=call.of.id, graph_uid=engine.store.graph_id, actor=engine.actor
    )
    call.notes["job"] = job.id
    return _told(call, job, status=202)


def _check(engine: Engine, order: JobOrder) -> None:
    """Refuse at once what could never be loaded, or not by this actor."""
    request = order.load((), actor=engine.actor, load_id=order.load_id, engine=order.engine)
    engine.gate.allow(request)
    if order.engine == "spark":
        engine.gate.allow_spark(engine.actor)
    if order.load_id is not None:
        check_load_id(order.load_id)
    if order.from_ is None:
        engine.store.branches.resolve(order.branch)


def _check_source(call: Call, order: JobOrder) -> None:
    if order.upload is not None:
        upload_suffix(order)
    elif not order.files:
        raise RequestMalformed("body", "files names none")
    else:
        call.jobs.places.find(order.files, Form.named(order.format))


def of_job(call: Call) -> Where:
    return Where(branch=or_main(call.request(LoadJobRequest).branch))


def list_jobs(call: Call) -> Reply:
    jobs = call.jobs.of(call.of.id, call.actor)
    return json_reply(LoadJobListOutput(jobs=[_output(call, job, parts=()) for job in jobs]))


def look(call: Call) -> Reply:
    return _told(call, _job(call))


def begin_part(call: Call) -> Incoming:
    """Before the body is read: a place for it."""
    job = _job_to_change(call)
    text, most = call.path["number"], call.limits.max_parts
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= most):
        raise RequestMalformed("path", f"a part has a number from 1 to {most:,}")
    _digest(call)
    return call.jobs.incoming(job, int(text))


def put_part(call: Call) -> Reply:
    assert call.incoming is not None, "the body was received"
    part = call.jobs.keep(_job(call), call.incoming, _digest(call))
    headers = {"ETag": f'"{part.sha256}"'}
    return replace(json_reply(_part(part)), headers=headers)


def _digest(call: Call) -> str | None:
    """The checksum that the part must have, if its client says it."""
    given = call.headers.get(DIGEST)
    if given is None:
        return None
    found = SHA_256.search(given)
    try:
        digest = base64.b64decode(found[1], validate=True) if found is not None else b""
    except binascii.Error:
        digest = b""
    if len(digest) != 32:
        rule = "it must be sha-256=:…: with the 32 bytes of the checksum in base64"
        raise RequestMalformed(DIGEST, rule)
    return digest.hex()


def start(call: Call) -> Reply:
    job = _job_to_change(call)
    return _told(call, call.jobs.start(job, call.request(LoadJobStartRequest).part_count), 202)


def cancel(call: Call) -> Reply:
    return _told(call, call.jobs.cancel(_job(call)))


def rejected(call: Call) -> Reply:
    job = _job(call)
    if job.result is None or not job.result.rejected:
        raise Unsupported("rejected rows of this job", "look at the job: none were set aside")
    return Pulled(_lines(call.jobs.rejected_of(job)), NDJSON)


def _lines(files: Iterable[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece


# What is told -------------------------------------------------------------------------------------


def _job(call: Call) -> Job:
    job = call.jobs.get(call.of.id, call.path["job"], call.actor)
    call.notes["job"] = job.id
    return job


def _job_to_change(call: Call) -> Job:
    """The job, if it is the actor's own and they may still load into its branch.

    The commit names the actor that began the job, so nobody else may say what is in it. An
    administrator can look at a job and end it.
    """
    job = _job(call)
    branch = job.order.branch
    if job.actor != call.actor:
        raise PolicyDenied(Action.CHANGE, call.actor, branch, reason=NOT_OWN)
    call.access.allow(call.actor, Action.CHANGE, Where(branch=branch))
    return job


def _told(call: Call, job: Job, status: int = 200) -> Whole:
    output = _output(call, job, call.jobs.parts_of(job))
    headers = {"Location": output.links.self}
    if not job.state.is_over:
        headers["Retry-After"] = str(call.limits.retry_after_s)
    return replace(json_reply(output, status=status), headers=headers)


def _output(call: Call, job: Job, parts: Iterable[Part]) -> LoadJobOutput:
    progress, result = call.jobs.progress_of(job), job.result
    error, status = _error(call, job)
    return LoadJobOutput(
        id=job.id,
        state=job.state.value,
        branch=job.order.branch,
        mode=LoadMode(job.order.mode),
        dry_run=job.order.dry_run,
        actor_id=job.actor,
        created_at=job.created_ms * 1000,
        changed_at=job.changed_ms * 1000,
        cancel_requested=job.is_cancelled,
        links=_links(call, job),
        upload=_upload(call, job, [_part(part) for part in parts]),
        progress=None
        if progress is None
        else LoadJobProgressOutput(phase=progress.phase, done=progress.done, total=progress.total),
        result=None if result is None else GraphBatchLoadOutput.of(result, job.actor),
        # Where the rows lie that were set aside is the server's own affair.
        report=None if result is None else dict(load_json(replace(result, quarantine=None))),
        error=error,
        error_status=status,
        loaded=written_value(replace(result, quarantine=None))
        if result is not None and _is_for_us(call)
        else None,
    )


def _upload(call: Call, job: Job, parts: list[LoadJobPartOutput]) -> LoadJobUploadOutput | None:
    if job.order.upload is None or job.state is not JobState.UPLOADING:
        return None
    return LoadJobUploadOutput(
        name=job.order.upload.name,
        max_part_bytes=call.limits.max_load_bytes,
        max_parts=call.limits.max_parts,
        received_bytes=sum(part.bytes for part in parts),
        parts=parts,
    )


def _links(call: Call, job: Job) -> LoadJobLinks:
    base = f"/graphs/{job.graph}/load/jobs/{job.id}"
    has_rejected = job.result is not None and job.result.rejected and not job.result.dry_run
    return LoadJobLinks(
        self=base,
        start=f"{base}/start" if job.state is JobState.UPLOADING else None,
        rejected=f"{base}/rejected" if has_rejected else None,
    )


def _error(call: Call, job: Job) -> tuple[ErrorOutput | None, int | None]:
    """As a synchronous load would answer; the log has a defect under the id of the job."""
    if job.failure is None:
        return None, None
    if (error := job.error) is None:
        return defect_output(job.id), 500
    status, output = error_output(
        for_clients(error, call.of),
        request_id=job.id,
        kind_of=call.of.kind_of,
        is_for_us=_is_for_us(call),
    )
    return output, status


def _is_for_us(call: Call) -> bool:
    return OUR_CLIENT in call.headers


def _part(part: Part) -> LoadJobPartOutput:
    return LoadJobPartOutput(number=part.number, bytes=part.size, etag=part.sha256)
