"""Files of loads and merges: those of the living and the resumable stay, those of the dead go."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.store.layout import STAGING
from tests.maintenance.world import named_by_nobody
from tests.pipeline.merge import world as merging
from tests.pipeline.staging.test_endings import Place, opened
from tests.pipeline.staging.test_quarantine_resume import Place as QuarantinePlace
from tests.pipeline.staging.test_resume import PARSE, ROWS, Paused
from tests.pipeline.world import node
from tests.places import let_leases_end

NOW: dict[str, Any] = {"grace": "0s", "confirm": True}


@pytest.fixture
def load(place: str, tmp_path: Path) -> Place:
    return Place(place, tmp_path / "in.jsonl")


def test_a_load_whose_driver_died_can_be_resumed_after_a_cleanup(load: Place) -> None:
    load.killed(PARSE)
    let_leases_end(load.graph.engine.store)
    received = load.received()
    result = opened(load.uri).cleanup(keep=1, **NOW)
    assert result.loads == ("x",)
    assert received and load.received() == load.unnamed() == received
    resumed = load.load(resume=True)
    assert resumed.resumed_tasks and resumed.commit
    load.assert_nothing_left(rows=len(ROWS))
    assert load.graph.cleanup(keep=1, **NOW).loads == ()


@pytest.mark.parametrize("name", ["x", None])
def test_a_load_that_is_under_way_is_published_although_a_cleanup_came(
    load: Place, name: str | None
) -> None:
    """Without a name it has a day: its record says when it was last heard of."""
    load.load(load_id="before")
    load.give([node("Person", name=f"p{n:04}", age=91) for n in range(100)])
    first = Paused(load.load, mode="merge", load_id=name)
    before = load.unnamed()
    grace: dict[str, Any] = {} if name is None else {"grace": "0s"}
    result = opened(load.uri).cleanup(keep=1, confirm=True, **grace)
    assert load.unnamed() == before
    assert result.loads == (() if name is None else (name,))
    first.go_on()
    assert first.error is None and first.result.updated == 100
    assert load.staged() == []


def test_what_a_load_without_a_name_left_goes_when_nobody_has_heard_of_it_for_long(
    load: Place,
) -> None:
    load.killed(PARSE, load_id=None)
    assert load.staged() and load.unnamed()
    waiting = load.graph.cleanup(confirm=True)
    assert waiting.files == 0
    assert load.staged() and load.unnamed()
    load.graph.cleanup(keep=1, **NOW)
    load.assert_nothing_left(rows=0)


def test_rows_that_a_killed_stream_has_written_down_go_when_they_are_old(load: Place) -> None:
    store = load.graph.engine.store
    # A micro-batch whose driver was killed before it could delete the rows of its frame.
    store.objects.put(f"{StagingArea(store).new_folder()}/data/rows.lance", b"rows")
    load.graph.cleanup(confirm=True)
    assert [*store.objects.walk(STAGING)]
    load.graph.cleanup(keep=1, **NOW)
    assert [*store.objects.walk(STAGING)] == []


def test_a_load_goes_with_the_branch_that_it_was_for(load: Place) -> None:
    load.graph.branch_create("side")
    load.killed(PARSE, branch="side")
    let_leases_end(load.graph.engine.store)
    load.graph.branch_delete("side")
    result = load.graph.cleanup(keep=1, **NOW)
    assert result.loads == ()
    load.assert_nothing_left(rows=0)


def test_files_that_were_written_again_without_rejected_rows_go(tmp_path: Path) -> None:
    """No receipt names them: only their driver could have published them."""
    place = QuarantinePlace(tmp_path / "q")
    place.killed(Failpoint.AFTER_STAGE.value)
    loose = named_by_nobody(place.graph.uri)
    place.graph.cleanup(keep=1, **NOW)
    left = named_by_nobody(place.graph.uri)
    assert left < loose, "those that receipts name stay"
    loaded = place.load(resume=True)
    assert loaded.commit and loaded.resumed_tasks == loaded.tasks
    place.graph.cleanup(keep=1, **NOW)
    assert not named_by_nobody(place.graph.uri)


def test_files_of_a_large_merge_that_died_go(tmp_path: Path) -> None:
    graph = merging.new_graph(tmp_path)
    graph.branch_create("night")
    merging.change(graph, "night", 'insert Person { name: "z" }', 'delete Person where name = "a"')
    merging.change(graph, "main", 'insert Person { name: "y" }')
    rows = merging.rows(graph, "main")
    dying = merging.in_files(graph, faults=CrashAt(Failpoint.AFTER_STAGE))
    with suppress(Crash):
        dying.branch_merge("night")
    left = named_by_nobody(graph.uri)
    graph.cleanup(confirm=True)
    assert left and named_by_nobody(graph.uri) == left, "it may still be at work"
    graph.cleanup(keep=1, **NOW)
    assert not named_by_nobody(graph.uri) and not merging.staging(graph)
    assert merging.rows(graph, "main") == rows
    merging.in_files(graph).branch_merge("night")
    graph.cleanup(keep=1, **NOW)
    assert {row["name"] for row in merging.rows(graph, "main")["Person"]} == {*"bcdyz"}
