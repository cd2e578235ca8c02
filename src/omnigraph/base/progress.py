"""The callback that tells a caller how far a long piece of work is."""

from collections.abc import Callable

__all__ = ["Progress", "silent"]

Progress = Callable[[str, int, int], None]
"""Called with a phase, how much of it is done, and how much there is (0: unknown).

The phases of a load are `start`, `parse` (in which files are written too), `check` and `publish`;
an import has `convert` (counted in rows) before them; those of an embedding are `start`, `embed`
(counted in texts) and `publish`; those of an algorithm `read`, `run` (counted in rounds or nodes)
and `write`.
"""


def silent(phase: str, done: int, total: int) -> None:
    """Tell nobody."""
