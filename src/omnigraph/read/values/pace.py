"""Long work over arrays in chunks, with the deadline asked between two of them.

A call of NumPy over a hundred million rows can't be stopped. So work that may be as long takes
chunks of rows, and a query ends soon after its deadline or its cancellation.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["UNHURRIED", "Pace"]


class Pace(NamedTuple):
    check: Callable[[], None]
    """Raises if the query was cancelled or its time is over."""
    max_chunk_rows: int = 1 << 22
    """A chunk takes some hundredths of a second. Smaller ones would cost more than they give."""

    def chunks(self, count: int) -> Iterator[slice]:
        """Slices that make up `count` rows; between two of them the query may end."""
        for start in range(0, count, self.max_chunk_rows):
            if start:
                self.check()
            yield slice(start, min(start + self.max_chunk_rows, count))


UNHURRIED = Pace(lambda: None)
