"""Every writer a user can start × every place it can die: the old commit or the new one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.pipeline.session import Spark
from tests.graph.people import ENVELOPES, QUERIES, SCHEMA, write_ndjson

FOUNDING = """
query found() {
    insert Company { name: "Engines" }
    insert Person { email: "ada@x", name: "Ada", age: 36 }
    insert WorksAt { from: "ada@x", to: "Engines" }
}
"""
HIRE = {"email": "eve@x", "name": "Eve", "company": "Engines"}

# Two tables move in each, so that there is a place between them.
WRITERS: dict[str, Callable[[Graph], object]] = {
    "mutation": lambda graph: graph.mutate(QUERIES, "hire", HIRE),
    "mutation on a branch": lambda graph: graph.mutate(QUERIES, "hire", HIRE, branch="side"),
    "merge": lambda graph: graph.branch_merge("ready"),
}


def image(graph: Graph) -> dict[str, Any]:
    """All that a reader can see, branch by branch."""
    return {
        branch: [
            graph.query(QUERIES, name, branch=branch).to_pylist() for name in ("everyone", "staff")
        ]
        for branch in graph.branches()
    }


@pytest.fixture
def place(tmp_path: Path) -> str:
    graph = Graph.init(str(tmp_path / "g.omni"), SCHEMA, durability="relaxed")
    graph.mutate(FOUNDING)
    graph.branch_create("side")
    graph.branch_create("ready")
    graph.mutate(QUERIES, "hire", HIRE, branch="ready")
    return graph.uri


def old_and_new(place: str, write: Callable[[Graph], object], copy: Path) -> tuple[Any, Any]:
    import shutil

    shutil.copytree(place, copy)
    graph = Graph.open(str(copy), durability="relaxed")
    old = image(graph)
    write(graph)
    return old, image(graph)


def check_crash(place: str, write: Callable[[Graph], object], point: Failpoint, copy: Path) -> None:
    old, new = old_and_new(place, write, copy)
    assert old != new
    doomed = Graph.open(place, durability="relaxed", faults=CrashAt(point))
    with pytest.raises(Crash):
        write(doomed)
    assert image(Graph.open(place, read_only=True)) in (old, new)
    healed = Graph.open(place, durability="relaxed")
    assert image(healed) in (old, new)
    assert not list(Path(place, "__recovery").glob("*.json"))
    write(healed)
    assert image(healed) == new


@pytest.mark.parametrize("point", Failpoint)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_crash_leaves_the_old_commit_or_the_new_one(
    place: str, tmp_path: Path, writer: str, point: Failpoint
) -> None:
    check_crash(place, WRITERS[writer], point, tmp_path / "copy")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("point", Failpoint)
def test_a_crash_in_a_load_leaves_the_old_commit_or_the_new_one(
    place: str, tmp_path: Path, spark: Spark, point: Failpoint
) -> None:
    data = write_ndjson(tmp_path / "people.jsonl", ENVELOPES)
    check_crash(
        place,
        lambda graph: graph.load(data, mode="overwrite", spark=spark),
        point,
        tmp_path / "copy",
    )
