"""A load with a name is done once, also where it changes nothing: its commit remembers the name."""

import os
import signal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ConstraintViolated
from omnigraph.base.failpoints import NEVER, Crash, CrashAt, Failpoint
from omnigraph.engine.engine import Engine
from tests.pipeline.staging.test_resume import KillAt

SCHEMA = "node City { name: String @key  size: enum(small, large) }"
Rows = list[dict[str, Any]]


def city(name: str, size: str) -> dict[str, Any]:
    return {"type": "City", "data": {"name": name, "size": size}}


HELD = [city("Bern", "small")]
BAD = [city("Rome", "huge")]

CASES: dict[str, tuple[str, Rows]] = {
    "append, every row rejected": ("append", BAD),
    "append, no row": ("append", []),
    "merge, every row equal": ("merge", HELD),
    "merge, equal or rejected": ("merge", [*HELD, *BAD]),
    "merge, no row": ("merge", []),
    "overwrite, every row rejected": ("overwrite", BAD),
    "overwrite, no row": ("overwrite", []),
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    graph.load(HELD, mode="append")
    return graph


def sizes(graph: Graph) -> dict[str, str]:
    rows = graph.query(
        "query q() { match { $c: City } return { $c.name as name, $c.size as size } }"
    )
    return {row["name"]: row["size"] for row in rows}


@pytest.mark.parametrize("case", CASES)
def test_a_load_that_changes_nothing_is_not_done_again(
    graph: Graph, tmp_path: Path, case: str
) -> None:
    options, rows = quarantining(case, str(tmp_path / "aside"))
    done = graph.load(rows, **options)
    assert done.commit is not None and not done.is_repeat
    assert graph.commits(limit=1)[0].load_id == "monday"
    assert sizes(graph) == {"Bern": "small"}
    set_aside = sorted(file.name for file in tmp_path.glob("aside/*"))

    graph.load([city("Bern", "large")], mode="merge")
    again = graph.load(rows, **options)
    assert (again.is_repeat, again.commit) == (True, done.commit)
    assert sizes(graph) == {"Bern": "large"}
    assert sorted(file.name for file in tmp_path.glob("aside/*")) == set_aside


@pytest.mark.parametrize("case", ["merge, every row equal", "append, no row"])
@pytest.mark.parametrize(
    "point", [Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM, Failpoint.AFTER_PUBLISH]
)
def test_a_load_that_changes_nothing_is_finished_after_a_crash(
    graph: Graph, case: str, point: Failpoint
) -> None:
    mode, rows = CASES[case]
    options: dict[str, Any] = {"mode": mode, "load_id": "monday"}
    dying = Graph(Engine.open(graph.uri, durability="relaxed", faults=CrashAt(point)))
    with pytest.raises(Crash):
        dying.load(rows, **options)
    graph = Graph.open(graph.uri, durability="relaxed")
    graph.load(rows, **options)
    assert graph.load(rows, **options).is_repeat
    assert sizes(graph) == {"Bern": "small"}
    assert [commit.load_id for commit in graph.commits()].count("monday") == 1


# Where the driver is killed: before and after its quarantine has its name.
DEATHS = {
    "armed": Failpoint.AFTER_ARM,
    "published": Failpoint.AFTER_PUBLISH,
    "over": None,
}


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("case", ["append, every row rejected", "merge, equal or rejected"])
def test_rejected_rows_of_a_load_that_changes_nothing_are_there_once(
    graph: Graph, tmp_path: Path, case: str, death: str
) -> None:
    aside = str(tmp_path / "aside")
    child = get_context("spawn").Process(target=load_and_die, args=(graph.uri, aside, case, death))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    options, rows = quarantining(case, aside)
    graph = Graph.open(graph.uri, durability="relaxed")
    for _ in range(2):
        graph.load(rows, **options)
    [part] = tmp_path.glob("aside/*.jsonl")
    assert len(part.read_text().splitlines()) == 1
    assert [commit.load_id for commit in graph.commits()].count("monday") == 1


def quarantining(case: str, aside: str) -> tuple[dict[str, Any], Rows]:
    mode, rows = CASES[case]
    aside_as = {"on_error": "quarantine", "quarantine": aside}
    return {"mode": mode, "load_id": "monday", **aside_as}, rows


def load_and_die(uri: str, aside: str, case: str, death: str) -> None:
    """In a process of its own."""
    point = DEATHS[death]
    options, rows = quarantining(case, aside)
    faults = NEVER if point is None else KillAt(point.value)
    graph = Graph(Engine.open(uri, durability="relaxed", faults=faults))
    graph.load(rows, **options)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_load_without_a_name_that_changes_nothing_makes_no_commit(graph: Graph) -> None:
    before = graph.commits(limit=1)
    assert graph.load(HELD, mode="merge").commit is None
    assert graph.commits(limit=1) == before


def test_a_named_load_that_fails_leaves_its_name_free(graph: Graph) -> None:
    with pytest.raises(ConstraintViolated):
        graph.load(BAD, mode="append", load_id="monday")
    assert not graph.load([city("Rome", "large")], mode="append", load_id="monday").is_repeat


def test_a_commit_without_changes_can_be_merged_compared_and_read(graph: Graph) -> None:
    graph.branch_create("side")
    done = graph.load(HELD, mode="merge", load_id="monday", branch="side")
    assert done.commit is not None
    assert [*graph.commit_changes(done.commit).changes] == []
    graph.branch_merge("side")
    assert graph.load(HELD, mode="merge", load_id="monday").is_repeat
    assert sizes(graph) == {"Bern": "small"}
