"""The rows of a snapshot that one caller may see: the door for everything that answers a caller.

A scope says which. A row that does not meet the condition of its type is hidden: for the caller
the graph is the one from which it was removed. So an edge is hidden too when one of its ends is.
Queries read through `tables.tables_of(view, …)`, where hidden rows have no number; what reads rows
as a table (the `where` of a mutation, an export, a blob) asks the view itself. Types and properties
that are hidden are in no catalog that the view gives.

A view without a scope is the snapshot, and costs nothing. The snapshot stays with those who write
and check: a rule holds for all rows, visible or not.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.conditions import ALWAYS, Condition
from omnigraph.lang.schema.catalog import DST, ID, SRC, Catalog, EdgeType, EntityType, NodeType
from omnigraph.read.scope import Restriction, Scope
from omnigraph.read.values.conditions import columns_judged, meeting
from omnigraph.store.commits import Commit
from omnigraph.store.datasets import BlobCell, Dataset
from omnigraph.store.row_filters import RowFilter
from omnigraph.store.snapshot import Snapshot

__all__ = ["FoundBlob", "View"]


class FoundBlob(NamedTuple):
    dataset: Dataset
    cell: BlobCell


@frozen(eq=False)
class View:
    snapshot: Snapshot
    """With the catalog of the scope."""
    scope: Scope | None = None
    """None: everything is shown."""
    known: dict[TypeName, object] = field(default_factory=dict, repr=False)
    """Which rows of a type are shown, for `tables` to look up once."""

    @classmethod
    def of(cls, snapshot: Snapshot, scope: Scope | None) -> "View":
        """What the scope, of the snapshot's own schema, shows of a snapshot."""
        if scope is None or scope.hidden is None:
            return cls(snapshot, scope)
        return cls(snapshot.showing(scope.catalog, scope.hidden), scope)

    @classmethod
    def where(cls, snapshot: Snapshot, rows: Mapping[TypeName, Condition]) -> "View":
        """The rows that meet these conditions, and all rows of other types."""
        return cls.of(snapshot, Scope.of(snapshot.catalog, rows))

    @property
    def catalog(self) -> Catalog:
        return self.snapshot.catalog

    @property
    def commit(self) -> Commit:
        return self.snapshot.commit

    @property
    def hides_rows(self) -> bool:
        """True if some rows of some types may be hidden."""
        return self.scope is not None and bool(self.scope.conditions)

    @property
    def identity(self) -> Hashable:
        """Equal for views that show the same of a snapshot; None: the view shows all."""
        return None if self.scope is None else self.scope.identity

    def restriction(self, entity: EntityType) -> Restriction | None:
        """None: all rows of the type are shown."""
        return None if self.scope is None else self.scope.restrictions.get(entity.name)

    def is_partial(self, entity: EntityType) -> bool:
        """True if rows or properties of the type may be hidden."""
        if self.scope is None:
            return False
        return entity.name in self.scope.restrictions or entity.name in self.scope.lacking

    # Rows as tables ------------------------------------------------------------------------------

    def columns_to_judge(self, entity: EntityType) -> list[str]:
        """The columns of a row that tell whether it is shown, none where all rows are."""
        restriction = self.restriction(entity)
        if restriction is None:
            return []
        ends = [SRC, DST] if isinstance(entity, EdgeType) else []
        return list(dict.fromkeys([*columns_judged(restriction.own), *ends]))

    def shown(self, entity: EntityType, rows: pa.Table) -> pa.Table:
        """Of these committed rows the visible ones; `columns_to_judge` are among their columns."""
        restriction = self.restriction(entity)
        if restriction is None:
            return rows
        rows = meeting(restriction.own, rows)
        for node, end, condition in self.judged_ends(entity):
            if rows.num_rows:
                seen = self._seen(node, condition, among=pc.unique(rows[end]))
                rows = rows.filter(pc.is_in(rows[end], value_set=seen))
        return rows

    def rows_of(self, entity: EntityType, ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """As `Dataset.rows_of`, of visible rows."""
        needed = self._with_judged(entity, columns)
        return self.shown(entity, self.snapshot.dataset(entity).rows_of(ids, needed))

    def rows_among(
        self, entity: EntityType, column: str, values: pa.Array, columns: Sequence[str]
    ) -> pa.Table:
        """As `Dataset.rows_among`, of visible rows."""
        needed = self._with_judged(entity, columns)
        return self.shown(entity, self.snapshot.dataset(entity).rows_among(column, values, needed))

    def scan(
        self, entity: EntityType, columns: Sequence[str], predicate: RowFilter | None
    ) -> pa.Table:
        """The visible rows that satisfy the predicate, with their row ids and addresses."""
        found = self.snapshot.dataset(entity).scan(
            [ID, *self._with_judged(entity, columns)],
            predicate=predicate,
            with_row_id=True,
            with_row_address=True,
        )
        return self.shown(entity, found)

    def batches(
        self, entity: EntityType, columns: Sequence[str], *, limit_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """These columns of the visible rows, about so many bytes at a time."""
        restriction = self.restriction(entity)
        # What tells whether a row is shown may itself be hidden.
        needed = list(dict.fromkeys([*columns, *self.columns_to_judge(entity)]))
        batches = self.snapshot.dataset(entity).bounded_batches(needed, limit_bytes=limit_bytes)
        if restriction is None:
            return batches
        return (
            batch.select(list(columns))
            for batch in self._shown_of_all(entity, restriction, batches)
        )

    def blob(self, entity: EntityType, column: str, id_: str) -> FoundBlob | None:
        """Where the blob of a visible row lies; None: there is no such row."""
        dataset = self.snapshot.dataset(entity)
        if self.restriction(entity) is not None:
            found = self.rows_of(entity, pa.array([id_], pa.string()), [])
            if not found.num_rows:
                return None
        cell = dataset.blob_cell(column, id_)
        return None if cell is None else FoundBlob(dataset, cell)

    def _with_judged(self, entity: EntityType, columns: Sequence[str]) -> list[str]:
        """The columns and those that tell whether a row is shown, without the id."""
        wanted = dict.fromkeys([*columns, *self.columns_to_judge(entity)])
        return [column for column in wanted if column != ID]

    def _shown_of_all(
        self,
        entity: EntityType,
        restriction: Restriction,
        batches: Iterator[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        # Asked for once, and not for the ends of each batch.
        ends = [
            (end, self._seen(node, condition)) for node, end, condition in self.judged_ends(entity)
        ]
        for batch in batches:
            rows = meeting(restriction.own, pa.Table.from_batches([batch]))
            for end, seen in ends:
                rows = rows.filter(pc.is_in(rows[end], value_set=seen))
            yield from rows.to_batches()

    def judged_ends(self, entity: EntityType) -> Iterator[tuple[NodeType, str, Condition]]:
        """The ends of an edge type whose nodes have a condition."""
        restriction = self.restriction(entity)
        if restriction is None or not isinstance(entity, EdgeType):
            return
        by_name = self.catalog.node_by_name
        if restriction.source != ALWAYS:
            yield by_name[entity.source], SRC, restriction.source
        if restriction.target != ALWAYS:
            yield by_name[entity.target], DST, restriction.target

    def _seen(
        self, node: NodeType, condition: Condition, among: pa.Array | None = None
    ) -> pa.Array:
        """The ids of visible nodes, of all or among these."""
        dataset, columns = self.snapshot.dataset(node), columns_judged(condition)
        rows = dataset.scan(columns) if among is None else dataset.rows_of(among, columns[1:])
        return meeting(condition, rows)[ID].combine_chunks()
