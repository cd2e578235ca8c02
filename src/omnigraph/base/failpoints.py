"""The closed list of places where a process may die, and how a test makes it die there.

`Faults` is passed down to whoever writes. In production it is `NEVER`, which does nothing.
"""

from enum import Enum
from typing import Protocol

__all__ = ["NEVER", "Crash", "CrashAt", "Failpoint", "Faults"]


class Failpoint(Enum):
    AFTER_STAGE = "after_stage"
    """Files are written and no dataset has moved: dying here costs only disk."""
    AFTER_ARM = "after_arm"
    """The sidecar is durable: from here on recovery owns a crash."""
    AFTER_LAND_1 = "after_land_1"
    """The first dataset has moved by one version and the others have not."""
    AFTER_LAND_ALL = "after_land_all"
    """Every dataset has moved; no reader can see it."""
    AFTER_PUBLISH = "after_publish"
    """The commit is visible, whole; the sidecar still lies there."""
    AFTER_DISARM = "after_disarm"
    """The sidecar is gone; only the fence is still held."""


class Faults(Protocol):
    def reach(self, point: Failpoint) -> None: ...


class Never:
    def reach(self, point: Failpoint) -> None:
        pass


NEVER: Faults = Never()


class Crash(BaseException):
    """A death that no handler may survive: not an `Exception` on purpose."""


class CrashAt:
    """Dies the first time `point` is reached."""

    def __init__(self, point: Failpoint) -> None:
        self._point: Failpoint | None = point

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            self._point = None
            raise Crash(point.value)
