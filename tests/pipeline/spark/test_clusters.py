"""Loads on a standalone cluster of two workers, and through Spark Connect."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.base.errors import OmnigraphError
from omnigraph.engine.results import LoadResult
from tests.pipeline.spark.clusters import (
    Driver,
    Server,
    ancestors,
    contents,
    load_there,
    spark_there,
)
from tests.pipeline.world import edge, node, text
from tests.processes import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

SCHEMA = """
node Person { name: String @key  age: I32? }
node City { code: I64 @key }
edge Knows: Person -> Person { @key(src, dst) }
edge LivesIn: Person -> City @card(0..1)
"""


@pytest.fixture(params=["cluster_driver", "connect_driver"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver: Driver = request.getfixturevalue(request.param)
    return driver


Rows = list[dict[str, Any] | str]


def people(names: range) -> Rows:
    return [
        node("City", code=1),
        *(node("Person", name=f"p{n}", age=n % 90) for n in names),
        *(edge("Knows", f"p{n}", f"p{n + 1}") for n in names[:-1]),
        *(edge("LivesIn", f"p{n}", 1) for n in names),
    ]


HELD = people(range(50))
# Enough for several tasks.
MANY = people(range(100, 12_000))[1:]
NEW: Rows = [node("Person", name=f"q{n}") for n in range(40)]
OLDER: Rows = [node("Person", name=f"p{n}", age=91) for n in range(30, 60)]
WRONG_TOGETHER = [*NEW, *NEW[:7], edge("Knows", "q1", "nobody"), edge("LivesIn", "p1", 1)]
FEW = pa.table({"name": ["p1", "p2"], "age": pa.array([1, None], pa.int32())})


def lines(*rows: dict[str, Any] | str) -> Callable[[Path], str]:
    def write(place: Path) -> str:
        (place / "in.jsonl").write_text(text(rows))
        return str(place / "in.jsonl")

    return write


def as_parquet(place: Path) -> str:
    pq.write_table(FEW, place / "Person.parquet")
    return str(place / "Person.parquet")


def as_csv(place: Path) -> str:
    rows = "".join(f"q{n},{n}\n" for n in range(40))
    (place / "Person.csv").write_text(f"name,age\n{rows}")
    return str(place / "Person.csv")


@dataclass(frozen=True)
class Case:
    source: Callable[[Path], str]
    options: dict[str, Any]
    sets_aside: bool = False


CASES = {
    "new rows beside those held": Case(
        lines(*MANY, edge("Knows", "p100", "p1")), {"mode": "append"}
    ),
    "rows merged": Case(lines(*OLDER, *NEW, *NEW[:3]), {"mode": "merge"}),
    "a branch made for a table": Case(
        as_csv, {"mode": "append", "branch": "draft", "from_": "main"}
    ),
    "a type replaced that edges need": Case(as_parquet, {"mode": "overwrite"}),
    "rows that break rules together, set aside": Case(
        lines(*WRONG_TOGETHER), {"mode": "append"}, sets_aside=True
    ),
    "lines that are none": Case(
        lines(*NEW, "{", '{"type":"Nothing","data":{}}', *NEW), {"mode": "append"}
    ),
}


@pytest.mark.values
@pytest.mark.parametrize("case", CASES)
def test_a_load_does_on_a_cluster_what_it_does_here(
    driver: Driver, tmp_path: Path, case: str
) -> None:
    source = CASES[case].source(tmp_path)
    here, there = graph_with(tmp_path / "here"), graph_with(tmp_path / "there")

    def options(name: str) -> dict[str, Any]:
        aside = {"on_error": "quarantine", "quarantine": str(tmp_path / f"bad-{name}")}
        return {**CASES[case].options, **(aside if CASES[case].sets_aside else {})}

    expected = outcome(lambda: here.load(source, engine="local", **options("here")))
    found = outcome(lambda: driver.run(load_there, there.uri, source, **options("there")))
    assert found == expected
    branch = "main" if "error" in expected else CASES[case].options.get("branch", "main")
    assert contents(there, branch) == contents(here, branch)
    assert set_aside(tmp_path / "bad-there") == set_aside(tmp_path / "bad-here")


def set_aside(directory: Path) -> list[str]:
    parts = directory.rglob("*.jsonl") if directory.exists() else ()
    return sorted(line for part in parts for line in part.read_text().splitlines())


def test_tasks_run_on_both_workers(cluster: Server, cluster_driver: Driver, tmp_path: Path) -> None:
    cluster_driver.run(meet_there, str(tmp_path))
    assert {int(file.name) for file in tmp_path.iterdir()} == {*cluster.executors()}


def meet_there(place: str) -> None:
    """Inside a driver: two tasks, neither of which ends before both have begun, each elsewhere."""
    spark_there().run([place, place], meet_here, doing="meeting")


def meet_here(place: str) -> None:
    _, executor, *_ = ancestors(os.getpid())
    Path(place, str(executor)).touch()
    wait_until(lambda: len([*Path(place).iterdir()]) == 2, "one of the workers does nothing")


def test_progress_is_told_over_connect_while_tasks_run(
    connect_driver: Driver, tmp_path: Path
) -> None:
    heard = connect_driver.run(progress_there, str(tmp_path / "heard"))
    assert heard == sorted(heard)
    assert {*heard} & {1, 2, 3} and {*heard} <= {0, 1, 2, 3, 4}


def progress_there(marker: str) -> list[int]:
    """Inside a driver: how many of four tasks were done, whenever that was told.

    The last task does not end before one that did has been told of.
    """
    spark, heard = spark_there(), list[int]()

    def hear(done: int) -> None:
        heard.append(done)
        if done:
            Path(marker).touch()

    before = spark.session.conf.get("spark.connect.progress.reportInterval", "2s")
    spark.session.conf.set("spark.connect.progress.reportInterval", "100ms")
    spark.run([None, None, None, marker], wait_for_file, doing="waiting", on_progress=hear)
    spark.session.conf.set("spark.connect.progress.reportInterval", before)
    return heard


def wait_for_file(path: str | None) -> None:
    if path is not None:
        wait_until(Path(path).exists, "no progress was told")


def graph_with(place: Path) -> Graph:
    graph = Graph.init(str(place), SCHEMA)
    held = place.with_suffix(".jsonl")
    held.write_text(text(HELD))
    graph.load(held, mode="append", engine="local")
    return graph


def outcome(load: Callable[[], LoadResult]) -> dict[str, Any]:
    """What a load says of itself, whoever ran it."""
    try:
        loaded = load()
    except OmnigraphError as error:
        return error.to_json()
    counts = (loaded.read, loaded.rejected, loaded.superseded, loaded.inserted, loaded.updated)
    return {"counts": counts, "nodes": loaded.nodes, "edges": loaded.edges}
