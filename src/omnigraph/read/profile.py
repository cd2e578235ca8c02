"""What each operator of a run did: how many rows it gave and how long it took by itself."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.lang.plan.ir import Op
from omnigraph.read.frame import Frame

__all__ = ["Measured", "Profile"]


@dataclass(frozen=True, slots=True)
class Measured:
    rows: int
    stands_for: int
    """How many rows of the pattern these are, where equal ones were counted instead of made."""
    seconds: float
    """Without the operators below."""


@dataclass(slots=True)
class Profile:
    steps: dict[int, Measured] = field(default_factory=dict)
    """By the identity of the operator, which the plan keeps alive."""
    _inside: list[float] = field(default_factory=lambda: [0.0])

    def measure(self, op: Op, work: Callable[[], Frame]) -> Frame:
        began = time.perf_counter()
        self._inside.append(0.0)
        frame = work()
        self._note(op, began, rows=frame.count, stands_for=_stands_for(frame))
        return frame

    def measure_answer(self, op: Op, work: Callable[[], pa.Table]) -> pa.Table:
        began = time.perf_counter()
        self._inside.append(0.0)
        table = work()
        self._note(op, began, rows=table.num_rows, stands_for=table.num_rows)
        return table

    def _note(self, op: Op, began: float, *, rows: int, stands_for: int) -> None:
        spent = time.perf_counter() - began
        own = spent - self._inside.pop()
        self._inside[-1] += spent
        earlier = self.steps.get(id(op))
        own += earlier.seconds if earlier else 0.0
        self.steps[id(op)] = Measured(rows, stands_for, own)


def _stands_for(frame: Frame) -> int:
    return frame.count if frame.weights is None else int(frame.weights.sum())
