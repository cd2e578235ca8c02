"""Which stored rows a view shows: a mask per table, judged all at once and kept by its conditions.

A key holds the versions of the tables and the conditions on each, so views with the same conditions
share an entry and no view sees another's. The columns that a condition looks at are read whole.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.lang.plan.conditions import ALWAYS, NEVER
from omnigraph.lang.schema.catalog import EdgeType, EntityType, NodeType
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.scope import Restriction
from omnigraph.read.space import NULL
from omnigraph.read.tables.adjacencies import StoredAdjacencies
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.columns import StoredColumns
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.compare import Mask
from omnigraph.read.values.conditions import columns_judged, meets
from omnigraph.read.view import View
from omnigraph.store.datasets import DatasetRef

__all__ = ["Visibility", "VisibleKey", "VisibleRows"]


@frozen
class VisibleRows:
    """The rows of a table that a view shows."""

    padded: Ordinals
    """The stored row of each visible one, ascending; and NULL, which as an index is the last."""
    numbers: Ordinals
    """The visible row of each stored one, NULL where it is hidden; one more, of no row."""

    @classmethod
    def of(cls, is_visible: Mask) -> "VisibleRows":
        stored = np.flatnonzero(is_visible)
        # NULL as an index is the last position: no row stays no row.
        numbers = np.full(len(is_visible) + 1, NULL, dtype=np.int64)
        numbers[stored] = np.arange(len(stored))
        return cls(np.append(stored, NULL), numbers)

    @property
    def stored(self) -> Ordinals:
        return self.padded[:-1]

    @property
    def count(self) -> int:
        return len(self.padded) - 1

    @property
    def hides_none(self) -> bool:
        return len(self.padded) == len(self.numbers)

    @property
    def nbytes(self) -> int:
        return self.padded.nbytes + self.numbers.nbytes


class VisibleKey(NamedTuple):
    """The versions of tables that an entry was made from, and the conditions on each."""

    kind: str
    tables: tuple[tuple[DatasetRef, Restriction | None], ...]
    detail: Hashable = None

    @property
    def family(self) -> Hashable:
        """The same of other versions."""
        tables = tuple((ref.path, restriction) for ref, restriction in self.tables)
        return self.kind, tables, self.detail


class Visibility:
    def __init__(
        self,
        view: View,
        cache: RuntimeCache,
        columns: StoredColumns,
        adjacencies: StoredAdjacencies,
        pace: Pace = UNHURRIED,
    ) -> None:
        self._view = view
        self._cache = cache
        self._columns = columns
        self._adjacencies = adjacencies
        self._pace = pace

    def end_types(self, edge: EdgeType) -> tuple[NodeType, NodeType]:
        by_name = self._view.catalog.node_by_name
        return by_name[edge.source], by_name[edge.target]

    def key(self, kind: str, tables: Sequence[EntityType], detail: Hashable = None) -> VisibleKey:
        refs = self._view.snapshot.tables
        made_from = [(refs[e.table_key].ref, self._view.restriction(e)) for e in tables]
        return VisibleKey(kind, tuple(made_from), detail)

    def hides_some(self, entities: Iterable[EntityType]) -> bool:
        return any(self.rows(entity) is not None for entity in entities)

    def shows_all(self, entity: EntityType) -> bool:
        """True if no condition is on the rows of a type, whether it hides some of them or none, and
        no property of it is hidden."""
        return not self._view.is_partial(entity)

    def rows(self, entity: EntityType) -> VisibleRows | None:
        """The visible rows of a type; None: all of them, under the numbers they have stored."""
        restriction = self._view.restriction(entity)
        if restriction is None:
            return None
        known = self._view.known.get(entity.name)
        if isinstance(known, VisibleRows):
            return None if known.hides_none else known
        ends = self.end_types(entity) if isinstance(entity, EdgeType) else ()
        key = self.key("visible rows", [entity, *ends])
        rows = self._cache.get(
            key, lambda: VisibleRows.of(self._judged(entity, restriction)), family=key.family
        )
        self._view.known[entity.name] = rows
        return None if rows.hides_none else rows

    def _judged(self, entity: EntityType, restriction: Restriction) -> Mask:
        count = self._columns.row_count(entity)
        if NEVER in restriction.parts:
            return np.zeros(count, dtype=np.bool_)
        is_visible = np.ones(count, dtype=np.bool_)
        if restriction.own != ALWAYS:
            columns = columns_judged(restriction.own)
            rows = pa.table({name: self._columns.values(entity, name, None) for name in columns})
            for some in self._pace.chunks(count):
                part = rows.slice(some.start, some.stop - some.start)
                is_visible[some] &= meets(restriction.own, part)
        if isinstance(entity, EdgeType) and restriction.parts[1:] != (ALWAYS, ALWAYS):
            ends, nodes = self._adjacencies.ends(entity.name), self.end_types(entity)
            for rows_at_end, node in zip((ends.sources, ends.targets), nodes, strict=True):
                if (seen := self.rows(node)) is not None:
                    self._pace.check()
                    is_visible &= seen.numbers[rows_at_end] != NULL
        return is_visible
