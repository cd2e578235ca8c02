"""Writes: mutations, loads, another schema. Each is one commit or nothing."""

from dataclasses import replace

from omnigraph.base.errors import RequestMalformed, SchemaDeclared
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.base.span import SourceText
from omnigraph.engine.gate import Action
from omnigraph.engine.load.load import load as load_use_case
from omnigraph.engine.requests import Load
from omnigraph.engine.results import LoadResult, MutationResult
from omnigraph.surfaces.named_lines import NamedLines
from omnigraph.surfaces.server.access import Where
from omnigraph.surfaces.server.calls import Call, Reply, Whole, json_reply
from omnigraph.surfaces.server.handlers.moments import or_main
from omnigraph.surfaces.server.models.answers import (
    ChangeOutput,
    CommitOutput,
    GraphBatchLoadOutput,
    IngestOutput,
    SchemaApplyOutput,
)
from omnigraph.surfaces.server.models.numbers import LoadMode
from omnigraph.surfaces.server.models.requests import (
    ChangeRequest,
    IngestRequest,
    SchemaApplyRequest,
)

__all__ = [
    "IF_COMMIT",
    "REPEATED",
    "REQUEST_ID",
    "USUAL_MODE",
    "apply_schema",
    "change_reply",
    "expected_commit",
    "load",
    "load_lines",
    "mutate",
    "mutate_if_commit",
    "no_declared_schema",
    "no_expected_commit",
    "of_lines",
    "of_load",
    "of_mutation",
    "of_schema",
]

REQUEST_BODY = "request body"
"""What messages about rows of a request call its file."""

IF_COMMIT = "Omnigraph-If-Graph-Commit"
REQUEST_ID = "Idempotency-Key"
REPEATED = "Idempotency-Replayed"
"""Set on the answer to a request whose key was used before: nothing was written now."""

USUAL_MODE = LoadMode.MERGE
"""A load that says nothing can be sent twice and comes to the same."""


def mutate(call: Call) -> Reply:
    no_expected_commit(call)
    return _mutate(call, if_commit=None)


def mutate_if_commit(call: Call) -> Reply:
    return _mutate(call, if_commit=expected_commit(call))


def _mutate(call: Call, *, if_commit: str | None) -> Reply:
    asked = call.request(ChangeRequest)
    result = call.graph.mutate(
        SourceText(asked.query, "<query>"),
        asked.name,
        asked.params,
        branch=or_main(asked.branch),
        if_commit=if_commit,
        request_id=call.headers.get(REQUEST_ID),
        timeout_s=call.timeout_s,
        cancel=call.cancel,
    )
    call.notes["query"] = result.query_name
    return change_reply(result)


def change_reply(result: MutationResult) -> Reply:
    return _marked(json_reply(ChangeOutput.of(result)), is_repeat=result.is_repeat)


def _marked(reply: Whole, *, is_repeat: bool) -> Reply:
    return replace(reply, headers={**reply.headers, REPEATED: "true"}) if is_repeat else reply


def of_mutation(call: Call) -> Where:
    return Where(branch=or_main(call.request(ChangeRequest).branch))


def of_load(call: Call) -> Where:
    return Where(branch=or_main(call.request(IngestRequest).branch))


def of_lines(call: Call) -> Where:
    return Where(branch=or_main(call.params.branch))


def of_schema(call: Call) -> Where:
    return Where(branch=MAIN)


def expected_commit(call: Call) -> str:
    """The commit that the branch must be at."""
    commit = call.headers.get(IF_COMMIT)
    if not commit:
        rule = "the header is missing: it names the commit that the branch must be at"
        raise RequestMalformed(IF_COMMIT, rule)
    return commit


def no_expected_commit(call: Call) -> None:
    """Refuse a condition where it would not be minded."""
    if call.headers.get(IF_COMMIT) is not None:
        rule = "this route writes whatever commit the branch is at"
        raise RequestMalformed(IF_COMMIT, rule, "add /if-graph-commit to the path")


def load(call: Call) -> Reply:
    asked = call.request(IngestRequest)
    data = asked.data.encode("utf-8")
    result = _load(call, data, branch=asked.branch, from_=asked.from_, mode=asked.mode)
    reply = json_reply(IngestOutput.of(result, call.actor, call.of.address))
    return _marked(reply, is_repeat=result.is_repeat)


def load_lines(call: Call) -> Reply:
    asked = call.params
    result = _load(call, call.body, branch=asked.branch, from_=asked.from_, mode=asked.mode)
    reply = json_reply(GraphBatchLoadOutput.of(result, call.actor))
    return _marked(reply, is_repeat=result.is_repeat)


def _load(
    call: Call, data: bytes, *, branch: str | None, from_: str | None, mode: LoadMode | None
) -> LoadResult:
    request = Load(
        source=NamedLines(data, REQUEST_BODY),
        mode=(mode or USUAL_MODE).value,
        branch=BranchName(or_main(branch)),
        from_=None if from_ is None else BranchName(from_),
        actor=call.graph.backend.actor,
        load_id=call.headers.get(REQUEST_ID),
        # Two actors may choose the same key.
        is_own_name=True,
        # In this process, always: a request starts no Spark.
        engine="local",
    )
    result = call.graph.backend.run(load_use_case, request)
    call.notes["rows"] = result.total_entities
    return result


def no_declared_schema(call: Call) -> None:
    """Refuse a change of a schema that the folder of a cluster holds."""
    if call.of.is_declared:
        # Who may not change it at all is told so, and nothing about clusters.
        call.access.allow(call.actor, Action.SCHEMA_APPLY, of_schema(call))
        raise SchemaDeclared(call.of.id)


def apply_schema(call: Call) -> Reply:
    asked = call.request(SchemaApplyRequest)
    no_declared_schema(call)
    change = call.graph.schema_apply(
        SourceText(asked.schema_source, "<schema>"), allow_data_loss=asked.allow_data_loss
    )
    call.of.queries.tell_misfits(call.of.graph)
    version = (
        change.commit.graph_manifest_version
        if change.commit is not None
        else call.graph.tables().graph_manifest_version
    )
    return json_reply(
        SchemaApplyOutput(
            uri=call.of.address,
            supported=change.supported,
            applied=change.applied,
            step_count=len(change.steps),
            graph_manifest_version=version,
            steps=[step.to_json() for step in change.steps],
            commit=CommitOutput.of_any(change.commit),
        )
    )
