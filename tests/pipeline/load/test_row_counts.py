"""What a load says it did: inserted, updated, unchanged and removed, of each type."""

import random
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.row_counts import RowCounts
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.spark.session import Spark
from tests.pipeline.conftest import ON_SPARK
from tests.pipeline.loads import World, person
from tests.pipeline.world import edge, node, write

ENGINES = [pytest.param("local"), pytest.param("spark", marks=ON_SPARK)]


SCHEMA = """
node Person { name: String @key  age: I64?  phone: String? }
edge Knows: Person -> Person { since: Date? }
edge Likes: Person -> Person { @key(src, dst) }
"""


@pytest.fixture
def world(tmp_path: Path, runner: Runner, limits: LoadLimits) -> World:
    return World(tmp_path, runner, SCHEMA, limits=limits)


def expected(there: dict[str, Any], rows: list[tuple[str, Any]], mode: str) -> RowCounts:
    """The counts, row by row."""
    if mode != "merge":
        return RowCounts(inserted=len(rows), removed=len(there) if mode == "overwrite" else 0)
    last = dict(rows)
    known = {name for name in last if name in there}
    changed = {name for name in known if there[name] != last[name]}
    return RowCounts(
        inserted=len(last) - len(known),
        updated=len(changed),
        unchanged=len(known) - len(changed),
        superseded=len(rows) - len(last),
    )


def test_every_row_is_counted_as_what_became_of_it(world: World) -> None:
    chance, there = random.Random(7), dict[str, str | None]()
    for mode in ["append", "merge", "merge", "overwrite", "merge", "append"]:
        fresh = f"{world.snapshot.commit.seq}-"
        names = [fresh + str(n) for n in range(chance.randrange(1, 6))]
        if mode == "merge":
            names += chance.choices([*there], k=8)
        rows = [(name, chance.choice([None, f"p{name}", f"q{name}"])) for name in names]
        done = world.load(*(person(name, phone=phone) for name, phone in rows), mode=mode)
        counts = expected(there, rows, mode)
        assert dict(done.counts_of(done.load.catalog.entities)) == {"Person": counts}
        assert done.nodes == {"Person": counts.loaded}
        there = (there if mode != "overwrite" else {}) | dict(rows)
        change = world.snapshot.commit.changes[-1]
        assert (change.inserted, change.updated) == (counts.inserted, counts.updated)
        assert change.deleted == counts.removed
    assert {row["name"]: row["phone"] for row in world.rows("Person")} == there


def test_edges_that_were_there_are_noticed_where_nothing_tells_them_apart(world: World) -> None:
    names = [str(n) for n in range(80)]
    knows = [edge("Knows", a, b, since="2020-01-31") for a in names[:3] for b in names[:30]]
    world.load(*(person(name) for name in names), *knows)

    def repeated(*lines: dict[str, Any]) -> tuple[str, ...]:
        resolved = world.resolve(write(world.place / "in.jsonl", *lines), mode="merge")
        world.end(resolved, is_published=False)
        return resolved.repeated

    assert repeated(*knows) == ("Knows",)
    assert repeated(person("0"), knows[-1]) == ("Knows",)
    assert repeated(*(edge("Knows", a, b, since="2020-02-01") for a in "012" for b in "345")) == ()
    assert repeated(*(edge("Knows", a, b) for a in "012" for b in "345")) == ()
    assert repeated(edge("Knows", "50", "0", since="2020-01-31")) == ()
    # An id says which edge it is.
    assert repeated({**knows[0], "id": "mine"}) == ()


def people(**ages: int) -> list[dict[str, Any]]:
    edges = [edge(kind, name, "ada") for name in ages for kind in ("Knows", "Likes")]
    return [*(node("Person", name=name, age=age) for name, age in ages.items()), *edges]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_run_again_says_what_it_doubles_and_how_to_avoid_it(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    session: Spark | None = request.getfixturevalue("spark") if engine == "spark" else None
    graph = Graph.init(tmp_path / "g.omni", SCHEMA)

    def loaded(lines: list[dict[str, Any]], **how: Any) -> Any:
        path = write(tmp_path / "in.jsonl", *lines)
        return graph.load(path, spark=session, engine=None if session else "local", **how)

    assert loaded(people(ada=1, bob=2), mode="append").hints == ()
    rehearsed = loaded(people(ada=1, bob=3, eve=4), mode="merge", dry_run=True)
    done = loaded(people(ada=1, bob=3, eve=4), mode="merge")
    for result in (rehearsed, done):
        assert result.rows == {
            "Person": RowCounts(inserted=1, updated=1, unchanged=1),
            "Knows": RowCounts(inserted=3),
            "Likes": RowCounts(inserted=1, unchanged=2),
        }
        assert (result.inserted, result.updated, result.unchanged) == (5, 1, 3)
        (hint,) = result.hints
        assert "@key(src, dst) on Knows" in hint
        assert result.engine == engine
    nothing = loaded([node("Person", name="ada", age=1)], mode="merge")
    assert (nothing.commit, nothing.unchanged, nothing.inserted) == (None, 1, 0)
    replaced = loaded(
        [node("Person", name=name) for name in ("ada", "bob", "eve")], mode="overwrite"
    )
    assert replaced.rows == {"Person": RowCounts(inserted=3, removed=3)}


def test_the_engine_of_a_load_that_names_none_is_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_LOAD_ENGINE", "local")
    graph = Graph.init(tmp_path / "g.omni", SCHEMA)
    path = write(tmp_path / "in.jsonl", node("Person", name="ada"))
    assert graph.load(path, mode="append").engine == "local"
    monkeypatch.setenv("OMNIGRAPH_LOAD_ENGINE", "sparc")
    with pytest.raises(
        ArgumentInvalid, match="OMNIGRAPH_LOAD_ENGINE 'sparc': it must be auto, spark or local"
    ):
        Graph.open(graph.uri)
    assert Settings.from_environment({}).load_engine == "auto"


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_session_that_is_passed_is_used_whatever_the_setting(
    tmp_path: Path, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_LOAD_ENGINE", "local")
    graph = Graph.init(tmp_path / "g.omni", SCHEMA)
    path = write(tmp_path / "in.jsonl", node("Person", name="ada"))
    assert graph.load(path, mode="append", spark=spark).engine == "spark"
    assert graph.load(path, mode="merge", engine="local").engine == "local"
