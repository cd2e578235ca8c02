"""A record of each operator of a run: the rows it gave, their bytes, and its own time.

Bytes are those of the columns it handed on: eight for the number of each row that a variable is
bound to, and the values themselves once they are read, by an aggregate or for the answer. Columns
that were read to decide something, and stay in the cache, are not among them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.trace import NO_STEP, NO_TRACE, Step, Trace
from omnigraph.lang.plan.ir import NodeScan, Op
from omnigraph.read.answer import Answer
from omnigraph.read.frame import Frame

__all__ = ["Measured", "Profile"]


@frozen
class Measured:
    rows: int
    stands_for: int
    """How many rows of the pattern these are, where equal ones were counted instead of made."""
    nbytes: int
    seconds: float
    """Without the operators below."""
    notes: tuple[str, ...] = ()
    """What else it has to say: what a search looked at."""


@dataclass(slots=True)
class Profile:
    trace: Trace = NO_TRACE
    """It is told of each operator as it runs, with those below inside of it."""
    steps: dict[int, Measured] = field(default_factory=dict)
    """By the identity of the operator, which the plan keeps alive."""
    _at_work: list[Op] = field(default_factory=list)
    _inside: list[float] = field(default_factory=lambda: [0.0])
    _notes: list[dict[str, None]] = field(default_factory=lambda: [{}])
    _blocks: int = 0
    """How many blocks are at work, one inside the other. Rows of their batches are added up."""

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Around one batch of a block. What was noted of a batch that fails is forgotten."""
        steps, depths = dict(self.steps), (len(self._at_work), len(self._inside))
        self._blocks += 1
        try:
            yield
        except BaseException:
            self.steps = steps
            del self._at_work[depths[0] :], self._inside[depths[1] :], self._notes[depths[1] :]
            raise
        finally:
            self._blocks -= 1

    def note(self, text: str) -> None:
        """Of the operator that is at work."""
        self._notes[-1][text] = None

    def measure(self, op: Op, work: Callable[[], Frame]) -> Frame:
        began = time.perf_counter()
        self._inside.append(0.0)
        self._notes.append({})
        with self._traced(op) as step:
            frame = work()
            step.note_rows(frame.count)
        self._at_work.pop()
        self._note(
            op, began, rows=frame.count, stands_for=_stands_for(frame), nbytes=_bytes_of(frame)
        )
        return frame

    def measure_answer(self, op: Op, work: Callable[[], Answer]) -> Answer:
        began = time.perf_counter()
        self._inside.append(0.0)
        self._notes.append({})
        with self._traced(op) as step:
            answer = work()
            count = answer.table.num_rows
            step.note_rows(count)
        self._at_work.pop()
        self._note(op, began, rows=count, stands_for=count, nbytes=answer.table.nbytes)
        return answer

    def _traced(self, op: Op) -> Step:
        # The foremost operator of a pattern is measured twice, as a part of the answer too.
        is_known = bool(self._at_work) and self._at_work[-1] is op
        self._at_work.append(op)
        return NO_STEP if is_known else self.trace.step(_name_of(op))

    def _note(self, op: Op, began: float, *, rows: int, stands_for: int, nbytes: int) -> None:
        spent = time.perf_counter() - began
        own = spent - self._inside.pop()
        self._inside[-1] += spent
        earlier = self.steps.get(id(op))
        own += earlier.seconds if earlier else 0.0
        if earlier and self._blocks:
            rows, stands_for = rows + earlier.rows, stands_for + earlier.stands_for
            nbytes += earlier.nbytes
        notes = dict.fromkeys(earlier.notes if earlier else ()) | self._notes.pop()
        self.steps[id(op)] = Measured(rows, stands_for, nbytes, own, tuple(notes))


def _name_of(op: Op) -> str:
    return "scan" if isinstance(op, NodeScan) else type(op).__name__.lower()


def _stands_for(frame: Frame) -> int:
    return frame.count if frame.weights is None else int(frame.weights.sum())


def _bytes_of(frame: Frame) -> int:
    values = (column for column in frame.made.values() if isinstance(column, pa.Array))
    return frame.nbytes + sum(int(column.nbytes) for column in values)
