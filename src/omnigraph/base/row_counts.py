"""What became of the incoming rows of one type in a load."""

from omnigraph.base.frozen import frozen

__all__ = ["RowCounts"]


@frozen
class RowCounts:
    """What became of the rows of one type in a load."""

    inserted: int = 0
    """Rows whose id was not in the graph; in an overwrite, all of them."""
    updated: int = 0
    """Rows that took the place of one with their id."""
    unchanged: int = 0
    """Rows that equal the one with their id: nothing was written for them."""
    removed: int = 0
    """Rows that were in the graph and made room: all of the type, in an overwrite."""
    superseded: int = 0
    """Rows of the input that a later one with their id took the place of."""

    @property
    def loaded(self) -> int:
        """How many rows of the type were loaded."""
        return self.inserted + self.updated + self.unchanged
