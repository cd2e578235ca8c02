"""Loads in mode merge, small and large, whoever runs them."""

import itertools
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.errors import ConstraintViolated
from omnigraph.base.ids import MAIN
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.spark.session import Spark
from tests.pipeline.conftest import ON_SPARK
from tests.pipeline.loads import YORK, World, owner, person
from tests.pipeline.world import edge, node
from tests.pipeline.world import write as write_lines

# Spark runs the same code: what it does by itself, to join and to deal out, is in the other tests.
IN_PROCESS = pytest.mark.parametrize("runner", ["local", "local-large"], indirect=True)


@pytest.fixture
def world(tmp_path: Path, runner: Runner, limits: LoadLimits) -> World:
    return World(tmp_path, runner, limits=limits)


def owns(id_: str, person: str, city: int = 1) -> dict[str, Any]:
    return {"edge": "Owns", "id": id_, "from": person, "to": city}


def phones(world: World) -> dict[str, str | None]:
    return {row["name"]: row["phone"] for row in world.rows("Person")}


def versions(world: World, name: str) -> dict[str, tuple[int, int, int]]:
    """For every row by id: its row id, and the versions that made it and last wrote it."""
    marks = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    dataset = world.snapshot.dataset(world.entity(name))
    rows = dataset._read(["id", *marks[1:]], with_row_id=True).to_pylist()
    return {row["id"]: tuple(row[mark] for mark in marks) for row in rows}


def test_a_row_replaces_the_one_with_its_id_whole_or_is_new(world: World) -> None:
    world.load(YORK, person("ada", phone="1"), owns("a", "ada"))
    world.load(person("bob", phone="2"), owns("b", "bob"), *owner("cyd"))
    done = world.load(person("ada"), person("bob", phone="3"), *owner("eve"), mode="merge")
    assert phones(world) == {"ada": None, "bob": "3", "cyd": None, "eve": None}
    assert (done.nodes, done.edges, done.superseded) == ({"Person": 3}, {"Owns": 1}, 0)
    owned, people = world.snapshot.commit.changes
    assert (people.inserted, people.updated, people.deleted, people.row_count) == (1, 2, 0, 4)
    assert (owned.inserted, owned.updated, owned.row_count) == (1, 0, 4)
    assert world.files_of_no_commit() == set()


def test_rows_keep_their_row_ids_and_the_version_that_made_them(world: World) -> None:
    world.load(YORK, *owner("ada"), *owner("bob"), *owner("cyd"))
    before = versions(world, "Person")
    world.load(person("bob", phone="1"), *owner("eve"), mode="merge")
    after = versions(world, "Person")
    assert {name: after[name] for name in ("ada", "cyd")} == {
        name: before[name] for name in ("ada", "cyd")
    }
    row_id, made, _ = before["bob"]
    now = world.snapshot.tables[world.entity("Person").table_key].ref.version
    assert after["bob"] == (row_id, made, now)
    assert after["eve"][1:] == (now, now)
    assert len({row_id for row_id, _, _ in after.values()}) == 4


@IN_PROCESS
def test_of_two_rows_with_one_id_the_later_wins(world: World) -> None:
    world.load(YORK, *owner("ada"))
    again = [person("ada", phone=str(n)) for n in range(5)]
    twice = [person("bob", phone="x"), person("bob", phone="y"), edge("Owns", "bob", 1)]
    done = world.load(*again, *twice, mode="merge")
    assert phones(world) == {"ada": "4", "bob": "y"}
    assert (done.load.read, done.superseded) == (8, 5)
    assert (done.nodes, done.edges) == ({"Person": 2}, {"Owns": 1})


@IN_PROCESS
def test_later_means_later_in_the_input_however_a_line_is_written(world: World) -> None:
    world.load(YORK, *owner("ada"))
    # Members in another order take another way through the parser.
    odd = '{{"data": {{"name": "ada", "phone": "{}"}}, "type": "Person"}}'
    world.load(odd.format(1), person("ada", phone="2"), mode="merge")
    assert phones(world) == {"ada": "2"}
    world.load(person("ada", phone="3"), odd.format(4), mode="merge")
    assert phones(world) == {"ada": "4"}
    world.load(*owner("bob"), mode="merge")
    lines: list[dict[str, Any] | str] = [
        person("ada", phone="5"),
        odd.format(6),
        person("bob", phone="6"),
    ]
    assert world.refused(ConstraintViolated, *lines, mode="merge") == [("unique", "Person", 3)]


@IN_PROCESS
def test_a_row_that_equals_what_is_there_is_no_change(world: World) -> None:
    face = {"face": [1.0, 0.5], "tags": ["a", ""], "at": "2024-01-01T00:00:00Z"}
    photo = text_from_blob(b"p" * 100_000)
    notes = [node("Note", id_="n", text="hi", photo=photo, **face), node("Note", id_="m", text="")]
    world.load(YORK, person("ada", phone="1"), owns("a", "ada"), *notes)
    head = world.snapshot.commit.id
    lines = [person("ada"), person("ada", phone="1"), owns("a", "ada"), *notes]
    resolved = world.resolve(write_lines(world.place / "again.jsonl", *lines), mode="merge")
    assert (resolved.nodes, resolved.superseded) == ({"Note": 2, "Person": 1}, 1)
    assert world.publish(resolved) is None
    assert world.snapshot.commit.id == head
    for change in (
        {"face": [1.0, 0.25]},
        {"tags": ["a"]},
        {"tags": None},
        {"photo": "base64:AAAA"},
    ):
        changed = node("Note", id_="n", **{"text": "hi", "photo": photo, **face, **change})
        world.load(changed, mode="merge")
        assert world.snapshot.commit.changes[0].updated == 1
    [m, n] = world.rows("Note")
    assert (n["photo"], n["face"], n["tags"]) == (b"\0\0\0", [1.0, 0.5], ["a", ""])
    assert m["text"] == ""


@IN_PROCESS
def test_a_row_without_a_key_is_new_unless_it_gives_an_id(world: World) -> None:
    world.load(node("Note", id_="n", text="old"), node("Note", text="one"))
    world.load(node("Note", id_="n", text="new"), node("Note", text="one"), mode="merge")
    assert sorted(row["text"] for row in world.rows("Note")) == ["new", "one", "one"]


# The graph in which the next test merges: ada has phone 1 and bob 2; ada owns a and lives in York,
# bob owns b and c.
HELD = [
    YORK,
    person("ada", phone="1"),
    person("bob", phone="2"),
    owns("a", "ada"),
    owns("b", "bob"),
    owns("c", "bob"),
    {"edge": "LivesIn", "id": "l", "from": "ada", "to": 1},
]


@pytest.mark.parametrize(
    ("lines", "broken"),
    [
        # Two rows swap what is unique: the final image counts.
        ([person("ada", phone="2"), person("bob", phone="1")], []),
        ([person("ada", phone="2")], [("unique", "Person", 1)]),
        ([person("bob"), person("ada", phone="2")], []),
        # A superseded row breaks nothing.
        ([person("ada", phone="2"), person("ada", phone="3")], []),
        # A row that equals what is there is not to blame for it.
        ([person("ada", phone="1")], []),
        ([edge("Knows", "ada", "eve")], [("endpoint", "Knows", 1)]),
        ([edge("Knows", "ada", "eve"), *owner("eve")], []),
        # An edge that moves leaves its old source, which still needs one.
        ([owns("b", "ada")], []),
        ([owns("a", "bob")], [("cardinality", "Owns", None)]),
        ([owns("a", "bob"), owns("b", "ada")], []),
        ([{"edge": "LivesIn", "id": "l", "from": "bob", "to": 1}], []),
        ([edge("LivesIn", "bob", 1), edge("LivesIn", "ada", 1)], [("cardinality", "LivesIn", 2)]),
        # A new source needs an edge.
        ([person("bob"), person("eve")], [("cardinality", "Owns", 2)]),
    ],
)
@IN_PROCESS
def test_a_merge_is_judged_by_the_graph_it_would_leave(
    world: World,
    lines: list[dict[str, Any]],
    broken: list[tuple[str, str, int | None]],
) -> None:
    world.load(*HELD)
    if broken:
        assert world.refused(ConstraintViolated, *lines, mode="merge") == broken
    else:
        world.load(*lines, mode="merge")


def test_rules_broken_by_a_merge_are_named_by_line(world: World) -> None:
    world.load(*HELD)
    lines = [
        person("bob", phone="9"),
        person("bob", phone="1"),
        owns("a", "bob"),
        edge("Knows", "ada", "eve"),
    ]
    assert sorted(world.refused(ConstraintViolated, *lines, mode="merge"), key=str) == [
        ("cardinality", "Owns", None),
        ("endpoint", "Knows", 4),
        ("unique", "Person", 2),
    ]


@IN_PROCESS
def test_a_merge_is_resolved_again_at_the_new_head(world: World) -> None:
    world.load(YORK, *owner("ada"), *owner("bob"))
    lines = [person("ada", phone="1"), *owner("eve"), node("Note", text="hi")]
    resolved = world.resolve(write_lines(world.place / "late.jsonl", *lines), mode="merge")
    world.load(person("ada", phone="7"), person("eve", phone="8"), owns("e", "eve"), mode="merge")
    before = versions(world, "Person")
    again = world.resolve_again(resolved)
    notes = world.entity("Note").table_key
    assert again.upserts.get(notes) is resolved.upserts.get(notes), "nobody has touched the notes"
    world.publish(again)
    assert phones(world) == {"ada": "1", "bob": None, "eve": None}
    after = versions(world, "Person")
    assert {name: after[name][:2] for name in after} == {n: before[n][:2] for n in before}


@pytest.mark.values
@pytest.mark.parametrize(
    "runner",
    ["local", "local-large", pytest.param("spark-large", marks=ON_SPARK)],
    indirect=True,
)
@pytest.mark.parametrize("ids_in_a_worker", [0, 10_000])
def test_any_merges_leave_what_a_dictionary_would_hold(world: World, ids_in_a_worker: int) -> None:
    world.limits = replace(world.limits, min_task_bytes=2_000, max_worker_ids=ids_in_a_worker)
    chance = random.Random(7)
    world.load(YORK)
    model: dict[str, str | None] = {}
    row_ids: dict[str, int] = {}
    for _ in range(4 if world.runner.engine == "local" else 2):
        lines, phone = [], itertools.count()
        for _ in range(60):
            name = f"p{chance.randrange(40)}"
            value = chance.choice([None, f"{name}-{next(phone) % 2}"])
            model[name] = value
            lines += [person(name, phone=value), owns(f"of-{name}", name)]
        done = world.load(*lines, mode="merge")
        assert sum(done.nodes.values()) + sum(done.edges.values()) + done.superseded == 120
        assert phones(world) == model
        assert world.snapshot.tables[world.entity("Person").table_key].row_count == len(model)
        now = {name: row_id for name, (row_id, _, _) in versions(world, "Person").items()}
        assert row_ids.items() <= now.items(), "a row keeps its row id"
        row_ids = now


@pytest.mark.parametrize("runner", [pytest.param("spark", marks=ON_SPARK)], indirect=True)
def test_a_small_merge_on_spark_writes_nothing_before_it_is_published(world: World) -> None:
    assert isinstance(world.runner, Spark)
    world.load(YORK, *owner("ada"))
    before = world.files()
    lines = [person("ada", phone="1"), *owner("bob")]
    resolved = world.resolve(write_lines(world.place / "a.jsonl", *lines), mode="merge")
    assert world.files() == before
    world.publish(resolved)
    assert phones(world) == {"ada": "1", "bob": None}
    assert world.store.snapshot(MAIN).commit.changes[-1].updated == 1
