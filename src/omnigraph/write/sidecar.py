"""The durable note written before any dataset moves.

It is a redo record: with it, and without its writer, recovery can land what has not landed and
publish the very commit that was meant. It is JSON, never a pickle: reading a pickle runs code.
"""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import RecoveryRequired
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName, CommitId, TableKey
from omnigraph.store.branches import Branch
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.layout import RECOVERY
from omnigraph.store.manifest import CommitRow
from omnigraph.store.transactions import DatasetRef, StagedTransaction

__all__ = [
    "Sidecar",
    "SidecarTable",
    "branches_to_recover",
    "drop_orphans",
    "has_sidecars",
    "put_sidecar",
    "sidecar_name",
    "sidecars",
]

FORMAT = 2
# Before, a table had one transaction.
FORMAT_OF_ONE = 1


@frozen
class SidecarTable:
    key: TableKey
    """As the manifest names it before the write: one that is undone leaves it so."""
    pinned: DatasetRef
    transactions: tuple[StagedTransaction, ...]
    """Each starts where the one before it ends."""

    @property
    def base(self) -> DatasetRef:
        """What the first transaction was made from."""
        return self.transactions[0].base

    @property
    def is_new_fork(self) -> bool:
        """Whether the table moves on a fork that no manifest names yet."""
        return self.pinned.branch != self.base.branch


@frozen
class Sidecar:
    name: str
    operation_id: str
    fencing: int
    """The number of its writer's fence."""
    commit: Commit
    tables: tuple[SidecarTable, ...]
    merged: tuple[CommitRow, ...]
    """The commits that come with a merge. Their branch may be gone when they are published."""


def sidecar_name(branch: Branch, operation_id: str) -> str:
    return f"{RECOVERY}/{quote(branch.incarnation, safe='')}.{operation_id}.json"


def put_sidecar(store: GraphStore, sidecar: Sidecar) -> None:
    store.objects.put(sidecar.name, json.dumps(_to_json(sidecar)).encode())


def sidecars(store: GraphStore, fenced: FencedBranch) -> list[Sidecar]:
    """The unfinished writes of a branch, oldest first. Under its fence none has a living owner."""
    read = ((name, store.objects.get(name)) for name in _names_of(store, fenced.branch))
    found = [_from_bytes(name, data) for name, data in read if data is not None]
    for sidecar in found:
        _require_of(fenced.branch, sidecar)
    return found


def has_sidecars(store: GraphStore, branch: Branch) -> bool:
    """Whether there is a note of the branch, of a dead writer or of one at work."""
    return bool(_names_of(store, branch))


def branches_to_recover(store: GraphStore) -> list[BranchName]:
    """The branches with a note. Asks for the branches only if there is any note at all."""
    if not (noted := {_incarnation(name) for name in store.objects.list(RECOVERY)}):
        return []
    return [branch.name for branch in store.branches.list() if branch.incarnation in noted]


def drop_orphans(store: GraphStore) -> None:
    """Remove the notes of branches that were deleted: nobody can see what they speak of."""
    # Asked for before the branches: a note is never there before its branch is.
    notes = {name: _incarnation(name) for name in store.objects.list(RECOVERY)}
    if set(notes.values()) <= {None, MAIN}:
        return
    living = {None, *(branch.incarnation for branch in store.branches.list())}
    for name, incarnation in notes.items():
        if incarnation not in living:
            store.objects.delete(name)


def _names_of(store: GraphStore, branch: Branch) -> list[str]:
    return [n for n in store.objects.list(RECOVERY) if _incarnation(n) == branch.incarnation]


def _incarnation(name: str) -> str | None:
    """Whose a note is by its name; None if it is not called as a note is.

    The operation is taken off the end, and what is left is compared whole. The names of branches
    may have dots, so that of one may begin as that of another does, or as `main.`.
    """
    file = PurePosixPath(name)
    incarnation, _, operation = file.stem.rpartition(".")
    return unquote(incarnation) if file.suffix == ".json" and is_ulid(operation) else None


def _require_of(branch: Branch, sidecar: Sidecar) -> None:
    """Refuse a note of another branch's write: recovery would move that branch's tables."""
    foreign = [t.key for t in sidecar.tables if not branch.owns(t.base)]
    if sidecar.commit.branch != branch.name or foreign:
        reason = f"it is of a write to the branch {sidecar.commit.branch}, not to {branch.name}"
        raise RecoveryRequired(sidecar=sidecar.name, reason=reason)


def _to_json(sidecar: Sidecar) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "operation_id": sidecar.operation_id,
        "fencing": sidecar.fencing,
        "commit": sidecar.commit.to_json(),
        "tables": [
            {
                "key": table.key,
                "pinned": {
                    "path": table.pinned.path,
                    "branch": table.pinned.branch,
                    "version": table.pinned.version,
                },
                "transactions": [staged.to_json() for staged in table.transactions],
            }
            for table in sidecar.tables
        ],
        "merged": [
            {"id": row.id, "seq": row.seq, "parents": row.parents, "metadata": row.metadata}
            for row in sidecar.merged
        ],
    }


def _from_bytes(name: str, data: bytes) -> Sidecar:
    try:
        value = json.loads(data)
        if value["format"] not in (FORMAT, FORMAT_OF_ONE):
            raise ValueError(f"it has format {value['format']}")
        return Sidecar(
            name=name,
            operation_id=value["operation_id"],
            fencing=value["fencing"],
            commit=Commit.from_json(value["commit"]),
            tables=tuple(_table_from_json(table) for table in value["tables"]),
            # Notes from before the commits of merged branches were kept have none.
            merged=tuple(_commit_row_from_json(row) for row in value.get("merged", ())),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise RecoveryRequired(sidecar=name, reason=f"its note can't be read: {error}") from error


def _commit_row_from_json(value: Mapping[str, Any]) -> CommitRow:
    parents = tuple(CommitId(parent) for parent in value["parents"])
    return CommitRow(CommitId(value["id"]), value["seq"], parents, value["metadata"])


def _table_from_json(value: Mapping[str, Any]) -> SidecarTable:
    # `FORMAT_OF_ONE` has one of them, by itself.
    staged = value["transactions"] if "transactions" in value else [value["transaction"]]
    return SidecarTable(
        key=TableKey(value["key"]),
        pinned=DatasetRef(**value["pinned"]),
        transactions=tuple(map(StagedTransaction.from_json, staged)),
    )
