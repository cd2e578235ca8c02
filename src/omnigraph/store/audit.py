"""The log of recoveries: one row for each unfinished write that was finished or undone.

A row is keyed by the write that it ends. Recovery may be killed after the row and before the
sidecar is gone; the next one finds the row and adds no second.
"""

import json
from collections.abc import Mapping
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.datasets import Datasets
from omnigraph.store.layout import AUDIT

__all__ = ["RecoveryAction", "RecoveryAudit", "RecoveryRecord"]

COLUMNS = pa.schema(
    [
        pa.field("operation_id", pa.string(), nullable=False),
        pa.field("action", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("actor", pa.string()),
        pa.field("branch", pa.string(), nullable=False),
        pa.field("commit_id", pa.string(), nullable=False),
        pa.field("recovered_at_ms", pa.int64(), nullable=False),
        pa.field("outcomes", pa.string(), nullable=False),
    ]
)


class RecoveryAction(Enum):
    ROLLED_FORWARD = "rolled_forward"
    ROLLED_BACK = "rolled_back"


@frozen(slots=False)
class RecoveryRecord:
    operation_id: str
    action: RecoveryAction
    kind: str
    """What the write was: mutation, load, …"""
    actor: str | None
    """Who had begun it."""
    branch: BranchName
    commit_id: CommitId
    """The commit it was to make."""
    recovered_at_ms: int
    outcomes: Mapping[TableKey, str]
    """How recovery found each table."""


class RecoveryAudit:
    def __init__(self, datasets: Datasets) -> None:
        self._datasets = datasets

    @staticmethod
    def create(datasets: Datasets) -> None:
        datasets.create(AUDIT, COLUMNS)

    def has(self, operation_id: str) -> bool:
        newest = self._datasets.open_newest(AUDIT, None)
        found = newest.scan(["operation_id"], predicate=pc.field("operation_id") == operation_id)
        return bool(found.num_rows)

    def add(self, record: RecoveryRecord) -> None:
        row = {
            **{name: getattr(record, name) for name in COLUMNS.names},
            "action": record.action.value,
            "outcomes": json.dumps(dict(record.outcomes)),
        }
        self._datasets.append_inline(AUDIT, pa.Table.from_pylist([row], schema=COLUMNS))

    def records(self) -> list[RecoveryRecord]:
        """Oldest first."""
        rows = self._datasets.open_newest(AUDIT, None).scan(COLUMNS.names).to_pylist()
        return [
            RecoveryRecord(
                **{
                    **row,
                    "action": RecoveryAction(row["action"]),
                    "outcomes": json.loads(row["outcomes"]),
                }
            )
            for row in rows
        ]
