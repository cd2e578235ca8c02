"""The rows of a snapshot that one caller may see: the door for everything that answers a caller.

Some types have a condition. A row that does not meet the condition of its type is hidden: for the
caller the graph is the one from which it was removed. So an edge is hidden too when one of its ends
is. Queries read through `tables.tables_of(view, …)`, where hidden rows have no number; what reads
rows as a table (the `where` of a mutation, an export, a blob) asks the view itself.

A view without conditions is the snapshot, and costs nothing. The snapshot stays with those who
write and check: a rule holds for all rows, visible or not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.ir import (
    Compare,
    IdentityOf,
    Literal,
    Membership,
    NullTest,
    Predicate,
    PropertyOf,
    TextMatch,
)
from omnigraph.lang.schema.catalog import DST, ID, SRC, Catalog, EdgeType, EntityType, NodeType
from omnigraph.read.values.rows import columns_in, matching
from omnigraph.store.commits import Commit
from omnigraph.store.datasets import BlobCell, Dataset
from omnigraph.store.snapshot import Snapshot

__all__ = ["Condition", "FoundBlob", "Restriction", "View"]

Condition = tuple[Predicate, ...]
"""All of them must hold. Each compares properties or the id with literals."""

NO_CONDITIONS: Mapping[TypeName, Condition] = MappingProxyType({})


class Restriction(NamedTuple):
    """The conditions that decide which rows of one type are shown: part of a cache's key."""

    own: Condition
    source: Condition = ()
    """Of an edge type: the condition of the type its edges begin at."""
    target: Condition = ()


class FoundBlob(NamedTuple):
    dataset: Dataset
    cell: BlobCell


@dataclass(frozen=True, slots=True, eq=False)
class View:
    snapshot: Snapshot
    visible: Mapping[TypeName, Condition] = field(default_factory=lambda: NO_CONDITIONS)
    """The condition of each type that has one; of every other type all rows are shown."""

    def __post_init__(self) -> None:
        for condition in self.visible.values():
            for predicate in condition:
                # Anything else would make two views with equal conditions show different rows.
                assert _is_constant(predicate), "a condition compares properties with literals"

    @property
    def catalog(self) -> Catalog:
        return self.snapshot.catalog

    @property
    def commit(self) -> Commit:
        return self.snapshot.commit

    @property
    def identity(self) -> frozenset[tuple[TypeName, Condition]] | None:
        """Equal for views that show the same rows of a snapshot; None: the view shows all."""
        return frozenset(self.visible.items()) if self.visible else None

    def restriction(self, entity: EntityType) -> Restriction | None:
        """None: all rows of the type are shown."""
        if not self.visible:
            return None
        conditions = self.visible
        found = Restriction(conditions.get(entity.name, ()))
        if isinstance(entity, EdgeType):
            ends = conditions.get(entity.source, ()), conditions.get(entity.target, ())
            found = Restriction(found.own, *ends)
        return found if any(found) else None

    # Rows as tables ------------------------------------------------------------------------------

    def columns_to_judge(self, entity: EntityType) -> list[str]:
        """The columns of a row that tell whether it is shown, none where all rows are."""
        restriction = self.restriction(entity)
        if restriction is None:
            return []
        ends = [SRC, DST] if isinstance(entity, EdgeType) else []
        return list(dict.fromkeys([*columns_in(restriction.own, entity), *ends]))

    def shown(self, entity: EntityType, rows: pa.Table) -> pa.Table:
        """Of these committed rows the visible ones; `columns_to_judge` are among their columns."""
        restriction = self.restriction(entity)
        if restriction is None:
            return rows
        rows = _meeting(restriction.own, entity, rows)
        for node, end, condition in self._judged_ends(entity, restriction):
            if rows.num_rows:
                seen = self._seen(node, condition, among=pc.unique(rows[end]))
                rows = rows.filter(pc.is_in(rows[end], value_set=seen))
        return rows

    def rows_of(self, entity: EntityType, ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """As `Dataset.rows_of`, of visible rows."""
        needed = self._with_judged(entity, columns)
        return self.shown(entity, self.snapshot.dataset(entity).rows_of(ids, needed))

    def scan(
        self, entity: EntityType, columns: Sequence[str], predicate: pc.Expression | None
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
        """All columns of the visible rows, about so many bytes at a time."""
        batches = self.snapshot.dataset(entity).bounded_batches(columns, limit_bytes=limit_bytes)
        restriction = self.restriction(entity)
        return batches if restriction is None else self._shown_of_all(entity, restriction, batches)

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
            (end, self._seen(node, condition))
            for node, end, condition in self._judged_ends(entity, restriction)
        ]
        for batch in batches:
            rows = _meeting(restriction.own, entity, pa.Table.from_batches([batch]))
            for end, seen in ends:
                rows = rows.filter(pc.is_in(rows[end], value_set=seen))
            yield from rows.to_batches()

    def _judged_ends(
        self, entity: EntityType, restriction: Restriction
    ) -> Iterator[tuple[NodeType, str, Condition]]:
        """The ends of an edge type whose nodes have a condition."""
        if not isinstance(entity, EdgeType):
            return
        by_name = self.catalog.node_by_name
        if restriction.source:
            yield by_name[entity.source], SRC, restriction.source
        if restriction.target:
            yield by_name[entity.target], DST, restriction.target

    def _seen(
        self, node: NodeType, condition: Condition, among: pa.Array | None = None
    ) -> pa.Array:
        """The ids of visible nodes, of all or among these."""
        dataset, columns = self.snapshot.dataset(node), columns_in(condition, node)
        rows = dataset.scan(columns) if among is None else dataset.rows_of(among, columns[1:])
        return _meeting(condition, node, rows)[ID].combine_chunks()


def _meeting(condition: Condition, entity: EntityType, rows: pa.Table) -> pa.Table:
    return matching(rows, condition, entity, parameters={}, now_ms=0) if condition else rows


def _is_constant(predicate: Predicate) -> bool:
    """True if the predicate always says the same of the same row."""
    fixed = Literal | PropertyOf | IdentityOf
    match predicate:
        case Compare(left=left, right=right):
            return isinstance(left, fixed) and isinstance(right, fixed)
        case Membership(left=left, options=options):
            return isinstance(left, fixed) and isinstance(options, Literal)
        case NullTest(operand=operand):
            return isinstance(operand, fixed)
        case TextMatch():
            return False
