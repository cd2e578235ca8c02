"""Where the changed rows of large commits lie, kept from one page to the next.

To find them takes a pass over all rows that the commit wrote. Without this, each page of a load of
millions would take that pass again.
"""

from collections.abc import Hashable

from omnigraph.base.recent import Recent
from omnigraph.read.changes.compare import FoundPlaces
from omnigraph.read.view import View

__all__ = ["PlacesCache"]

# A consumer reads one commit at a time. A row takes some fifty bytes.
COMPARISONS_KEPT = 2
# Finding fewer takes no time worth the room, and would push large ones out.
WORTH_KEEPING = 10_000


class PlacesCache:
    """By the commits and the conditions of two views, which never change."""

    def __init__(self) -> None:
        self._kept: Recent[Hashable, FoundPlaces] = Recent(COMPARISONS_KEPT)

    def get(self, before: View, after: View) -> FoundPlaces:
        """What is known of the two views; it may be added to."""
        known = self._kept.get(_key(before, after))
        return {} if known is None else known

    def keep(self, before: View, after: View, found: FoundPlaces) -> None:
        """Keep it, if it took long enough to find."""
        if sum(map(len, found.values())) >= WORTH_KEEPING:
            self._kept.put(_key(before, after), found)


def _key(before: View, after: View) -> Hashable:
    return before.commit.id, after.commit.id, after.identity
