"""Rows that this process matches on a column, however many: they lie in a file of DuckDB's, and a
part of them is matched at a time.

Rows that meet have one value there, so they are in one part. (DuckDB spills by itself, but a join
and a sort in little memory fail now and then.)
"""

import math
import shutil
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import duckdb
import pyarrow as pa

from omnigraph.base.errors import StorageFailed

__all__ = ["PartedViews"]

# Far more than a part takes. Without it DuckDB keeps in memory what it has read of the file.
MAX_MEMORY = "1GB"


class PartedViews:
    def __init__(self, max_matched_rows: int) -> None:
        self._max_rows = max_matched_rows
        self._columns: dict[str, str] = {}
        self._rows: dict[str, int] = {}

    def show(self, name: str, parts: Iterable[pa.Table], schema: pa.Schema, *, on: str) -> None:
        with self._failures("write rows to"):
            self._insert(f"CREATE OR REPLACE TABLE rows_of_{name} AS", schema.empty_table())
            rows = [self._insert(f"INSERT INTO rows_of_{name}", part) for part in parts]
        self._columns[name], self._rows[name] = on, sum(rows)
        self._show_part(name, 0, of=1)

    def forget(self, name: str) -> bool:
        """Drop a view; False if it is none of these."""
        if name not in self._columns:
            return False
        del self._columns[name], self._rows[name]
        with self._failures("drop rows of"):
            self._connection.execute(f"DROP VIEW {name}")
            self._connection.execute(f"DROP TABLE rows_of_{name}")
        return True

    def seen_by(self, sql: str) -> list[str]:
        """The views that a query looks at."""
        return [name for name in self._columns if name in sql]

    def answers(self, sql: str, *, by: str, then: str) -> Iterator[pa.Table]:
        """The rows of an answer, sorted, in pieces that cut through no value of `by`."""
        views, order = self.seen_by(sql), f"ORDER BY {by}, {then}"
        parts = math.ceil(sum(self._rows[name] for name in views) / self._max_rows)
        with self._failures("match rows in"):
            if parts <= 1:
                yield self._connection.sql(
                    f"SELECT * FROM ({sql}) AS rows {order}"
                ).to_arrow_table()
                return
            self._answer_in_parts(sql, views, parts)
            for first, last in self._pieces(by):
                piece = f"SELECT * FROM answer WHERE {by} BETWEEN {first} AND {last} {order}"
                yield self._connection.sql(piece).to_arrow_table()
            self._connection.execute("DROP TABLE answer")

    def _answer_in_parts(self, sql: str, views: Sequence[str], parts: int) -> None:
        for part in range(parts):
            for name in views:
                self._show_part(name, part, of=parts)
            begin = "CREATE OR REPLACE TABLE answer AS" if part == 0 else "INSERT INTO answer"
            self._connection.execute(f"{begin} {sql}")

    def _show_part(self, name: str, part: int, *, of: int) -> None:
        self._connection.execute(
            f"CREATE OR REPLACE VIEW {name} AS FROM rows_of_{name} "
            f"WHERE hash({self._columns[name]}) % {of} = {part}"
        )

    def _pieces(self, by: str) -> Iterator[tuple[int, int]]:
        """The first and the last of neighbouring values that have enough rows together."""
        counts = f"SELECT {by}, count(*) FROM answer GROUP BY {by} ORDER BY {by}"
        values, rows = list[int](), 0
        for value, count in self._connection.execute(counts).fetchall():
            values.append(value)
            rows += count
            if rows >= self._max_rows:
                yield values[0], values[-1]
                values, rows = [], 0
        if values:
            yield values[0], values[-1]

    def _insert(self, statement: str, rows: pa.Table) -> int:
        self._connection.register("coming", rows)
        self._connection.execute(f"{statement} SELECT * FROM coming")
        self._connection.unregister("coming")
        return int(rows.num_rows)

    @cached_property
    def _directory(self) -> Path:
        # Nobody else may read what lies there, and nothing of it outlives this value.
        directory = mkdtemp(prefix="omnigraph-")
        weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        return Path(directory)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        config: dict[str, Any] = {"memory_limit": MAX_MEMORY, "temp_directory": self._directory}
        return duckdb.connect(self._directory / "rows.duckdb", config=config)

    @contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        """A disk that is full, and the like."""
        try:
            yield
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise StorageFailed(doing=doing, path=str(self._directory), reason=reason) from error
