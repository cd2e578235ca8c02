"""What commands print that look after a graph."""

from typing import TypedDict

from omnigraph.base.choices import EntityKind
from omnigraph.surfaces.shapes.said import Commit

__all__ = [
    "Cleanup",
    "Index",
    "Indexes",
    "Optimized",
    "Repair",
    "RepairFinding",
    "Snapshot",
    "Statistics",
    "TableCleanup",
    "TableOfSnapshot",
    "TableStatistics",
]


class TableOfSnapshot(TypedDict):
    """The rows of one type."""

    entity_kind: EntityKind
    type_name: str
    entity_count: int
    dataset_path: str
    native_dataset_branch: str | None
    published_dataset_version: int


class Snapshot(TypedDict):
    """The version of every table that a commit pins."""

    graph_commit_id: str
    graph_branch: str
    graph_manifest_version: int
    internal_schema_version: int
    datasets: list[TableOfSnapshot]


class Optimized(TypedDict):
    """Tables that were compacted, and tables whose indexes were brought up to date."""

    branch: str
    compacted: list[str]
    indexed: list[str]
    commit: Commit | None
    history_files: int


class TableCleanup(TypedDict):
    """What went of a table, what stays, and what a later cleanup may remove."""

    versions: int
    files: int
    bytes: int
    kept_versions: int
    kept_files: int
    kept_bytes: int
    waiting_files: int
    waiting_bytes: int


class Cleanup(TypedDict):
    """What a cleanup removed; of a dry run, what it would have removed."""

    dry_run: bool
    commits: list[str]
    versions: int
    files: int
    bytes: int
    waiting_files: int
    kept: dict[str, int]
    tables: dict[str, TableCleanup]
    loads: list[str]


class RepairFinding(TypedDict):
    """Where files and commits disagree."""

    kind: str
    where: str
    explanation: str
    is_verified: bool
    is_repaired: bool


class Repair(TypedDict):
    """What is wrong with a graph's files, and the commits that repaired it."""

    findings: list[RepairFinding]
    commits: list[Commit]


class TableStatistics(TypedDict):
    """The size of a table, and for how many rows the index of each column answers."""

    row_count: int
    fragments: int
    deleted_rows: int
    bytes: int
    indexed_rows: dict[str, int]


class Statistics(TypedDict):
    """The size of every table."""

    graph_commit_id: str
    tables: dict[str, TableStatistics]


class Index(TypedDict):
    """An index that is built or declared."""

    table: str
    column: str
    kind: str
    declared: bool
    built: bool
    rows: int
    rows_indexed: int
    pending: str | None
    coverage: float


class Indexes(TypedDict):
    """All indexes."""

    indexes: list[Index]
