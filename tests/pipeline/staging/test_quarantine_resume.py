"""Loads with a quarantine whose driver dies: in the end all is as if it had lived.

Each is compared with a load of the same input that nobody disturbed: the rows of the graph, what
the result says, and every file of the quarantine.
"""

import json
import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import RejectedTooMany, StorageFailed
from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.spark.session import Spark
from omnigraph.pipeline.staging.area import AreaRecord, StagingArea
from omnigraph.pipeline.staging.quarantine import Quarantine, open_quarantine
from omnigraph.pipeline.staging.record import LoadRecord, resume_load
from omnigraph.store.layout import STAGING
from tests.pipeline.limits import MANY_TASKS
from tests.pipeline.staging.test_resume import (
    PARSE,
    SCHEMA,
    KillAt,
    garble_first_line,
    opened,
)
from tests.pipeline.world import edge, node, text

COUNT = 300
PEOPLE = [node("Person", name=f"p{n:04}", age=n % 90) for n in range(COUNT)]
KNOWS = [edge("Knows", f"p{n:04}", f"p{(n * 7) % COUNT:04}") for n in range(COUNT)]
BAD: dict[int, Any] = {
    # Wrong by themselves, from the first task to one near the end.
    0: node("Person", name="p0000", age="none"),
    1: "{",
    90: node("Person", name="p0090", age=2**31),
    250: node("Persson", name="p0250"),
    # Wrong among others: twice in the input, and an edge to nobody.
    40: node("Person", name="p0041", age=1),
    COUNT + 3: edge("Knows", "p0003", "nobody"),
    2 * COUNT - 2: edge("Knows", "p0005", 7),
}
ROWS = [BAD.get(number, row) for number, row in enumerate([*PEOPLE, *KNOWS])]
NAMING = "naming"
START = "start"
# Once a dataset has moved, the load of the dead is finished and not done again.
UNFINISHED = (PARSE, Failpoint.AFTER_STAGE.value)
FINISHED = (Failpoint.AFTER_LAND_1.value, Failpoint.AFTER_DISARM.value, NAMING)


class Place:
    def __init__(self, place: Path) -> None:
        place.mkdir(exist_ok=True)
        self.place = place
        self.source = place / "in.jsonl"
        self.source.write_text(text(ROWS))
        Graph.init(str(place / "graph"), SCHEMA, durability="relaxed")
        self.graph = opened(str(place / "graph"), durability="relaxed")

    def load(self, **options: Any) -> LoadResult:
        return self.graph.load(self.source, **self._options(options))

    def killed(self, how: str, **options: Any) -> None:
        child = get_context("spawn").Process(
            target=load_and_die,
            args=(str(self.place / "graph"), str(self.source), how),
            kwargs=self._options(options),
        )
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        bad_rows = {"on_error": "quarantine", "quarantine": self.place / "bad"}
        return {"mode": "append", "engine": "local", "load_id": "x", **bad_rows, **options}

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        snapshot = Graph.open(str(self.place / "graph")).snapshot().stored
        columns = {"Person": ("name", "age"), "Knows": ("src", "dst")}
        return {
            entity.name: sorted(
                (row[columns[entity.name][0]], row[columns[entity.name][1]])
                for row in snapshot.dataset(entity).scan(columns[entity.name]).to_pylist()
            )
            for entity in snapshot.catalog.entities
        }

    def quarantine(self) -> dict[str, str]:
        """Its files, as if the input lay nowhere."""
        files = sorted((self.place / "bad").iterdir())
        return {file.name: file.read_text().replace(str(self.place), "") for file in files}

    def leftovers(self) -> list[Path]:
        return [
            *self.place.glob("bad?*"),
            *(self.place / "graph" / STAGING).rglob("*.json"),
        ]


def load_and_die(uri: str, source: str, how: str, **options: Any) -> None:
    """In a process of its own: killed in the middle of the input, or at a step of the write, or
    with the first of the quarantine's parts named."""

    def progress(phase: str, done: int, total: int) -> None:
        if how == phase == START or (how == phase == PARSE and done > total / 2):
            os.kill(os.getpid(), signal.SIGKILL)
        if how == NAMING and phase == "publish" and done:
            patch.setattr(Path, "rename", rename_and_die)

    def rename_and_die(self: Path, target: Path) -> None:
        shutil.move(self, target)
        os.kill(os.getpid(), signal.SIGKILL)

    patch = pytest.MonkeyPatch()
    is_small = options.pop("is_small", False)
    limits = replace(MANY_TASKS, max_lookup_bytes=1 << 20) if is_small else MANY_TASKS
    opened(uri, limits, faults=KillAt(how)).load(source, progress=progress, **options)


def told(result: LoadResult, place: Place) -> dict[str, Any]:
    """All that a result says but how it came about."""
    assert result.violations is not None
    assert result.quarantine == str(place.place / "bad")
    return {
        "counts": result.violations.counts,
        "examples": [str(v).replace(str(place.place), "") for v in result.violations.examples],
        **{
            name: getattr(result, name)
            for name in ("read", "rejected", "nodes", "edges", "superseded", "inserted", "updated")
        },
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Place, LoadResult]]:
    """By mode: a load that nobody disturbed."""
    done = {}
    for mode in ("append", "merge"):
        place = Place(tmp_path_factory.mktemp(mode))
        done[mode] = place, place.load(mode=mode)
    return done


Undisturbed = dict[str, tuple[Place, LoadResult]]


def assert_as_if_undisturbed(
    place: Place, result: LoadResult, undisturbed: Undisturbed, mode: str = "append"
) -> None:
    expected, at_once = undisturbed[mode]
    if not result.is_repeat:
        assert told(result, place) == told(at_once, expected)
        assert result.read == result.total_entities + result.rejected + result.superseded
    assert place.rows() == expected.rows()
    assert place.quarantine() == expected.quarantine()
    assert place.leftovers() == []


def test_what_is_compared_is_worth_it(undisturbed: Undisturbed) -> None:
    place, result = undisturbed["append"]
    assert result.read == 2 * COUNT
    report = json.loads(place.quarantine()["report.json"])
    assert len(report["files"]) > 4
    lines = [json.loads(o) for f in report["files"] for o in place.quarantine()[f].splitlines()]
    assert len(lines) == len({o["line"] for o in lines}) == report["rejected"] == result.rejected
    assert {number + 1 for number in BAD if number != 40} < {o["line"] for o in lines}
    assert place.quarantine().keys() == {"report.json", *report["files"]}


@pytest.mark.parametrize("point", [*UNFINISHED, *FINISHED])
def test_wherever_a_driver_dies_the_rejected_rows_are_there_once(
    undisturbed: Undisturbed, tmp_path: Path, point: str
) -> None:
    place = Place(tmp_path)
    place.killed(point)
    assert not (place.place / "bad").exists()
    result = place.load(resume=True)
    assert result.is_repeat == (point in FINISHED)
    assert (result.resumed_tasks > 0) == (point in UNFINISHED)
    assert_as_if_undisturbed(place, result, undisturbed)


def test_a_merge_goes_on_with_what_was_rejected(undisturbed: Undisturbed, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.killed(PARSE, mode="merge")
    result = place.load(mode="merge", resume=True)
    assert result.superseded and result.resumed_tasks
    assert_as_if_undisturbed(place, result, undisturbed, "merge")


def test_rejected_rows_of_a_finished_task_are_not_read_again(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.source.write_text(text([*ROWS[2:50], ROWS[0], ROWS[1], *ROWS[50:]]))
    place.killed(PARSE)
    garble_first_line(place.source)
    result = place.load(resume=True)
    assert result.resumed_tasks > result.tasks / 2
    assert result.rejected == undisturbed["append"][1].rejected


def test_a_driver_may_die_again_and_again(undisturbed: Undisturbed, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.killed(PARSE)
    place.killed(Failpoint.AFTER_ARM.value, resume=True)
    assert_as_if_undisturbed(place, place.load(resume=True), undisturbed)


@pytest.mark.parametrize("what", ["begun anew", "its parts are gone", "another place"])
def test_what_can_t_be_gone_on_with_is_done_again(
    undisturbed: Undisturbed, tmp_path: Path, what: str
) -> None:
    place = Place(tmp_path)
    options: dict[str, Any] = {"quarantine": tmp_path / "elsewhere"} if what[0] == "a" else {}
    place.killed(PARSE, **options)
    [partial] = place.place.glob("*.partial-*")
    if what == "its parts are gone":
        shutil.rmtree(partial)
    result = place.load(resume=what != "begun anew")
    assert not partial.exists()
    assert_as_if_undisturbed(place, result, undisturbed)


@pytest.mark.parametrize("load_id", ["x", None])
def test_a_driver_that_died_at_its_start_leaves_nothing_once_another_is_done(
    undisturbed: Undisturbed, tmp_path: Path, load_id: str | None
) -> None:
    place = Place(tmp_path)
    place.killed(START, load_id=load_id)
    assert len([*place.place.glob("bad.partial-*")]) == 1
    assert_as_if_undisturbed(place, place.load(), undisturbed)


def hold_and_die(directory: str, load_id: str | None, has_part: bool) -> None:
    """In a process of its own: a driver that is killed, with a rejected row or without."""
    quarantine = open_quarantine(directory, max_errors=1)
    lock = quarantine.hold(load_id)
    if has_part:
        Path(quarantine.partial, "1.part").write_text("{}")
    assert not quarantine.is_abandoned() and not lock.closed
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("load_id", ["x", None])
@pytest.mark.parametrize("has_part", [False, True])
def test_what_a_dead_driver_rejected_is_kept_for_the_load_that_can_resume_it(
    tmp_path: Path, load_id: str | None, has_part: bool
) -> None:
    living = open_quarantine(str(tmp_path / "bad"), max_errors=1)
    with living.hold(None):
        child = get_context("spawn").Process(
            target=hold_and_die, args=(str(tmp_path / "bad"), load_id, has_part)
        )
        child.start()
        child.join()
        (left,) = {*map(str, tmp_path.glob("*.partial-*"))} - {living.partial}
        assert Quarantine(str(tmp_path / "bad"), left, 1).is_abandoned()
        open_quarantine(str(tmp_path / "bad"), max_errors=1).drop()
        assert Path(left).exists() == (has_part and load_id is not None)
        assert Path(living.partial).exists() and not living.is_abandoned()


class InBucket(StagingArea):
    """An area whose earlier driver had a lease: that it is lost does not prove it dead."""

    @property
    def is_alone(self) -> bool:
        return False

    def resume(self, found: AreaRecord, about: Mapping[str, Any]) -> AreaRecord:
        return found


def test_where_a_lease_proves_nothing_a_lock_tells_whether_the_earlier_driver_lives(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    earlier = open_quarantine(str(tmp_path / "bad"), max_errors=1)
    left = LoadRecord("append", "main", "a commit", 2, earlier)
    found = AreaRecord("x", "key", is_named=True, about=left.to_json(), fence_number=1)
    area = InBucket(place.graph.engine.store)
    with earlier.hold("x"):
        resume_load(area, found, left, None)
        assert Path(earlier.partial).exists()
    resume_load(area, found, left, None)
    assert not Path(earlier.partial).exists()


def test_a_small_load_that_died_with_its_commit_made_leaves_its_rejected_rows(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.killed(Failpoint.AFTER_DISARM.value, is_small=True)
    result = place.load()
    assert (result.is_repeat, result.quarantine) == (True, str(tmp_path / "bad"))
    assert place.rows() == undisturbed["append"][0].rows()
    assert place.leftovers() == []


def test_rows_that_an_earlier_driver_rejected_count(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.killed(PARSE)
    most = undisturbed["append"][1].rejected
    with pytest.raises(RejectedTooMany) as caught:
        place.load(resume=True, max_errors=most - 1)
    assert caught.value.violations.counts["json", None, None] == 1
    assert not (place.place / "bad").exists()
    assert place.leftovers() == []
    assert_as_if_undisturbed(place, place.load(max_errors=most), undisturbed)


def test_an_account_of_rejected_rows_that_were_not_all_written_is_not_believed(
    tmp_path: Path,
) -> None:
    """A task that rejects too much stops writing it down; another driver may allow more."""
    place = Place(tmp_path)
    place.source = tmp_path / "in"
    place.source.mkdir()
    for n in range(0, COUNT, 10):
        # Several files are one task's, and each has a bad row.
        (place.source / f"{n:04}.jsonl").write_text(text(["{", *PEOPLE[n : n + 10]]))
    place.killed(PARSE, max_errors=0)
    result = place.load(resume=True)
    assert result.rejected == COUNT // 10 > result.tasks > 1
    files = [file for name, file in place.quarantine().items() if name != "report.json"]
    rejected = [json.loads(line)["file"] for file in files for line in file.splitlines()]
    assert len(rejected) == len(set(rejected)) == result.rejected


def test_a_load_that_failed_in_its_last_step_is_finished_by_the_next(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.graph = opened(str(tmp_path / "graph"), faults=FailOnce())
    with pytest.raises(StorageFailed):
        place.load()
    result = place.load()
    assert (result.is_repeat, result.quarantine) == (True, str(tmp_path / "bad"))
    assert_as_if_undisturbed(place, result, undisturbed)


class FailOnce:
    has_failed = False

    def reach(self, point: Failpoint) -> None:
        if point is Failpoint.AFTER_PUBLISH and not self.has_failed:
            self.has_failed = True
            raise StorageFailed(doing="disarm", path="here", reason="nobody answers")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_goes_on_with_what_was_rejected(
    spark: Spark, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.killed(PARSE)
    result = place.load(engine="spark", spark=spark.session, resume=True)
    assert result.engine == "spark" and result.resumed_tasks > result.tasks / 2
    assert_as_if_undisturbed(place, result, undisturbed)
