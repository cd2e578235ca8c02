"""How the columns of a table feed a type of the graph: what a mapping comes down to.

A feed is made once, on the driver, when a table's columns are known (`mapping`), and travels with
each piece of the table.
"""

from dataclasses import dataclass

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import Catalog, EntityType

__all__ = ["Feed"]


@dataclass(frozen=True, slots=True)
class Feed:
    table_key: TableKey
    properties: tuple[tuple[str, str], ...]
    """Each property that a column feeds, and the column."""
    constants: tuple[tuple[str, str], ...] = ()
    """Each property with the same value in every row, and the value as JSON."""
    id: str | None = None
    source: tuple[str, ...] = ()
    """Edges only: the column of the node's id or key, or one column for each part of its key."""
    target: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        ends = (*self.source, *self.target)
        ids = () if self.id is None else (self.id,)
        return tuple(dict.fromkeys((*ids, *ends, *(column for _, column in self.properties))))

    def entity(self, catalog: Catalog) -> EntityType:
        return next(e for e in catalog.entities if e.table_key == self.table_key)
