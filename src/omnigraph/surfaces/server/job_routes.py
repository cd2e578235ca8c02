"""The routes of load jobs."""

from typing import Any

from omnigraph.engine.gate import Action
from omnigraph.surfaces.server.calls import BYTES, NDJSON
from omnigraph.surfaces.server.handlers import jobs
from omnigraph.surfaces.server.models import jobs as models
from omnigraph.surfaces.server.operations import (
    GRAPH,
    READING,
    WRITING,
    Header,
    Operation,
    Work,
)

__all__ = ["load_jobs"]

JOBS = f"{GRAPH}/load/jobs"
JOB = f"{JOBS}/{{job}}"


def load_jobs() -> tuple[Operation, ...]:
    told: dict[str, Any] = {"answer": models.LoadJobOutput}
    begun = {202: ("Location", "Retry-After")}
    return (
        Operation(
            id="createLoadJob",
            method="POST",
            path=JOBS,
            summary="Begin a load of files beside the server, or of an upload in parts.",
            handler=jobs.create,
            where=jobs.of_job,
            action=Action.CHANGE,
            work=Work.WRITE,
            body=models.LoadJobRequest,
            success=202,
            statuses=(*WRITING, 507),
            answer_headers=begun,
            **told,
        ),
        Operation(
            id="listLoadJobs",
            method="GET",
            path=JOBS,
            summary="List the load jobs that the actor has begun, newest first.",
            handler=jobs.list_jobs,
            answer=models.LoadJobListOutput,
            statuses=READING,
        ),
        Operation(
            id="getLoadJob",
            method="GET",
            path=JOB,
            summary="Show a load job: how far it is, and what it came to.",
            handler=jobs.look,
            statuses=READING,
            **told,
        ),
        Operation(
            id="putLoadJobPart",
            method="PUT",
            path=f"{JOB}/parts/{{number}}",
            summary="Upload a part, in any order; again, it takes the place of the one before.",
            handler=jobs.put_part,
            intake=jobs.begin_part,
            action=Action.CHANGE,
            work=Work.WRITE,
            headers=(Header(jobs.DIGEST),),
            body=bytes,
            body_type=BYTES,
            is_load=True,
            answer=models.LoadJobPartOutput,
            statuses=(*WRITING, 507),
            answer_headers={200: ("ETag",)},
        ),
        Operation(
            id="startLoadJob",
            method="POST",
            path=f"{JOB}/start",
            summary="Load what was uploaded, once all parts are there.",
            handler=jobs.start,
            action=Action.CHANGE,
            work=Work.WRITE,
            body=models.LoadJobStartRequest,
            success=202,
            statuses=WRITING,
            answer_headers=begun,
            **told,
        ),
        Operation(
            id="cancelLoadJob",
            method="DELETE",
            path=JOB,
            summary="End a load job. Nothing of it is published, unless that was done before.",
            handler=jobs.cancel,
            work=Work.WRITE,
            statuses=WRITING,
            **told,
        ),
        Operation(
            id="getLoadJobRejected",
            method="GET",
            path=f"{JOB}/rejected",
            summary="Read the rows that a load set aside, with the reasons against each.",
            handler=jobs.rejected,
            answer_types=(NDJSON,),
            statuses=READING,
        ),
    )
