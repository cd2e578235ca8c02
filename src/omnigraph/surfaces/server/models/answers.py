"""Answers: what each route says, made of the engine's results."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType, field

from omnigraph.engine.change_values import json_ready
from omnigraph.surfaces.server.models.numbers import (
    ChangeOpOutput,
    Count,
    Count32,
    Count64,
    EntityKindOutput,
    LoadMode,
    Micros,
)

if TYPE_CHECKING:
    from omnigraph.engine.change_results import ChangeCause, EntityChanges
    from omnigraph.engine.results import CommitInfo, LoadResult, MutationResult
    from omnigraph.engine.tables import SnapshotTables

__all__ = [
    "Answer",
    "BranchCreateOutput",
    "BranchDeleteOutput",
    "BranchListOutput",
    "BranchMergeOutcome",
    "BranchMergeOutput",
    "ChangeBaselineOutput",
    "ChangeBaselineRecord",
    "ChangeBlockOutput",
    "ChangeCauseOutput",
    "ChangeFeedOutput",
    "ChangeOutput",
    "CommitChangesOutput",
    "CommitListOutput",
    "CommitOutput",
    "EntityChangeOutput",
    "GraphBatchLoadOutput",
    "GraphInfo",
    "GraphListResponse",
    "HealthOutput",
    "IngestOutput",
    "LegacyReadOutput",
    "NeighborhoodOutput",
    "ReadOutput",
    "ReadTargetOutput",
    "ReadyOutput",
    "SchemaApplyOutput",
    "SchemaOutput",
    "SnapshotOutput",
    "changes_of",
]

MICROS = 1_000_000


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    pass


def micros(time: datetime) -> int:
    # Times of commits are whole milliseconds, which a float holds exactly for ages.
    return round(time.timestamp() * 1000) * 1000


# The server ---------------------------------------------------------------------------------------


class HealthOutput(Answer, frozen=True, kw_only=True):
    status: str
    version: str
    internal_schema_version: Count32
    source_version: str | None = None


class ReadyOutput(Answer, frozen=True, kw_only=True):
    status: str
    graphs: Count
    set_aside: Count | UnsetType = UNSET


class GraphInfo(Answer, frozen=True, kw_only=True):
    graph_id: str
    uri: str


class GraphListResponse(Answer, frozen=True, kw_only=True):
    graphs: list[GraphInfo]


# Commits and branches -----------------------------------------------------------------------------


class CommitOutput(Answer, frozen=True, kw_only=True):
    graph_commit_id: str
    graph_manifest_version: Count64
    created_at: Micros
    graph_branch: str | None = None
    parent_commit_id: str | None = None
    merged_parent_commit_id: str | None = None
    actor_id: str | None = None
    kind: str
    message: str | None = None
    load_id: str | None = None

    @classmethod
    def of(cls, commit: "CommitInfo") -> "CommitOutput":
        return cls(
            graph_commit_id=commit.graph_commit_id,
            graph_manifest_version=commit.graph_manifest_version,
            created_at=micros(commit.created_at),
            graph_branch=commit.graph_branch,
            parent_commit_id=commit.parent_commit_id,
            merged_parent_commit_id=commit.merged_parent_commit_id,
            actor_id=commit.actor_id,
            kind=commit.kind,
            message=commit.message,
            load_id=commit.load_id,
        )

    @classmethod
    def of_any(cls, commit: "CommitInfo | None") -> "CommitOutput | None":
        return None if commit is None else cls.of(commit)


class CommitListOutput(Answer, frozen=True, kw_only=True):
    commits: list[CommitOutput]


class BranchListOutput(Answer, frozen=True, kw_only=True):
    branches: list[str]


class BranchCreateOutput(Answer, frozen=True, kw_only=True):
    uri: str
    from_: str = field(name="from")
    name: str
    actor_id: str | None = None


class BranchDeleteOutput(Answer, frozen=True, kw_only=True):
    uri: str
    name: str
    actor_id: str | None = None


class BranchMergeOutcome(StrEnum):
    ALREADY_UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


class BranchMergeOutput(Answer, frozen=True, kw_only=True):
    source: str
    target: str
    outcome: BranchMergeOutcome
    actor_id: str | None = None
    branch_deleted: bool | None = None
    branch_delete_error: str | None = None
    commit: CommitOutput | None = None


# Rows ---------------------------------------------------------------------------------------------


class ReadTargetOutput(Answer, frozen=True, kw_only=True):
    branch: str | None = None
    snapshot: str | None = None


class LegacyReadOutput(Answer, frozen=True, kw_only=True):
    query_name: str
    target: ReadTargetOutput
    row_count: Count
    rows: Any
    columns: list[str] = []


class ReadOutput(Answer, frozen=True, kw_only=True):
    query_name: str
    target: ReadTargetOutput
    row_count: Count
    rows: Any
    columns: list[str] = []
    graph_commit_id: str | None = None


class ChangeOutput(Answer, frozen=True, kw_only=True):
    branch: str
    query_name: str
    affected_nodes: Count
    affected_edges: Count
    actor_id: str | None = None
    commit: CommitOutput | None = None

    @classmethod
    def of(cls, result: "MutationResult") -> "ChangeOutput":
        return cls(
            branch=result.branch,
            query_name=result.query_name,
            affected_nodes=result.affected_nodes,
            affected_edges=result.affected_edges,
            actor_id=result.actor_id,
            commit=CommitOutput.of_any(result.commit),
        )


class GraphBatchDeclarationOutput(Answer, frozen=True, kw_only=True):
    name: str
    entities_loaded: Count


class GraphBatchLoadOutput(Answer, frozen=True, kw_only=True):
    branch: str
    branch_created: bool
    mode: LoadMode
    nodes: list[GraphBatchDeclarationOutput]
    edges: list[GraphBatchDeclarationOutput]
    total_entities: Count
    actor_id: str | None = None
    base_branch: str | None = None
    commit: CommitOutput | None = None

    @classmethod
    def of(cls, result: "LoadResult", actor: str | None) -> "GraphBatchLoadOutput":
        return cls(**_load_members(result, actor))


class IngestOutput(Answer, frozen=True, kw_only=True):
    uri: str
    branch: str
    branch_created: bool
    mode: LoadMode
    nodes: list[GraphBatchDeclarationOutput]
    edges: list[GraphBatchDeclarationOutput]
    total_entities: Count
    actor_id: str | None = None
    base_branch: str | None = None
    commit: CommitOutput | None = None

    @classmethod
    def of(cls, result: "LoadResult", actor: str | None, uri: str) -> "IngestOutput":
        return cls(uri=uri, **_load_members(result, actor))


def _load_members(result: "LoadResult", actor: str | None) -> dict[str, Any]:
    return {
        "branch": result.branch,
        "branch_created": result.base_branch is not None,
        "mode": LoadMode(result.mode),
        "nodes": _declared(result.nodes),
        "edges": _declared(result.edges),
        "total_entities": result.total_entities,
        "actor_id": actor,
        "base_branch": result.base_branch,
        "commit": CommitOutput.of_any(result.commit),
    }


def _declared(counts: Mapping[str, int]) -> list[GraphBatchDeclarationOutput]:
    return [GraphBatchDeclarationOutput(name=n, entities_loaded=c) for n, c in counts.items()]


# Schema and tables --------------------------------------------------------------------------------


class SchemaOutput(Answer, frozen=True, kw_only=True):
    schema_source: str


class SchemaApplyOutput(Answer, frozen=True, kw_only=True):
    uri: str
    supported: bool
    applied: bool
    step_count: Count
    graph_manifest_version: Count64
    steps: list[Any]
    commit: CommitOutput | None = None


class SnapshotDatasetOutput(Answer, frozen=True, kw_only=True):
    entity_kind: EntityKindOutput
    type_name: str
    dataset_path: str
    published_dataset_version: Count64
    entity_count: Count64
    native_dataset_branch: str | None = None


class SnapshotOutput(Answer, frozen=True, kw_only=True):
    graph_branch: str
    graph_manifest_version: Count64
    internal_schema_version: Count32
    datasets: list[SnapshotDatasetOutput]
    graph_commit_id: str

    @classmethod
    def of(cls, tables: "SnapshotTables") -> "SnapshotOutput":
        return cls(
            graph_branch=tables.graph_branch,
            graph_manifest_version=tables.graph_manifest_version,
            internal_schema_version=tables.internal_schema_version,
            graph_commit_id=tables.graph_commit_id,
            datasets=[
                SnapshotDatasetOutput(
                    entity_kind=EntityKindOutput(table.entity_kind),
                    type_name=table.type_name,
                    dataset_path=table.dataset_path,
                    published_dataset_version=table.published_dataset_version,
                    entity_count=table.entity_count,
                    native_dataset_branch=table.native_dataset_branch,
                )
                for table in tables.datasets
            ],
        )


# What is around an entity -------------------------------------------------------------------------


class EdgeDirection(StrEnum):
    OUT = "out"
    IN = "in"


class EdgeTallyOutput(Answer, frozen=True, kw_only=True):
    edge: str
    direction: EdgeDirection
    count: Count64


class NeighborNodeOutput(Answer, frozen=True, kw_only=True):
    type_name: str
    id: str
    distance: Count
    properties: Any


class NeighborEdgeOutput(Answer, frozen=True, kw_only=True):
    type_name: str
    id: str
    from_: str = field(name="from")
    to: str
    properties: Any


class NeighborhoodOutput(Answer, frozen=True, kw_only=True):
    graph_commit_id: str
    entity: NeighborNodeOutput
    counts: list[EdgeTallyOutput]
    nodes: list[NeighborNodeOutput]
    edges: list[NeighborEdgeOutput]
    node_count: Count64
    has_more_edges: bool
    next_page_token: str | None = None


# Changes ------------------------------------------------------------------------------------------


class ChangeCauseOutput(Answer, frozen=True, kw_only=True):
    graph_commit_id: str
    authored_branch: str
    authored_at: Micros
    actor_id: str | None = None
    parent_commit_id: str | None = None
    merged_parent_commit_id: str | None = None
    message: str | None = None

    @classmethod
    def of(cls, cause: "ChangeCause") -> "ChangeCauseOutput":
        return cls(
            graph_commit_id=cause.graph_commit_id,
            authored_branch=cause.authored_branch,
            authored_at=micros(cause.authored_at),
            actor_id=cause.actor_id,
            parent_commit_id=cause.parent_commit_id,
            merged_parent_commit_id=cause.merged_parent_commit_id,
            message=cause.message,
        )


class ChangeTypeOutput(Answer, frozen=True, kw_only=True):
    id: str
    name: str


class ChangeEndpointsOutput(Answer, frozen=True, kw_only=True):
    from_: str = field(name="from")
    to: str


class ChangeImageOutput(Answer, frozen=True, kw_only=True):
    properties: Any
    endpoints: ChangeEndpointsOutput | None = None


class EntityChangeOutput(Answer, frozen=True, kw_only=True):
    kind: EntityKindOutput
    type: ChangeTypeOutput
    id: str
    op: ChangeOpOutput
    before: ChangeImageOutput | None = None
    after: ChangeImageOutput | None = None


class ChangeBlockOutput(Answer, frozen=True, kw_only=True):
    cause: ChangeCauseOutput
    changes: list[EntityChangeOutput]


class ChangeFeedOutput(Answer, frozen=True, kw_only=True):
    blocks: list[ChangeBlockOutput]
    caught_up: bool | None = None
    cursor: str | None = None
    next_page_token: str | None = None


class CommitChangesOutput(Answer, frozen=True, kw_only=True):
    cause: ChangeCauseOutput
    changes: list[EntityChangeOutput]
    next_page_token: str | None = None


class ChangeBaselineOutput(Answer, frozen=True, kw_only=True):
    snapshot_commit_id: str
    resume_cursor: str


class ChangeBaselineRecord(Answer, frozen=True, kw_only=True):
    baseline: ChangeBaselineOutput


def changes_of(changes: "EntityChanges") -> list[EntityChangeOutput]:
    return msgspec.convert([json_ready(change) for change in changes], list[EntityChangeOutput])
