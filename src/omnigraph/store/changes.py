"""An edit in graph words: which rows a write puts and which it takes away, table by table.

An upsert replaces the whole row. Ids are unique within a table's changes, and no id is both put and
deleted: whoever makes a change set has already settled what the last word on a row is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.ids import TableKey

__all__ = ["ChangeSet", "TableChanges"]


@dataclass(frozen=True)
class TableChanges:
    upserts: pa.Table
    """Whole rows, in the order of `arrow.table_schema`."""
    deletes: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    """Ids. One that is not there is no error: it is gone already."""

    def __post_init__(self) -> None:
        ids = self.ids
        assert pc.count_distinct(ids, mode="all").as_py() == len(ids), "an id is changed twice"

    @property
    def ids(self) -> pa.Array:
        """Of all rows that it is about."""
        return pa.concat_arrays([*self.upserts["id"].chunks, self.deletes])

    @property
    def is_empty(self) -> bool:
        return self.upserts.num_rows == 0 and len(self.deletes) == 0


@dataclass(frozen=True)
class ChangeSet:
    tables: Mapping[TableKey, TableChanges]
    reads: frozenset[TableKey] | None = None
    """What the edit depends on beside the tables it changes; None: on every table."""
