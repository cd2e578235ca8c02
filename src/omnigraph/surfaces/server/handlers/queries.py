"""Queries: of a text, and stored ones by their names."""

import hashlib
from typing import Any, NamedTuple

from omnigraph.base.errors import OmnigraphError, QueryMissing, RequestMalformed
from omnigraph.base.ids import BranchName
from omnigraph.base.span import SourceText
from omnigraph.engine.answers import answer
from omnigraph.engine.explore_requests import AnswerRead
from omnigraph.engine.schema import Schema
from omnigraph.engine.signatures import QuerySignature
from omnigraph.engine.stored_queries import with_bigints
from omnigraph.surfaces.crossing.values import encoded
from omnigraph.surfaces.server.access import INVOKE_QUERY, UnderPolicy, Where, may
from omnigraph.surfaces.server.calls import Call, Reply, Whole, json_reply
from omnigraph.surfaces.server.handlers.moments import branch_and_moment, or_main
from omnigraph.surfaces.server.handlers.writes import (
    REQUEST_ID,
    change_reply,
    expected_commit,
    no_expected_commit,
)
from omnigraph.surfaces.server.models.queries import QueriesCatalogOutput, QueryCatalogEntry
from omnigraph.surfaces.server.models.requests import (
    InvokeStoredQueryRequest,
    QueryRequest,
    ReadRequest,
)
from omnigraph.surfaces.server.operations import Work
from omnigraph.surfaces.server.rows import rows_reply

__all__ = [
    "answer_stored",
    "invoke",
    "invoke_if_commit",
    "list_queries",
    "offered",
    "query",
    "read",
    "where_of",
    "where_of_if_commit",
    "work_of",
]


def query(call: Call) -> Reply:
    asked = call.request(QueryRequest)
    return _ask(
        call,
        text(asked.query),
        asked.name,
        asked.params,
        branch=asked.branch,
        snapshot=asked.snapshot,
    )


def read(call: Call) -> Reply:
    asked = call.request(ReadRequest)
    return _ask(
        call,
        text(asked.query_source),
        asked.query_name,
        asked.params,
        branch=asked.branch,
        snapshot=asked.snapshot,
        is_legacy=True,
    )


def text(source: str) -> SourceText:
    """A text from outside. As a plain `str` it could be taken for the path of a file."""
    return SourceText(source, "<query>")


def _ask(
    call: Call,
    source: SourceText,
    name: str | None,
    params: Any,
    *,
    branch: str | None,
    snapshot: str | None,
    is_legacy: bool = False,
) -> Reply:
    call.notes["source"] = hashlib.sha256(source.text.encode()).hexdigest()[:16]
    on, moment = branch_and_moment(branch, snapshot)
    result = call.graph.query(
        source,
        name,
        params,
        branch=on,
        snapshot=moment,
        timeout_s=call.timeout_s,
        memory_bytes=call.memory_bytes,
        cancel=call.cancel,
    )
    shown = None if snapshot is not None else or_main(on)
    return rows_reply(call, result, branch=shown, is_legacy=is_legacy)


# Stored queries -----------------------------------------------------------------------------------


def list_queries(call: Call) -> Reply:
    shown = [QueryCatalogEntry.of(each) for each in offered(call, call.graph.schema())]
    return json_reply(QueriesCatalogOutput(queries=shown))


def offered(call: Call, schema: Schema) -> list[QuerySignature]:
    """The queries that fit a schema and that the actor may run, by name."""
    access, catalog = call.access, call.of.queries.catalog(schema)
    return [
        catalog[name]
        for name in sorted(catalog)
        if may(access, call.actor, INVOKE_QUERY, Where(query=name))
    ]


def work_of(call: Call) -> Work:
    is_mutation = call.path["name"] in call.of.queries.mutations
    return Work.WRITE if is_mutation else Work.READ


def where_of(call: Call) -> Where:
    no_expected_commit(call)
    return _where(call)


def where_of_if_commit(call: Call) -> Where:
    expected_commit(call)
    return _where(call)


def _where(call: Call) -> Where:
    """What a call is about; raises all that it would raise before it does a thing."""
    _called(call)
    return Where(query=call.path["name"])


def invoke(call: Call) -> Reply:
    no_expected_commit(call)
    return _invoke(call, if_commit=None)


def invoke_if_commit(call: Call) -> Reply:
    return _invoke(call, if_commit=expected_commit(call))


class _Called(NamedTuple):
    """A stored query that is there for the actor, and what is asked of it."""

    asked: InvokeStoredQueryRequest
    source: SourceText
    signature: QuerySignature


def _called(call: Call) -> _Called:
    """One that the actor may not run, or that names what is hidden from them, is missing.

    First comes what may be wrong with a request for any name.
    """
    queries, name = call.of.queries, call.path["name"]
    asked = call.request_if_any(InvokeStoredQueryRequest) or InvokeStoredQueryRequest()
    on, moment = branch_and_moment(asked.branch, asked.snapshot)
    if not may(call.access, call.actor, INVOKE_QUERY, Where(query=name)):
        raise QueryMissing(name, ())
    source, is_told = queries.source(name), not isinstance(call.access, UnderPolicy)
    try:
        schema = call.graph.schema(on, snapshot=moment)
    except OmnigraphError:
        if not is_told:
            queries.signature(name, call.graph.schema(), is_told=False)
        raise
    return _Called(asked, source, queries.signature(name, schema, is_told=is_told))


def answer_stored(call: Call) -> Reply:
    """The answer of a stored query as a page shows it."""
    no_expected_commit(call)
    name, (asked, source, signature) = call.path["name"], _called(call)
    branch, moment = branch_and_moment(asked.branch, asked.snapshot)
    request = AnswerRead(
        source=source,
        name=name,
        params=with_bigints(signature, asked.params) or {},
        branch=BranchName(or_main(branch)),
        is_branch_named=branch is not None,
        moment=moment,
        actor=call.graph.backend.actor,
        timeout_s=call.timeout_s,
        memory_bytes=call.memory_bytes,
        cancel=call.cancel,
    )
    return Whole(encoded(call.graph.backend.run(answer, request)))


def _invoke(call: Call, *, if_commit: str | None) -> Reply:
    name, (asked, source, signature) = call.path["name"], _called(call)
    is_mutation = signature.is_mutation
    if asked.expect_mutation is not None and asked.expect_mutation != is_mutation:
        what = "changes the graph" if is_mutation else "reads the graph"
        raise RequestMalformed("expect_mutation", f"the query {name} {what}")
    params = with_bigints(signature, asked.params)
    if not is_mutation:
        if asked.message is not None:
            rule = f"the query {name} reads: it makes no commit that a message could stand in"
            raise RequestMalformed("message", rule, "leave it out")
        if if_commit is not None:
            rule = f"the query {name} reads: there is nothing to write on a condition"
            raise RequestMalformed("path", rule, "leave out /if-graph-commit")
        return _ask(call, source, name, params, branch=asked.branch, snapshot=asked.snapshot)
    if asked.snapshot is not None:
        rule = "the query changes the graph, and a snapshot never changes"
        raise RequestMalformed("snapshot", rule, "name a branch")
    result = call.graph.mutate(
        source,
        name,
        params,
        branch=or_main(asked.branch),
        message=asked.message,
        if_commit=if_commit,
        request_id=call.headers.get(REQUEST_ID),
        timeout_s=call.timeout_s,
        cancel=call.cancel,
    )
    call.notes["query"] = name
    return change_reply(result)
