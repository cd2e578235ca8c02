"""What every surface says in the same words: JSON shapes, and what an error becomes.

Clients rely on these member names; add to them, never rename.
"""

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import (
    ConflictError,
    DeniedError,
    InputError,
    LimitError,
    MissingError,
    OmnigraphError,
    PreconditionFailed,
    RecoveryError,
    StorageError,
    UsageInvalid,
)
from omnigraph.merge.choices import choice_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.base.row_counts import RowCounts
    from omnigraph.engine.analytics_results import AnalyticsResult
    from omnigraph.engine.blob import Blob
    from omnigraph.engine.change_results import (
        ChangeBaseline,
        ChangeBlock,
        ChangePage,
        CommitChangePage,
        Diff,
        EntityChanges,
    )
    from omnigraph.engine.embed_files import EmbeddedLines
    from omnigraph.engine.explanation import Explanation
    from omnigraph.engine.import_plan import EditedPlan, ImportPlan
    from omnigraph.engine.log import Log
    from omnigraph.engine.merge_results import MergeResult, RevertResult
    from omnigraph.engine.neighborhood import Neighborhood, NeighborNode
    from omnigraph.engine.results import (
        ChangeCounts,
        CommitInfo,
        EmbedResult,
        ExportResult,
        IndexInfo,
        LoadResult,
        MutationResult,
        OptimizeResult,
        QueryResult,
    )
    from omnigraph.engine.schema_results import SchemaChange
    from omnigraph.engine.tables import SnapshotTables
    from omnigraph.engine.upkeep_results import CleanupResult, RepairResult
    from omnigraph.store.statistics import Statistics
    from omnigraph.surfaces.shapes import changes as changes_shapes
    from omnigraph.surfaces.shapes import data as data_shapes
    from omnigraph.surfaces.shapes import said as said_shapes
    from omnigraph.surfaces.shapes import texts as texts_shapes
    from omnigraph.surfaces.shapes import upkeep as upkeep_shapes

__all__ = [
    "EXIT_ERROR",
    "EXIT_TO_DO",
    "analytics_json",
    "baseline_json",
    "blob_json",
    "blob_part_json",
    "change_page_json",
    "cleanup_json",
    "commit_changes_json",
    "commit_json",
    "diff_json",
    "embed_json",
    "embedded_file_json",
    "error_json",
    "exit_code",
    "explanation_json",
    "export_json",
    "http_status",
    "import_plan_json",
    "indexes_json",
    "load_json",
    "log_json",
    "merge_json",
    "mutation_json",
    "neighborhood_json",
    "optimize_json",
    "query_json",
    "repair_json",
    "revert_json",
    "schema_change_json",
    "statistics_json",
    "tables_json",
]

EXIT_ERROR = 1
EXIT_CODES: dict[type[OmnigraphError], int] = {
    InputError: EXIT_ERROR,
    MissingError: 3,
    DeniedError: EXIT_ERROR,
    ConflictError: 4,
    StorageError: EXIT_ERROR,
    LimitError: EXIT_ERROR,
    RecoveryError: EXIT_ERROR,
}
"""0 is success."""
EXIT_USAGE = 2
"""As shells have it."""
EXIT_TO_DO = 5
"""A plan holds changes, or a comparison found differences: no error, and something to do."""


HTTP_STATUS: dict[type[OmnigraphError], int] = {
    InputError: 400,
    MissingError: 404,
    DeniedError: 403,
    ConflictError: 409,
    StorageError: 500,
    LimitError: 413,
    RecoveryError: 503,
}
HTTP_STATUS_OF_CODE: dict[str, int] = {
    "unauthorized": 401,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "change_diff_refused": 409,
    "change_feed_gap": 410,
    "blob_changed": 412,
    "precondition_failed": 412,
    "unsupported_media_type": 415,
    "range_not_satisfiable": 416,
    "too_many_requests": 429,
    "dependency_missing": 501,
    "embed_answer_invalid": 502,
    "embed_provider_missing": 501,
    "embed_quota_spent": 503,
    "embed_rate_limited": 503,
    "embed_refused": 502,
    "embed_timeout": 504,
    "embed_unreachable": 502,
    "forked_process": 500,
    "spool_full": 507,
    "worker_version": 501,
}
"""Codes that HTTP has a status of its own for; the others have that of their branch."""


def exit_code(error: OmnigraphError) -> int:
    return EXIT_USAGE if isinstance(error, UsageInvalid) else _of_branch(EXIT_CODES, error)


def http_status(error: OmnigraphError) -> int:
    return HTTP_STATUS_OF_CODE.get(error.code) or _of_branch(HTTP_STATUS, error)


def _of_branch(table: dict[type[OmnigraphError], int], error: OmnigraphError) -> int:
    return next(number for branch, number in table.items() if isinstance(error, branch))


def error_json(error: OmnigraphError) -> "said_shapes.Failure":
    """An error; a lost condition with the commits under the name that a server gives them."""
    shown: said_shapes.Failure = _shaped(error.to_json())
    match error:
        case PreconditionFailed(expected=expected, actual=actual):
            shown["precondition_failure"] = {"expected": expected, "actual": actual}
        case _:
            pass
    return shown


def query_json(result: "QueryResult", *, branch: str | None) -> "data_shapes.Rows":
    return {
        "query_name": result.query_name,
        "target": {"branch": branch, "snapshot": None if branch else result.graph_commit_id},
        "row_count": len(result),
        "columns": result.columns,
        "rows": result.readable().to_pylist(),
        "graph_commit_id": result.graph_commit_id,
    }


def analytics_json(result: "AnalyticsResult", *, branch: str | None) -> "data_shapes.AnalyticsRows":
    rows = query_json(result, branch=branch)
    return {
        "algorithm": result.query_name,
        "edges": list(result.edges),
        "engine": result.engine,
        "node_count": result.node_count,
        "edge_count": result.edge_count,
        "iterations": result.iterations,
        "converged": result.converged,
        "target": rows["target"],
        "row_count": rows["row_count"],
        "columns": rows["columns"],
        "rows": rows["rows"],
        "graph_commit_id": rows["graph_commit_id"],
        "written": dict(result.written),
        "commit": commit_json(result.commit) if result.commit else None,
    }


def mutation_json(result: "MutationResult") -> "data_shapes.Mutation":
    return {
        "query_name": result.query_name,
        "branch": result.branch,
        "affected_nodes": result.affected_nodes,
        "affected_edges": result.affected_edges,
        "actor_id": result.actor_id,
        "commit": commit_json(result.commit) if result.commit else None,
        "is_repeat": result.is_repeat,
    }


def log_json(log: "Log") -> "said_shapes.Log":
    return {
        "commits": [commit_json(commit) for commit in log.commits],
        "branches": {str(name): str(head) for name, head in log.heads.items()},
    }


def load_json(result: "LoadResult") -> "data_shapes.Load":
    return {
        "branch": result.branch,
        "base_branch": result.base_branch,
        "branch_created": result.base_branch is not None,
        "mode": result.mode,
        "nodes": [_loaded_json(name, result.rows[name]) for name in result.nodes],
        "edges": [_loaded_json(name, result.rows[name]) for name in result.edges],
        "total_entities": result.total_entities,
        "read": result.read,
        "rejected": result.rejected,
        "violations": _shaped(result.violations.to_json()) if result.violations else None,
        "quarantine": result.quarantine,
        "dry_run": result.dry_run,
        "superseded": result.superseded,
        "inserted": result.inserted,
        "updated": result.updated,
        "unchanged": result.unchanged,
        "removed": result.removed,
        "hints": list(result.hints),
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "load_id": result.load_id,
        "is_repeat": result.is_repeat,
        "resumed_tasks": result.resumed_tasks,
        "seconds": {phase: round(spent, 3) for phase, spent in result.seconds.items()},
        "commit": commit_json(result.commit) if result.commit else None,
    }


def import_plan_json(
    plan: "ImportPlan", edited: "EditedPlan | None" = None
) -> "data_shapes.ImportPlan":
    """What is proposed, or followed if a person has edited it."""
    return {
        "source": plan.source,
        "format": plan.format,
        "schema": plan.schema if edited is None else edited.schema.text,
        "mapping": plan.mapping if edited is None else dict(edited.mapping.rules),
        "notes": list(plan.notes),
    }


def _loaded_json(name: str, counts: "RowCounts") -> "data_shapes.Loaded":
    return {
        "name": name,
        "entities_loaded": counts.loaded,
        "inserted": counts.inserted,
        "updated": counts.updated,
        "unchanged": counts.unchanged,
        "removed": counts.removed,
    }


def export_json(result: "ExportResult") -> "data_shapes.Export":
    return {
        "format": result.format,
        "path": result.path,
        "graph_commit_id": result.graph_commit_id,
        "nodes": [{"name": name, "entities_exported": n} for name, n in result.nodes.items()],
        "edges": [{"name": name, "entities_exported": n} for name, n in result.edges.items()],
        "total_entities": result.total_entities,
        "bytes": result.bytes,
        "files": [_members(file) for file in result.files],
    }


def explanation_json(explanation: "Explanation") -> "texts_shapes.Explanation":
    return {
        "query_name": explanation.query_name,
        "graph_commit_id": explanation.graph_commit_id,
        "is_analyzed": explanation.is_analyzed,
        "plan": str(explanation),
        "steps": [_members(step) for step in explanation.steps],
    }


def diff_json(diff: "Diff", limit: int | None = None) -> "changes_shapes.Diff":
    return {
        "from_commit_id": diff.from_commit_id,
        "to_commit_id": diff.to_commit_id,
        "change_count": len(diff),
        "types": [{"name": name, **_counts_json(counts)} for name, counts in diff.counts.items()],
        "changes": _changes_json(diff, limit),
    }


def commit_changes_json(page: "CommitChangePage") -> "changes_shapes.CommitChanges":
    return {**_block_json(page), "next_page_token": page.next_page_token}


def change_page_json(page: "ChangePage") -> "changes_shapes.ChangePage":
    return {
        "blocks": [_block_json(block) for block in page.blocks],
        "cursor": page.cursor,
        "caught_up": page.caught_up,
        "next_page_token": None,
    }


def baseline_json(made: "ChangeBaseline") -> "changes_shapes.Baseline":
    return {
        "snapshot_commit_id": made.snapshot_commit_id,
        "resume_cursor": made.resume_cursor,
        "export": export_json(made.export),
    }


def _block_json(block: "ChangeBlock | CommitChangePage") -> "changes_shapes.ChangeBlock":
    cause: changes_shapes.Cause = _members(block.cause)
    cause["authored_at"] = block.cause.authored_at.isoformat()
    return {"cause": cause, "changes": _changes_json(block.changes)}


def _changes_json(changes: "EntityChanges", limit: int | None = None) -> list[Any]:
    from omnigraph.engine.change_values import json_ready

    return [json_ready(change) for change in islice(changes, limit)]


def merge_json(result: "MergeResult") -> "changes_shapes.Merge":
    return {
        "source": result.source,
        "target": result.target,
        "outcome": result.outcome,
        "commit": commit_json(result.commit) if result.commit else None,
        "actor_id": result.commit.actor_id if result.commit else None,
        "preview": result.is_preview,
        "source_commit_id": result.source_commit_id,
        "target_commit_id": result.target_commit_id,
        "branch_deleted": result.branch_deleted,
        "branch_delete_error": result.branch_delete_error,
        **_changed_json(result),
    }


def revert_json(result: "RevertResult") -> "changes_shapes.Revert":
    return {
        "branch": result.branch,
        "reverted_commit_id": result.reverted_commit_id,
        "outcome": result.outcome,
        "commit": commit_json(result.commit) if result.commit else None,
        "preview": result.is_preview,
        "target_commit_id": result.target_commit_id,
        **_changed_json(result),
    }


def _changed_json(result: "MergeResult | RevertResult") -> "changes_shapes.Brought":
    """What changes, and in a preview the choices that can be made, to be filled in."""
    changed: changes_shapes.Brought = {
        "counts": {name: _counts_json(counts) for name, counts in result.counts.items()},
        "left_out": dict(result.left_out),
    }
    if result.is_preview:
        changed["refusal"] = result.refusal
        changed["conflict_count"] = result.conflict_count
        changed["conflicts"] = [_shaped(conflict.to_json()) for conflict in result.conflicts]
        changed["more_conflicts"] = result.more_conflicts
        changed["changes"] = None if result.changes is None else _changes_json(result.changes)
        changed["choices"] = [_shaped(choice_template(conflict)) for conflict in result.conflicts]
    return changed


def schema_change_json(change: "SchemaChange") -> "texts_shapes.SchemaChange":
    shown: texts_shapes.SchemaPlan = _shaped(change.to_json())
    return {**shown, "commit": commit_json(change.commit) if change.commit is not None else None}


def embed_json(result: "EmbedResult") -> "data_shapes.Embedded":
    return {
        "branch": result.branch,
        "model": result.model,
        "embedded": {name: dict(counts) for name, counts in result.embedded.items()},
        "emptied": result.emptied,
        "commit": commit_json(result.commit) if result.commit is not None else None,
    }


def embedded_file_json(
    result: "EmbeddedLines", *, model: str, path: str
) -> "data_shapes.EmbeddedFile":
    return {"model": model, "path": path, "lines": result.lines, "vectors": result.vectors}


def optimize_json(result: "OptimizeResult") -> "upkeep_shapes.Optimized":
    return {
        "branch": result.branch,
        "compacted": list(result.compacted),
        "indexed": list(result.indexed),
        "commit": commit_json(result.commit) if result.commit is not None else None,
        "history_files": result.history_files,
    }


def cleanup_json(result: "CleanupResult") -> "upkeep_shapes.Cleanup":
    return {
        "dry_run": result.dry_run,
        "commits": list(result.commits),
        "versions": result.versions,
        "files": result.files,
        "bytes": result.bytes,
        "waiting_files": result.waiting_files,
        "kept": dict(result.kept),
        "tables": {name: _members(table) for name, table in result.tables.items()},
        "loads": list(result.loads),
    }


def repair_json(result: "RepairResult") -> "upkeep_shapes.Repair":
    return {
        "findings": [_members(finding) for finding in result.findings],
        "commits": [commit_json(commit) for commit in result.commits],
    }


def indexes_json(indexes: "Sequence[IndexInfo]") -> "upkeep_shapes.Indexes":
    return {"indexes": [_shaped({**asdict(i), "coverage": i.coverage}) for i in indexes]}


def blob_json(blob: "Blob") -> "data_shapes.Blob":
    return {
        "type_name": blob.type_name,
        "entity_id": blob.entity_id,
        "property": blob.property,
        "size": blob.size,
        "etag": blob.etag,
        "graph_commit_id": blob.graph_commit_id,
    }


def blob_part_json(blob: "Blob", *, start: int, end: int, path: str) -> "data_shapes.BlobPart":
    return {**blob_json(blob), "offset": start, "length": end - start, "path": path}


def neighborhood_json(found: "Neighborhood") -> "data_shapes.Neighborhood":
    from omnigraph.engine.change_values import json_ready

    def node(each: "NeighborNode") -> "data_shapes.Node":
        return {
            "type_name": each.type_name,
            "id": each.id,
            "distance": each.distance,
            "properties": json_ready(dict(each.properties)),
        }

    return {
        "graph_commit_id": found.graph_commit_id,
        "entity": node(found.entity),
        "counts": [_members(tally) for tally in found.counts],
        "nodes": [node(each) for each in found.nodes],
        "edges": [
            {
                "type_name": edge.type_name,
                "id": edge.id,
                "from": edge.from_,
                "to": edge.to,
                "properties": json_ready(dict(edge.properties)),
            }
            for edge in found.edges
        ],
        "node_count": found.node_count,
        "has_more_edges": found.has_more_edges,
        "next_page_token": found.next_page_token,
    }


def statistics_json(statistics: "Statistics") -> "upkeep_shapes.Statistics":
    return {
        "graph_commit_id": statistics.commit,
        "tables": {key: _members(table) for key, table in sorted(statistics.tables.items())},
    }


def tables_json(tables: "SnapshotTables") -> "upkeep_shapes.Snapshot":
    shown: upkeep_shapes.Snapshot = _members(tables)
    return shown


def commit_json(commit: "CommitInfo") -> "said_shapes.Commit":
    shown: said_shapes.Commit = _members(commit)
    shown["created_at"] = commit.created_at.isoformat()
    return shown


def _counts_json(counts: "ChangeCounts") -> "changes_shapes.Counts":
    return {"inserted": counts.inserted, "updated": counts.updated, "deleted": counts.deleted}


def _members(value: Any) -> Any:
    """The members of a value whose class has the names of its shape."""
    return asdict(value)


def _shaped(document: dict[str, Any]) -> Any:
    """What a value says of itself as JSON; that it has its shape is for a test to show."""
    return document
