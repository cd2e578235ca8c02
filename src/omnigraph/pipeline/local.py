"""The runner for what is too small to wait for Spark: tasks in threads of this process, SQL in
DuckDB.

Arrow and Lance let go of the interpreter while they work, so threads are enough to keep the cores
busy. Making one costs nothing: the connection is opened by the first query.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from omnigraph.pipeline.runner import Engine, TaskResult, runs

__all__ = ["InProcess"]

T = TypeVar("T")
R = TypeVar("R")


class InProcess:
    """Runs the tasks of a load here and now."""

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
    ) -> None:
        parts = [*self._each(tasks, lambda task: list(read(task)))]
        rows = pa.Table.from_batches([batch for part in parts for batch in part], schema)
        self._connection.register(name, rows)

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
        rows = self._connection.sql(f"SELECT * FROM ({sql}) AS rows ORDER BY {by}, {then}")
        groups = [*runs(rows.to_arrow_table().to_batches(), by)]
        return [*self._each(groups, lambda group: work(*group))]

    def forget(self, name: str) -> None:
        self._connection.unregister(name)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect()

    def _each(self, tasks: Sequence[T], work: Callable[[T], R]) -> Iterator[R]:
        if len(tasks) < 2:
            yield from map(work, tasks)
            return
        pool = ThreadPoolExecutor(self.parallelism)
        try:
            yield from pool.map(work, tasks)
        finally:
            # Where one has failed, those that wait are not begun.
            pool.shutdown(cancel_futures=True)
