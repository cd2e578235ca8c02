"""Loads that meet: each is right, or refused whole. No id is ever there twice."""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    ConflictError,
    KeyTaken,
    LoadUnderWay,
    ReadSetMoved,
)
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import TableKey
from omnigraph.engine.engine import Engine
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.spark.session import Spark
from omnigraph.pipeline.staging.area import folder_of
from tests.crash.dying import InterruptAt
from tests.graph.people import SCHEMA, write_ndjson
from tests.pipeline.conftest import ON_SPARK
from tests.pipeline.limits import LARGE, with_limits

Rows = dict[str, int]


def lines(people: Rows) -> list[dict[str, object]]:
    """People by name and age, each of whom knows themselves."""
    nodes: list[dict[str, object]] = [
        {"type": "Person", "data": {"email": name, "name": name, "age": age}}
        for name, age in people.items()
    ]
    edges: list[dict[str, object]] = [
        {"edge": "Knows", "id": name, "from": name, "to": name} for name in people
    ]
    return nodes + edges


class World:
    def __init__(self, place: Path, limits: LoadLimits) -> None:
        self.place = place
        Graph.init(str(place / "g"), SCHEMA, durability="relaxed")
        self.settings = with_limits(limits)
        self.graph = self.opened(durability="relaxed")
        self._numbers = itertools.count()

    def opened(self, **options: Any) -> Graph:
        return Graph(Engine.open(str(self.place / "g"), settings=self.settings, **options))

    def load(self, people: Rows, **options: Any) -> LoadResult:
        data = write_ndjson(self.place / f"{next(self._numbers)}.jsonl", lines(people))
        return self.graph.load(data, **{"engine": "local", **options})

    def load_late(
        self, people: Rows, meanwhile: Callable[[], object], **options: Any
    ) -> LoadResult:
        """A load that is ready to be published when something else happens."""
        ready = iter([meanwhile])

        def progress(phase: str, done: int, total: int) -> None:
            if phase == "publish" and (happens := next(ready, None)) is not None:
                happens()

        return self.load(people, progress=progress, **options)

    def ages(self) -> Rows:
        """Everyone once, or this fails."""
        return {name: self._one(name) for name in self._names("Person")}

    def _names(self, name: str) -> list[str]:
        snapshot = self.graph.snapshot().stored
        nodes, edges = snapshot.catalog.node_by_name, snapshot.catalog.edge_by_name
        ids: list[str] = snapshot.dataset(nodes[name]).scan(["id"])["id"].to_pylist()
        known: list[str] = snapshot.dataset(edges["Knows"]).scan(["id"])["id"].to_pylist()
        assert len({*ids}) == len(ids)
        assert sorted(known) == sorted(ids)
        return ids

    def _one(self, name: str) -> int:
        query = (
            "query q($n: String) { match { $p: Person { email: $n } } return { $p.age as age } }"
        )
        [row] = self.graph.query(query, "q", {"n": name}).to_pylist()
        age: int = row["age"]
        return age


@pytest.fixture(params=["small", "large"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(tmp_path, LARGE if request.param == "large" else LoadLimits())


FIRST, SECOND = {"bob": 20, "cyd": 21}, {"cyd": 30, "dan": 31}


@pytest.mark.parametrize("quick", ["append", "merge"])
def test_an_append_of_an_id_that_was_not_there_a_moment_ago_is_refused(
    world: World, quick: str
) -> None:
    world.load({"ada": 1}, mode="append")
    with pytest.raises(KeyTaken, match="Person 'cyd' is already in the graph"):
        world.load_late(SECOND, lambda: world.load(FIRST, mode=quick), mode="append")
    assert world.ages() == {"ada": 1, **FIRST}


@pytest.mark.parametrize("quick", ["append", "merge"])
def test_a_merge_replaces_what_was_not_there_a_moment_ago(world: World, quick: str) -> None:
    world.load({"ada": 1}, mode="append")
    done = world.load_late(SECOND, lambda: world.load(FIRST, mode=quick), mode="merge")
    assert world.ages() == {"ada": 1, **FIRST, **SECOND}
    assert (done.inserted, done.updated) == (2, 1)


def test_a_merge_puts_back_what_was_deleted_a_moment_ago(world: World) -> None:
    world.load({"ada": 1, "bob": 2}, mode="append")
    leave = 'query q() { delete Person where email = "ada" }'
    done = world.load_late(
        {"ada": 5, "bob": 2, "cyd": 6}, lambda: world.graph.mutate(leave), mode="merge"
    )
    assert world.ages() == {"ada": 5, "bob": 2, "cyd": 6}
    # Ada and Cyd, each with the edge that knows them; Bob is as he was.
    assert (done.inserted, done.updated) == (4, 0)


def test_a_merge_that_had_nothing_to_do_looks_again(world: World) -> None:
    world.load({"ada": 1}, mode="append")
    done = world.load_late({"ada": 1}, lambda: world.load({"ada": 2}, mode="merge"), mode="merge")
    assert (world.ages(), done.updated) == ({"ada": 1}, 1)


def test_a_merge_outlives_a_compaction(world: World) -> None:
    for number in range(3):
        world.load({f"p{number}": number}, mode="append")
    done = world.load_late({"p1": 10, "q": 4}, world.graph.optimize, mode="merge")
    assert world.ages() == {"p0": 0, "p1": 10, "p2": 2, "q": 4}
    assert (done.inserted, done.updated) == (2, 1)


def test_the_first_merge_of_a_branch_leaves_its_source_alone(world: World) -> None:
    world.load({"ada": 1, "bob": 2}, mode="append")
    world.load({"ada": 5, "cyd": 6}, mode="merge", branch="side", from_="main")
    assert world.ages() == {"ada": 1, "bob": 2}
    world.load({"cyd": 7}, mode="merge", branch="side")
    world.graph.branch_merge("side")
    assert world.ages() == {"ada": 5, "bob": 2, "cyd": 7}


def test_an_overwrite_of_what_has_changed_is_refused(world: World) -> None:
    world.load({"ada": 1}, mode="append")
    with pytest.raises(ReadSetMoved):
        world.load_late(SECOND, lambda: world.load(FIRST, mode="merge"), mode="overwrite")
    assert world.ages() == {"ada": 1, **FIRST}


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_of_many_loads_at_once_each_is_whole_or_refused(world: World, mode: str) -> None:
    inputs = [{f"p{(turn + n) % 6}": 10 * turn + n for n in range(3)} for turn in range(4)]

    def load(people: Rows) -> bool:
        try:
            world.opened(durability="relaxed")
            world.load(people, mode=mode)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        loaded = [
            people for people, done in zip(inputs, pool.map(load, inputs), strict=True) if done
        ]
    found = world.ages()
    assert found.keys() == {name for people in loaded for name in people}
    if mode == "append":
        assert sum(map(len, loaded)) == len(found)
    else:
        assert len(loaded) == 4
        assert all(age in {p[name] for p in loaded if name in p} for name, age in found.items())


@pytest.mark.parametrize("world", [pytest.param("large", marks=ON_SPARK)], indirect=True)
def test_a_large_merge_on_spark_is_resolved_again(world: World, spark: Spark) -> None:
    world.load({"ada": 1}, mode="append")
    quick = {"mode": "merge", "engine": "spark", "spark": spark}
    done = world.load_late(SECOND, lambda: world.load(FIRST, **quick), **quick)
    assert world.ages() == {"ada": 1, **FIRST, **SECOND}
    assert (done.inserted, done.updated, done.engine) == (2, 1, "spark")


# Load ids -----------------------------------------------------------------------------------------


def test_a_load_id_that_the_branch_has_seen_makes_a_load_do_nothing(world: World) -> None:
    first = world.load(FIRST, mode="append", load_id="monday")
    again = world.load(SECOND, mode="append", load_id="monday")
    assert (again.is_repeat, again.commit, again.read) == (True, first.commit, 0)
    assert (first.is_repeat, first.load_id) == (False, "monday")
    assert world.graph.commits()[0].load_id == "monday"
    assert world.load({"eve": 5}, mode="append", load_id="tuesday").inserted == 2
    assert world.ages() == {**FIRST, "eve": 5}


def test_a_branch_has_seen_what_was_loaded_before_it_was_made(world: World) -> None:
    world.graph.branch_create("early")
    world.load(FIRST, mode="append", load_id="monday")
    late = world.load(SECOND, mode="append", load_id="monday", branch="late", from_="main")
    assert (late.is_repeat, late.base_branch) == (True, "main")
    assert {*world.graph.branches()} == {"early", "late", "main"}
    assert world.load(FIRST, mode="append", load_id="monday", branch="early").inserted == 4
    again = world.load(FIRST, mode="append", load_id="monday", branch="late", from_="main")
    assert (again.is_repeat, again.base_branch) == (True, None)


def test_of_two_loads_with_one_id_at_once_one_is_done(world: World) -> None:
    def meanwhile() -> None:
        with pytest.raises(LoadUnderWay, match="monday"):
            world.load(SECOND, mode="append", load_id="monday")

    world.load_late(FIRST, meanwhile, mode="append", load_id="monday")
    assert world.load(SECOND, mode="append", load_id="monday").is_repeat
    assert world.ages() == FIRST


@pytest.mark.parametrize("point", Failpoint)
def test_a_load_that_died_is_done_once_when_it_is_tried_again(
    world: World, point: Failpoint
) -> None:
    world.load({"ada": 1}, mode="append")
    dying = world.opened(durability="relaxed", faults=CrashAt(point))
    data = write_ndjson(world.place / "in.jsonl", lines(FIRST))
    with pytest.raises(Crash):
        dying.load(data, mode="append", engine="local", load_id="monday")
    world.graph.load(data, mode="append", engine="local", load_id="monday")
    assert world.ages() == {"ada": 1, **FIRST}
    assert [commit.load_id for commit in world.graph.commits()].count("monday") == 1


REFUSED = ["", "a\0b", "line\nbreak", "\x1b[31m", "\ud800", "x" * 1_001]


@pytest.mark.parametrize("load_id", REFUSED, ids=ascii)
@pytest.mark.parametrize("options", [{}, {"dry_run": True}, {"resume": True}], ids=str)
def test_a_load_id_that_can_not_be_told_is_refused(
    world: World, load_id: str, options: dict[str, Any]
) -> None:
    commits = len(world.graph.commits())
    with pytest.raises(ArgumentInvalid, match="load_id"):
        world.load(FIRST, mode="append", load_id=load_id, **options)
    assert len(world.graph.commits()) == commits


# Each would lead out of its folder, or be called as something of another load is.
ODD_IDS = [".", "..", "../x", "a/b", "a.json", "a/x.json", "a", "a~b", "%2E", "é\u4e2d" * 90]
ODD_IDS += ["x" * 1_000, "x" * 999 + "y"]


def test_loads_with_odd_names_do_not_get_in_each_others_way(world: World) -> None:
    root = world.place / "g"
    files = []
    for number, load_id in enumerate(ODD_IDS):
        dying = world.opened(faults=CrashAt(Failpoint.AFTER_STAGE))
        files.append(write_ndjson(world.place / f"odd{number}.jsonl", lines({f"p{number}": 1})))
        with pytest.raises(Crash):
            dying.load(files[-1], mode="append", engine="local", load_id=load_id)
    before = {path.name for path in root.iterdir()}
    assert len({folder_of(load_id) for load_id in ODD_IDS}) == len(ODD_IDS)
    for file, load_id in zip(files, ODD_IDS, strict=True):
        options: dict[str, Any] = {"mode": "append", "engine": "local", "load_id": load_id}
        assert world.graph.load(file, resume=True, **options).inserted == 2
        assert world.graph.load(file, **options).is_repeat
    assert {path.name for path in root.iterdir()} == {*before, "__recovery"}
    assert [path for path in (root / "__staging").rglob("*") if path.is_file()] == []
    assert [c.load_id for c in world.graph.commits(limit=len(ODD_IDS))] == ODD_IDS[::-1]


# The branch that a load makes for itself ----------------------------------------------------------


@pytest.mark.parametrize("point", Failpoint)
def test_a_load_interrupted_on_its_own_branch_keeps_the_branch_only_if_it_is_published(
    world: World, point: Failpoint
) -> None:
    data = write_ndjson(world.place / "new.jsonl", lines({"new": 1}))
    graph = world.opened(faults=InterruptAt(point))
    with pytest.raises(KeyboardInterrupt):
        graph.load(data, mode="append", engine="local", branch="import", from_="main")
    # A write that has begun to land is finished before the caller hears of the interruption.
    is_published = point not in (Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM)
    fresh = Graph.open(world.graph.uri)
    assert fresh.branches() == (["main", "import"] if is_published else ["main"])
    if is_published:
        assert [commit.kind for commit in fresh.commits("import", limit=1)] == ["load"]


def test_a_load_that_its_caller_breaks_leaves_no_branch(world: World) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"type": "Person", "data": {"name": "new", "age": 1}}
        raise ValueError("of the caller's own")

    for _ in range(2):
        with pytest.raises(ValueError, match="own"):
            world.graph.load(rows(), mode="append", branch="import", from_="main")
        assert world.graph.branches() == ["main"]


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_load_that_fails_takes_the_branch_it_made_from_no_other_load(
    world: World, mode: str
) -> None:
    has_begun, may_fail = Event(), Event()

    def rows() -> Iterator[dict[str, Any]]:
        yield {"type": "Person", "data": {"name": "new", "age": 1}}
        has_begun.set()
        assert may_fail.wait(60)
        raise ValueError("of the caller's own")

    with ThreadPoolExecutor(1) as pool:
        failing = pool.submit(
            world.graph.load, rows(), mode="append", branch="import", from_="main"
        )
        assert has_begun.wait(60)
        assert world.graph.branches() == ["main", "import"]

        def meanwhile() -> None:
            may_fail.set()
            with pytest.raises(ValueError, match="own"):
                failing.result()
            assert world.graph.branches() == ["main"]

        loaded = world.load_late(SECOND, meanwhile, mode=mode, branch="import", from_="main")
    assert loaded.total_entities == 2 * len(SECOND)
    [load, *before] = Graph.open(world.graph.uri).commits("import")
    assert load.kind == "load" and before == world.graph.commits()
    assert world.graph.stats("import").tables[TableKey("node:Person")].row_count == len(SECOND)


def test_a_load_to_a_branch_that_its_caller_deletes_is_not_written_elsewhere(world: World) -> None:
    """What the branch held is gone, and the files of the load with it."""
    world.load(FIRST, mode="append", branch="import", from_="main")
    with pytest.raises(BranchMissing):
        world.load_late(
            {"eve": 1},
            lambda: world.graph.branch_delete("import"),
            mode="append",
            branch="import",
            from_="main",
        )
    assert world.graph.branches() == ["main"]


def test_a_load_that_fails_leaves_what_another_wrote_to_the_branch_it_made(world: World) -> None:
    def meanwhile() -> None:
        world.load(FIRST, mode="append", branch="import")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.load_late(SECOND, meanwhile, mode="append", branch="import", from_="main")
    assert [commit.kind for commit in world.graph.commits("import", limit=1)] == ["load"]
