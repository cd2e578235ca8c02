"""A file that changes between the plan of a load and its last task fails the load by name."""

import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.base.errors import SourceInvalid
from omnigraph.base.ids import TableKey
from omnigraph.pipeline.spark.session import Spark
from tests.pipeline.limits import MANY_TASKS, with_limits

SCHEMA = "node P { k: String @key  s: String? }"
COUNT = 4_000
MANY = replace(MANY_TASKS, min_csv_bytes=3_000, min_task_bytes=5_000, max_task_bytes=5_000)


def lines(first: int, count: int) -> bytes:
    row = '{{"type":"P","data":{{"k":"k{:08}","s":"{}"}}}}\n'
    return "".join(row.format(first + n, "x" * 50) for n in range(count)).encode()


def write_csv(path: Path, first: int, count: int) -> None:
    rows = (f"k{first + n:08},{'x' * 50}\n" for n in range(count))
    path.write_text("k,s\n" + "".join(rows))


def write_parquet(path: Path, first: int, count: int) -> None:
    keys = [f"k{first + n:08}" for n in range(count)]
    pq.write_table(pa.table({"k": keys, "s": ["x" * 50] * count}), path, row_group_size=100)


FORMS: dict[str, Callable[[Path, int, int], Any]] = {
    "in.jsonl": lambda path, first, count: path.write_bytes(lines(first, count)),
    "in.jsonl.gz": lambda path, f, c: path.write_bytes(gzip.compress(lines(f, c))),
    "P.csv": write_csv,
    "P.parquet": write_parquet,
}


def cut(path: Path, form: str) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grow(path: Path, form: str) -> None:
    FORMS[form](path, 0, COUNT + 7)


def replace_by_another(path: Path, form: str) -> None:
    """Of the same size, and with the same time."""
    before = path.stat()
    other = path.with_suffix(".new")
    FORMS[form](other, 90_000, COUNT)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def write_over(path: Path, form: str) -> None:
    FORMS[form](path, 90_000, COUNT)
    later = path.stat().st_mtime_ns + 1_000_000
    os.utime(path, ns=(later, later))


CHANGES = {"cut": cut, "grown": grow, "replaced": replace_by_another, "written over": write_over}


def write(place: Path, form: str) -> Path:
    FORMS[form](place / form, 0, COUNT)
    return place / form


def assert_refused(place: Path, path: Path, change: Callable[[], None], **options: Any) -> None:
    """A load is refused if the file changes once it is planned, or once a task has read some."""
    half = options.pop("half", False)
    waiting = [change]

    def progress(phase: str, done: int, total: int) -> None:
        if phase == "parse" and (done or not half) and waiting:
            waiting.pop()()

    Graph.init(str(place / "g"), SCHEMA, durability="relaxed").close()
    graph = Graph.open(str(place / "g"), settings=with_limits(MANY))
    with pytest.raises(SourceInvalid, match="the file was changed while it was loaded") as failed:
        graph.load(path, mode="append", progress=progress, **options)
    assert not waiting and failed.value.file == str(path)
    assert graph.stats().tables[TableKey("node:P")].row_count == 0


@pytest.mark.values
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_after_it_was_planned_is_not_loaded(
    tmp_path: Path, form: str, change: str
) -> None:
    path = write(tmp_path, form)
    assert_refused(tmp_path, path, lambda: CHANGES[change](path, form), engine="local")


@pytest.mark.parametrize("form", ["in.jsonl", "P.csv", "P.parquet"])
def test_a_file_that_is_replaced_between_two_tasks_is_not_loaded(tmp_path: Path, form: str) -> None:
    path = write(tmp_path, form)
    change = partial(replace_by_another, path, form)
    assert_refused(tmp_path, path, change, half=True, engine="local")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("form", ["in.jsonl", "P.parquet"])
def test_spark_does_not_load_a_file_that_changes(tmp_path: Path, spark: Spark, form: str) -> None:
    path = write(tmp_path, form)
    assert_refused(tmp_path, path, partial(write_over, path, form), spark=spark)


def test_a_row_that_is_looked_up_once_more_is_the_row_that_was_read(tmp_path: Path) -> None:
    """The file is read again to name the lines of rows that break a rule together."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines(0, 50) + lines(7, 1))
    changes = [lambda: path.write_bytes(lines(100, 80))]

    def progress(phase: str, done: int, total: int) -> None:
        if phase == "check" and changes:
            changes.pop()()

    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    with pytest.raises(SourceInvalid, match="changed while it was loaded"):
        graph.load(path, mode="append", engine="local", progress=progress)


def test_a_file_that_was_only_read_meanwhile_is_loaded(tmp_path: Path) -> None:
    path = write(tmp_path, "in.jsonl")
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")

    def progress(phase: str, done: int, total: int) -> None:
        path.read_bytes()

    assert graph.load(path, mode="append", engine="local", progress=progress).read == COUNT
