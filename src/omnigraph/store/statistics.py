"""What storage knows about a snapshot without reading a row: sizes, and what indexes answer for.

A plain value: the planner takes it as it is and opens nothing.
"""

from collections.abc import Mapping

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId, TableKey
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.store.datasets import index_steps
from omnigraph.store.indexes import IndexStep, WantedIndex, stored_as, wanted_indexes
from omnigraph.store.snapshot import Snapshot

__all__ = ["IndexState", "Statistics", "TableStatistics", "gather", "index_states"]


@frozen
class TableStatistics:
    """The size of one table, and how much of it indexes cover."""

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


@frozen
class Statistics:
    """The size of every table of a commit."""

    commit: CommitId
    tables: Mapping[TableKey, TableStatistics]


@frozen
class IndexState:
    """An index that is stored or wanted."""

    index: WantedIndex
    is_wanted: bool
    is_built: bool
    rows: int
    """How many rows it answers for."""
    step: IndexStep | None
    """What is to be done about it; None: nothing."""


def index_states(snapshot: Snapshot, entity: EntityType) -> list[IndexState]:
    """The indexes of a table, sorted by columns and kinds."""
    dataset, wanted = snapshot.dataset(entity), wanted_indexes(entity)
    stored = dataset.indexes
    steps = {step.index: step for step in index_steps(dataset, wanted)}
    known = {index: stored_as(index, stored) for index in wanted}
    known |= {WantedIndex(i.column, i.kind): i for i in stored.values()}
    return [
        IndexState(
            index,
            is_wanted=index in wanted,
            is_built=found is not None,
            rows=found.rows if found is not None else 0,
            step=steps.get(index),
        )
        for index, found in sorted(known.items(), key=lambda each: (each[0].column, each[0].kind))
    ]


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
