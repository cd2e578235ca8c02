"""The document that the server gives contains the contract that outside clients are written by.

What differs is listed here with its reason, one by one: nothing else may.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.surfaces.crossing.calls import BASELINE, BLOB, CALLS, EXPORT, LOAD, QUERY, STORED
from tests.surfaces.server.world import World

CALL_NAMES = {call.name for call in CALLS} | {QUERY, LOAD, EXPORT, BASELINE, BLOB, STORED}

CONTRACT = json.loads(Path(__file__).with_name("http_contract.json").read_text())

NO_NULL = "a query string and a header have no null: an optional one is left out"
STRICT = "unknown members of a request are refused, and the schema says so"
MANIFEST = "no writer of ours loses by the version of a table: read_set_conflict tells the commits"
EXTERNAL = "blobs are stored, never referred to, so there is nowhere to send a client on to"
LENGTH = "an answer without a body has no length of one; GET and HEAD of all the bytes have it"

DIFFERENT = {
    "GET /graphs/{graph_id}/blob 302": EXTERNAL,
    "HEAD /graphs/{graph_id}/blob 302": EXTERNAL,
    "GET /graphs/{graph_id}/blob 304 header Content-Length": LENGTH,
    "HEAD /graphs/{graph_id}/blob 304 header Content-Length": LENGTH,
    "GET /graphs/{graph_id}/commits parameter branch": NO_NULL,
    "GET /graphs/{graph_id}/snapshot parameter branch": NO_NULL,
    "POST /graphs/{graph_id}/load/ndjson parameter branch": NO_NULL,
    "POST /graphs/{graph_id}/load/ndjson parameter from": NO_NULL,
    "POST /graphs/{graph_id}/load/ndjson parameter mode": NO_NULL,
    **{
        f"{method} /graphs/{{graph_id}}/blob parameter {name}": NO_NULL
        for method in ("GET", "HEAD")
        for name in ("If-Match", "If-None-Match", "If-Range", "Range")
    },
    **{
        f"schema {name} additionalProperties": STRICT
        for name in (
            "BranchCreateRequest",
            "BranchMergeRequest",
            "ChangeBaselineRequest",
            "ChangeRequest",
            "IngestRequest",
            "InvokeStoredQueryRequest",
            "QueryRequest",
            "ReadRequest",
            "SchemaApplyRequest",
        )
    },
    "schema ErrorOutput member published_dataset_version_conflict": MANIFEST,
    "schema PublishedDatasetVersionConflictOutput": MANIFEST,
    "schema ErrorOutput member external_blob_source": EXTERNAL,
    "schema ExternalBlobSourceOutput": EXTERNAL,
}


def differences(ours: Any) -> Iterator[str]:
    for path, methods in CONTRACT["paths"].items():
        for method, theirs in methods.items():
            name = f"{method.upper()} {path}"
            mine = ours["paths"].get(path, {}).get(method)
            if mine is None:
                yield name
                continue
            yield from (f"{name} {each}" for each in in_operation(theirs, mine))
    for schema, theirs in CONTRACT["components"]["schemas"].items():
        mine = ours["components"]["schemas"].get(schema)
        if mine is None:
            yield f"schema {schema}"
        else:
            yield from (f"schema {schema} {each}" for each in in_schema(theirs, mine))
    if ours["components"]["securitySchemes"] != CONTRACT["components"]["securitySchemes"]:
        yield "securitySchemes"


def in_operation(theirs: Any, mine: Any) -> Iterator[str]:
    for member in ("operationId", "deprecated", "security", "requestBody"):
        if theirs.get(member) != mine.get(member):
            yield member
    known = {(p["in"], p["name"]): p for p in mine.get("parameters", [])}
    for parameter in theirs.get("parameters", []):
        if known.get((parameter["in"], parameter["name"])) != parameter:
            yield f"parameter {parameter['name']}"
    for status, response in theirs["responses"].items():
        answer = mine["responses"].get(status)
        if answer is None:
            yield status
            continue
        for header, its in response.get("headers", {}).items():
            if answer.get("headers", {}).get(header) != its:
                yield f"{status} header {header}"
        for kind, content in response.get("content", {}).items():
            if answer.get("content", {}).get(kind) != content:
                yield f"{status} content {kind}"


def in_schema(theirs: Any, mine: Any) -> Iterator[str]:
    for member in {*theirs, *mine} - {"properties", "required", "description"}:
        same = set if member == "enum" else lambda value: value
        if same(theirs.get(member, ())) != same(mine.get(member, ())):
            yield member
    for name, schema in theirs.get("properties", {}).items():
        wanted = {key: value for key, value in schema.items() if key != "description"}
        if mine.get("properties", {}).get(name) != wanted:
            yield f"member {name}"
    if missing := set(theirs.get("required", [])) - set(mine.get("required", [])):
        yield f"required {sorted(missing)}"


def test_nothing_differs_from_the_contract_but_for_what_is_listed(shared: World) -> None:
    assert sorted(differences(shared.get("/openapi.json").json())) == sorted(DIFFERENT)


ADDED = {
    "/",
    "/docs",
    "/graphs/{graph_id}/load/jobs",
    "/graphs/{graph_id}/load/jobs/{job}",
    "/graphs/{graph_id}/load/jobs/{job}/parts/{number}",
    "/graphs/{graph_id}/load/jobs/{job}/rejected",
    "/graphs/{graph_id}/load/jobs/{job}/start",
    "/graphs/{graph_id}/mcp",
    "/explore",
    "/explore/{page}",
    "/graphs/{graph_id}/me",
    "/graphs/{graph_id}/neighborhood",
    "/graphs/{graph_id}/queries/{name}/answer",
    "/me",
    "/metrics",
    "/openapi.json",
    "/readyz",
}
"""Paths of ours that the contract lacks, beside the calls of our own client."""


def test_paths_that_we_add_are_listed(shared: World) -> None:
    added = shared.get("/openapi.json").json()["paths"].keys() - CONTRACT["paths"].keys()
    calls = {f"/graphs/{{graph_id}}/calls/{name}" for name in CALL_NAMES}
    assert added - calls == ADDED and calls <= added


def test_members_that_we_add_are_optional_in_requests(shared: World) -> None:
    schemas = shared.get("/openapi.json").json()["components"]["schemas"]
    for name, theirs in CONTRACT["components"]["schemas"].items():
        if name.endswith("Request"):
            assert set(schemas[name].get("required", [])) == set(theirs.get("required", []))


@pytest.mark.parametrize("name", ["ErrorCode", "MergeConflictKindOutput", "ParamKind"])
def test_closed_lists_of_words_stay_closed(shared: World, name: str) -> None:
    ours = shared.get("/openapi.json").json()["components"]["schemas"][name]["enum"]
    assert set(ours) == set(CONTRACT["components"]["schemas"][name]["enum"])
