"""The routes of our own client: its calls, each a path of its own below `/calls/`."""

from typing import Any

from omnigraph.engine.gate import Action
from omnigraph.surfaces.crossing.calls import BASELINE, BLOB, CALLS, EXPORT, LOAD, QUERY, STORED
from omnigraph.surfaces.server.calls import ARROW, NDJSON
from omnigraph.surfaces.server.handlers import remote
from omnigraph.surfaces.server.operations import (
    GRAPH,
    ON_A_COMMIT,
    READING,
    WRITING,
    Operation,
    Work,
)

__all__ = ["calls"]


def calls() -> tuple[Operation, ...]:
    """What our own client asks for, in the engine's own words."""
    plain = (
        Operation(
            id=f"call_{remote_call.name}",
            method="POST",
            path=f"{GRAPH}/calls/{remote_call.name}",
            summary=remote_call.summary,
            handler=remote.carried_out(remote_call),
            action=remote_call.request.action,
            has_preview=remote.has_preview(remote_call.request),
            work=Work.READ if remote_call.request.action.is_reading else Work.WRITE,
            body=dict,
            answer=Any,
            statuses=ON_A_COMMIT,
        )
        for remote_call in CALLS
    )
    return (*plain, *_calls_of_rows())


def _calls_of_rows() -> tuple[Operation, ...]:
    reading: dict[str, Any] = {"method": "POST", "body": dict, "statuses": (*READING, 415)}
    lines: dict[str, Any] = {
        "action": Action.EXPORT,
        "work": Work.STREAM,
        "answer_types": (NDJSON,),
    }
    return (
        Operation(
            id="call_query",
            path=f"{GRAPH}/calls/{QUERY}",
            summary="Run a query that reads.",
            handler=remote.query,
            answer_types=(ARROW,),
            **reading,
        ),
        Operation(
            id="call_blob",
            path=f"{GRAPH}/calls/{BLOB}",
            summary="Find the bytes of a Blob property, without reading them.",
            handler=remote.blob,
            answer=Any,
            **reading,
        ),
        Operation(
            id="call_stored_queries",
            path=f"{GRAPH}/calls/{STORED}",
            summary="List the stored queries, with their types and texts.",
            handler=remote.stored_queries,
            answer=Any,
            **reading,
        ),
        Operation(
            id="call_export",
            path=f"{GRAPH}/calls/{EXPORT}",
            summary="Stream the rows of a moment, and then what they came to.",
            handler=remote.export,
            **reading,
            **lines,
        ),
        Operation(
            id="call_changes_baseline",
            path=f"{GRAPH}/calls/{BASELINE}",
            summary="Stream the rows of a branch, and then the cursor that goes on from there.",
            handler=remote.baseline,
            **reading,
            **lines,
        ),
        Operation(
            id="call_load",
            method="POST",
            path=f"{GRAPH}/calls/{LOAD}",
            summary="Load JSON lines, of which the first says how, as one commit.",
            handler=remote.load,
            action=Action.CHANGE,
            work=Work.WRITE,
            body=str,
            body_type=NDJSON,
            is_load=True,
            answer=Any,
            statuses=WRITING,
        ),
    )
