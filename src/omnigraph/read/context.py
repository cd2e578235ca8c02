"""Everything that an operator may ask for: tables, parameters, the time, and room for rows."""

import threading
import time
from collections.abc import Mapping
from dataclasses import field

from omnigraph.base.errors import LimitExceeded, QueryCancelled
from omnigraph.base.frozen import frozen
from omnigraph.base.types import Value
from omnigraph.lang.plan.ir import Ranking, Rrf, ScoreOf
from omnigraph.read.frame import Frame
from omnigraph.read.limits import ReadLimits
from omnigraph.read.pace import Pace
from omnigraph.read.profile import Profile
from omnigraph.read.query_vectors import QueryVectors
from omnigraph.read.scored import Scored
from omnigraph.read.tables.tables import Adjacencies, Columns, Searches

__all__ = ["MAX_QUERY_BYTES", "UNLIMITED", "Budget", "Context", "TooMuchAtOnce"]

# Past this a query is better told to ask for less than left to push the machine into swapping.
MAX_QUERY_BYTES = 4 * 1024**3

BYTES_PER_NUMBER = 8
# While rows are made, their source rows and positions stand beside them.
SCRATCH_COLUMNS = 3


class TooMuchAtOnce(Exception):
    """A batch of a block would make more rows than are made at once. It never leaves the reader."""

    def __init__(self, rows: int, limit: int) -> None:
        super().__init__(rows, limit)
        self.parts = -(-rows // limit)
        """How many batches would do, if all are alike."""


@frozen
class Budget:
    """The memory and time that one query may take.

    It is asked before rows are made and between the parts of long work. Caches are not part of it:
    they have a limit of their own and outlive the query.
    """

    memory_bytes: int = MAX_QUERY_BYTES
    timeout_s: float | None = None
    cancel: threading.Event | None = None
    """Set it from another thread to have the query stop at its next step."""
    began_s: float = field(default_factory=time.monotonic)
    at_once_bytes: int | None = None
    """Rows that take more are refused with TooMuchAtOnce, and asked for in smaller batches."""

    def admit(self, *, rows: int, columns: int, step: str, beside: Frame | None = None) -> None:
        """Refuse rows that would not fit, before they are made. `beside` stays while they are."""
        self.check(step)
        left = self.memory_bytes - (beside.nbytes if beside is not None else 0)
        limit = max(left, 0) // (BYTES_PER_NUMBER * (columns + SCRATCH_COLUMNS))
        if self.at_once_bytes is not None:
            at_once = self.at_once_bytes // (BYTES_PER_NUMBER * (columns + SCRATCH_COLUMNS))
            if rows > at_once:
                raise TooMuchAtOnce(rows, max(1, at_once))
        if rows > limit:
            raise LimitExceeded(what=f"the number of rows of `{step}`", limit=limit, found=rows)

    @property
    def left_s(self) -> float | None:
        """The time that is left; None: any."""
        if self.timeout_s is None:
            return None
        return max(0.0, self.timeout_s - (time.monotonic() - self.began_s))

    @property
    def is_spent(self) -> bool:
        """Whether `check` would refuse."""
        if self.cancel is not None and self.cancel.is_set():
            return True
        return self.timeout_s is not None and time.monotonic() - self.began_s > self.timeout_s

    def check(self, step: str) -> None:
        """Raise if the query was cancelled or its time is over."""
        if self.cancel is not None and self.cancel.is_set():
            raise QueryCancelled(step)
        if self.timeout_s is not None:
            spent_s = time.monotonic() - self.began_s
            if spent_s > self.timeout_s:
                raise LimitExceeded(
                    what=f"the time in milliseconds at `{step}`",
                    limit=int(self.timeout_s * 1000),
                    found=int(spent_s * 1000),
                )


UNLIMITED = Budget()
"""For work without a deadline of its own. Its memory is limited as usual."""


@frozen
class Context:
    columns: Columns
    adjacencies: Adjacencies
    searches: Searches
    parameters: Mapping[str, Value]
    query_vectors: QueryVectors
    now_ms: int
    budget: Budget
    limits: ReadLimits
    profile: Profile | None = None
    fusions: frozenset[Rrf] = frozenset()
    """Those that the answer shows: they see all rows, before an order or a limit leaves any out."""
    ranked: dict[Ranking | ScoreOf, Scored] = field(default_factory=dict)
    """What was ranked so far, for those above that ask for the scores."""

    def pace(self, step: str) -> Pace:
        """For long work of a step: chunks of rows, with the clock asked between them."""
        return Pace(lambda: self.budget.check(step), self.limits.max_chunk_rows)
