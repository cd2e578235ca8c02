"""Long work over arrays in chunks or pieces, with the deadline asked between two of them.

A call of NumPy over a hundred million rows can't be stopped. So work that may be as long takes
chunks of rows, and a query ends soon after its deadline or its cancellation. What is made to be
kept is made in pieces: those that are done when the time is over are there for the next query, or
a table that takes longer than anybody waits would never be searched.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple, TypeVar

__all__ = ["UNHURRIED", "Pace", "Pieces"]

T = TypeVar("T")


class Pace(NamedTuple):
    check: Callable[[], None]
    """Raises if the query was cancelled or its time is over."""
    max_chunk_rows: int = 1 << 19
    """A chunk takes some hundredths of a second. Smaller ones would cost more than they give."""

    def chunks(self, count: int) -> Iterator[slice]:
        """Slices that make up `count` rows; between two of them the query may end."""
        for start in range(0, count, self.max_chunk_rows):
            if start:
                self.check()
            yield slice(start, min(start + self.max_chunk_rows, count))


UNHURRIED = Pace(lambda: None)


class Pieces:
    """What is made one piece after the other; before each the deadline is asked."""

    def __init__(self, pace: Pace = UNHURRIED, made: dict[Hashable, Any] | None = None) -> None:
        self.pace = pace
        self.made = {} if made is None else made
        self.is_continued = bool(self.made)
        """True if somebody began the work, and could not end it in time."""

    def piece(self, name: Hashable, make: Callable[[], T]) -> T:
        """One name always stands for one type."""
        if name not in self.made:
            self.pace.check()
            self.made[name] = make()
        made: T = self.made[name]
        return made
