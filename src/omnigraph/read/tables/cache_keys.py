"""Keys of cache entries by table versions, and the numbers that rows of other versions have.

Keys name every table version that an entry was made from, so an entry is never stale; the entries
of one family are the same thing at different versions, and the next can be made from the last.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.lang.plan.ir import Direction
from omnigraph.read.space import Space
from omnigraph.read.tables.renumbering import Renumbering
from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.datasets import DatasetRef

__all__ = [
    "AdjacencyKey",
    "Before",
    "EndsKey",
    "Numbers",
    "VersionKey",
    "edges_before",
    "laid_out",
]


class VersionKey(NamedTuple):
    """One thing that is made from one version of a table, or from a column of it."""

    kind: str
    ref: DatasetRef
    column: str = ""

    @property
    def family(self) -> Hashable:
        return self.kind, self.ref.path, self.column

    @property
    def disk_family(self) -> str:
        return f"{self.kind} {self.ref.path} {self.column}"


class EndsKey(NamedTuple):
    edge: DatasetRef
    source: DatasetRef
    target: DatasetRef

    @property
    def family(self) -> Hashable:
        return ("ends", self.edge.path)


class AdjacencyKey(NamedTuple):
    edges: tuple[DatasetRef, ...]
    directions: tuple[Direction, ...]
    origin: tuple[DatasetRef, ...]
    target: tuple[DatasetRef, ...]
    has_edges: bool

    @property
    def refs(self) -> tuple[DatasetRef, ...]:
        return (*self.edges, *self.origin, *self.target)

    def at(self, refs: Sequence[DatasetRef]) -> "AdjacencyKey":
        """The same at other versions, given as `refs` gives them."""
        first, second = len(self.edges), len(self.edges) + len(self.origin)
        return self._replace(
            edges=tuple(refs[:first]),
            origin=tuple(refs[first:second]),
            target=tuple(refs[second:]),
        )

    @property
    def family(self) -> Hashable:
        paths = tuple(
            tuple(r.path for r in refs) for refs in (self.edges, self.origin, self.target)
        )
        return ("adjacency", paths, self.directions, self.has_edges)

    @property
    def disk_family(self) -> str:
        return str(self.family)


@frozen
class Numbers:
    """Rows of an earlier version: how many, and the number each has now; None: its own."""

    count: int
    numbers: Ordinals | None


class Before(NamedTuple):
    """The row that each row of a space's earlier version is now; None: its own."""

    numbers: Ordinals | None


def edges_before(edges: Space, since: Mapping[TableKey, Renumbering]) -> Before:
    """As for nodes; an edge that was changed is one that went and one that came."""
    own = [since[part.entity.table_key] for part in edges.parts]
    return laid_out(edges, [Numbers(table.old_count, table.renumbered()) for table in own])


def laid_out(space: Space, tables: Sequence[Numbers]) -> Before:
    """The numbers of tables' earlier rows as those of the space that the tables make up now."""
    entities = [part.entity for part in space.parts]
    old = Space.of([(e, n.count) for e, n in zip(entities, tables, strict=True)])
    if all(
        n.numbers is None and was.start == now.start
        for n, was, now in zip(tables, old.parts, space.parts, strict=True)
    ):
        return Before(None)
    parts = []
    for n, part in zip(tables, space.parts, strict=True):
        numbers = np.arange(n.count) if n.numbers is None else n.numbers
        parts.append(np.where(numbers >= 0, numbers + part.start, -1))
    return Before(np.concatenate(parts))
