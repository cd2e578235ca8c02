"""What became of a graph as a whole: reports that a person reads and a program counts."""

from collections.abc import Mapping
from typing import Literal

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.base.words import amount
from omnigraph.engine.results import CommitInfo

__all__ = ["CleanupResult", "Finding", "RepairResult", "TableCleanup"]


@frozen
class TableCleanup:
    """What went of a table's files, and what stays."""

    versions: int = 0
    files: int = 0
    """All files that went, those of versions included."""
    bytes: int = 0
    kept_versions: int = 0
    kept_files: int = 0
    kept_bytes: int = 0
    waiting_files: int = 0
    """Files that no commit names, and that are too young to be sure that none will."""
    waiting_bytes: int = 0


@frozen(repr=False)
class CleanupResult:
    """What a cleanup removed; of a dry run, what it would have removed."""

    dry_run: bool
    commits: tuple[CommitId, ...]
    """The commits that can't be read any more."""
    kept: Mapping[str, int]
    """Commits that were kept, by the reason: `newest`, `recent`, `merge_base`, `in_use`."""
    tables: Mapping[str, TableCleanup]
    """By table (`node:Person`); `__manifest` and other parts of the graph by their places."""
    loads: tuple[str, ...]
    """Loads that are under way or can be resumed: their files stay."""

    @property
    def versions(self) -> int:
        """How many versions of tables go."""
        return sum(table.versions for table in self.tables.values())

    @property
    def files(self) -> int:
        """How many files go."""
        return sum(table.files for table in self.tables.values())

    @property
    def bytes(self) -> int:
        """How many bytes that frees."""
        return sum(table.bytes for table in self.tables.values())

    @property
    def waiting_files(self) -> int:
        """Files that nobody needs and that are too young to go."""
        return sum(table.waiting_files for table in self.tables.values())

    def __repr__(self) -> str:
        doing = "would remove" if self.dry_run else "removed"
        return (
            f"<CleanupResult: {doing} {amount(self.files, 'file')}, {self.bytes:,} bytes,"
            f" {amount(len(self.commits), 'commit')}>"
        )


@frozen
class Finding:
    """Something that storage has and the manifest does not, or the other way round."""

    kind: Literal["drift", "leftover_fork", "unnamed_table", "missing_file", "torn_file"]
    where: str
    explanation: str
    is_verified: bool = False
    """Of a table that has moved: True if its rows are those of the newest commit."""
    is_repaired: bool = False


@frozen
class RepairResult:
    """What is wrong with a graph's files, and the commits that repaired it."""

    findings: tuple[Finding, ...]
    commits: tuple[CommitInfo, ...]
