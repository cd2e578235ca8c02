"""What a commit is: `history` tells who descends from whom.

A commit names the versions of the tables it changed, so any past state can be rebuilt from commits
alone, without old versions of the manifest. Order in history is `seq`, never the id: ids sort by
the clock of the machine that made them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from functools import cache
from typing import Any

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.manifest import CommitRow, TableEntry
from omnigraph.store.transactions import DatasetRef

__all__ = [
    "DROPS",
    "LOAD_ID",
    "LOAD_REPORT",
    "MERGED_LOAD_IDS",
    "REQUEST",
    "REVERTED",
    "ROWS_OF",
    "Commit",
    "CommitKind",
    "TableChange",
    "standing",
    "undone_by_reverts",
]


LOAD_ID = "load_id"
LOAD_REPORT = "load_report"
MERGED_LOAD_IDS = "merged_load_ids"
ROWS_OF = "rows_of"
REQUEST = "request"
REVERTED = "reverted"
DROPS = "drops"


class CommitKind(Enum):
    INIT = "init"
    MUTATION = "mutation"
    LOAD = "load"
    EMBED = "embed"
    """Vectors made of the texts that they stand for."""
    MERGE = "merge"
    REVERT = "revert"
    """The inverse of an earlier commit."""
    OPTIMIZE = "optimize"
    """A compaction: the same rows in fewer files."""
    INDEX = "index"
    """Indexes that answer for more rows than before."""
    SCHEMA = "schema"
    """Another schema: tables of types that come or go, and rows that follow from it."""
    RECOVERY = "recovery"
    """A roll-back of what a crash left half done: tables moved, their contents did not."""

    @property
    def keeps_rows(self) -> bool:
        """True if a reader finds the same rows at such a commit as at its parent."""
        return self in (CommitKind.OPTIMIZE, CommitKind.INDEX, CommitKind.RECOVERY)


@frozen
class TableChange:
    """What a commit did to one table: the version it pins now, and how many rows changed."""

    key: TableKey
    ref: DatasetRef
    row_count: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@frozen(slots=False)
class Commit:
    id: CommitId
    parent: CommitId | None
    """None only for the first commit of a graph."""
    branch: BranchName
    seq: int
    kind: CommitKind
    created_at_ms: int
    """When it was published; along a line it never steps back, whatever clocks do."""
    schema_hash: str
    changes: tuple[TableChange, ...]
    dropped: tuple[TableKey, ...] = ()
    """Tables that it no longer has, though its parent has them."""
    actor: str | None = None
    message: str | None = None
    merged_parent: CommitId | None = None
    manifest_version: int = 0
    """The version of the branch's manifest that made it visible; known once it is published."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """What the writer wants to find again: `LOAD_ID`, `LOAD_REPORT`, `REQUEST` of a mutation,
    `to_version` of a roll-back, `DROPS` of a schema; of a merge `MERGED_LOAD_IDS` and, if it shows
    the very rows of the merged commit, `ROWS_OF`: the commit that first showed them."""

    @property
    def load_id(self) -> str | None:
        """The name that its caller gave a load, so that it is not done twice."""
        return self.extra.get(LOAD_ID)

    @property
    def load_report(self) -> Mapping[str, Any] | None:
        """Of a load: its mode, and what became of its rows; None: it is not known."""
        found: dict[str, Any] | None = json.loads(self.extra.get(LOAD_REPORT, "null"))
        return found

    @property
    def load_ids(self) -> frozenset[str]:
        """The names of all loads that came with this commit: its own, or those that it merged."""
        merged = json.loads(self.extra.get(MERGED_LOAD_IDS, "[]"))
        return frozenset([*merged, self.load_id] if self.load_id is not None else merged)

    @property
    def drops(self) -> Mapping[str, str]:
        """What a schema dropped, `Person` or `Person.age`, and how: soft or hard."""
        found: dict[str, str] = json.loads(self.extra.get(DROPS, "{}"))
        return found

    @property
    def is_merge(self) -> bool:
        return self.merged_parent is not None

    @property
    def parents(self) -> tuple[CommitId, ...]:
        return tuple(p for p in (self.parent, self.merged_parent) if p is not None)

    @property
    def same_rows_as(self) -> CommitId | None:
        """A commit at which a reader finds the same rows; None: it has rows of its own.

        A merge shows the rows of the merged commit where the target had nothing of its own.
        """
        if self.kind.keeps_rows:
            return self.parent
        first = self.extra.get(ROWS_OF)
        return CommitId(first) if first is not None else None

    @property
    def entries(self) -> Mapping[TableKey, TableEntry]:
        """The tables it changed, as the manifest pins them."""
        return {c.key: TableEntry(c.ref, c.row_count, self.seq) for c in self.changes}

    def published(self, manifest_version: int, *, at_ms: int) -> "Commit":
        return replace(self, manifest_version=manifest_version, created_at_ms=at_ms)

    def to_row(self) -> CommitRow:
        return CommitRow(self.id, self.seq, self.parents, json.dumps(self.to_json()))

    @classmethod
    def from_row(cls, row: CommitRow) -> "Commit":
        try:
            commit = cls.from_json(json.loads(row.metadata))
        except (ValueError, KeyError, TypeError) as error:
            reason = f"the manifest's row of it can't be read: {error}"
            raise StorageFailed(doing="read commit", path=row.id, reason=reason) from error
        assert (commit.id, commit.seq) == (row.id, row.seq), "the row and its metadata agree"
        return commit

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "parent": self.parent,
            "merged_parent": self.merged_parent,
            "branch": self.branch,
            "seq": self.seq,
            "kind": self.kind.value,
            "created_at_ms": self.created_at_ms,
            "schema_hash": self.schema_hash,
            "actor": self.actor,
            "message": self.message,
            "manifest_version": self.manifest_version,
            "extra": dict(self.extra),
            "changes": [_change_to_json(change) for change in self.changes],
            "dropped": list(self.dropped),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Commit":
        return cls(
            **{
                **value,
                "kind": CommitKind(value["kind"]),
                "changes": tuple(_change_from_json(change) for change in value["changes"]),
                # Commits from before types could be dropped don't say.
                "dropped": tuple(TableKey(key) for key in value.get("dropped", ())),
            }
        )


def standing(commits: Iterable[Commit]) -> Iterator[Commit]:
    """Those of the commits that no later one has reverted. They come newest first."""
    undone: set[str] = set()
    for commit in commits:
        if commit.id in undone:
            continue
        if (reverted := commit.extra.get(REVERTED)) is not None:
            undone.add(reverted)
        yield commit


def undone_by_reverts(commits: Iterable[Commit]) -> frozenset[CommitId]:
    """Those of the commits that another of them has reverted, unless that was reverted too.

    They come in any order: a revert in one branch and what it reverts may meet in a merge.
    """
    reverts: dict[str, list[CommitId]] = defaultdict(list)
    for commit in commits:
        if (reverted := commit.extra.get(REVERTED)) is not None:
            reverts[reverted].append(commit.id)

    @cache
    def is_undone(id_: str) -> bool:
        return not all(map(is_undone, reverts.get(id_, ())))

    return frozenset(CommitId(id_) for id_ in reverts if is_undone(id_))


def _change_to_json(change: TableChange) -> dict[str, Any]:
    return {
        "key": change.key,
        "location": change.ref.path,
        "branch": change.ref.branch,
        "version": change.ref.version,
        "row_count": change.row_count,
        "inserted": change.inserted,
        "updated": change.updated,
        "deleted": change.deleted,
    }


def _change_from_json(value: Mapping[str, Any]) -> TableChange:
    return TableChange(
        key=TableKey(value["key"]),
        ref=DatasetRef(value["location"], value["branch"], value["version"]),
        row_count=value["row_count"],
        inserted=value["inserted"],
        updated=value["updated"],
        deleted=value["deleted"],
    )
