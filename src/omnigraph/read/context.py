"""What every operator may ask for: the tables, the parameters, the time, and room for rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.base.errors import LimitExceeded
from omnigraph.base.types import Value
from omnigraph.read.tables import Tables

__all__ = ["LIMIT_FRAME_BYTES", "Budget", "Context"]

# The rows between two operators, with what making them takes. Past this a query is better told to
# ask for less than left to push the machine into swapping.
LIMIT_FRAME_BYTES = 4 * 1024**3

BYTES_PER_NUMBER = 8
# While rows are made, their source rows and positions stand beside them.
SCRATCH_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Budget:
    frame_bytes: int = LIMIT_FRAME_BYTES

    def admit(self, *, rows: int, columns: int, step: str) -> None:
        """Refuse rows that would not fit, before they are made."""
        limit = self.frame_bytes // (BYTES_PER_NUMBER * (columns + SCRATCH_COLUMNS))
        if rows > limit:
            raise LimitExceeded(what=f"the number of rows of `{step}`", limit=limit, found=rows)


@dataclass(frozen=True, slots=True)
class Context:
    tables: Tables
    parameters: Mapping[str, Value]
    now_ms: int
    budget: Budget
