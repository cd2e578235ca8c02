"""Data of a graph as it is: its schema, its tables, and streams of all its rows."""

import msgspec

from omnigraph.surfaces.server.calls import NDJSON, Call, Pushed, Reply, Sink, json_reply
from omnigraph.surfaces.server.handlers.moments import branch_and_moment, or_main
from omnigraph.surfaces.server.models.answers import (
    ChangeBaselineOutput,
    ChangeBaselineRecord,
    NeighborhoodOutput,
    SchemaOutput,
    SnapshotOutput,
)
from omnigraph.surfaces.server.models.requests import ChangeBaselineRequest, ExportRequest
from omnigraph.surfaces.wire import neighborhood_json

__all__ = ["baseline", "export", "neighborhood", "schema", "snapshot"]


def schema(call: Call) -> Reply:
    return json_reply(SchemaOutput(schema_source=call.graph.schema(call.params.branch).text))


def snapshot(call: Call) -> Reply:
    return json_reply(SnapshotOutput.of(call.graph.tables(call.params.branch)))


def neighborhood(call: Call) -> Reply:
    asked = call.params
    branch, moment = branch_and_moment(asked.branch, asked.snapshot)
    found = call.graph.neighborhood(
        asked.type,
        asked.id,
        depth=asked.depth,
        limit=asked.limit,
        page_token=asked.page_token,
        branch=branch,
        snapshot=moment,
        timeout_s=call.timeout_s,
        cancel=call.cancel,
    )
    return json_reply(msgspec.convert(neighborhood_json(found), NeighborhoodOutput))


def export(call: Call) -> Reply:
    asked = call.request(ExportRequest)

    def produce(sink: Sink) -> None:
        call.graph.export(sink, types=asked.type_names or None, branch=or_main(asked.branch))

    return Pushed(produce, NDJSON)


def baseline(call: Call) -> Reply:
    """The rows, and as the last record the commit and the cursor that goes on from there."""
    asked = call.request(ChangeBaselineRequest)

    def produce(sink: Sink) -> None:
        made = call.graph.changes_baseline(
            sink,
            branch=or_main(asked.branch),
            types=asked.type or None,
            kinds=[kind.value for kind in asked.kind] or None,
            ops=[op.value for op in asked.op] or None,
        )
        record = ChangeBaselineRecord(
            baseline=ChangeBaselineOutput(
                snapshot_commit_id=made.snapshot_commit_id, resume_cursor=made.resume_cursor
            )
        )
        sink.write(msgspec.json.encode(record) + b"\n")

    return Pushed(produce, NDJSON)
