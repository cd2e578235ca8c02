"""Who runs a load: what the pipeline asks of Spark, and of a process that does it all by itself.

A load is the same whoever runs it: tasks that know nothing of each other, then SQL over keys that
tasks read. `session.Spark` and `local.InProcess` are the two runners. Tasks and results travel as
pickles on Spark, so both are plain values, whatever runs them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import pyarrow as pa

__all__ = ["Engine", "Ran", "Runner"]

T = TypeVar("T")
R = TypeVar("R")

Engine = Literal["local", "spark"]


@dataclass(frozen=True, slots=True)
class Ran(Generic[R]):
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
    ) -> list[Ran[R]]:
        """Run `work` on every task, in parallel, once; the results come in the order of the tasks.

        `on_progress` hears how many tasks are done. An error of ours comes back as it was.
        """

    def show_as(
        self,
        name: str,
        tasks: Sequence[T],
        read: Callable[[T], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> None:
        """Let SQL see the rows that `read` gives for each task under `name`."""

    def query(self, sql: str, *, doing: str) -> list[dict[str, Any]]: ...

    def forget(self, name: str) -> None: ...
