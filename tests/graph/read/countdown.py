"""A look at the clock that counts, and that ends the work at one of the looks."""

from omnigraph.base.errors import LimitExceeded

__all__ = ["Countdown"]


class Countdown:
    def __init__(self, until: int | None = None) -> None:
        """Without `until` no look ends the work."""
        self.count = 0
        self._until = until

    def __call__(self) -> None:
        self.count += 1
        if self.count == self._until:
            raise LimitExceeded(what="the time", limit=1, found=2)
