"""The right result of a merge, worked out from the writes that each side has seen.

Every write of a row has an identity, also if it writes the same value as another. A commit has seen
the writes of its ancestors and its own. A merge that chooses between two sides that have not seen
each other's last write makes a write too. There are no merge bases here.

A merge compares both sides with the last writes that both have seen. A side that shows the value of
that write has changed nothing that the other does not know; if it changed the row meanwhile, it has
taken that back.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, Literal, TypeVar

__all__ = ["SeenWrites", "Verdict"]

Verdict = Literal["alike", "ours", "theirs", "conflict", "open"]
"""Which side a row takes. `open`: the last common writes have several values, and one of these
writes took a change back. The rule then allows a conflict as well as the value of the others."""

Commit = TypeVar("Commit", bound=Hashable)
Value = object


class SeenWrites(Generic[Commit]):
    """The writes of one row in a history. A write goes by the commit that made it."""

    def __init__(self, first: Commit, value: Value) -> None:
        """The first commit shows this value."""
        self.value: dict[Commit, Value] = {first: value}
        self._seen: dict[Commit, frozenset[Commit]] = {first: frozenset([first])}
        self._seen_by_write = {first: frozenset([first])}
        self._written: dict[Commit, Value] = {first: value}

    def write(self, commit: Commit, parent: Commit, value: Value) -> None:
        self._put(commit, self._seen[parent], value, is_write=value != self.value[parent])

    def merge(self, commit: Commit, ours: Commit, theirs: Commit, value: Value) -> None:
        seen = self._seen[ours] | self._seen[theirs]
        last = self._last(seen)
        is_choice = len(last) > 1 or self._written[last[0]] != value
        self._put(commit, seen, value, is_write=is_choice)

    def verdict(self, ours: Commit, theirs: Commit) -> Verdict:
        one, other = self.value[ours], self.value[theirs]
        if one == other:
            return "alike"
        last = self.last_common(ours, theirs)
        values = {self._written[write] for write in last}
        if len(values) > 1:
            return "open" if self._any_taken_back(last) else "conflict"
        if one in values:
            return "theirs"
        return "ours" if other in values else "conflict"

    def last_common(self, ours: Commit, theirs: Commit) -> list[Commit]:
        """The last writes that both have seen: no other common write has seen them."""
        return self._last(self._seen[ours] & self._seen[theirs])

    def without_taken_back(self, last: list[Commit]) -> list[Commit]:
        """The writes without those that set a value which another of the writes has seen before."""
        return [w for w in last if not self._changed_nothing(w, last)]

    def _put(
        self, commit: Commit, seen: frozenset[Commit], value: Value, *, is_write: bool
    ) -> None:
        self.value[commit] = value
        self._seen[commit] = seen | {commit} if is_write else seen
        if is_write:
            self._seen_by_write[commit], self._written[commit] = self._seen[commit], value

    def _last(self, writes: Iterable[Commit]) -> list[Commit]:
        """The writes that no other of them has seen."""
        known = [*writes]
        return [w for w in known if not any(w != v and w in self._seen_by_write[v] for v in known)]

    def _any_taken_back(self, last: list[Commit]) -> bool:
        return len(self.without_taken_back(last)) < len(last)

    def _changed_nothing(self, write: Commit, last: list[Commit]) -> bool:
        """Whether another of the writes has seen this value before."""
        befores = (
            self._last(self._seen_by_write[write] & self._seen_by_write[other])
            for other in last
            if other != write
        )
        return any(self._has_value_of(write, before) for before in befores)

    def _has_value_of(self, write: Commit, before: list[Commit]) -> bool:
        values = {self._written[each] for each in before}
        is_clear = len(values) == 1 or self._any_taken_back(before)
        return is_clear and self._written[write] in values
