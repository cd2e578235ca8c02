import gzip
import itertools
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    FileMissing,
    InputUnreadable,
    KeyTaken,
)
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.load import LoadMode
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.quarantine import open_quarantine
from tests.pipeline.loads import YORK, World, owner, person
from tests.pipeline.world import edge, node
from tests.pipeline.world import write as write_lines


@pytest.fixture
def world(tmp_path: Path, runner: Runner, limits: LoadLimits) -> World:
    return World(tmp_path, runner, limits=limits)


def test_nodes_of_which_nothing_is_said_are_loaded(
    tmp_path: Path, runner: Runner, limits: LoadLimits
) -> None:
    schema = "node City { title: String?  size: I32 @default(7) }"
    world = World(tmp_path, runner, schema, limits=limits)
    world.load({"type": "City"}, {"type": "City", "id": "c"}, {"type": "City", "data": None})
    assert [(row["title"], row["size"]) for row in world.rows("City")] == [(None, 7)] * 3
    assert len({row["id"] for row in world.rows("City")} | {"c"}) == 3


def test_staged_files_hold_exactly_the_rows_of_the_input(world: World) -> None:
    world.limits = replace(world.limits, min_task_bytes=2_000)
    people = [owner(f"p{n:03}") for n in range(100)]
    knows = [edge("Knows", f"p{n:03}", f"p{n + 1:03}", since="2020-01-31") for n in range(99)]
    (world.place / "in").mkdir()
    write_lines(world.place / "in" / "a.jsonl", YORK, *itertools.chain(*people[:60]))
    write_lines(world.place / "in" / "b.ndjson", *itertools.chain(*people[60:]), "", *knows)
    staged = world.resolve(str(world.place / "in"))
    assert staged.load.read == 1 + 200 + 99
    assert staged.nodes == {"City": 1, "Person": 100}
    assert staged.edges == {"Knows": 99, "Owns": 100}
    assert world.staged_rows(staged, "Person")["name"].to_pylist() == [
        f"p{n:03}" for n in range(100)
    ]
    found = world.staged_rows(staged, "Knows")
    assert found["src"].to_pylist() == [f"p{n:03}" for n in range(99)]
    assert found["dst"].to_pylist() == [f"p{n + 1:03}" for n in range(99)]
    assert {str(day) for day in found["since"].to_pylist()} == {"2020-01-31"}
    assert len(set(found["id"].to_pylist())) == 99
    assert len(staged.load.tasks) > 4
    assert sorted(task.partition for task in staged.load.tasks) == list(
        range(len(staged.load.tasks))
    )
    is_here = os.getpid() in {task.pid for task in staged.load.tasks}
    assert is_here == (world.runner.engine == "local")


def test_nothing_is_visible_until_it_is_published(world: World) -> None:
    staged = world.resolve(write_lines(world.place / "a.jsonl", YORK, *owner("ada")))
    assert world.rows("Person") == []
    world.publish(staged)
    assert [row["name"] for row in world.rows("Person")] == ["ada"]


def test_append_adds_to_what_is_there_and_may_name_it(world: World) -> None:
    world.load(YORK, *owner("ada"))
    world.load(*owner("bob"), edge("Knows", "bob", "ada"), node("Note", text="hi"))
    assert [row["name"] for row in world.rows("Person")] == ["ada", "bob"]
    assert len(world.rows("Knows")) == len(world.rows("Note")) == 1


def test_overwrite_replaces_the_types_of_the_input_and_no_others(world: World) -> None:
    world.load(YORK, *owner("ada"), *owner("bob"), node("Note", text="old"))
    world.load(node("Note", text="new"), mode="overwrite")
    assert [row["text"] for row in world.rows("Note")] == ["new"]
    assert [row["name"] for row in world.rows("Person")] == ["ada", "bob"]
    world.load(node("City", code=2), *owner("ada", 2), mode="overwrite")
    assert [row["name"] for row in world.rows("Person")] == ["ada"]
    assert [row["code"] for row in world.rows("City")] == [2]


def test_a_load_that_breaks_rules_among_its_own_rows_names_their_lines(world: World) -> None:
    lines = [
        YORK,
        *owner("ada"),
        *owner("bob"),
        person("ada"),
        person("eve", phone="1"),
        edge("Owns", "eve", 1),
        person("fay", phone="1"),
        edge("Owns", "fay", 1),
        edge("Knows", "ada", "nobody"),
        edge("Knows", "nobody", "ada"),
        edge("LivesIn", "ada", 1),
        edge("LivesIn", "ada", 1),
        person("gus"),
    ]
    assert sorted(world.refused(ConstraintViolated, *lines), key=str) == [
        ("cardinality", "LivesIn", 14),
        ("cardinality", "Owns", 15),
        ("endpoint", "Knows", 11),
        ("endpoint", "Knows", 12),
        ("key", "Person", 6),
        ("unique", "Person", 9),
    ]


def test_a_load_that_breaks_rules_with_what_is_there_names_its_lines(world: World) -> None:
    world.load(YORK, *owner("ada"), person("bob", phone="1"), edge("Owns", "bob", 1))
    world.load(edge("LivesIn", "ada", 1))
    lines = [
        *owner("ada"),
        person("eve", phone="1"),
        edge("Owns", "eve", 1),
        edge("LivesIn", "ada", 1),
    ]
    assert sorted(world.refused(ConstraintViolated, *lines), key=str) == [
        ("cardinality", "LivesIn", 5),
        ("key", "Person", 1),
        ("unique", "Person", 3),
    ]


def test_an_id_that_is_already_there_is_a_conflict(world: World) -> None:
    world.load(YORK, *owner("ada"), node("Note", id_="n1", text="a"))
    taken = world.refused(KeyTaken, person("bob"), edge("Owns", "bob", 1), "", person("ada"))
    assert taken == [("key", "Person", 4)]
    assert world.refused(KeyTaken, node("Note", id_="n1", text="b")) == [("key", "Note", 1)]


def test_overwrite_refuses_to_orphan_edges_that_stay(world: World) -> None:
    world.load(node("City", code=1), node("City", code=2), *owner("ada", 1))
    assert world.refused(ConstraintViolated, node("City", code=2), mode="overwrite") == [
        ("endpoint", "Owns", None)
    ]
    world.load(node("City", code=1), mode="overwrite")
    assert [row["code"] for row in world.rows("City")] == [1]


def test_bad_lines_are_found_in_every_task_and_counted_all(world: World) -> None:
    world.limits = replace(world.limits, min_task_bytes=1_000)
    lines: list[dict[str, Any] | str] = [node("Note", text=f"n{n}") for n in range(300)]
    for number in (3, 150, 299):
        lines[number] = node("Note", text=number)
    assert world.refused(ConstraintViolated, *lines) == [
        ("type", "Note", 4),
        ("type", "Note", 151),
        ("type", "Note", 300),
    ]


def test_lines_that_are_no_rows_make_the_input_unreadable(world: World) -> None:
    lines: list[dict[str, Any] | str] = [YORK, "{", node("Town", code=1), person("ada", phone=1)]
    assert world.refused(InputUnreadable, *lines) == [
        ("json", None, 2),
        ("envelope", None, 3),
        ("type", "Person", 4),
    ]


def test_what_was_staged_can_be_judged_again_by_a_newer_snapshot(world: World) -> None:
    world.load(YORK)
    staged = world.resolve(write_lines(world.place / "a.jsonl", *owner("ada")))
    world.resolve_again(staged)
    world.load(*owner("ada"))
    with pytest.raises(KeyTaken, match=r"a\.jsonl:1: Person 'ada' is already in the graph"):
        world.resolve_again(staged)


def test_an_empty_file_loads_nothing(world: World) -> None:
    staged = world.resolve(write_lines(world.place / "a.jsonl"))
    assert (staged.load.read, staged.nodes, dict(staged.work.tables)) == (0, {}, {})


def test_progress_is_told_by_phase_from_nothing_to_all(world: World) -> None:
    heard: list[tuple[str, int, int]] = []
    source = write_lines(world.place / "a.jsonl", YORK, *owner("ada"))
    staged = world.resolve(source, progress=lambda *told: heard.append(told))
    size = Path(source).stat().st_size
    assert (heard[0], heard[-1]) == (("parse", 0, size), ("parse", size, size))
    assert staged.load.input_bytes == size


@pytest.mark.parametrize("mode", ["upsert", "", "Append"])
def test_a_mode_that_is_not_there_is_refused(mode: str) -> None:
    with pytest.raises(ArgumentInvalid):
        LoadMode.named(mode)


def test_a_source_that_is_not_there_is_missing(world: World) -> None:
    with pytest.raises(FileMissing):
        world.resolve(str(world.place / "none.jsonl"))


def test_errors_of_a_load_can_be_shown_as_json(world: World) -> None:
    with pytest.raises(ConstraintViolated) as caught:
        world.resolve(write_lines(world.place / "a.jsonl", edge("Knows", "a", "b")))
    shown = json.loads(json.dumps(caught.value.to_json()))
    assert shown["details"]["count"] == 2
    assert shown["details"]["examples"][0]["line"] == 1


@pytest.mark.parametrize("is_quarantined", [False, True])
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_rows_that_are_more_than_their_archive_seemed_to_hold_are_not_held(
    tmp_path: Path, mode: str, is_quarantined: bool
) -> None:
    limits = LoadLimits(min_task_bytes=1, max_held_bytes=100_000)
    world = World(tmp_path, InProcess(), limits=limits)
    few = [node("Note", id_=f"a{n}", text="", photo="base64:aGk=") for n in range(3)]
    many = [node("Note", id_=f"b{n}", text="x" * 1000) for n in range(100)]
    archive = world.place / "b.jsonl.gz"
    archive.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in many).encode()))
    assert archive.stat().st_size < 10_000
    aside = open_quarantine(str(world.place / "q"), max_errors=9) if is_quarantined else None
    before = write_lines(world.place / "a.jsonl", *few)
    after = write_lines(world.place / "c.jsonl", YORK)
    resolved = world.resolve(before, str(archive), after, mode=mode, quarantine=aside)
    load = resolved.load
    assert len(load.tasks) > 2
    assert not load.is_held and all(not table.held.num_rows for table in load.tables.values())
    world.end(resolved, is_published=world.publish(resolved) is not None)
    rows = world.rows("Note")
    assert [row["id"] for row in rows] == sorted(row["id"] for row in few + many)
    assert [row["photo"] for row in rows[:3]] == [b"hi"] * 3
    assert world.rows("City") and world.files_of_no_commit() == set()
