"""What commands print about a deployment that is declared as a folder."""

from typing import Literal, TypedDict

__all__ = [
    "Approval",
    "ClusterApplied",
    "ClusterApproved",
    "ClusterImported",
    "ClusterLock",
    "ClusterPlan",
    "ClusterRefreshed",
    "ClusterResource",
    "ClusterStatus",
    "ClusterUnlocked",
    "ClusterValid",
    "DriftFound",
    "GraphDeclared",
    "GraphsDeclared",
    "QueriesChecked",
    "QueriesStored",
    "QueryParameterShown",
    "QueryStored",
    "ResourceChange",
    "SchemaStep",
    "StateObservations",
    "UnfinishedApply",
]

Action = Literal["create", "update", "delete"]
Phase = Literal["create", "migrate", "catalog", "delete"]


class ClusterResource(TypedDict):
    """A resource by its address."""

    address: str
    digest: str


class ClusterValid(TypedDict):
    """What a folder declares; all of it fits together."""

    cluster: str
    storage: str
    resources: list[ClusterResource]


class SchemaStep(TypedDict):
    """One step of a schema's change, as `schema plan` shows it."""

    kind: str
    name: str
    mode: str | None
    code: str | None
    tier: str
    message: str


class ResourceChange(TypedDict):
    """What becomes of one resource."""

    address: str
    action: Action
    phase: Phase
    before: str | None
    after: str | None
    steps: list[SchemaStep]
    digest: str
    reason: str | None
    needs_approval: bool
    is_approved: bool
    blocked: list[str]


class ClusterPlan(TypedDict):
    """What an apply would do."""

    cluster: str
    storage: str
    revision: int
    digest: str
    can_be_applied: bool
    changes: list[ResourceChange]


class ClusterApplied(TypedDict):
    """What an apply did, and the revision that is served now."""

    cluster: str
    storage: str
    revision: int
    plan: str
    changed: bool
    changes: list[ResourceChange]
    finished: str | None


class Approval(TypedDict):
    """A change that loses data, and who approved of it."""

    change: str
    address: str
    action: Action
    approved_by: str | None
    approved_at: str
    revision: int
    """What was applied when it was given. Over another revision it is of no use."""


class ClusterApproved(TypedDict):
    """The changes that were approved."""

    approved: list[ResourceChange]


class ClusterLock(TypedDict):
    """Who is at work on a cluster."""

    id: str
    owner: str | None
    operation: str
    taken_at: str
    pid: int
    host: str
    is_dead: bool


class DriftFound(TypedDict):
    """Where the storage is not what was applied."""

    address: str
    kind: Literal["missing", "changed", "altered", "unreadable"]
    message: str


class StateObservations(TypedDict):
    """What is seen of the state beside the ledger."""

    lock_id: str | None
    lock: ClusterLock | None
    observed_at: str | None
    drift: list[DriftFound]


class UnfinishedApply(TypedDict):
    """An apply that is under way, or died."""

    plan: str
    actor: str | None
    began_at: str


class ClusterStatus(TypedDict):
    """What was applied, and who is at work."""

    cluster: str
    storage: str
    revision: int
    applied_at: str | None
    applied_by: str | None
    plan: str | None
    resources: list[ClusterResource]
    approvals: list[Approval]
    unfinished: UnfinishedApply | None
    state_observations: StateObservations


class ClusterRefreshed(TypedDict):
    """What a comparison of the storage with the ledger found."""

    storage: str
    revision: int
    drift: list[DriftFound]


class ClusterImported(TypedDict):
    """The graphs that the ledger knows after an import."""

    storage: str
    revision: int
    graphs: list[str]


class ClusterUnlocked(TypedDict):
    """The lock that was taken away."""

    lock: ClusterLock


class GraphDeclared(TypedDict):
    """A graph of a deployment. A server does not know what is declared beyond it."""

    graph_id: str
    uri: str
    is_applied: bool
    is_declared: bool | None


class GraphsDeclared(TypedDict):
    """All graphs of a deployment."""

    graphs: list[GraphDeclared]


class QueryParameterShown(TypedDict):
    """A parameter of a stored query."""

    name: str
    type: str
    nullable: bool


class QueryStored(TypedDict):
    """A stored query of a graph."""

    graph_id: str
    name: str
    is_mutation: bool
    description: str | None
    parameters: list[QueryParameterShown]


class QueriesStored(TypedDict):
    """The stored queries that a folder declares."""

    queries: list[QueryStored]


class QueriesChecked(TypedDict):
    """Stored queries that fit the schemas of their graphs."""

    queries: list[str]
