"""The steps that a request takes, told as they begin and end to whoever measures them.

A `Trace` is passed down like a clock. Usually it is `NO_TRACE`, which does nothing. A step has a
name and a number of rows, and nothing of a text, a parameter or a row: traces leave the machine.
"""

from types import TracebackType
from typing import Protocol

__all__ = ["NO_STEP", "NO_TRACE", "Step", "Trace"]


class Step(Protocol):
    """One step; it is under way while its `with` is."""

    def __enter__(self) -> "Step": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

    def note_rows(self, count: int) -> None:
        """How many rows it gave."""
        ...


class Trace(Protocol):
    @property
    def is_on(self) -> bool:
        """True if anyone looks at the steps of what this thread does now."""
        ...

    def step(self, name: str) -> Step: ...


class _NoStep:
    __slots__ = ()

    def __enter__(self) -> Step:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def note_rows(self, count: int) -> None:
        return


NO_STEP: Step = _NoStep()


class _NoTrace:
    is_on = False

    def step(self, name: str) -> Step:
        return NO_STEP


NO_TRACE: Trace = _NoTrace()
