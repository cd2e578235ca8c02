"""Writers that a change of the schema overtakes, and changes that other writers overtake."""

import threading
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ReadSetMoved, SchemaMoved, TypeCheckFailed
from omnigraph.base.failpoints import Failpoint
from tests.schema_change.world import BEFORE, CHANGES, PERSON, graph_of, image, make_graph, schema

NEW = "new@x"


def once(do: Any) -> Any:
    """A step for a write's progress: it is done the first time that rows are to be checked."""
    done: list[str] = []

    def progress(phase: str, _: int, __: int) -> None:
        if phase == "check" and not done:
            done.append(phase)
            do()

    return progress


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("named", ["rename a type", "add filled properties", "add types"])
def test_a_load_that_a_change_overtakes_says_to_run_it_again(
    named: str, mode: Any, tmp_path: Path
) -> None:
    graph = make_graph(tmp_path / "graph", is_empty=mode == "overwrite")
    expected = CHANGES[named].rows(image(graph))
    other = graph_of(tmp_path / "graph")
    rows = [{"type": "Person", "data": {"email": NEW, "team": "red"}}]
    with pytest.raises(SchemaMoved) as moved:
        graph.load(rows, mode=mode, progress=once(lambda: other.schema_apply(CHANGES[named].after)))
    assert moved.value.code == "read_set_conflict" and "run it again" in str(moved.value.hint)
    assert image(graph) == expected
    if named != "rename a type":
        graph.load(rows, mode=mode)
        assert NEW in image(graph)["Person"]


class At:
    """Does something the first time that a write comes to a point."""

    def __init__(self, point: Failpoint, do: Any) -> None:
        self._point, self._do = point, do

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            do, self._do = self._do, lambda: None
            do()


def test_a_mutation_that_a_change_overtakes_is_compiled_again(tmp_path: Path) -> None:
    """Between preparing and the fence there is no hook: the change holds the fence meanwhile."""
    place = tmp_path / "graph"
    make_graph(place)
    for named, text in {
        "add filled properties": 'query m() { insert Person { email: "new@x", team: "red" } }',
        "all at once": 'query m() { update Person set { team: "new" } where email = "p1@x" }',
    }.items():
        reached, go_on = threading.Event(), threading.Event()

        def wait(reached: threading.Event = reached, go_on: threading.Event = go_on) -> None:
            reached.set()
            go_on.wait(60)

        changer = graph_of(place, At(Failpoint.AFTER_STAGE, wait))
        writer = graph_of(place)
        failures: list[BaseException] = []

        def mutate(
            writer: Graph = writer,
            text: str = text,
            failures: list[BaseException] = failures,
        ) -> None:
            try:
                writer.mutate(text)
            except TypeCheckFailed as failure:
                failures.append(failure)

        change = threading.Thread(target=changer.schema_apply, args=[CHANGES[named].after])
        change.start()
        assert reached.wait(60)
        mutation = threading.Thread(target=mutate)
        mutation.start()  # it prepares for the schema before, then waits at the fence
        mutation.join(0.5)
        go_on.set()
        change.join(60)
        mutation.join(60)
        # Compiled for the new schema, which has no Person any more in the second case.
        assert bool(failures) == (named == "all at once")
    rows = image(graph_of(place))["Human"]
    assert rows["new@x"]["extra"] == 7 and rows["p1@x"]["team"] == "red"


def test_a_change_that_a_write_overtakes_is_refused_before_it_does_anything(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    make_graph(place)
    reached, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        reached.set()
        go_on.wait(60)

    writer, changer = graph_of(place, At(Failpoint.AFTER_STAGE, wait)), graph_of(place)
    text = 'query m() { update Person set { team: "late" } where email = "p1@x" }'
    mutation = threading.Thread(target=writer.mutate, args=[text])
    mutation.start()
    assert reached.wait(60)
    outcome: list[BaseException] = []

    def apply() -> None:
        try:
            changer.schema_apply(schema(PERSON + "extra: I64 @default(1)"))
        except ReadSetMoved as failure:
            outcome.append(failure)

    change = threading.Thread(target=apply)
    change.start()
    change.join(1)  # planned on the rows before, it waits at the fence
    go_on.set()
    mutation.join(60)
    change.join(60)
    assert [type(failure) for failure in outcome] == [ReadSetMoved]
    graph = graph_of(place)
    assert str(graph.schema()) == BEFORE and image(graph)["Person"]["p1@x"]["team"] == "late"


def test_of_changes_at_one_time_each_follows_the_one_before(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    make_graph(place)
    results: list[Any] = []

    def apply(name: str) -> None:
        results.append(graph_of(place).schema_apply(schema(PERSON + f"{name}: I64?")))

    threads = [threading.Thread(target=apply, args=[name]) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    # The later one was planned on the schema of the earlier one: it drops what that has added.
    assert all(result.applied for result in results)
    kinds = sorted([step.kind for step in result.steps] for result in results)
    assert kinds == [["add_property"], ["add_property", "drop_property"]]
