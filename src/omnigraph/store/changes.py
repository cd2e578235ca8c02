"""Rows that differ, table by table, as two values: edits to make, and changes between moments.

`Edits` say which rows a write puts and which it takes away. `Changes` say of every row that differs
between two snapshots what it was and what it is; they know the edits that lead from the first
snapshot to the second.

An upsert replaces the whole row. Ids are unique within a table, and no id is both put and deleted:
edits hold only the last word on each row.
"""

from collections.abc import Mapping
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey

__all__ = ["DELETE", "INSERT", "UPDATE", "Changes", "Edits", "RowChanges", "RowEdits"]

INSERT, UPDATE, DELETE = "insert", "update", "delete"


@frozen(slots=False)
class RowEdits:
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


@frozen(slots=False)
class Edits:
    tables: Mapping[TableKey, RowEdits]
    reads: frozenset[TableKey] | None = None
    """The tables that the edits depend on beside those they change; None: on every table."""


@frozen(slots=False, eq=False)
class RowChanges:
    """How the rows of one table differ between two moments: four columns, by id in order."""

    id: pa.Array
    op: pa.Array
    """`INSERT`, `UPDATE` or `DELETE`."""
    before: pa.Array
    """The whole row as it was, a struct; null for an insert."""
    after: pa.Array
    """The whole row as it is, a struct; null for a delete."""

    def __post_init__(self) -> None:
        assert pc.count_distinct(self.id, mode="all").as_py() == len(self.id), "an id comes twice"
        assert pc.is_null(self.before).equals(pc.equal(self.op, INSERT)), "only an insert is new"
        assert pc.is_null(self.after).equals(pc.equal(self.op, DELETE)), "only a delete is gone"

    def __len__(self) -> int:
        return len(self.id)

    @property
    def edits(self) -> RowEdits:
        """The rows to put and the ids to delete that turn the first moment into the second."""
        return RowEdits(
            upserts=pa.Table.from_struct_array(self.after.drop_null()),
            deletes=self.id.filter(pc.equal(self.op, DELETE)),
        )


@frozen(slots=False)
class Changes:
    """How the rows of all tables differ between two moments."""

    tables: Mapping[TableKey, RowChanges]
    """Only tables with rows that differ."""

    @property
    def edits(self) -> Edits:
        """The edits that turn the first moment into the second. They depend on every table."""
        return Edits({key: changes.edits for key, changes in self.tables.items()})
