"""Numbers for the rows of one or more tables, laid end to end.

A variable whose type is an interface, or that several edge types lead to, ranges over more than one
table. Its rows are numbered through all of them, so that one array of numbers says both the type
and the row, and equal ids in different types stay different nodes.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey, TypeName
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.topology.csr import Ordinals

__all__ = ["NULL", "Part", "Space"]

NULL = -1
"""The number of no row: what an optional pattern that did not match binds."""


@frozen
class Part:
    """One table's stretch of a space."""

    entity: EntityType
    start: int
    size: int

    @property
    def stop(self) -> int:
        return self.start + self.size


@frozen
class Space:
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, tables: Sequence[tuple[EntityType, int]]) -> "Space":
        """From types and their numbers of rows."""
        parts, start = [], 0
        for entity, size in tables:
            parts.append(Part(entity, start, size))
            start += size
        return cls(tuple(parts))

    @property
    def size(self) -> int:
        return self.parts[-1].stop if self.parts else 0

    @property
    def keys(self) -> tuple[TableKey, ...]:
        return tuple(part.entity.table_key for part in self.parts)

    def part_of(self, key: TableKey) -> Part | None:
        return next((part for part in self.parts if part.entity.table_key == key), None)

    def part_named(self, name: TypeName) -> Part | None:
        return next((part for part in self.parts if part.entity.name == name), None)

    def split(self, ordinals: Ordinals) -> Iterator[tuple[Part, Ordinals, Ordinals]]:
        """Each part with the positions in `ordinals` that fall into it, and their row numbers."""
        for part in self.parts:
            inside = np.flatnonzero((ordinals >= part.start) & (ordinals < part.stop))
            yield part, inside, ordinals[inside] - part.start

    def translate(self, ordinals: Ordinals, into: "Space") -> Ordinals:
        """The same rows as numbered by another space; NULL where it does not hold their table."""
        if self.keys == into.keys:
            return ordinals
        moved = np.full(len(ordinals), NULL, dtype=np.int64)
        for part, positions, rows in self.split(ordinals):
            there = into.part_of(part.entity.table_key)
            if there is not None:
                moved[positions] = rows + there.start
        return moved
