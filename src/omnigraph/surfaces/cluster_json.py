"""What is told of a deployment, as JSON: each shape once, for every door."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from omnigraph.surfaces.shapes import cluster as shapes

if TYPE_CHECKING:
    from omnigraph.cluster.apply import Applied
    from omnigraph.cluster.control import Drift, Status
    from omnigraph.cluster.folder import Folder
    from omnigraph.cluster.ledger import Ledger
    from omnigraph.cluster.lock import Lock
    from omnigraph.cluster.plan import Change, Plan

__all__ = [
    "applied_json",
    "approved_json",
    "folder_json",
    "lock_json",
    "plan_json",
    "queries_json",
    "refreshed_json",
    "status_json",
]


def folder_json(folder: "Folder") -> shapes.ClusterValid:
    return {
        "cluster": folder.name,
        "storage": folder.storage,
        "resources": [
            {"address": address, "digest": resource.entry.digest}
            for address, resource in folder.resources.items()
        ],
    }


def plan_json(plan: "Plan", storage: str, approvals: Collection[str]) -> shapes.ClusterPlan:
    is_approved = all(change.digest in approvals for change in plan.losses)
    return {
        "cluster": plan.cluster,
        "storage": storage,
        "revision": plan.revision,
        "digest": plan.digest,
        "can_be_applied": not plan.blocked and is_approved,
        "changes": _changes(plan.changes, approvals),
    }


def applied_json(applied: "Applied", storage: str) -> shapes.ClusterApplied:
    losses = {change.digest for change in applied.plan.losses}
    return {
        "cluster": applied.ledger.cluster,
        "storage": storage,
        "revision": applied.ledger.revision,
        "plan": applied.plan.digest,
        "changed": applied.changed,
        "changes": _changes(applied.plan.changes, losses),
        "finished": None if applied.finished is None else applied.finished.plan,
    }


def approved_json(approved: "Collection[Change]") -> shapes.ClusterApproved:
    return {"approved": _changes(approved, {change.digest for change in approved})}


def status_json(status: "Status") -> shapes.ClusterStatus:
    ledger, begun = status.ledger, status.unfinished
    return {
        "cluster": ledger.cluster,
        "storage": status.storage,
        "revision": ledger.revision,
        "applied_at": ledger.applied_at,
        "applied_by": ledger.applied_by,
        "plan": ledger.plan,
        "resources": [
            {"address": address, "digest": ledger.resources[address].digest}
            for address in sorted(ledger.resources)
        ],
        "approvals": [_shaped(approval) for approval in status.approvals],
        "unfinished": None
        if begun is None
        else {"plan": begun.plan, "actor": begun.actor, "began_at": begun.began_at},
        "state_observations": {
            "lock_id": None if status.lock is None else status.lock.id,
            "lock": None if status.lock is None else lock_json(status.lock),
            "observed_at": status.observed_at,
            "drift": _drift(status.drift),
        },
    }


def refreshed_json(
    drift: "Collection[Drift]", storage: str, ledger: "Ledger"
) -> shapes.ClusterRefreshed:
    return {"storage": storage, "revision": ledger.revision, "drift": _drift(drift)}


def lock_json(lock: "Lock") -> shapes.ClusterLock:
    shown: shapes.ClusterLock = _shaped(lock.to_json())
    return shown


def queries_json(folder: "Folder") -> shapes.QueriesStored:
    found: list[shapes.QueryStored] = []
    for address, signature in sorted(folder.signatures.items()):
        found.append(
            {
                "graph_id": address.split(".")[1],
                "name": signature.name,
                "is_mutation": signature.is_mutation,
                "description": signature.description,
                "parameters": [
                    {"name": p.name, "type": str(p.type), "nullable": p.is_nullable}
                    for p in signature.parameters
                ],
            }
        )
    return {"queries": found}


def _changes(
    changes: "Collection[Change]", approvals: Collection[str]
) -> list[shapes.ResourceChange]:
    return [_shaped(change.to_json(approvals)) for change in changes]


def _drift(drift: "Collection[Drift]") -> list[shapes.DriftFound]:
    return [_shaped(each.to_json()) for each in drift]


def _shaped(document: dict[str, Any]) -> Any:
    """What a value says of itself as JSON; that it has its shape is for a test to show."""
    return document
