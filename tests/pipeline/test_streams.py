"""Streams of Spark into a graph: every micro-batch once, whatever dies between two steps."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    ConstraintViolated,
    MappingInvalid,
    OmnigraphError,
    SourceInvalid,
    SparkFailed,
)
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.engine.engine import Engine
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.spark.session import Spark

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SCHEMA = "node Person { name: String @key  age: I32? @range(0..150) }"
ONCE = {"availableNow": True}


class World:
    """A graph, and a directory each of whose files becomes a micro-batch."""

    def __init__(self, place: Path, spark: Spark) -> None:
        self.place, self.spark = place, spark
        self.graph = Graph.init(str(place / "g"), SCHEMA, durability="relaxed")
        (place / "in").mkdir()

    def arrive(self, file: str, **people: int) -> None:
        lines = (json.dumps({"name": name, "age": age}) for name, age in people.items())
        path = self.place / "in" / f"{file}.json"
        path.write_text("\n".join(lines))
        # Spark takes the oldest file first.
        os.utime(path, times=(int(file), int(file)))

    @property
    def frame(self) -> Any:
        reader = self.spark.session.readStream.schema("name string, age int")
        return reader.option("maxFilesPerTrigger", 1).json(str(self.place / "in"))

    def stream(self, graph: Graph | None = None, **options: Any) -> list[LoadResult]:
        """What became of every micro-batch that there is."""
        heard: list[LoadResult] = []
        chosen = {"mode": "append", "checkpoint": self.place / "checkpoint", "trigger": ONCE}
        running = (graph or self.graph).stream(
            {"Person": self.frame}, on_batch=heard.append, **{**chosen, **options}
        )
        assert running.wait()
        assert not running.is_active
        return heard

    def ages(self) -> dict[str, int]:
        query = "query q() { match { $p: Person } return { $p.name as name, $p.age as age } }"
        rows = self.graph.query(query, "q").to_pylist()
        ages = {row["name"]: row["age"] for row in rows}
        assert len(ages) == len(rows)
        return ages


@pytest.fixture
def world(tmp_path: Path, spark: Spark) -> World:
    return World(tmp_path, spark)


def test_a_micro_batch_is_a_commit_and_a_stream_goes_on_where_it_was(world: World) -> None:
    world.arrive("1", ada=36)
    world.arrive("2", bob=20, cyd=21)
    first = world.stream(actor="me", message="from the wire")
    assert [done.nodes for done in first] == [{"Person": 1}, {"Person": 2}]
    assert world.stream() == []
    world.arrive("3", ada=37)
    [done] = world.stream(mode="merge")
    assert (done.updated, done.inserted) == (1, 0)
    assert world.ages() == {"ada": 37, "bob": 20, "cyd": 21}
    names = [commit.load_id for commit in world.graph.commits(limit=3)]
    query_id = names[0].rpartition("-")[0] if names[0] else None
    assert names == [f"{query_id}-{number}" for number in (2, 1, 0)]
    assert {(commit.actor_id, commit.message) for commit in world.graph.commits(limit=3)[1:]} == {
        ("me", "from the wire")
    }


def test_a_micro_batch_that_spark_runs_again_is_loaded_once(world: World) -> None:
    world.arrive("1", ada=36)
    [done] = world.stream()
    # As if the process had died before Spark wrote down that the micro-batch was over.
    for file in (world.place / "checkpoint" / "commits").iterdir():
        file.unlink()
    [again] = world.stream()
    assert (again.is_repeat, again.commit) == (True, done.commit)
    assert world.ages() == {"ada": 36}


@pytest.mark.parametrize("second", [{"ada": 36}, {"ada": 999}], ids=["equal", "rejected"])
def test_a_micro_batch_that_changes_nothing_is_loaded_once(
    world: World, second: dict[str, int]
) -> None:
    aside: dict[str, Any] = {"on_error": "quarantine", "quarantine": world.place / "bad"}
    world.arrive("1", ada=36)
    world.arrive("2", **second)
    [_, done] = world.stream(mode="merge", **aside)
    for file in (world.place / "checkpoint" / "commits").glob("*1*"):
        file.unlink()
    world.graph.load([{"type": "Person", "data": {"name": "ada", "age": 40}}], mode="merge")
    world.arrive("3", bob=20)
    [again, last] = world.stream(mode="merge", **aside)
    assert (again.is_repeat, again.commit) == (True, done.commit)
    assert (last.is_repeat, last.inserted) == (False, 1)
    assert world.ages() == {"ada": 40, "bob": 20}


@pytest.mark.parametrize(
    "point", [Failpoint.AFTER_STAGE, Failpoint.AFTER_LAND_1, Failpoint.AFTER_PUBLISH]
)
def test_a_stream_that_dies_loses_nothing_and_doubles_nothing(
    world: World, point: Failpoint
) -> None:
    world.arrive("1", ada=36, bob=20)
    dying = Graph(Engine.open(world.graph.uri, durability="relaxed", faults=CrashAt(point)))
    with pytest.raises(Crash):
        world.stream(dying)
    world.arrive("2", cyd=21)
    world.graph = Graph.open(world.graph.uri, durability="relaxed")
    world.stream()
    assert world.ages() == {"ada": 36, "bob": 20, "cyd": 21}


def test_a_micro_batch_with_a_bad_row_ends_the_stream_or_loses_the_row(world: World) -> None:
    world.arrive("1", ada=36)
    world.stream()
    world.arrive("2", bob=20, cyd=210)
    world.arrive("3", dan=30)
    with pytest.raises(ConstraintViolated, match=r"Person\.age is 210, outside 0\.\.150"):
        world.stream()
    assert world.ages() == {"ada": 36}
    aside = world.place / "bad"
    done = world.stream(on_error="quarantine", quarantine=aside)
    assert [(batch.read, batch.rejected) for batch in done] == [(2, 1), (1, 0)]
    assert world.ages() == {"ada": 36, "bob": 20, "dan": 30}
    [batch] = aside.iterdir()
    assert (batch.name, done[0].quarantine) == (done[0].load_id, str(batch))


def test_a_stream_may_be_stopped_and_begun_again(world: World) -> None:
    for number in range(3):
        world.arrive(f"{number}", **{f"p{number}": number})
    checkpoint = world.place / "checkpoint"
    heard: list[LoadResult] = []
    with world.graph.stream(
        {"Person": world.frame}, mode="append", checkpoint=checkpoint, on_batch=heard.append
    ) as running:
        assert not running.wait(timeout_s=0.01)
        before = running.id
    assert not running.is_active
    world.stream()
    assert world.ages() == {"p0": 0, "p1": 1, "p2": 2}
    assert all((done.load_id or "").startswith(before) for done in heard)


def still(world: World) -> Any:
    return world.spark.session.createDataFrame([("ada", 1)], "name string, age int")


REFUSED: dict[str, tuple[Callable[[World], Any], dict[str, Any], type[OmnigraphError], str]] = {
    "no frame": (lambda _: "in.jsonl", {}, ArgumentInvalid, "one streaming frame"),
    "no stream": (lambda w: {"Person": still(w)}, {}, ArgumentInvalid, "one streaming frame"),
    "two streams": (
        lambda w: {"Person": w.frame, "Other": w.frame},
        {},
        ArgumentInvalid,
        "one streaming frame",
    ),
    "no name": (lambda w: w.frame, {}, SourceInvalid, "the type of its rows is unknown"),
    "no such type": (lambda w: {"People": w.frame}, {}, SourceInvalid, "People"),
    "no such column": (
        lambda w: {"Person": w.frame.withColumnRenamed("age", "years")},
        {},
        SourceInvalid,
        "years",
    ),
    "no such table": (
        lambda w: {"Person": w.frame},
        {"mapping": {"Persn": {"node": "Person"}}},
        MappingInvalid,
        "did you mean Person",
    ),
    "no such mode": (lambda w: {"Person": w.frame}, {"mode": "replace"}, ArgumentInvalid, "mode"),
    "no such branch": (lambda w: {"Person": w.frame}, {"branch": "side"}, BranchMissing, "side"),
    "no such trigger": (
        lambda w: {"Person": w.frame},
        {"trigger": {"hourly": True}},
        ArgumentInvalid,
        "trigger",
    ),
    "no such output": (
        lambda w: {"Person": w.frame},
        {"output_mode": "complete"},
        SparkFailed,
        "starting a stream",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_be_known_before_a_stream_begins_is_refused_then(world: World, case: str) -> None:
    source, options, error, told = REFUSED[case]
    chosen = {"mode": "append", "checkpoint": world.place / "checkpoint", **options}
    with pytest.raises(error, match=told):
        world.graph.stream(source(world), **chosen)


def test_a_load_of_a_stream_is_refused(world: World) -> None:
    with pytest.raises(ArgumentInvalid, match=r"Graph\.stream"):
        world.graph.load({"Person": world.frame}, mode="append")
