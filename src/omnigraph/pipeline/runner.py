"""Who runs a load: what the pipeline asks of Spark, and of a process that does it all by itself.

A load is the same whoever runs it: tasks that know nothing of each other, then SQL over keys that
tasks read. `session.Spark` and `local.InProcess` are the two runners. Tasks and results travel as
pickles on Spark, so both are plain values, whatever runs them.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen

__all__ = ["Engine", "Runner", "TaskResult", "runs"]

T = TypeVar("T")
R = TypeVar("R")

Engine = Literal["local", "spark"]


@frozen
class TaskResult(Generic[R]):
    """What one task gave, and where it ran."""

    result: R
    partition: int
    pid: int


class Runner(Protocol):
    @property
    def engine(self) -> Engine: ...

    @property
    def parallelism(self) -> int:
        """How many tasks run at a time."""

    def run(
        self,
        tasks: Sequence[T],
        work: Callable[[T], R],
        *,
        doing: str,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[TaskResult[R]]:
        """Run `work` on every task, in parallel, once; the results come in the order of the tasks.

        `on_progress` hears how many tasks are done. An error of ours comes back as it was.
        """

    def show_as(
        self,
        name: str,
        tasks: Sequence[T],
        read: Callable[[T], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
        *,
        most: int,
        on: str | None = None,
    ) -> None:
        """Let SQL see the rows that `read` gives for each task, at most so many, under `name`.

        `on` is a column: no answer puts rows together that differ there, neither of this view nor
        with others that have an `on`. A runner may then answer part by part.
        """

    def query(self, sql: str, *, doing: str) -> list[dict[str, Any]]: ...

    def run_over(
        self,
        sql: str,
        work: Callable[[int, pa.Table], R],
        *,
        by: str,
        then: str,
        tasks: int,
        doing: str,
    ) -> list[R]:
        """Run `work` on the rows of an answer, in about so many tasks.

        It gets all rows with one value of `by`, which is a whole number, at a time and once,
        sorted by `then`. The results come in no order.
        """

    def forget(self, name: str) -> None: ...


def runs(batches: Iterable[pa.RecordBatch], by: str) -> Iterator[tuple[int, pa.Table]]:
    """Rows that follow each other and share a value of `by`: the value, and the rows."""
    waiting: list[pa.RecordBatch] = []
    value: int | None = None
    for batch in batches:
        values = batch.column(by).to_numpy()
        borders = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
        for start, end in itertools.pairwise(borders):
            if start < end:
                if waiting and values[start] != value:
                    assert value is not None
                    yield value, pa.Table.from_batches(waiting)
                    waiting = []
                value = int(values[start])
                waiting.append(batch.slice(start, end - start))
    if waiting:
        assert value is not None
        yield value, pa.Table.from_batches(waiting)
