"""The table of routes: every operation that a server has. Outside clients rely on each of them."""

from collections.abc import Callable

from omnigraph.engine.gate import Action
from omnigraph.surfaces.explorer.files import Bundle
from omnigraph.surfaces.server.access import GRAPH_LIST, INVOKE_QUERY, METRICS
from omnigraph.surfaces.server.agents import agents
from omnigraph.surfaces.server.call_routes import calls
from omnigraph.surfaces.server.calls import ARROW, BYTES, JSON, NDJSON, Call, Reply, Whole
from omnigraph.surfaces.server.explorer_routes import explorer
from omnigraph.surfaces.server.handlers import (
    blobs,
    data,
    history,
    queries,
    service,
    writes,
)
from omnigraph.surfaces.server.job_routes import load_jobs
from omnigraph.surfaces.server.metrics import METRICS_TYPE
from omnigraph.surfaces.server.models import answers, requests
from omnigraph.surfaces.server.models.errors import ChangeErrorOutput
from omnigraph.surfaces.server.models.queries import QueriesCatalogOutput
from omnigraph.surfaces.server.operations import (
    GRAPH,
    ON_A_COMMIT,
    READING,
    WRITING,
    Header,
    OneOf,
    Operation,
    Work,
)

__all__ = ["operations"]

ROWS = (JSON, ARROW)
ONCE = (Header(writes.REQUEST_ID),)
IF_COMMIT = (Header(writes.IF_COMMIT, is_required=True), *ONCE)
REPEATS = {200: (writes.REPEATED,)}
CONDITIONS = tuple(Header(name) for name in ("If-Match", "Range", "If-None-Match", "If-Range"))
HTML, PLAIN = "text/html", METRICS_TYPE.partition(";")[0]


def operations(
    *,
    metrics: Callable[[], bytes],
    document: Callable[[], bytes],
    page: Callable[[], bytes],
    bundle: Bundle,
) -> tuple[Operation, ...]:
    """All operations. What the server says of itself is made when it is asked for."""
    return (
        *_queries(),
        *_writes(),
        *_history(),
        *_data(),
        *load_jobs(),
        *calls(),
        *agents(),
        *explorer(bundle),
        *_service(metrics, document, page),
    )


def _queries() -> tuple[Operation, ...]:
    return (
        Operation(
            id="cluster_query",
            method="POST",
            path=f"{GRAPH}/query",
            summary="Run a query that reads.",
            handler=queries.query,
            body=requests.QueryRequest,
            answer=answers.ReadOutput,
            answer_types=ROWS,
            statuses=(*READING, 415),
        ),
        Operation(
            id="cluster_read",
            method="POST",
            path=f"{GRAPH}/read",
            summary="Run a query that reads, as earlier clients ask for it.",
            handler=queries.read,
            body=requests.ReadRequest,
            answer=answers.LegacyReadOutput,
            answer_types=ROWS,
            statuses=(*READING, 415),
            successor="query",
        ),
        Operation(
            id="cluster_list_queries",
            method="GET",
            path=f"{GRAPH}/queries",
            summary="List the stored queries, with the types of their parameters.",
            handler=queries.list_queries,
            answer=QueriesCatalogOutput,
            statuses=READING,
        ),
        Operation(
            id="cluster_invoke_query",
            method="POST",
            path=f"{GRAPH}/queries/{{name}}",
            summary="Run a stored query, which reads or changes the graph.",
            handler=queries.invoke,
            action=INVOKE_QUERY,
            where=queries.where_of,
            work=queries.work_of,
            headers=ONCE,
            answer_headers=REPEATS,
            body=requests.InvokeStoredQueryRequest | None,
            is_body_required=False,
            answer=OneOf("InvokeStoredQueryResponse", (answers.ReadOutput, answers.ChangeOutput)),
            answer_types=ROWS,
            statuses=WRITING,
        ),
        Operation(
            id="cluster_invoke_query_if_graph_commit",
            method="POST",
            path=f"{GRAPH}/queries/{{name}}/if-graph-commit",
            summary="Run a stored query that changes the graph, if the branch is at a commit.",
            handler=queries.invoke_if_commit,
            action=INVOKE_QUERY,
            where=queries.where_of_if_commit,
            work=Work.WRITE,
            headers=IF_COMMIT,
            answer_headers=REPEATS,
            body=requests.InvokeStoredQueryRequest | None,
            is_body_required=False,
            answer=answers.ChangeOutput,
            statuses=ON_A_COMMIT,
        ),
    )


def _writes() -> tuple[Operation, ...]:
    return (
        *(
            Operation(
                id=f"cluster_{name}",
                method="POST",
                path=f"{GRAPH}/{name}",
                summary=summary,
                handler=writes.mutate,
                where=writes.of_mutation,
                action=Action.CHANGE,
                work=Work.WRITE,
                headers=ONCE,
                answer_headers=REPEATS,
                body=requests.ChangeRequest,
                answer=answers.ChangeOutput,
                statuses=WRITING,
                successor=successor,
            )
            for name, summary, successor in (
                ("mutate", "Run a query that changes the graph, as one commit.", None),
                (
                    "change",
                    "Run a query that changes the graph, as earlier clients ask for it.",
                    "mutate",
                ),
            )
        ),
        Operation(
            id="cluster_mutate_if_graph_commit",
            method="POST",
            path=f"{GRAPH}/mutate/if-graph-commit",
            summary="Change the graph if the branch is at a commit.",
            handler=writes.mutate_if_commit,
            where=writes.of_mutation,
            action=Action.CHANGE,
            work=Work.WRITE,
            headers=IF_COMMIT,
            answer_headers=REPEATS,
            body=requests.ChangeRequest,
            answer=answers.ChangeOutput,
            statuses=ON_A_COMMIT,
        ),
        *(
            Operation(
                id=f"cluster_{name}",
                method="POST",
                path=f"{GRAPH}/{name}",
                summary="Load JSON lines, in an envelope of JSON, as one commit.",
                handler=writes.load,
                where=writes.of_load,
                action=Action.CHANGE,
                work=Work.WRITE,
                headers=ONCE,
                answer_headers=REPEATS,
                body=requests.IngestRequest,
                is_load=True,
                answer=answers.IngestOutput,
                statuses=WRITING,
                successor=successor,
            )
            for name, successor in (("load", None), ("ingest", "load"))
        ),
        Operation(
            id="cluster_loadNdjson",
            method="POST",
            path=f"{GRAPH}/load/ndjson",
            summary="Load JSON lines, as they are, as one commit.",
            handler=writes.load_lines,
            where=writes.of_lines,
            action=Action.CHANGE,
            work=Work.WRITE,
            headers=ONCE,
            answer_headers=REPEATS,
            params=requests.LoadParams,
            body=str,
            body_type=NDJSON,
            is_load=True,
            answer=answers.GraphBatchLoadOutput,
            statuses=WRITING,
        ),
        Operation(
            id="cluster_applySchema",
            method="POST",
            path=f"{GRAPH}/schema/apply",
            summary="Give main another schema, and its rows with it.",
            handler=writes.apply_schema,
            where=writes.of_schema,
            action=Action.SCHEMA_APPLY,
            work=Work.WRITE,
            body=requests.SchemaApplyRequest,
            answer=answers.SchemaApplyOutput,
            statuses=WRITING,
        ),
    )


def _history() -> tuple[Operation, ...]:
    return (
        Operation(
            id="cluster_listBranches",
            method="GET",
            path=f"{GRAPH}/branches",
            summary="List the branches, main first.",
            handler=history.list_branches,
            answer=answers.BranchListOutput,
            statuses=READING,
        ),
        Operation(
            id="cluster_createBranch",
            method="POST",
            path=f"{GRAPH}/branches",
            summary="Make a branch at the head of another, or at a commit.",
            handler=history.create_branch,
            where=history.of_creation,
            action=Action.BRANCH_CREATE,
            work=Work.WRITE,
            body=requests.BranchCreateRequest,
            answer=answers.BranchCreateOutput,
            statuses=WRITING,
        ),
        Operation(
            id="cluster_mergeBranches",
            method="POST",
            path=f"{GRAPH}/branches/merge",
            summary="Bring what a branch has changed into another, as one commit.",
            handler=history.merge_branches,
            where=history.of_merge,
            action=Action.BRANCH_MERGE,
            work=Work.WRITE,
            body=requests.BranchMergeRequest,
            answer=answers.BranchMergeOutput,
            statuses=WRITING,
        ),
        Operation(
            id="cluster_deleteBranch",
            method="DELETE",
            path=f"{GRAPH}/branches/{{branch}}",
            summary="Remove a branch.",
            handler=history.delete_branch,
            where=history.of_deletion,
            action=Action.BRANCH_DELETE,
            work=Work.WRITE,
            answer=answers.BranchDeleteOutput,
            statuses=WRITING,
        ),
        Operation(
            id="cluster_listCommits",
            method="GET",
            path=f"{GRAPH}/commits",
            summary="List the commits of a branch, newest first.",
            handler=history.list_commits,
            params=requests.CommitsParams,
            answer=answers.CommitListOutput,
            statuses=READING,
        ),
        Operation(
            id="cluster_getCommit",
            method="GET",
            path=f"{GRAPH}/commits/{{commit_id}}",
            summary="Show a commit.",
            handler=history.commit,
            answer=answers.CommitOutput,
            statuses=READING,
        ),
        Operation(
            id="cluster_getCommitChanges",
            method="GET",
            path=f"{GRAPH}/commits/{{commit_id}}/changes",
            summary="Show what a commit changed, a page at a time.",
            handler=history.commit_changes,
            params=requests.CommitChangesParams,
            answer=answers.CommitChangesOutput,
            statuses=(*READING, 410, 500),
            errors=ChangeErrorOutput,
        ),
        Operation(
            id="cluster_pollChanges",
            method="GET",
            path=f"{GRAPH}/changes",
            summary="Show what was published to a branch since a cursor.",
            handler=history.poll_changes,
            params=requests.ChangesParams,
            answer=answers.ChangeFeedOutput,
            statuses=(*READING, 410, 500),
            errors=ChangeErrorOutput,
        ),
    )


def _data() -> tuple[Operation, ...]:
    return (
        Operation(
            id="cluster_captureChangeBaseline",
            method="POST",
            path=f"{GRAPH}/changes/baseline",
            summary="Stream the rows of a branch, and then the cursor that goes on from there.",
            handler=data.baseline,
            action=Action.EXPORT,
            work=Work.STREAM,
            body=requests.ChangeBaselineRequest,
            answer=answers.ChangeBaselineRecord,
            answer_types=(NDJSON,),
            statuses=(*READING, 415, 500),
            errors=ChangeErrorOutput,
        ),
        Operation(
            id="cluster_export",
            method="POST",
            path=f"{GRAPH}/export",
            summary="Stream the rows of a branch as JSON lines, which a load reads.",
            handler=data.export,
            action=Action.EXPORT,
            work=Work.STREAM,
            body=requests.ExportRequest,
            answer_types=(NDJSON,),
            statuses=(*READING, 415),
        ),
        Operation(
            id="cluster_getNeighborhood",
            method="GET",
            path=f"{GRAPH}/neighborhood",
            summary="Show a node, what is around it, and how many edges of each type it has.",
            handler=data.neighborhood,
            params=requests.NeighborhoodParams,
            answer=answers.NeighborhoodOutput,
            statuses=READING,
        ),
        Operation(
            id="cluster_getSchema",
            method="GET",
            path=f"{GRAPH}/schema",
            summary="Show the schema.",
            handler=data.schema,
            params=requests.BranchParams,
            answer=answers.SchemaOutput,
            statuses=READING,
        ),
        Operation(
            id="cluster_getSnapshot",
            method="GET",
            path=f"{GRAPH}/snapshot",
            summary="Show the version and the size of every table at the head of a branch.",
            handler=data.snapshot,
            params=requests.BranchParams,
            answer=answers.SnapshotOutput,
            statuses=READING,
        ),
        *(
            Operation(
                id=f"cluster_{method.lower()}Blob",
                method=method,
                path=f"{GRAPH}/blob",
                summary=summary,
                handler=handler,
                params=requests.BlobParams,
                headers=CONDITIONS,
                answer=bytes if method == "GET" else None,
                answer_types=(BYTES,) if method == "GET" else (),
                statuses=statuses,
                answer_headers=_blob_headers(method),
            )
            for method, summary, handler, statuses in (
                ("GET", "Read the bytes of a Blob property.", blobs.get_blob, BLOB_STATUSES),
                (
                    "HEAD",
                    "Ask for the size and the tag of a Blob property.",
                    blobs.head_blob,
                    tuple(s for s in BLOB_STATUSES if s not in (206, 416)),
                ),
            )
        ),
    )


BLOB_STATUSES = (206, 304, *READING, 412, 416, 500)


def _blob_headers(method: str) -> dict[int, tuple[str, ...]]:
    tagged = ("Accept-Ranges", "ETag", "Omnigraph-Snapshot-Id")
    found = {200: ("Content-Length", *tagged), 304: tagged, 412: tagged}
    if method == "GET":
        found[206] = ("Content-Length", "Content-Range", *tagged)
        found[416] = ("Content-Range", *tagged)
    return found


def _service(
    metrics: Callable[[], bytes], document: Callable[[], bytes], page: Callable[[], bytes]
) -> tuple[Operation, ...]:
    def said(make: Callable[[], bytes], media_type: str, **headers: str) -> Callable[[Call], Reply]:
        return lambda call: Whole(make(), media_type=media_type, headers=headers)

    # The page is plain HTML with its own style: it loads nothing and runs nothing.
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    return (
        Operation(
            id="listGraphs",
            method="GET",
            path="/graphs",
            summary="List the graphs.",
            handler=service.list_graphs,
            action=GRAPH_LIST,
            answer=answers.GraphListResponse,
            statuses=(405,),
        ),
        Operation(
            id="health",
            method="GET",
            path="/healthz",
            summary="Tell that the process answers.",
            handler=service.health,
            action=None,
            is_public=True,
            answer=answers.HealthOutput,
        ),
        Operation(
            id="ready",
            method="GET",
            path="/readyz",
            summary="Tell that every graph can be read.",
            handler=service.ready,
            action=None,
            is_public=True,
            answer=answers.ReadyOutput,
            statuses=(404, 500, 503),
        ),
        Operation(
            id="metrics",
            method="GET",
            path="/metrics",
            summary="Metrics in the form of Prometheus.",
            handler=said(metrics, METRICS_TYPE),
            action=METRICS,
            answer=str,
            answer_types=(PLAIN,),
        ),
        Operation(
            id="openapi",
            method="GET",
            path="/openapi.json",
            summary="This document.",
            handler=said(document, JSON),
            action=None,
            is_public=True,
            answer=dict,
        ),
        Operation(
            id="docs",
            method="GET",
            path="/docs",
            summary="This document, for people.",
            handler=said(page, f"{HTML}; charset=utf-8", **{"Content-Security-Policy": policy}),
            action=None,
            is_public=True,
            answer=str,
            answer_types=(HTML,),
        ),
    )
