"""The callback that tells a caller how far a load is."""

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[str, int, int], None]
"""Called with a phase, how much of it is done, and how much there is (0: unknown).

The phases are `start`, `parse` (in which files are written too), `check` and `publish`.
"""
