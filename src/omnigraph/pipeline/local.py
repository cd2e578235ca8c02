"""The runner for what is too small to wait for Spark: tasks in threads of this process, SQL in
DuckDB.

Arrow and Lance let go of the interpreter while they work, so threads are enough to keep the cores
busy. Making one costs nothing: the connection is opened by the first query.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import chain, islice
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.parted import PartedViews
from omnigraph.pipeline.runner import Engine, TaskResult, runs

__all__ = ["InProcess"]

T = TypeVar("T")
R = TypeVar("R")


class InProcess:
    """Runs the tasks of a load here and now."""

    def __init__(self, limits: LoadLimits | None = None) -> None:
        self._parted = PartedViews((limits or LoadLimits()).max_matched_rows)

    @property
    def engine(self) -> Engine:
        return "local"

    @property
    def parallelism(self) -> int:
        return os.cpu_count() or 1

    def run(
        self,
        tasks: Sequence[T],
        work: Callable[[T], R],
        *,
        doing: str,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[TaskResult[R]]:
        ran = []
        for number, result in enumerate(self._each(tasks, work)):
            ran.append(TaskResult(result, partition=number, pid=os.getpid()))
            if on_progress is not None:
                on_progress(len(ran))
        return ran

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
        parts = self._each(tasks, lambda task: pa.Table.from_batches(read(task), schema))
        if on is not None:
            self._parted.show(name, parts, schema, on=on)
            return
        self._connection.register(name, pa.concat_tables([schema.empty_table(), *parts]))

    def query(self, sql: str, *, doing: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._connection.sql(sql).to_arrow_table().to_pylist()
        return rows

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
        if self._parted.seen_by(sql):
            answers = self._parted.answers(sql, by=by, then=then)
        else:
            rows = self._connection.sql(f"SELECT * FROM ({sql}) AS rows ORDER BY {by}, {then}")
            answers = iter([rows.to_arrow_table()])
        groups = (group for answer in answers for group in runs(answer.to_batches(), by))
        return [*self._each(groups, lambda group: work(*group))]

    def forget(self, name: str) -> None:
        if not self._parted.forget(name):
            self._connection.unregister(name)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect()

    def _each(self, tasks: Iterable[T], work: Callable[[T], R]) -> Iterator[R]:
        """The results in the order of the tasks. Few tasks wait: each may hold many rows."""
        coming = iter(tasks)
        first = [*islice(coming, 2)]
        if len(first) < 2:
            yield from map(work, first)
            return
        pool = ThreadPoolExecutor(self.parallelism)
        waiting: deque[Future[R]] = deque()
        try:
            for task in chain(first, coming):
                waiting.append(pool.submit(work, task))
                if len(waiting) > self.parallelism:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            # Where one has failed, those that wait are not begun.
            pool.shutdown(cancel_futures=True)
