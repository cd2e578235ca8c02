"""What storage knows about a snapshot without reading a row: sizes, and what indexes answer for.

A plain value: the planner takes it as it is and opens nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.base.ids import CommitId, TableKey
from omnigraph.store.snapshot import Snapshot

__all__ = ["Statistics", "TableStatistics", "gather"]


@dataclass(frozen=True, slots=True)
class TableStatistics:
    row_count: int
    fragments: int
    """A scan opens them all; a write adds one."""
    deleted_rows: int
    """Rows that are gone and still take room, until a compaction."""
    bytes: int
    indexed_rows: Mapping[str, int]
    """For each column with an index, the rows it answers for; a look-up scans the others."""

    def coverage(self, column: str) -> float:
        """The share of the rows that an index over the column answers for."""
        return self.indexed_rows.get(column, 0) / self.row_count if self.row_count else 1.0


@dataclass(frozen=True, slots=True)
class Statistics:
    commit: CommitId
    tables: Mapping[TableKey, TableStatistics]


def gather(snapshot: Snapshot) -> Statistics:
    tables = {}
    for entity in snapshot.catalog.entities:
        dataset = snapshot.dataset(entity)
        files = dataset.files
        tables[entity.table_key] = TableStatistics(
            row_count=snapshot.tables[entity.table_key].row_count,
            fragments=files.fragments,
            deleted_rows=files.deleted_rows,
            bytes=files.bytes,
            indexed_rows=dataset.indexed_rows,
        )
    return Statistics(snapshot.commit.id, tables)
