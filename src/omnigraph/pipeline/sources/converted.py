"""Tables that an import has written beside the graph, as a source of a load.

The rows were someone else's, so messages name the file and line that they came from.
"""

from omnigraph.base.frozen import frozen
from omnigraph.pipeline.sources.splits import Origin
from omnigraph.store.location import Location

__all__ = ["ConvertedTables", "TablePart"]


@frozen
class TablePart:
    """Some records of a table, below its header."""

    table: str
    """The name that rules of a mapping are for."""
    location: Location
    size: int
    columns: tuple[str, ...]
    header_bytes: int
    header_lines: int
    origin: Origin

    @property
    def file(self) -> str:
        return self.table


@frozen
class ConvertedTables:
    name: str
    """Of what was converted, as its owner named it."""
    tables: tuple[str, ...]
    """All that rules may be for, those without rows too."""
    parts: tuple[TablePart, ...]
